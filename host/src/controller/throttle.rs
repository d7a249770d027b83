//! How fast a plugin may ask the API server: one token bucket for each plugin.
//!
//! The bucket is kept as one moment (the generic cell rate algorithm): requests are let through in order of arrival
//! at `1/qps` apart, and up to `burst` of them at once after a rest. A `429` with `Retry-After` closes it for that
//! time, for all requests of the plugin.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The request cannot be let through before its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("over the rate limit of the plugin: a request is possible in {} ms", .retry_after.as_millis())]
pub struct Throttled {
    /// When it could be, counted from now.
    pub retry_after: Duration,
}

/// A rate limit. Shared by reference between all calls of a plugin.
#[derive(Debug)]
pub struct Throttle {
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    /// Between two requests.
    interval: Duration,
    /// How far ahead of an even rhythm a burst may run.
    slack: Duration,
    /// When the next request would be due in an even rhythm.
    due: Instant,
    /// Closed by the API server until then.
    closed: Option<Instant>,
}

impl Bucket {
    /// When a request that arrives now may go out; takes its token, if that is not after `deadline`.
    fn reserve(&mut self, now: Instant, deadline: Instant) -> Result<Instant, Throttled> {
        let due = self.due.max(now);
        let by_rate = due.checked_sub(self.slack).unwrap_or(now);
        let at = by_rate.max(now).max(self.closed.unwrap_or(now));
        if at > deadline {
            return Err(Throttled { retry_after: at - now });
        }
        self.due = due + self.interval;
        Ok(at)
    }
}

impl Throttle {
    /// At most `qps` requests in a second (at least 0.01), and `burst` (at least 1) at once after a rest.
    pub fn new(qps: f64, burst: u32) -> Self {
        let interval = Duration::from_secs_f64(1.0 / qps.max(0.01));
        let slack = interval.saturating_mul(burst.max(1) - 1);
        Self { bucket: Mutex::new(Bucket { interval, slack, due: Instant::now(), closed: None }) }
    }

    /// At most so many requests in a second, and twice as many at once after a rest.
    pub fn per_second(qps: u32) -> Self {
        Self::new(f64::from(qps), qps.saturating_mul(2))
    }

    /// Waits for a token.
    ///
    /// # Errors
    /// [`Throttled`], at once and without taking a token, when there is none before the deadline.
    pub async fn acquire(&self, deadline: Instant) -> Result<(), Throttled> {
        let now = Instant::now();
        let at = self.bucket().reserve(now, deadline)?;
        if at > now {
            sleep_until(at).await;
        }
        Ok(())
    }

    /// The API server said `429`: nothing goes out for so long. Requests that wait already are not held back, the
    /// server will tell them the same.
    pub fn back_off(&self, retry_after: Duration) {
        let until = Instant::now() + retry_after;
        let mut bucket = self.bucket();
        bucket.closed = Some(bucket.closed.map_or(until, |known| known.max(until)));
    }

    fn bucket(&self) -> std::sync::MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_ms(ms: u64) -> Instant {
        Instant::now() + Duration::from_millis(ms)
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_burst_requests_go_out_at_the_rate() {
        let throttle = Throttle::new(10.0, 3);
        let start = Instant::now();
        let mut times = Vec::new();
        for _ in 0..6 {
            throttle.acquire(in_ms(10_000)).await.unwrap();
            times.push(start.elapsed().as_millis());
        }
        assert_eq!(times, [0, 0, 0, 100, 200, 300]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_saves_up_one_burst_and_not_more() {
        let throttle = Throttle::new(10.0, 2);
        tokio::time::advance(Duration::from_secs(60)).await;
        let start = Instant::now();
        for _ in 0..3 {
            throttle.acquire(in_ms(10_000)).await.unwrap();
        }
        assert_eq!(start.elapsed().as_millis(), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_would_miss_its_deadline_fails_at_once_and_costs_nothing() {
        let throttle = Throttle::new(1.0, 1);
        throttle.acquire(in_ms(0)).await.unwrap();
        let start = Instant::now();
        for _ in 0..5 {
            let refused = throttle.acquire(in_ms(500)).await.unwrap_err();
            assert_eq!(refused.retry_after, Duration::from_secs(1));
        }
        throttle.acquire(in_ms(1000)).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_api_servers_retry_after_closes_the_bucket() {
        let throttle = Throttle::new(1000.0, 100);
        throttle.back_off(Duration::from_secs(2));
        throttle.back_off(Duration::from_secs(1));
        assert_eq!(throttle.acquire(in_ms(100)).await.unwrap_err().retry_after, Duration::from_secs(2));
        let start = Instant::now();
        throttle.acquire(in_ms(5000)).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(2));
    }
}
