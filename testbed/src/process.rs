//! Programs in the background: started with a log and a pid file, found again and stopped by a later command.

mod spawn;
mod watcher;

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

pub(crate) use spawn::{Namespaces, Place};
pub(crate) use watcher::Watcher;

use crate::error::{Error, Result};

/// How long a program may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(10);

/// One program of a cluster, known by its pid file.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// Its name, as in logs.
    pub name: String,
    directory: PathBuf,
}

impl Daemon {
    /// The program of this name below a cluster's directory, running or not.
    pub(crate) fn new(name: &str, directory: &Path) -> Self {
        Self { name: name.to_owned(), directory: directory.to_owned() }
    }

    /// Where it writes.
    pub fn log(&self) -> PathBuf {
        self.directory.join("logs").join(format!("{}.log", self.name))
    }

    fn pid_file(&self) -> PathBuf {
        self.directory.join("pids").join(&self.name)
    }

    /// Starts it. Its command line has to name the cluster's directory: [`Self::pid`] knows it by that.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub(crate) fn start(&self, mut command: Command, place: &Place) -> Result<()> {
        for path in [self.log(), self.pid_file()] {
            let parent = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(parent).map_err(Error::file(parent))?;
        }
        let log =
            File::options().create(true).append(true).open(self.log()).map_err(Error::file(&self.log()))?;
        let errors = log.try_clone().map_err(Error::file(&self.log()))?;
        // A group of its own: Ctrl-C at a terminal reaches the command, which stops the cluster in order.
        command.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        let failed =
            |error: std::io::Error| Error::Program { program: self.name.clone(), message: error.to_string() };
        let mut child = spawn::spawn(command, place).map_err(failed)?;
        fs::write(self.pid_file(), child.id().to_string()).map_err(Error::file(&self.pid_file()))?;
        // Somebody has to wait for it, or it stays a zombie that looks alive.
        std::thread::spawn(move || child.wait());
        Ok(())
    }

    /// Its process, if it runs.
    pub fn pid(&self) -> Option<Pid> {
        let pid = self.last_pid()?;
        // A pid may have been given to somebody else since: the command line has to name us.
        let command = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
        let ours = String::from_utf8_lossy(&command).contains(&*self.directory.to_string_lossy());
        (ours && test_kill_process(pid).is_ok()).then_some(pid)
    }

    /// The process that was started last, whatever became of it.
    pub(crate) fn last_pid(&self) -> Option<Pid> {
        Pid::from_raw(fs::read_to_string(self.pid_file()).ok()?.trim().parse().ok()?)
    }

    /// Whether the process that was started last is gone. (Between fork and exec it does not bear its own name yet, so
    /// [`Self::pid`] would not know it.)
    pub(crate) fn ended(&self) -> bool {
        self.last_pid().is_none_or(|pid| test_kill_process(pid).is_err())
    }

    /// Whether the process is gone, and not merely going: one that ends has no command line any more while the kernel
    /// still takes its memory and files away from it. A zombie counts as gone; its parent will come for it.
    fn left(&self, pid: Pid) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        // "pid (name) state ...", where the name may hold anything.
        let state = state.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        match state {
            None | Some('Z' | 'X') => true,
            Some(_) => {
                let command = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
                !command.is_empty() && self.pid().is_none()
            }
        }
    }

    /// Sends a signal, if it runs.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, signal);
        }
    }

    /// Stops it: asks first, then makes it.
    pub(crate) fn stop(&self) {
        let pid = self.pid();
        // One that stands still would not hear the question.
        self.signal(Signal::CONT);
        self.signal(Signal::TERM);
        if !wait_until(PATIENCE, || pid.is_none_or(|pid| self.left(pid))) {
            self.kill();
        }
        let _ = fs::remove_file(self.pid_file());
    }

    /// Ends it at once.
    pub(crate) fn kill(&self) {
        let pid = self.pid();
        self.signal(Signal::KILL);
        wait_until(PATIENCE, || pid.is_none_or(|pid| self.left(pid)));
        let _ = fs::remove_file(self.pid_file());
    }

    /// The last lines of its log.
    pub fn tail(&self) -> String {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(15)..).unwrap_or_default().join("\n")
    }

    /// Waits until it is ready, or is gone, or the time is up.
    ///
    /// # Errors
    /// In the latter two cases, with the end of its log.
    pub(crate) fn await_ready(&self, limit: Duration, mut ready: impl FnMut() -> bool) -> Result<()> {
        let started = Instant::now();
        let mut is_ready = false;
        wait_until(limit, || {
            is_ready = ready();
            is_ready || self.ended()
        });
        if is_ready && !self.ended() {
            return Ok(());
        }
        Err(Error::NotReady {
            what: self.name.clone(),
            seconds: started.elapsed().as_secs(),
            log: self.log().display().to_string(),
            tail: self.tail(),
        })
    }
}

/// Asks until it holds or the time is up; whether it held.
pub fn wait_until(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    // Soon at first, then seldom enough not to be what the machine is busy with.
    let mut pause = Duration::from_millis(20);
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 3 / 2).min(Duration::from_millis(250));
    }
}

/// Runs a program to its end; its output, or what it said when it failed.
///
/// # Errors
/// When it cannot be started or exits with another code than 0.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |message: String| Error::Program { program: program.clone(), message };
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(failed(format!("{}: {}", output.status, said.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that runs until it is stopped and names the directory.
    fn sleeper(directory: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo started; while :; do sleep 60; done"]).arg(directory);
        command
    }

    fn started(directory: &Path) -> Daemon {
        let daemon = Daemon::new("sleeper", directory);
        daemon.start(sleeper(directory), &Place::default()).unwrap();
        assert!(wait_until(PATIENCE, || daemon.pid().is_some()));
        daemon
    }

    #[test]
    fn a_later_command_finds_a_program_by_its_pid_file_and_stops_it() {
        let directory = tempfile::tempdir().unwrap();
        started(directory.path());
        let found = Daemon::new("sleeper", directory.path());
        assert!(found.pid().is_some());
        found.stop();
        assert!(found.pid().is_none() && found.ended());
    }

    #[test]
    fn a_pid_that_belongs_to_somebody_else_is_not_ours() {
        let directory = tempfile::tempdir().unwrap();
        let daemon = Daemon::new("sleeper", directory.path());
        fs::create_dir_all(directory.path().join("pids")).unwrap();
        fs::write(daemon.pid_file(), std::process::id().to_string()).unwrap();
        assert!(daemon.pid().is_none());
    }

    #[test]
    fn a_program_that_stands_still_is_stopped_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let daemon = started(directory.path());
        daemon.signal(Signal::STOP);
        daemon.stop();
        assert!(daemon.pid().is_none());
    }

    #[test]
    fn a_program_that_ends_while_it_is_waited_for_is_reported_with_its_log() {
        let directory = tempfile::tempdir().unwrap();
        let daemon = Daemon::new("short", directory.path());
        let mut command = Command::new("sh");
        command.args(["-c", "echo out of luck"]).arg(directory.path());
        daemon.start(command, &Place::default()).unwrap();
        let error = daemon.await_ready(Duration::from_secs(60), || false).unwrap_err();
        assert!(error.to_string().contains("out of luck"), "{error}");
    }

    #[test]
    fn what_a_failed_program_said_is_in_the_error() {
        let error = run(Command::new("sh").args(["-c", "echo told so >&2; exit 3"])).unwrap_err();
        assert!(error.to_string().contains("told so") && error.to_string().contains('3'), "{error}");
    }
}
