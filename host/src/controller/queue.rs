//! The one work queue: which object is reconciled next.
//!
//! # Guarantees
//! - A key is never handed out twice at once. Added while it runs, it is handed out again afterwards.
//! - Nothing added is lost: a [`Work`] that is dropped without a verdict (a panic, a cancelled task) is retried.
//! - Lanes (plugins) get equal shares of the workers' wall time, however many objects they add and however long their
//!   calls take, and never more than their concurrency at once; neither do kinds with a bound of their own.
//! - Within a lane [`Priority::High`] goes first, and every fifth object is a low one where one waits.
//! - A failing key backs off on its own. Events neither raise nor cut that wait, except those that make the failures
//!   meaningless ([`Reason::ends_backoff`]), and these at most once a second.
//!
//! client-go's queue differs in the last point: an event there bypasses the delay while every failure counts, which
//! inflates the back-off of an object that both fails and is touched often (kubernetes/kubernetes#132805).

mod backoff;
mod bounds;
mod entry;
mod lanes;
mod reason;
#[cfg(test)]
mod simulation;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

pub use backoff::Backoff;
pub use reason::{MAX_REASONS, Priority, Reason};
pub use snapshot::{LaneSnapshot, Snapshot};

use super::metrics::QueueMetrics;
use crate::object::{Gvk, ObjectKey};
use state::{Handout, Next, State};

/// Settings of the queue.
#[derive(Clone, Debug)]
pub struct Options {
    /// Most calls of one lane at once, for lanes without a limit of their own; at least 1. Keep it below the number of
    /// workers, or one slow plugin can hold all of them for the length of a call.
    pub lane_concurrency: usize,
    /// Waits of failing keys.
    pub backoff: Backoff,
    /// Seed of the waits' spread, for tests that must repeat.
    pub seed: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { lane_concurrency: 8, backoff: Backoff::default(), seed: None }
    }
}

/// What became of an object's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Good until something moves.
    Done,
    /// Good, and to be looked at again after this time with [`Reason::Timer`], at the priority it had.
    RequeueAfter(Duration),
    /// Failed: again after the key's back-off, with [`Reason::Retry`].
    Retry,
    /// Failed: again after the key's back-off, but not before this time.
    RetryAfter(Duration),
}

impl Verdict {
    fn at_least(self) -> Duration {
        match self {
            Self::RetryAfter(delay) => delay,
            Self::Done | Self::RequeueAfter(_) | Self::Retry => Duration::ZERO,
        }
    }
}

/// An object to be reconciled now. Give it back with [`Queue::finish`].
pub struct Work {
    /// Which object.
    pub key: ObjectKey,
    /// Whose it is.
    pub lane: Arc<str>,
    /// Why, in order of arrival.
    pub reasons: Vec<Reason>,
    /// How urgent it was.
    pub priority: Priority,
    /// Failed calls in a row before this one.
    pub failures: u32,
    /// How long it was ready and waited for a worker.
    pub waited: Duration,
    ticket: u64,
    home: Option<Arc<Shared>>,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("key", &self.key)
            .field("lane", &self.lane)
            .field("reasons", &self.reasons)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.finish(self, Verdict::Retry);
        }
    }
}

/// The queue. Clones are the same queue.
#[derive(Clone, Debug)]
pub struct Queue {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Something may be ready, or a timer is due earlier than it was.
    work: Notify,
    /// The last running call ended while draining.
    idle: Notify,
    metrics: Arc<QueueMetrics>,
}

impl Queue {
    /// An empty queue.
    pub fn new(options: &Options, metrics: Arc<QueueMetrics>) -> Self {
        let state = Mutex::new(State::new(options));
        Self { shared: Arc::new(Shared { state, work: Notify::new(), idle: Notify::new(), metrics }) }
    }

    /// Adds an object. Merged with what already waits for the same key; the higher priority counts.
    pub fn add(&self, key: &ObjectKey, lane: &Arc<str>, reason: Reason, priority: Priority) {
        self.shared.state().add(Instant::now(), key, lane, reason, priority);
        self.shared.work.notify_one();
    }

