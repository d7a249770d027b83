//! Crashes on purpose: the host is killed between two writes.

use super::cluster::Cluster;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The payload that carries a crash up to the runner.
struct Crashed;

/// When the host dies.
#[derive(Debug, Default)]
pub(super) struct CrashPlan {
    /// Writes until then; none: it lives.
    writes_left: Option<u32>,
    /// It has died of this plan.
    pub(super) crashed: bool,
}

impl CrashPlan {
    pub(super) fn after_writes(&mut self, writes: u32) {
        *self = Self { writes_left: Some(writes.max(1)), crashed: false };
    }

    /// Counts a request, and dies after the one it is time for: it was carried out, and nobody learns of it.
    pub(super) fn after_call(&mut self, changed: bool) {
        let Some(left) = self.writes_left.filter(|_| changed) else { return };
        if left > 1 {
            self.writes_left = Some(left - 1);
        } else {
            self.writes_left = None;
            self.crashed = true;
            // Unwinds through the plugin like a panic, but without the message of one.
            resume_unwind(Box::new(Crashed));
        }
    }
}

/// Plays a scene once for each of its writes, with the host killed right after that write. The scene gets the number to
/// give to [`Cluster::crash_after_write`] where its interesting part begins, plays to its end, checks it, and returns its
/// cluster. Answers how many crashes there were.
pub fn every_crash(mut scene: impl FnMut(u32) -> Cluster) -> u32 {
    let mut crashes = 0;
    while scene(crashes + 1).has_crashed() {
        crashes += 1;
    }
    crashes
}

/// Runs until it is done (`Some`) or the host dies on purpose (`None`). Other panics go on.
pub(super) fn survive<T>(run: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => Some(result),
        Err(payload) if payload.is::<Crashed>() => None,
        Err(payload) => resume_unwind(payload),
    }
}
