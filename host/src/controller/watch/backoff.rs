//! Between two tries of a broken watch.

use std::time::Duration;

use kube::runtime::utils::Backoff;

const FIRST: Duration = Duration::from_millis(100);
/// Short: an API server that is back, or a role that was mended, is noticed within seconds; a request every few seconds
/// hurts nobody.
const LONGEST: Duration = Duration::from_secs(5);

/// Doubles from a tenth of a second to five seconds, with a spread so that watches do not come back in step.
#[derive(Debug, Default)]
pub(super) struct WatchBackoff {
    failures: u32,
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let doubled =
            FIRST.saturating_mul(1_u32.checked_shl(self.failures.min(16)).unwrap_or(u32::MAX)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let mut byte = [0_u8; 1];
        let _ = getrandom::fill(&mut byte);
        Some(doubled / 2 + doubled / 2 * u32::from(byte.first().copied().unwrap_or(0)) / 256)
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_their_bound_and_start_again_after_success() {
        let mut backoff = WatchBackoff::default();
        let waits: Vec<_> = backoff.by_ref().take(12).collect();
        assert!(waits[0] <= FIRST && waits[11] >= LONGEST / 2 && waits[11] <= LONGEST, "{waits:?}");
        backoff.reset();
        assert!(backoff.next().unwrap() <= FIRST);
    }
}
