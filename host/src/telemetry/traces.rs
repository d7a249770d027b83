//! Traces by OTLP: one wide span for each reconcile, with a child for the hook and for every request it led to.
//!
//! Spans go out in batches over HTTP with protobuf bodies, from a thread of their own: a collector that is slow or away
//! costs spans, never a reconcile. The environment variables are those of the
//! [OTLP exporter's specification](https://opentelemetry.io/docs/specs/otel/protocol/exporter/).

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::HttpError;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::error_text::{chain, without_login};

/// How long one batch may take.
const EXPORT: Duration = Duration::from_secs(10);
/// How long the last batch may take when the host ends.
const LAST_EXPORT: Duration = Duration::from_secs(3);
/// A collector says little.
const MAX_ANSWER: usize = 64 << 10;

/// Why there are no traces though they were asked for.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// The endpoint is no URL with `http` or `https`.
    #[error("{0:?} is no OTLP endpoint such as http://collector:4318")]
    Endpoint(String),
    /// Only one of the specification's protocols is spoken.
    #[error(
        "traces are sent as http/protobuf, not as {0:?}: name a collector's HTTP port (4318 by custom) in \
         OTEL_EXPORTER_OTLP_ENDPOINT and leave OTEL_EXPORTER_OTLP_PROTOCOL out"
    )]
    Protocol(String),
    /// No certificates to check a collector's with.
    #[error("cannot check a collector's certificate: {0}")]
    Certificates(#[source] std::io::Error),
    /// The exporter refused its settings.
    #[error("traces cannot be sent: {0}")]
    Exporter(String),
}

/// Where traces go.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TraceArgs {
    /// Send traces to the collector at this URL (OTLP, http/protobuf). OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME,
    /// OTEL_RESOURCE_ATTRIBUTES and OTEL_TRACES_SAMPLER mean what they always do.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<String>,
    /// The same for traces alone, path included.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", hide = true)]
    pub otlp_traces_endpoint: Option<String>,
    #[arg(long, env = "OTEL_EXPORTER_OTLP_PROTOCOL", hide = true)]
    otlp_protocol: Option<String>,
    #[arg(long, env = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", hide = true)]
    otlp_traces_protocol: Option<String>,
    #[arg(long, env = "OTEL_TRACES_EXPORTER", hide = true)]
    traces_exporter: Option<String>,
    #[arg(long, env = "OTEL_SDK_DISABLED", hide = true)]
    otel_sdk_disabled: Option<String>,
    #[arg(long, env = "OTEL_SERVICE_NAME", hide = true)]
    otel_service_name: Option<String>,
}

impl TraceArgs {
    /// The full URL, if traces are wanted.
    fn url(&self) -> Result<Option<String>, TracesError> {
        let disabled = self.otel_sdk_disabled.as_deref().is_some_and(|v| v.eq_ignore_ascii_case("true"));
        if disabled || self.traces_exporter.as_deref() == Some("none") {
            return Ok(None);
        }
        let given = |text: &&String| !text.is_empty();
        let url = match (self.otlp_traces_endpoint.as_ref(), self.otlp_endpoint.as_ref()) {
            (Some(url), _) if given(&url) => url.clone(),
            (_, Some(base)) if given(&base) => format!("{}/v1/traces", base.trim_end_matches('/')),
            _ => return Ok(None),
        };
        if !url.starts_with("http://") && !url.starts_with("https://") || url.parse::<http::Uri>().is_err() {
            return Err(TracesError::Endpoint(without_login(url.trim_end_matches("/v1/traces"))));
        }
        let protocol = self.otlp_traces_protocol.as_ref().or(self.otlp_protocol.as_ref());
        match protocol.filter(given).map(String::as_str) {
            None | Some("http/protobuf") => Ok(Some(url)),
            Some(other) => Err(TracesError::Protocol(other.to_owned())),
        }
    }
}

/// Traces on their way to a collector.
#[derive(Clone, Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Starts sending, if an endpoint is named. Batches are sent on `runtime`.
    ///
    /// # Errors
    /// [`TracesError`]: a wrong endpoint is better known at the start.
    pub fn start(args: &TraceArgs, runtime: &Handle) -> Result<Option<Self>, TracesError> {
        let Some(url) = args.url()? else { return Ok(None) };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector::new(&url, runtime)?)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(url)
            .with_timeout(EXPORT)
            .build()
            .map_err(|error| TracesError::Exporter(error.to_string()))?;
        let mut resource =
            Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        if args.otel_service_name.is_none() {
            resource = resource.with_service_name("pilothouse");
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_batch_exporter(exporter)
            .build();
        Ok(Some(Self { provider }))
    }

    /// The host's own spans, and what is logged within them.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let scope =
            InstrumentationScope::builder("pilothouse").with_version(env!("CARGO_PKG_VERSION")).build();
        let own = |target: &str| target.starts_with("pilothouse") || target == "plugin";
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer_with_scope(scope))
            .with_location(false)
            .with_threads(false)
            .with_filter(filter_fn(move |meta| {
                own(meta.target()) && (meta.is_span() || *meta.level() <= tracing::Level::INFO)
            }))
    }

    /// Sends what is waiting and stops. Blocks: call it off the async workers, while their runtime still works.
    pub fn finish(&self) {
        let _ = self.provider.shutdown_with_timeout(LAST_EXPORT);
    }
}

type Https = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The collector's HTTP side.
#[derive(Debug)]
struct Collector {
    /// For messages.
    url: String,
    client: Https,
    runtime: Handle,
    /// The last batch was not taken; said once until one is.
    failing: AtomicBool,
}

impl Collector {
    fn new(url: &str, runtime: &Handle) -> Result<Self, TracesError> {
        let builder = HttpsConnectorBuilder::new();
        let builder = if url.starts_with("https:") {
            builder.with_native_roots().map_err(TracesError::Certificates)?
        } else {
            // No certificate will be looked at, and an image without any must do.
            builder.with_tls_config(no_roots().map_err(|error| TracesError::Exporter(error.to_string()))?)
        };
        let connector = builder.https_or_http().enable_http1().build();
        let _entered = runtime.enter();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self {
            url: without_login(url),
            client,
            runtime: runtime.clone(),
            failing: AtomicBool::new(false),
        })
    }

    fn told(&self, problem: Option<&dyn Display>) {
        let before = self.failing.swap(problem.is_some(), Ordering::Relaxed);
        match problem {
            Some(problem) if !before => {
                tracing::warn!(url = self.url, %problem, "traces are lost: the collector does not take them");
            }
            None if before => tracing::info!(url = self.url, "the collector takes traces again"),
            _ => {}
        }
    }
}

fn no_roots() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

#[async_trait]
impl opentelemetry_http::HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        // The exporter's thread has no reactor: the request runs on the host's.
        let sent =
            self.runtime.spawn(async move { tokio::time::timeout(EXPORT, send(client, request)).await });
        let result = match sent.await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(format!("no answer within {EXPORT:?}").into()),
            Err(error) => Err(error.into()),
        };
        match &result {
            Ok(answer) if answer.status().is_success() => self.told(None),
            Ok(answer) => self.told(Some(&answer.status())),
            Err(error) => self.told(Some(&chain(error.as_ref()))),
        }
        result
    }
}

async fn send(client: Https, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let (head, body) = client.request(request.map(Full::new)).await?.into_parts();
    let body = Limited::new(body, MAX_ANSWER).collect().await?.to_bytes();
    Ok(Response::from_parts(head, body))
}

#[cfg(test)]
mod tests;