    /// Adds an object if a call for it is under way: what the call has read may be outdated by what is told now. Says
    /// nothing of objects at rest.
    pub fn add_if_running(&self, key: &ObjectKey, lane: &Arc<str>, reason: Reason, priority: Priority) {
        let mut state = self.shared.state();
        if state.is_running(key) {
            state.add(Instant::now(), key, lane, reason, priority);
        }
    }

    /// Whether a call for an object is under way.
    pub fn is_running(&self, key: &ObjectKey) -> bool {
        self.shared.state().is_running(key)
    }

    /// Adds an object after a while. Of several delayed adds of a key the earliest counts, and a call that starts
    /// before takes their place. It may be called for a running key: the delay then counts from now as well.
    pub fn add_after(
        &self,
        key: &ObjectKey,
        lane: &Arc<str>,
        reason: Reason,
        priority: Priority,
        delay: Duration,
    ) {
        self.shared.state().add_after(Instant::now(), key, lane, reason, priority, delay);
        self.shared.work.notify_one();
    }

    /// The next object, when there is one and its lane may run; `None` once draining. Cancel safe. Any number of
    /// workers may wait.
    pub async fn next(&self) -> Option<Work> {
        loop {
            let woken = self.shared.work.notified();
            let next = self.shared.state().next(Instant::now());
            match next {
                Next::Run(handout) => return Some(self.work(handout)),
                Next::Drained => return None,
                Next::Wait(None) => woken.await,
                Next::Wait(Some(at)) => {
                    tokio::select! {
                        () = woken => {}
                        () = sleep_until(at) => {}
                    }
                }
            }
        }
    }

    /// Ends a call.
    pub fn finish(&self, mut work: Work, verdict: Verdict) {
        work.home = None;
        self.shared.finish(&work, verdict);
    }

    /// Forgets a key: the object is gone, or no plugin reconciles it any more. A running call ends as if it had never
    /// been queued; what is added from now on counts.
    pub fn remove(&self, key: &ObjectKey) {
        self.shared.state().remove(Instant::now(), key);
        self.shared.work.notify_one();
    }

    /// Forgets a lane and all its keys.
    pub fn remove_lane(&self, lane: &str) {
        self.shared.state().remove_lane(Instant::now(), lane);
        self.shared.metrics.forget(lane);
    }

    /// Sets a lane's concurrency (at least 1). Running calls go on.
    pub fn set_concurrency(&self, lane: &Arc<str>, limit: usize) {
        self.shared.state().limit(lane, limit);
        self.shared.work.notify_one();
    }

    /// Sets how many objects of a kind are worked on at once (at least 1), within what its lane may have; `None` takes
    /// the bound away. Running calls go on.
    pub fn set_kind_concurrency(&self, kind: &Arc<Gvk>, limit: Option<usize>) {
        self.shared.state().bound(Instant::now(), kind, limit);
        self.shared.work.notify_one();
    }

    /// Hands out nothing any more ([`next`](Self::next) ends with `None` everywhere) and waits for what runs.
    /// There is no way back. Cancel safe; callers bound it by a time-out of their own.
    pub async fn drain(&self) {
        self.shared.state().drain();
        self.shared.work.notify_waiters();
        loop {
            let idle = self.shared.idle.notified();
            if self.shared.state().running() == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Whether urgent objects wait for a worker.
    pub fn is_behind(&self) -> bool {
        self.snapshot().lanes.iter().any(|lane| lane.depth_high > 0)
    }

    /// Depths, counts and ages now.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.state().snapshot(Instant::now())
    }

    fn work(&self, handout: Handout) -> Work {
        let Handout { key, lane, reasons, priority, failures, waited, ticket } = handout;
        self.shared.metrics.waited(&lane, waited);
        if self.shared.state().has_next(Instant::now()) {
            self.shared.work.notify_one();
        }
        let home = Some(Arc::clone(&self.shared));
        Work { key, lane, reasons, priority, failures, waited, ticket, home }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state is changed by functions that do not panic half-way; a poisoned lock has nothing to tell.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, work: &Work, verdict: Verdict) {
        let (took, running) = {
            let mut state = self.state();
            let took = state.finish(Instant::now(), &work.key, work.ticket, verdict);
            (took, state.running())
        };
        self.metrics.worked(&work.lane, took);
        self.work.notify_one();
        if running == 0 {
            self.idle.notify_waiters();
        }
    }
}
