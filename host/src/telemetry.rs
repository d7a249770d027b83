//! What the host says about itself: log lines, metrics, traces.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

pub mod series;
pub mod traces;

use traces::Traces;

/// The registry of everything under `/metrics`.
pub type SharedRegistry = Arc<Mutex<Registry>>;

/// Form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging to standard error, and spans on their way to a collector. `filter` is in `RUST_LOG`'s language and
/// holds for log lines alone.
pub fn start_logging(format: LogFormat, filter: &str, traces: Option<&Traces>) {
    let filter = quiet(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    // Colours are for people at a terminal, not for files.
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let lines = match format {
        LogFormat::Text => lines.with_target(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let subscriber =
        tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces.map(Traces::layer));
    // A second start (tests) keeps the first.
    let _ = subscriber.try_init();
}

/// kube's client and watcher log every failed request. All of these come back to a place that says it once, knows whether it
/// matters, and counts it. Whoever wants them names their targets.
const SAID_ELSEWHERE: &str = "kube_client::client::builder=off,kube_runtime::watcher=off";

fn quiet(filter: &str) -> Result<EnvFilter, tracing_subscriber::filter::ParseError> {
    EnvFilter::try_new(format!("{SAID_ELSEWHERE},{filter}"))
}

/// Registers metrics under a lock that nothing else holds for long.
pub fn register(registry: &SharedRegistry, add: impl FnOnce(&mut Registry)) {
    add(&mut registry.lock().unwrap_or_else(PoisonError::into_inner));
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    commit: &'static str,
    version: &'static str,
}

/// Says which version runs by the name that operator-sdk's users have on their dashboards, `helm_operator_build_info`.
pub fn tell_helm_operator(registry: &SharedRegistry) {
    let build = Build {
        commit: option_env!("PILOTHOUSE_COMMIT").unwrap_or("unknown"),
        version: concat!("v", env!("CARGO_PKG_VERSION")),
    };
    let info = Family::<Build, Gauge>::default();
    info.get_or_create(&build).set(1);
    register(registry, |r| r.register("helm_operator_build_info", "Build information of the operator", info));
}

/// Labels of `rest_client_requests_total`, named as in controller-runtime.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    code: String,
}

/// Requests to the API server.
#[derive(Clone, Debug, Default)]
pub struct ClientMetrics {
    requests: Family<RequestLabels, Counter>,
}

impl ClientMetrics {
    /// Registers `rest_client_requests_total`.
    pub fn register(registry: &SharedRegistry) -> Self {
        let metrics = Self::default();
        register(registry, |r| {
            r.register(
                "rest_client_requests",
                "Requests to the API server by method and code",
                metrics.requests.clone(),
            );
        });
        metrics
    }

    /// Counts one request; code 0 is `<error>`, as client-go writes it.
    pub fn count(&self, method: &str, code: u16) {
        let code = if code == 0 { "<error>".to_owned() } else { code.to_string() };
        self.requests.get_or_create(&RequestLabels { method: method.to_owned(), code }).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_requests_are_not_logged_twice_unless_their_target_is_named() {
        assert!(quiet("debug").unwrap().to_string().contains("kube_runtime::watcher=off"));
        let named = quiet("info,kube_runtime::watcher=warn").unwrap().to_string();
        assert!(named.contains("kube_runtime::watcher=warn") && !named.contains("watcher=off"), "{named}");
        assert!(quiet("no=such=filter").is_err());
    }
}
