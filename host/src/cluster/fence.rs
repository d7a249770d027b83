//! Until when this process may write. Whoever leads by a lease may do so for as long as the lease is certain to be its own;
//! a process that stood still (a paused machine, a stopped container) finds itself behind the fence when it goes on, before
//! it has heard of anything.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Shared by who keeps the lease and who writes. Open for ever until somebody sets an end.
#[derive(Clone, Debug, Default)]
pub struct Fence(Arc<Mutex<Option<Instant>>>);

impl Fence {
    /// Writes may go out until then.
    pub fn open_until(&self, end: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    /// Nothing may be written from now on.
    pub fn close(&self) {
        self.open_until(Instant::now());
    }

    /// How long writes may still go out; `None`: not at all.
    pub fn left(&self) -> Option<Duration> {
        let end = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        (!left.is_zero()).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_open_until_its_end_and_then_closed_for_all_who_share_it() {
        let fence = Fence::default();
        let writer = fence.clone();
        assert_eq!(writer.left(), Some(Duration::MAX));
        fence.open_until(Instant::now() + Duration::from_secs(10));
        advance(Duration::from_secs(9)).await;
        assert_eq!(writer.left(), Some(Duration::from_secs(1)));
        advance(Duration::from_secs(1)).await;
        assert_eq!(writer.left(), None);
        fence.open_until(Instant::now() + Duration::from_secs(10));
        assert!(writer.left().is_some());
        fence.close();
        assert_eq!(writer.left(), None);
    }
}
