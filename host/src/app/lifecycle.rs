//! The lifecycle of changes, wired.

use std::sync::Arc;

use crate::capability::grants::GrantsFile;
use crate::cluster::Cluster;
use crate::egress::Egress;
use crate::lifecycle::announce::Announcer;
use crate::lifecycle::drive::Lifecycle;
use crate::lifecycle::listeners::Listeners;
use crate::lifecycle::metrics::Metrics;
use crate::lifecycle::store::Store;
use crate::plugin::registry::Registry;
use crate::status::events::Recorder;
use crate::status::publish::Publisher;
use crate::telemetry::SharedRegistry;
use crate::telemetry::series::PluginMetrics;

/// What it needs of the host.
pub(super) struct Parts<'a> {
    pub(super) plugins: &'a Arc<Registry>,
    pub(super) granted: &'a Arc<GrantsFile>,
    pub(super) cluster: &'a Arc<Cluster>,
    pub(super) recorder: &'a Recorder,
    pub(super) metrics: &'a Arc<PluginMetrics>,
    pub(super) egress: &'a Arc<Egress>,
    /// Where runs of cluster-scoped objects live.
    pub(super) namespace: &'a str,
    pub(super) history: std::time::Duration,
    pub(super) registry: &'a SharedRegistry,
}

/// The driver of runs.
pub(super) fn lifecycle(parts: &Parts<'_>) -> Arc<Lifecycle> {
    let cluster = parts.cluster;
    let store = Store::new(cluster.api.clone(), Arc::clone(&cluster.discovery), parts.namespace);
    let listeners = Listeners::new(Arc::clone(parts.plugins), Arc::clone(parts.granted));
    Arc::new(Lifecycle {
        announcer: Arc::new(Announcer { listeners, store }),
        publisher: Publisher::new(cluster.api.clone()),
        recorder: parts.recorder.clone(),
        cluster: Arc::clone(cluster),
        metrics: Arc::clone(parts.metrics),
        egress: Arc::clone(parts.egress),
        counts: Metrics::register(parts.registry),
        history: parts.history,
    })
}
