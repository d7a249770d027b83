//! When a wish is tried (again).

use std::time::Duration;

/// No range is resolved more often, whatever its interval.
pub(super) const SHORTEST: Duration = Duration::from_secs(5);
/// Wait after a first failure.
const FIRST: Duration = Duration::from_secs(5);
/// The longest wait after failures in a row.
const LONGEST: Duration = Duration::from_secs(600);
/// A server that wants to be left alone longer than this is asked all the same.
const PATIENCE: Duration = Duration::from_secs(3600);

/// In how long a wish is tried after so many failures in a row; `chance` is below 1.
pub(super) fn after_failures(failures: u32, retry_after: Option<Duration>, chance: f64) -> Duration {
    let doubled = FIRST.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(16)));
    // Hosts that failed together do not come back together.
    let wait = doubled.min(LONGEST).mul_f64(0.75 + chance / 2.0);
    wait.max(retry_after.unwrap_or_default().min(PATIENCE))
}

/// In how long what was found `age` ago is looked for again; none: never.
pub(super) fn after_success(is_fixed: bool, interval: Duration, age: Duration) -> Option<Duration> {
    (!is_fixed).then(|| interval.max(SHORTEST).saturating_sub(age))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_ten_minutes_and_a_server_may_ask_for_more() {
        let wait = |failures| after_failures(failures, None, 0.5);
        assert_eq!([1, 2, 3, 7, 8, 100].map(wait).map(|wait| wait.as_secs()), [5, 10, 20, 320, 600, 600]);
        assert!(after_failures(1, None, 0.0) < wait(1) && after_failures(1, None, 0.99) > wait(1));
        let asked = |seconds| after_failures(1, Some(Duration::from_secs(seconds)), 0.5).as_secs();
        assert_eq!([1, 60, 90_000].map(asked), [5, 60, 3600]);
    }

    #[test]
    fn a_range_is_resolved_again_when_its_interval_is_over_and_a_version_never() {
        let minutes = |n: u64| Duration::from_secs(60 * n);
        assert_eq!(after_success(false, minutes(10), minutes(4)), Some(minutes(6)));
        assert_eq!(after_success(false, minutes(10), minutes(40)), Some(Duration::ZERO));
        assert_eq!(after_success(false, Duration::ZERO, Duration::ZERO), Some(SHORTEST));
        assert_eq!(after_success(true, minutes(10), minutes(40)), None);
    }
}
