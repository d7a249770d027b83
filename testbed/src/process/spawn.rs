//! Starting a process that ends when we do, and starting it in namespaces.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};

use rustix::process::{Pid, Signal};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

/// Where, and for how long, a process lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// It ends when this process does, however that ends.
    pub tied: bool,
    /// Its namespaces.
    pub namespaces: Namespaces,
}

/// The namespaces a process starts in.
#[derive(Clone, Debug, Default)]
pub(crate) enum Namespaces {
    /// Ours.
    #[default]
    Same,
    /// New ones for mounts, network and processes; it is their first process, and all others end with it.
    New,
    /// Those of the process that was started with [`Self::New`].
    Of(Pid),
}

type Job = (Command, Place, SyncSender<io::Result<Child>>);

/// Starts a process.
///
/// A tied child gets its signal when the *thread* that forked it ends, not the process. So one thread that lives as long
/// as the process starts them all.
pub(super) fn spawn(command: Command, place: &Place) -> io::Result<Child> {
    static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, jobs) = channel::<Job>();
        std::thread::spawn(move || {
            for (command, place, answer) in jobs {
                let _ = answer.send(spawn_here(command, &place));
            }
        });
        sender
    });
    let (answer, answers) = sync_channel(1);
    let gone = || io::Error::other("the thread that starts processes is gone");
    spawner.send((command, place.clone(), answer)).map_err(|_| gone())?;
    answers.recv().map_err(|_| gone())?
}

fn spawn_here(mut command: Command, place: &Place) -> io::Result<Child> {
    if place.tied {
        die_with_parent(&mut command);
    }
    match &place.namespaces {
        Namespaces::Same => command.spawn(),
        Namespaces::New => {
            in_namespaces(&mut command, || unshare(UnshareFlags::NEWNS | UnshareFlags::NEWNET));
            // The next child is the first process of the new namespace; this thread itself stays where it is.
            with_process_namespace(|| unshare(UnshareFlags::NEWPID), || command.spawn())
        }
        Namespaces::Of(first) => {
            let open = |name: &str| File::open(format!("/proc/{}/ns/{name}", first.as_raw_nonzero()));
            let (mounts, network, processes) = (open("mnt")?, open("net")?, open("pid")?);
            in_namespaces(&mut command, move || {
                enter(&network, LinkNameSpaceType::Network)?;
                enter(&mounts, LinkNameSpaceType::Mount)
            });
            with_process_namespace(|| enter(&processes, LinkNameSpaceType::ProcessID), || command.spawn())
        }
    }
}

/// What `change` says of processes holds for children of this thread, so it is put back afterwards.
fn with_process_namespace<T>(
    change: impl FnOnce() -> io::Result<()>,
    then: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let own = File::open("/proc/thread-self/ns/pid")?;
    change()?;
    let result = then();
    enter(&own, LinkNameSpaceType::ProcessID)?;
    result
}

fn enter(namespace: &File, kind: LinkNameSpaceType) -> io::Result<()> {
    Ok(rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(kind))?)
}

#[expect(
    unsafe_code,
    reason = "unshare is unsafe where file descriptors are unshared, which none of our flags does"
)]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the flags never contain FILES, the one that would invalidate descriptors other threads own.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

#[expect(unsafe_code, reason = "a process enters namespaces between fork and exec")]
fn in_namespaces(command: &mut Command, enter: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: the closure makes system calls on descriptors that are open already, and allocates nothing.
    unsafe { command.pre_exec(enter) };
}

#[expect(unsafe_code, reason = "prctl in the child before exec is the one way to tie a child's life to ours")]
fn die_with_parent(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec and makes one async-signal-safe system call.
    unsafe {
        command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tied_child_outlives_the_thread_that_asked_for_it() {
        let tied = Place { tied: true, ..Place::default() };
        let mut command = Command::new("sleep");
        command.arg("60");
        let mut child = std::thread::spawn(move || spawn(command, &tied)).join().unwrap().unwrap();
        // Were it tied to that thread, the signal would have been sent by now.
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
