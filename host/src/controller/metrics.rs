//! The controller's metrics: those of the queue under the names that users of controller-runtime have on their
//! dashboards, those of watches under our own.

mod queue;
mod watch;

pub use queue::{QueueCollector, QueueMetrics};
pub use watch::WatchCollector;
