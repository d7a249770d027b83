//! How much processor time a call has left.

use std::thread::{self, ThreadId};
use std::time::Duration;

use super::limits::{Limits, TICK};

/// Counted down at every tick of the engine's clock at which guest code runs: waiting in a host call costs at most the one
/// tick that is noticed on the way back. A tick costs what the thread really got of it, so that a guest is not blamed for a
/// machine that is busy with others.
#[derive(Debug)]
pub(super) struct ProcessorTime {
    left: Duration,
    /// The thread of the last tick, and what it had used by then.
    seen: Option<(ThreadId, Duration)>,
}

impl ProcessorTime {
    /// All that a call may use.
    pub(super) fn new(limits: &Limits) -> Self {
        // The first tick comes at once when the last one was long ago.
        Self { left: limits.cpu.saturating_add(TICK), seen: None }
    }

    /// Takes a tick; false when nothing is left.
    pub(super) fn tick(&mut self) -> bool {
        self.take(thread::current().id(), used_by_this_thread())
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.left.is_zero()
    }

    fn take(&mut self, thread: ThreadId, used: Option<Duration>) -> bool {
        let got = match (self.seen, used) {
            // What other tasks got on this thread meanwhile is not told apart: a tick is the most there was.
            (Some((before, then)), Some(now)) if before == thread => now.saturating_sub(then).min(TICK),
            _ => TICK,
        };
        self.seen = used.map(|used| (thread, used));
        self.left = self.left.saturating_sub(got);
        !self.left.is_zero()
    }
}

#[cfg(target_os = "linux")]
fn used_by_this_thread() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(not(target_os = "linux"))]
fn used_by_this_thread() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::limits::LimitsSpec;

    fn of(milliseconds: u64) -> ProcessorTime {
        let wish = LimitsSpec { cpu_ms: Some(milliseconds), ..LimitsSpec::default() };
        ProcessorTime::new(&Limits::effective(wish, LimitsSpec::default()))
    }

    /// How many ticks until nothing is left, when each brings so much.
    fn ticks(mut time: ProcessorTime, each: Option<Duration>) -> usize {
        let thread = thread::current().id();
        let mut used = Duration::ZERO;
        (1..10_000)
            .find(|_| {
                used += each.unwrap_or_default();
                !time.take(thread, each.map(|_| used))
            })
            .unwrap()
    }

    #[test]
    fn a_tick_costs_what_the_thread_got_of_it() {
        assert_eq!(ticks(of(100), Some(TICK)), 11);
        assert_eq!(ticks(of(100), Some(TICK / 10)), 101, "on a machine that is busy with others");
        assert_eq!(ticks(of(100), Some(TICK * 5)), 11, "other tasks on the same thread");
        assert_eq!(ticks(of(100), None), 11, "where nobody can tell");
    }

    #[test]
    fn on_another_thread_a_tick_is_a_whole_one() {
        let mut time = of(20);
        let other = thread::spawn(|| thread::current().id()).join().unwrap();
        assert!(time.take(thread::current().id(), Some(Duration::from_secs(9))));
        assert!(time.take(other, Some(Duration::from_secs(9))));
        assert!(!time.take(thread::current().id(), Some(Duration::from_secs(9))));
        assert!(time.is_used_up());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_works_uses_time_and_one_that_waits_does_not() {
        let before = used_by_this_thread().unwrap();
        let mut sum = 0_u64;
        while used_by_this_thread().unwrap() - before < TICK {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
    }
}
