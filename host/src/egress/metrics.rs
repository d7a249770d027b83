//! Exchanges, counted.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use super::failure::Failure;
use crate::telemetry::{SharedRegistry, register};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    plugin: String,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    plugin: String,
}

/// Counters and times of exchanges by plugin.
#[derive(Clone, Debug)]
pub struct Metrics {
    total: Family<Ended, Counter>,
    time: Family<Of, Histogram, fn() -> Histogram>,
}

fn times() -> Histogram {
    Histogram::new([0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0])
}

impl Default for Metrics {
    fn default() -> Self {
        Self { total: Family::default(), time: Family::new_with_constructor(times) }
    }
}

impl Metrics {
    /// Under names that begin with `pilothouse_http_requests`.
    pub fn register(registry: &SharedRegistry) -> Self {
        let metrics = Self::default();
        register(registry, |r| {
            let help = "HTTP requests of plugins, by class of the answer's status or by why there was none";
            r.register("pilothouse_http_requests", help, metrics.total.clone());
            let help = "Seconds until the head of the answer was there";
            r.register("pilothouse_http_request_duration_seconds", help, metrics.time.clone());
        });
        metrics
    }

    pub(super) fn answered(&self, plugin: &str, status: http::StatusCode, after: Duration) {
        let result = match status.as_u16() / 100 {
            1 => "1xx",
            2 => "2xx",
            3 => "3xx",
            4 => "4xx",
            _ => "5xx",
        };
        self.failed(plugin, result);
        self.time.get_or_create(&Of { plugin: plugin.to_owned() }).observe(after.as_secs_f64());
    }

    pub(super) fn failed(&self, plugin: &str, result: &'static str) {
        self.total.get_or_create(&Ended { plugin: plugin.to_owned(), result }).inc();
    }

    /// One that was not sent.
    pub fn refused(&self, plugin: &str, failure: &Failure) {
        self.failed(plugin, failure.reason());
    }

    /// How many ended so.
    pub fn count(&self, plugin: &str, result: &'static str) -> u64 {
        self.total.get_or_create(&Ended { plugin: plugin.to_owned(), result }).get()
    }
}
