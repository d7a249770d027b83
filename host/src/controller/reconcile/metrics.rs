//! `controller_runtime_*` as controller-runtime's users have it on their dashboards, and calls and faults of plugins.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use crate::controller::queue::Verdict;
use crate::plugin::call::Hook;
use crate::telemetry::{SharedRegistry, register};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Controller {
    controller: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerResult {
    controller: String,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Called {
    plugin: String,
    hook: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Faulted {
    plugin: String,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Loaded {
    plugin: String,
    version: String,
    digest: String,
}

type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// Counters and times of reconciles and hook calls.
#[derive(Clone, Debug)]
pub struct ReconcileMetrics {
    total: Family<ControllerResult, Counter>,
    errors: Family<Controller, Counter>,
    time: Times<Controller>,
    active: Family<Controller, Gauge>,
    calls: Family<Called, Counter>,
    call_time: Times<Called>,
    faults: Family<Faulted, Counter>,
    loaded: Family<Loaded, Gauge>,
    refused: Family<Faulted, Counter>,
}

/// controller-runtime's buckets.
fn reconcile_times() -> Histogram {
    Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0])
}

/// A call is microseconds to milliseconds.
fn call_times() -> Histogram {
    Histogram::new([0.000_05, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0])
}

impl ReconcileMetrics {
    /// Registers everything.
    pub fn register(registry: &SharedRegistry) -> Self {
        let metrics = Self {
            total: Family::default(),
            errors: Family::default(),
            time: Family::new_with_constructor(reconcile_times),
            active: Family::default(),
            calls: Family::default(),
            call_time: Family::new_with_constructor(call_times),
            faults: Family::default(),
            loaded: Family::default(),
            refused: Family::default(),
        };
        register(registry, |r| {
            r.register("controller_runtime_reconcile", "Reconciles by result", metrics.total.clone());
            r.register(
                "controller_runtime_reconcile_errors",
                "Reconciles that failed",
                metrics.errors.clone(),
            );
            r.register(
                "controller_runtime_reconcile_time_seconds",
                "Time of reconciles",
                metrics.time.clone(),
            );
            r.register("controller_runtime_active_workers", "Reconciles under way", metrics.active.clone());
            r.register("pilothouse_hook_calls", "Hook calls", metrics.calls.clone());
            r.register("pilothouse_hook_call_seconds", "Time of hook calls", metrics.call_time.clone());
            r.register("pilothouse_plugin_faults", "Faults of plugins by reason", metrics.faults.clone());
            r.register("pilothouse_plugin_loaded", "Revisions at work", metrics.loaded.clone());
            r.register(
                "pilothouse_plugin_refused",
                "Plugin files that did not become a revision",
                metrics.refused.clone(),
            );
        });
        metrics
    }

    /// A reconcile ended.
    pub fn reconciled(&self, plugin: &str, verdict: Verdict, took: Duration) {
        let controller = plugin.to_owned();
        let result = result_label(verdict);
        self.total.get_or_create(&ControllerResult { controller: controller.clone(), result }).inc();
        let label = Controller { controller };
        if result == "error" {
            self.errors.get_or_create(&label).inc();
        }
        self.time.get_or_create(&label).observe(took.as_secs_f64());
    }

    /// A worker took up (+1) or put down (−1) an object.
    pub fn active(&self, plugin: &str, change: i64) {
        self.active.get_or_create(&Controller { controller: plugin.to_owned() }).inc_by(change);
    }

    /// A hook call ended, in a fault or not.
    pub fn called(&self, plugin: &str, hook: Hook, fault: Option<&'static str>, took: Duration) {
        let label = Called { plugin: plugin.to_owned(), hook: hook.name() };
        self.calls.get_or_create(&label).inc();
        self.call_time.get_or_create(&label).observe(took.as_secs_f64());
        if let Some(reason) = fault {
            self.faults.get_or_create(&Faulted { plugin: plugin.to_owned(), reason }).inc();
        }
    }

    /// A revision is at work (or no longer).
    pub fn loaded(&self, identity: &crate::plugin::identity::Identity, at_work: bool) {
        let label = Loaded {
            plugin: identity.name.to_string(),
            version: identity.version.clone(),
            digest: identity.short().to_owned(),
        };
        if at_work {
            self.loaded.get_or_create(&label).set(1);
        } else {
            self.loaded.remove(&label);
        }
    }

    /// A plugin file was refused.
    pub fn refused(&self, plugin: &str, reason: &'static str) {
        self.refused.get_or_create(&Faulted { plugin: plugin.to_owned(), reason }).inc();
    }
}

/// controller-runtime's words for the end of a reconcile.
pub fn result_label(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Done => "success",
        Verdict::RequeueAfter(_) => "requeue_after",
        Verdict::Retry | Verdict::RetryAfter(_) => "error",
    }
}
