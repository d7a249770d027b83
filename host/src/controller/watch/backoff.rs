//! Between two tries of a broken watch.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
/// Short: an API server that is back, or a role that was mended, is noticed within seconds; a request every few seconds
/// hurts nobody.
const LONGEST: Duration = Duration::from_secs(5);
/// A server may ask for longer, up to this.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// The wait after so many failures in a row: doubles from a tenth of a second to five seconds. `random` in `0.0..1.0`
/// takes up to half of it away, so that watches do not come back in step. What the server asked for is a lower bound.
pub(super) fn wait(failures: u32, asked: Option<Duration>, random: f64) -> Duration {
    let doubled = FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST);
    let spread = doubled.mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0);
    spread.max(asked.unwrap_or_default().min(LONGEST_ASKED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_their_bound() {
        let waits: Vec<_> = [1, 2, 3, 6, 7, 100].iter().map(|n| wait(*n, None, 0.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 3200, 5000, 5000]);
        assert_eq!(wait(100, None, 1.0), LONGEST / 2);
    }

    #[test]
    fn the_servers_wish_is_a_lower_bound_but_not_without_end() {
        assert_eq!(wait(1, Some(Duration::from_secs(8)), 0.5), Duration::from_secs(8));
        assert_eq!(wait(100, Some(Duration::from_secs(1)), 0.0), LONGEST);
        assert_eq!(wait(1, Some(Duration::from_secs(86_400)), 0.0), LONGEST_ASKED);
    }
}
