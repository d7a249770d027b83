//! What a process takes of the machine, as the kernel tells it.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// Proportional set size in KiB, and how much of it is anonymous.
pub(super) type Pss = (u64, u64);

/// The memory of a process.
///
/// # Errors
/// When it is gone, or the kernel does not tell.
pub(super) fn pss(pid: u32) -> Result<Pss> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().split(' ').next()?.parse().ok()
    };
    field("Pss").zip(field("Pss_Anon")).context("the kernel does not tell PSS")
}

/// The processor time a process has taken so far, its own and the kernel's for it.
///
/// # Errors
/// When it is gone.
pub(super) fn processor_time(pid: u32) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let ticks = ticks(&text).context("the kernel does not tell the processor time")?;
    Ok(Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second()))
}

/// `utime` and `stime` of proc_pid_stat(5). The name before them may have spaces and parentheses.
fn ticks(stat: &str) -> Option<u64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(field(11)? + field(12)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 3 4 20 0 1 0 5 6 7";
        assert_eq!(ticks(stat), Some(300));
        assert_eq!(ticks("7 (a"), None);
    }
}
