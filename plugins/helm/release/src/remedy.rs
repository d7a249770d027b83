//! What follows a failed attempt: whether it is undone, and when it is made again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::{Entry, decision::NEVER};

/// The wait after the first failure of the same inputs; it doubles with each further one up to [`LONGEST_BACKOFF`].
pub const FIRST_BACKOFF: Duration = Duration::from_secs(30);

/// The longest wait between two attempts with the same inputs, where nobody says how long to wait.
pub const LONGEST_BACKOFF: Duration = Duration::from_mins(30);

/// What becomes of what a failed attempt left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Undo {
    /// The good revision is gone back to; of an installation everything is taken away.
    #[default]
    PutBack,
    /// The release is uninstalled, after which it is installed anew.
    Uninstall,
    /// It stays.
    Nothing,
}

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remedy {
    /// How often a failed attempt is repeated; none: for ever. After that only another wish counts.
    pub retries: Option<u32>,
    /// The wait before it is repeated; none: an ever longer one, see [`backoff`].
    pub interval: Option<Duration>,
    /// What becomes of what it left behind.
    pub undo: Undo,
    /// Whether that also goes for the last attempt.
    pub undoes_last: bool,
}

impl Default for Remedy {
    fn default() -> Self {
        Self { retries: None, interval: None, undo: Undo::PutBack, undoes_last: true }
    }
}

impl Remedy {
    /// What becomes of what an attempt left behind.
    pub(crate) fn undo(&self, failed: &Entry) -> Undo {
        if self.is_spent(failed) && !self.undoes_last { Undo::Nothing } else { self.undo }
    }

    /// Until when a failed attempt is not repeated; none: it may be repeated now.
    pub(crate) fn waits(&self, failed: &Entry, now: Timestamp) -> Option<Timestamp> {
        if self.is_spent(failed) {
            return Some(NEVER);
        }
        let wait = self.interval.unwrap_or_else(|| backoff(failed.marks.attempt));
        let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
        let until = failed.touched?.checked_add(wait).unwrap_or(Timestamp::MAX);
        (until > now).then_some(until)
    }

    fn is_spent(&self, failed: &Entry) -> bool {
        self.retries.is_some_and(|retries| failed.marks.attempt > retries)
    }
}

/// The wait after so many failed attempts.
#[must_use]
pub fn backoff(attempts: u32) -> Duration {
    let factor = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_BACKOFF.saturating_mul(factor).min(LONGEST_BACKOFF)
}
