//! What one hook call may use. Every limit holds at the same time, on every call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One tick of the clock by which processor time of guests is measured.
pub const TICK: Duration = Duration::from_millis(10);

/// Limits as a manifest or a grant writes them; what is absent is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitsSpec {
    /// Processor milliseconds inside the guest.
    pub cpu_ms: Option<u64>,
    /// Wall-clock milliseconds, host calls included.
    pub wall_ms: Option<u64>,
    /// MiB of linear memory.
    #[serde(rename = "memoryMiB")]
    pub memory_mib: Option<u64>,
    /// Calls from the guest to the host.
    pub host_calls: Option<u64>,
    /// MiB that may cross the border in host calls, both ways together.
    #[serde(rename = "hostMiB")]
    pub host_mib: Option<u64>,
    /// MiB of the hook's answer.
    #[serde(rename = "answerMiB")]
    pub answer_mib: Option<u64>,
    /// KiB of log lines.
    #[serde(rename = "logKiB")]
    pub log_kib: Option<u64>,
}

/// Limits in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processor time inside the guest; measured in ticks of the engine's epoch.
    pub cpu: Duration,
    /// Wall-clock time of the whole call.
    pub wall: Duration,
    /// Bytes of linear memory.
    pub memory: usize,
    /// Calls from the guest to the host.
    pub host_calls: u64,
    /// Bytes that may cross in host calls.
    pub host_bytes: u64,
    /// Bytes of the hook's answer.
    pub answer_bytes: u64,
    /// Bytes of log lines.
    pub log_bytes: u64,
}

const MIB: u64 = 1024 * 1024;

/// The largest linear memory any plugin may ask for; the pooling allocator reserves slots of this size.
pub const MAX_MEMORY: usize = 512 * 1024 * 1024;

impl Limits {
    /// What a plugin gets: its manifest's wish (or the default), never more than the administrator's ceiling.
    pub fn effective(wish: LimitsSpec, ceiling: LimitsSpec) -> Self {
        let pick = |wish: Option<u64>, ceiling: Option<u64>, default: u64| {
            let value = wish.unwrap_or(default);
            ceiling.map_or(value, |c| value.min(c)).max(1)
        };
        let memory = pick(wish.memory_mib, ceiling.memory_mib, 64).saturating_mul(MIB);
        Self {
            cpu: Duration::from_millis(pick(wish.cpu_ms, ceiling.cpu_ms, 1_000)),
            wall: Duration::from_millis(pick(wish.wall_ms, ceiling.wall_ms, 10_000)),
            memory: usize::try_from(memory).unwrap_or(MAX_MEMORY).min(MAX_MEMORY),
            host_calls: pick(wish.host_calls, ceiling.host_calls, 1_000),
            host_bytes: pick(wish.host_mib, ceiling.host_mib, 32).saturating_mul(MIB),
            answer_bytes: pick(wish.answer_mib, ceiling.answer_mib, 8).saturating_mul(MIB),
            log_bytes: pick(wish.log_kib, ceiling.log_kib, 64).saturating_mul(1024),
        }
    }

    /// Bytes that may cross from the guest to the host at once, whatever they are for: the engine takes no more, before
    /// anybody looks at them.
    pub fn crossing(&self) -> u64 {
        self.answer_bytes.max(self.host_bytes)
    }
}

/// What is left of a call's host calls and of the bytes that may cross in them. Bodies of HTTP requests draw on it while they flow.
#[derive(Clone, Debug)]
pub struct Purse(Arc<Left>);

#[derive(Debug)]
struct Left {
    calls: AtomicU64,
    bytes: AtomicU64,
}

impl Purse {
    /// Takes one call and the bytes it brings.
    ///
    /// # Errors
    /// The sentence says which of them is used up.
    pub fn take(&self, bytes: usize) -> Result<(), &'static str> {
        draw(&self.0.calls, 1).ok_or("the hook's budget of host calls is used up")?;
        self.take_bytes(bytes)
    }

    /// Takes bytes of an answer.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn take_bytes(&self, bytes: usize) -> Result<(), &'static str> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        draw(&self.0.bytes, bytes).ok_or("the hook's budget of bytes exchanged with the host is used up")
    }
}

fn draw(from: &AtomicU64, amount: u64) -> Option<()> {
    let rest = |left: u64| left.checked_sub(amount);
    from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).ok().map(|_| ())
}

/// What is left of a call's budget. Counted down by every host call.
#[derive(Clone, Debug)]
pub struct Budget {
    purse: Purse,
    log_bytes: u64,
    /// Log lines that no longer fitted.
    pub dropped_lines: u64,
}

impl Budget {
    /// A full budget.
    pub fn new(limits: &Limits) -> Self {
        let left = Left { calls: limits.host_calls.into(), bytes: limits.host_bytes.into() };
        Self { purse: Purse(Arc::new(left)), log_bytes: limits.log_bytes, dropped_lines: 0 }
    }

    /// Takes one call and the bytes it brings. The sentence says which budget is used up.
    pub fn take(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.purse.take(bytes)
    }

    /// Takes bytes of an answer.
    pub fn take_bytes(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.purse.take_bytes(bytes)
    }

    /// For what goes on drawing beside the call.
    pub fn purse(&self) -> Purse {
        self.purse.clone()
    }

    /// Bytes that may still cross.
    pub fn bytes_left(&self) -> u64 {
        self.purse.0.bytes.load(Ordering::Relaxed)
    }

    /// Room for a log line of so many bytes? Counts what is dropped.
    pub fn take_log(&mut self, bytes: usize) -> bool {
        match self.log_bytes.checked_sub(u64::try_from(bytes).unwrap_or(u64::MAX)) {
            Some(rest) => {
                self.log_bytes = rest;
                true
            }
            None => {
                self.dropped_lines += 1;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_wins_over_a_manifest_and_a_default_fills_the_rest() {
        let wish = LimitsSpec { memory_mib: Some(256), cpu_ms: Some(5), ..LimitsSpec::default() };
        let ceiling = LimitsSpec { memory_mib: Some(100), wall_ms: Some(3), ..LimitsSpec::default() };
        let limits = Limits::effective(wish, ceiling);
        assert_eq!(limits.memory, 100 * 1024 * 1024);
        assert_eq!(limits.cpu, Duration::from_millis(5));
        assert_eq!(limits.wall, Duration::from_millis(3));
        assert_eq!(limits.host_calls, 1_000);
    }

    #[test]
    fn nobody_gets_more_memory_than_a_slot_of_the_pool() {
        let wish = LimitsSpec { memory_mib: Some(u64::MAX), ..LimitsSpec::default() };
        assert_eq!(Limits::effective(wish, LimitsSpec::default()).memory, MAX_MEMORY);
    }

    #[test]
    fn a_budget_says_which_part_is_used_up() {
        let wish =
            LimitsSpec { host_calls: Some(1), host_mib: Some(1), log_kib: Some(1), ..LimitsSpec::default() };
        let mut budget = Budget::new(&Limits::effective(wish, LimitsSpec::default()));
        assert_eq!(
            budget.take_bytes(2 * 1024 * 1024),
            Err("the hook's budget of bytes exchanged with the host is used up")
        );
        assert_eq!(budget.take(10), Ok(()));
        assert_eq!(budget.take(10), Err("the hook's budget of host calls is used up"));
        assert!(budget.take_log(1000));
        assert!(!budget.take_log(1000));
        assert_eq!(budget.dropped_lines, 1);
    }
}
