//! What the queue knows of one object.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::reason::{self, Priority, Reason};

/// A changed object may end its back-off at most so often: a hook that changes its own object and then fails must
/// not become a busy loop.
const RESET_SPACING: Duration = Duration::from_secs(1);

/// A wish to run at some time.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) at: Instant,
    pub(super) reason: Reason,
    pub(super) priority: Priority,
}

#[derive(Debug)]
pub(super) struct Ready {
    pub(super) priority: Priority,
    pub(super) order: u64,
    pub(super) since: Instant,
}

#[derive(Debug)]
pub(super) struct Running {
    pub(super) ticket: u64,
    pub(super) lane: Arc<str>,
    pub(super) priority: Priority,
}

/// What is known about one object.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) lane: Arc<str>,
    /// Since it was handed out last.
    pub(super) reasons: Vec<Reason>,
    /// It has to run as soon as `hold` and `running` allow.
    pub(super) want: Option<Priority>,
    pub(super) ready: Option<Ready>,
    pub(super) due: Option<Due>,
    /// Its place in `State::timers`.
    pub(super) timer: Option<(Instant, u64)>,
    /// Failed calls in a row.
    pub(super) failures: u32,
    /// Not before.
    pub(super) hold: Option<Instant>,
    /// When a back-off was last ended early, or will be.
    pub(super) reset: Option<Instant>,
    /// A reason that ends back-offs arrived while it ran.
    pub(super) reset_after_run: bool,
    pub(super) running: Option<Running>,
    /// It was removed while it ran: the verdict is of no interest any more.
    pub(super) forgotten: bool,
}

impl Entry {
    pub(super) fn new(lane: &Arc<str>) -> Self {
        Self {
            lane: Arc::clone(lane),
            reasons: Vec::new(),
            want: None,
            ready: None,
            due: None,
            timer: None,
            failures: 0,
            hold: None,
            reset: None,
            reset_after_run: false,
            running: None,
            forgotten: false,
        }
    }

    pub(super) fn wish(&mut self, now: Instant, reason: Reason, priority: Priority) {
        if reason.ends_backoff() {
            if self.running.is_some() { self.reset_after_run = true } else { self.end_backoff(now) }
        }
        reason::merge(&mut self.reasons, reason);
        self.want = self.want.max(Some(priority));
    }

    /// Forgets the failures and runs at once, or [`RESET_SPACING`] after the last time this was done.
    pub(super) fn end_backoff(&mut self, now: Instant) {
        let Some(hold) = self.hold else { return };
        let earliest = self.reset.map_or(now, |last| now.max(last + RESET_SPACING));
        if earliest <= hold.max(now) {
            self.failures = 0;
            self.hold = Some(earliest);
            self.reset = Some(earliest);
        }
    }

    pub(super) fn wish_later(&mut self, due: Due) {
        if self.due.as_ref().is_none_or(|known| due.at < known.at) {
            self.due = Some(due);
        }
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.hold = None;
    }

    pub(super) fn failed(&mut self, now: Instant, wait: Duration, priority: Priority) {
        self.hold = Some(now + wait);
        reason::merge(&mut self.reasons, Reason::Retry);
        self.want = self.want.max(Some(priority));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.want.is_none() && self.due.is_none() && self.running.is_none()
    }
}
