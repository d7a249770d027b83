//! What a host at rest gives back: memory that the allocator would keep for later, and the mappings of code that nobody runs.
//!
//! Code is mapped from files, sixteen pages for each that is used, and stays mapped for ever: after a burst of work that is
//! some 30 MiB of the program and of compiled plugins. Unmapped it stays in the page cache, where the kernel may take it
//! when somebody needs room; who runs it again finds it there, at the price of a minor fault.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::plugin::registry::Registry;

/// After so long without a call a host is at rest. Longer than most pauses between calls that belong together.
const QUIET: Duration = Duration::from_secs(10);

/// Bytes of a block that is large: what the C library begins with.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 128 << 10;

/// That something was done.
#[derive(Debug, Default)]
pub struct Activity(Notify);

impl Activity {
    /// A call ended.
    pub fn happened(&self) {
        self.0.notify_one();
    }

    /// Waits until nothing was done for a while.
    async fn quiet(&self) {
        while tokio::time::timeout(QUIET, self.0.notified()).await.is_ok() {}
    }

    /// Gives memory back whenever nothing was done for a while after something was. Never ends.
    pub async fn give_back_at_rest(&self, plugins: &Arc<Registry>) {
        loop {
            self.quiet().await;
            let plugins = Arc::clone(plugins);
            let _ = tokio::task::spawn_blocking(move || give_back(&plugins)).await;
            self.0.notified().await;
        }
    }
}

fn give_back(plugins: &Registry) {
    // Held until the end: while there is a revision, nothing else can be mapped where its code is.
    let revisions = plugins.all();
    let mut code: Vec<Range<usize>> = revisions.iter().map(|revision| revision.code()).collect();
    code.push(own_code());
    let Ok(maps) = std::fs::read_to_string("/proc/self/smaps") else { return };
    let all = unwritten_code(&maps);
    let known = all.iter().filter(|range| code.iter().any(|known| overlap(known, range)));
    known.for_each(unmap);
}

/// Where this function is: in the program, which stays mapped as long as it runs.
fn own_code() -> Range<usize> {
    let here = give_back as *const () as usize;
    here..here + 1
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Mappings of code from files of which no page was ever written (proc_pid_smaps(5)): what a file has can be read again.
fn unwritten_code(smaps: &str) -> Vec<Range<usize>> {
    let mut found: Vec<(Range<usize>, bool)> = Vec::new();
    for line in smaps.lines() {
        if let Some(header) = code_of_file(line) {
            found.push((header, false));
        } else if line.contains('-') && line.split_whitespace().count() >= 5 {
            // The header of something else: what follows says nothing of the last one found.
            found.push((0..0, false));
        } else if line.strip_prefix("Anonymous:").is_some_and(|kib| kib.trim() == "0 kB")
            && let Some((_, unwritten)) = found.last_mut()
        {
            *unwritten = true;
        }
    }
    found
        .into_iter()
        .filter(|(range, unwritten)| *unwritten && !range.is_empty())
        .map(|(range, _)| range)
        .collect()
}

/// The addresses of a line such as `7f00-7f80 r-xp 00001000 fe:01 1234  /usr/bin/pilothouse`.
fn code_of_file(line: &str) -> Option<Range<usize>> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (rights, _, _, inode) = (words.next()?, words.next()?, words.next()?, words.next()?);
    if rights != "r-xp" || inode == "0" {
        return None;
    }
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(address(start)?..address(end)?)
}

#[cfg(target_os = "linux")]
fn unmap(code: &Range<usize>) {
    use rustix::mm::{Advice, madvise};

    let start = std::ptr::with_exposed_provenance_mut(code.start);
    // Cold first: a page that nobody maps is not looked at any more.
    for advice in [Advice::LinuxCold, Advice::LinuxDontNeed] {
        #[expect(unsafe_code, reason = "the kernel is told of memory, which no safe interface does")]
        // SAFETY: the addresses are those of a private mapping of a file, of which the kernel says that no page was written, and
        // which is read and run only. It can neither go away nor be another one meanwhile: the program's own code stays, and
        // whoever calls holds the plugin's. The next access finds the same bytes.
        if let Err(error) = unsafe { madvise(start, code.len(), advice) } {
            tracing::debug!(%error, ?advice, "code stays mapped");
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn unmap(_: &Range<usize>) {}

/// Large blocks are given back as soon as they are free. The C library counts the size from which it does so up to the largest
/// block that was ever freed (a plugin's file), and keeps everything below. To be called before there are threads.
pub fn give_large_blocks_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for setting in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        #[expect(unsafe_code, reason = "the C library has no safe interface")]
        // SAFETY: no memory is touched (mallopt(3)); a setting that it does not know it refuses.
        unsafe {
            libc::mallopt(setting, LARGE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_files_that_was_never_written_is_unmapped() {
        let maps = "\
1000-2000 r-xp 00001000 fe:01 12 /usr/bin/pilothouse
Size:                  4 kB
Anonymous:             0 kB
2000-3000 r--p 00001000 fe:01 12 /usr/bin/pilothouse
Anonymous:             0 kB
3000-4000 r-xp 00000000 fe:01 13 /cache/a.cwasm
Anonymous:             4 kB
4000-5000 r-xp 00000000 00:00 0
Anonymous:             0 kB
5000-6000 r-xp 00000000 fe:01 14 /cache/with a space.cwasm
AnonHugePages:         0 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
";
        assert_eq!(unwritten_code(maps), [0x1000..0x2000, 0x5000..0x6000]);
    }

    #[test]
    fn the_programs_own_code_is_found_and_runs_on_when_it_was_unmapped() {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let code = unwritten_code(&maps);
        let own: Vec<_> = code.iter().filter(|range| overlap(range, &own_code())).collect();
        assert_eq!(own.len(), 1, "{code:x?}");
        own.into_iter().for_each(unmap);
        assert_eq!(unwritten_code(&maps), code);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_quiet_when_nothing_was_done_for_a_while() {
        let activity = Activity::default();
        let started = tokio::time::Instant::now();
        let work = async {
            for _ in 0..10 {
                tokio::time::sleep(QUIET / 2).await;
                activity.happened();
            }
        };
        tokio::join!(work, activity.quiet());
        assert_eq!(started.elapsed(), QUIET / 2 * 10 + QUIET);
    }
}
