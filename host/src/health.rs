//! `/healthz`, `/readyz` and `/metrics`.

pub mod access;
pub mod tls;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use access::Gate;
use tls::{Certificate, TlsListener};

use crate::telemetry::SharedRegistry;
use crate::telemetry::series::PluginMetrics;

/// What must be there before the host is ready, by name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    waiting: Arc<Mutex<BTreeMap<String, String>>>,
    draining: Arc<std::sync::atomic::AtomicBool>,
}

impl Readiness {
    /// The host is not ready until [`Self::done`] is called with the same name.
    pub fn wait_for(&self, name: &str, what: &str) {
        self.lock().insert(name.to_owned(), what.to_owned());
    }

    /// What was waited for is there.
    pub fn done(&self, name: &str) {
        self.lock().remove(name);
    }

    /// The host is on its way out.
    pub fn drain(&self) {
        self.draining.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Empty when ready; else what is waited for, a line each.
    pub fn report(&self) -> String {
        if self.draining.load(std::sync::atomic::Ordering::Relaxed) {
            return "shutting down\n".to_owned();
        }
        self.lock().values().map(|what| format!("waiting for {what}\n")).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What `/metrics` prints.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// The host's own.
    pub registry: SharedRegistry,
    /// The plugins'.
    pub plugins: Arc<PluginMetrics>,
}

impl Metrics {
    /// Prometheus' text format.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let encoded = {
            let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
            prometheus_client::encoding::text::encode_registry(&mut out, &registry)
        };
        if encoded.and_then(|()| self.plugins.write(&mut out)).is_err() {
            tracing::warn!("metrics could not be written");
        }
        out.push_str("# EOF\n");
        out
    }
}

/// Serves the probes until the process ends.
///
/// # Errors
/// When the listener fails.
pub async fn serve_probes(listener: TcpListener, readiness: Readiness) -> std::io::Result<()> {
    let ready = |State(readiness): State<Readiness>| async move {
        let report = readiness.report();
        if report.is_empty() {
            (StatusCode::OK, "ok\n".to_owned())
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, report)
        }
    };
    let routes = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(readiness);
    axum::serve(listener, routes).await
}

/// What stands before the metrics.
#[derive(Debug, Default)]
pub struct Protection {
    /// The certificate to serve them with.
    pub tls: Option<Certificate>,
    /// Who decides about those who ask.
    pub gate: Option<Arc<Gate>>,
}

/// Serves the metrics until the process ends.
///
/// # Errors
/// When the listener fails.
pub async fn serve_metrics(
    listener: TcpListener,
    metrics: Metrics,
    protection: Protection,
) -> std::io::Result<()> {
    let page = |State(metrics): State<Metrics>| async move {
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        ([(header::CONTENT_TYPE, kind)], metrics.render()).into_response()
    };
    let mut routes = Router::new().route("/metrics", get(page)).with_state(metrics);
    if let Some(gate) = protection.gate {
        routes = routes.route_layer(middleware::from_fn_with_state(gate, access::guard));
    }
    match protection.tls {
        None => axum::serve(listener, routes).await,
        Some(certificate) => {
            let listener = TlsListener::new(listener, certificate).map_err(std::io::Error::other)?;
            axum::serve(listener, routes).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_means_that_nothing_is_waited_for() {
        let readiness = Readiness::default();
        readiness.wait_for("caches", "the first list of Hello objects");
        assert_eq!(readiness.report(), "waiting for the first list of Hello objects\n");
        readiness.done("caches");
        assert_eq!(readiness.report(), "");
        readiness.drain();
        assert_eq!(readiness.report(), "shutting down\n");
    }
}
