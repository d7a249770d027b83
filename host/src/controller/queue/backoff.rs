//! How long a failed object waits.

use std::time::Duration;

/// Exponential back-off for each key, as client-go's item exponential failure rate limiter: `base · 2^(n-1)`
/// after the n-th failure in a row, at most `max`, spread by ±10 % so that objects which failed together do not
/// come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Wait after the first failure.
    pub base: Duration,
    /// Longest wait.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_millis(5), max: Duration::from_secs(300) }
    }
}

impl Backoff {
    /// The wait after so many failures in a row; `random` in `0.0..1.0` is where in the spread it lies.
    pub fn after(&self, failures: u32, random: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let plain = self.base.saturating_mul(1 << doublings).min(self.max);
        plain.mul_f64(0.9 + 0.2 * random.clamp(0.0, 1.0)).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_with_each_failure_up_to_the_maximum() {
        let backoff = Backoff { base: Duration::from_millis(10), max: Duration::from_secs(1) };
        let waits: Vec<_> = [1, 2, 3, 7, 8, 40, u32::MAX].map(|n| backoff.after(n, 0.5).as_millis()).into();
        assert_eq!(waits, [10, 20, 40, 640, 1000, 1000, 1000]);
    }

    #[test]
    fn the_spread_stays_within_ten_per_cent_and_below_the_maximum() {
        let backoff = Backoff { base: Duration::from_millis(100), max: Duration::from_millis(205) };
        assert_eq!(backoff.after(1, 0.0), Duration::from_millis(90));
        assert_eq!(backoff.after(1, 1.0), Duration::from_millis(110));
        assert_eq!(backoff.after(2, 1.0), Duration::from_millis(205));
    }
}
