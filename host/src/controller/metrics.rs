//! The controller's metrics, under the names that users of controller-runtime have on their dashboards.

mod queue;

pub use queue::{QueueCollector, QueueMetrics};
