//! `workqueue_*`: names, labels and buckets of controller-runtime's `pkg/internal/metrics/workqueue.go`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::controller::queue::{LaneSnapshot, Priority, Queue};

/// controller-runtime gives a queue the name of its controller; here both are the plugin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LaneLabels {
    name: Arc<str>,
    controller: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DepthLabels {
    name: Arc<str>,
    controller: Arc<str>,
    priority: &'static str,
}

type Durations = Family<LaneLabels, Histogram, fn() -> Histogram>;

/// The metrics that have to be kept as things happen; the others are read off a [`Snapshot`] when they are scraped.
///
/// [`Snapshot`]: crate::controller::queue::Snapshot
#[derive(Debug)]
pub struct QueueMetrics {
    waited: Durations,
    worked: Durations,
}

impl Default for QueueMetrics {
    fn default() -> Self {
        let durations =
            || Durations::new_with_constructor(|| Histogram::new(exponential_buckets(1e-8, 10.0, 12)));
        Self { waited: durations(), worked: durations() }
    }
}

impl QueueMetrics {
    /// Metrics that `registry` shows.
    pub fn register(registry: &mut Registry) -> Arc<Self> {
        let metrics = Self::default();
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            metrics.waited.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes",
            metrics.worked.clone(),
        );
        Arc::new(metrics)
    }

    pub(in crate::controller) fn waited(&self, lane: &Arc<str>, time: Duration) {
        self.waited.get_or_create(&labels(lane)).observe(time.as_secs_f64());
    }

    pub(in crate::controller) fn worked(&self, lane: &Arc<str>, time: Duration) {
        self.worked.get_or_create(&labels(lane)).observe(time.as_secs_f64());
    }

    pub(in crate::controller) fn forget(&self, lane: &str) {
        let labels = labels(&Arc::from(lane));
        self.waited.remove(&labels);
        self.worked.remove(&labels);
    }
}

fn labels(lane: &Arc<str>) -> LaneLabels {
    LaneLabels { name: Arc::clone(lane), controller: Arc::clone(lane) }
}

/// Shows a queue's depths, counts and ages when metrics are scraped.
#[derive(Debug)]
pub struct QueueCollector {
    queue: Queue,
}

impl QueueCollector {
    /// Shows `queue` in `registry`.
    pub fn register(queue: Queue, registry: &mut Registry) {
        registry.register_collector(Box::new(Self { queue }));
    }
}

impl Collector for QueueCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let lanes = self.queue.snapshot().lanes;
        depth(&mut encoder, &lanes)?;
        counter(&mut encoder, &lanes, "workqueue_adds", "Total number of adds handled by workqueue", |l| {
            l.adds
        })?;
        counter(
            &mut encoder,
            &lanes,
            "workqueue_retries",
            "Total number of retries handled by workqueue",
            |l| l.retries,
        )?;
        seconds(
            &mut encoder,
            &lanes,
            "workqueue_unfinished_work_seconds",
            "How many seconds of work has been done that is in progress and hasn't been observed by work_duration",
            |l| l.unfinished,
        )?;
        seconds(
            &mut encoder,
            &lanes,
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running",
            |l| l.longest_running,
        )
    }
}

fn depth(encoder: &mut DescriptorEncoder<'_>, lanes: &[LaneSnapshot]) -> fmt::Result {
    let mut family = encoder.encode_descriptor(
        "workqueue_depth",
        "Current depth of workqueue",
        None,
        MetricType::Gauge,
    )?;
    for lane in lanes {
        for (priority, depth) in [(Priority::High, lane.depth_high), (Priority::Low, lane.depth_low)] {
            let name = Arc::clone(&lane.lane);
            let labels = DepthLabels { controller: Arc::clone(&name), name, priority: priority.label() };
            let depth = i64::try_from(depth).unwrap_or(i64::MAX);
            ConstGauge::new(depth).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn counter(
    encoder: &mut DescriptorEncoder<'_>,
    lanes: &[LaneSnapshot],
    name: &str,
    help: &str,
    value: fn(&LaneSnapshot) -> u64,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for lane in lanes {
        ConstCounter::new(value(lane)).encode(family.encode_family(&labels(&lane.lane))?)?;
    }
    Ok(())
}

fn seconds(
    encoder: &mut DescriptorEncoder<'_>,
    lanes: &[LaneSnapshot],
    name: &str,
    help: &str,
    value: fn(&LaneSnapshot) -> Duration,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for lane in lanes {
        ConstGauge::new(value(lane).as_secs_f64()).encode(family.encode_family(&labels(&lane.lane))?)?;
    }
    Ok(())
}
