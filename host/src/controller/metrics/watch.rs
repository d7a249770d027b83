//! `pilothouse_watch_*`: what the shared watches hold and how they fare.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::controller::watch::{Usage, Watches};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct KindLabels {
    group: String,
    version: String,
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct StateLabels {
    group: String,
    version: String,
    kind: String,
    state: &'static str,
}

/// Shows objects, bytes and state of the watches when metrics are scraped.
#[derive(Debug)]
pub struct WatchCollector {
    watches: Arc<Watches>,
}

impl WatchCollector {
    /// Shows `watches` in `registry`.
    pub fn register(watches: Arc<Watches>, registry: &mut Registry) {
        registry.register_collector(Box::new(Self { watches }));
    }
}

impl Collector for WatchCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let usage = self.watches.usage();
        let objects = |usage: &Usage| usage.objects;
        let bytes = |usage: &Usage| usage.bytes;
        gauge(
            &mut encoder,
            "pilothouse_watch_objects",
            "Objects in the caches of watches",
            sum(&usage, of_kind, objects),
        )?;
        gauge(
            &mut encoder,
            "pilothouse_watch_bytes",
            "Bytes in the caches of watches",
            sum(&usage, of_kind, bytes),
        )?;
        gauge(&mut encoder, "pilothouse_watches", "Watches by state", sum(&usage, of_state, |_| 1))
    }
}

fn of_kind(usage: &Usage) -> KindLabels {
    let gvk = &usage.spec.gvk;
    KindLabels { group: gvk.group.clone(), version: gvk.version.clone(), kind: gvk.kind.clone() }
}

fn of_state(usage: &Usage) -> StateLabels {
    let KindLabels { group, version, kind } = of_kind(usage);
    let state = match usage.trouble {
        Some(trouble) => trouble.label(),
        None if usage.synced => "running",
        None => "starting",
    };
    StateLabels { group, version, kind, state }
}

fn sum<L: Ord>(usage: &[Usage], labels: fn(&Usage) -> L, value: fn(&Usage) -> usize) -> BTreeMap<L, usize> {
    let mut sums = BTreeMap::new();
    for usage in usage {
        *sums.entry(labels(usage)).or_default() += value(usage);
    }
    sums
}

fn gauge<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: BTreeMap<L, usize>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
