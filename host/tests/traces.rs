//! Traces of the host at work: the real binary, a real API server, a collector that keeps what it is sent.
//!
//! Needs plugins built by `cargo xtask plugins` (`PILOTHOUSE_TEST_PLUGINS` names their directory) and the programs of a
//! control plane; skips aloud without them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use pilothouse_testbed::Cluster;
use prost::Message as _;

const PATIENCE: Duration = Duration::from_secs(120);

type Spans = Arc<Mutex<Vec<Span>>>;

/// A collector on a runtime of its own.
fn collector() -> (String, Spans, tokio::runtime::Runtime) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let spans = Spans::default();
    let kept = Arc::clone(&spans);
    let take = move |body: axum::body::Bytes| async move {
        let request = ExportTraceServiceRequest::decode(body).unwrap();
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        kept.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
    };
    let app = axum::Router::new().route("/v1/traces", axum::routing::post(take));
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    runtime.spawn(axum::serve(listener, app).into_future());
    (url, spans, runtime)
}

struct Host(Child);

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(cluster: &Cluster, directory: &Path, endpoint: &str) -> Host {
    let log = std::fs::File::create(directory.join("host.log")).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_pilothouse"))
        .current_dir(directory)
        .args(["run", "--grant-requested", "--metrics-bind-address=0", "--health-probe-bind-address=0"])
        .arg(format!("--kubeconfig={}", cluster.kubeconfig().display()))
        .arg(format!("--plugin-dir={}", directory.display()))
        .arg(format!("--cache-dir={}", directory.join("compiled").display()))
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    Host(child)
}

fn plugin(name: &str) -> Option<PathBuf> {
    let file = PathBuf::from(std::env::var_os("PILOTHOUSE_TEST_PLUGINS")?).join(name);
    file.is_file().then_some(file)
}

fn text(span: &Span, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|attribute| attribute.value.clone()?.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_reconcile_is_one_wide_span_above_its_hook_and_the_requests_it_led_to() {
    let Some(file) = plugin("hello.wasm") else {
        return eprintln!("SKIPPED: no PILOTHOUSE_TEST_PLUGINS with hello.wasm; run `cargo xtask test`");
    };
    if std::env::var_os("PILOTHOUSE_NO_CLUSTER").is_some() {
        return eprintln!("SKIPPED: PILOTHOUSE_NO_CLUSTER is set");
    }
    let cluster = Cluster::shared().unwrap();
    let (endpoint, spans, _runtime) = collector();
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(file, directory.path().join("hello.wasm")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/hello");
    cluster.kubectl(&["apply", "-f", &root.join("crd.yaml").display().to_string()]).unwrap();
    cluster.kubectl(&["create", "namespace", "traced"]).unwrap();
    let sample = root.join("sample.yaml").display().to_string();
    cluster.kubectl(&["apply", "-n", "traced", "-f", &sample]).unwrap();
    let _host = start(cluster, directory.path(), &endpoint);

    let started = Instant::now();
    let creates = |span: &Span| {
        span.name.starts_with("PATCH /apis/apps/v1/namespaces/traced/deployments")
            && text(span, "http.response.status_code") == "201"
    };
    while !spans.lock().unwrap().iter().any(creates) {
        let log = || std::fs::read_to_string(directory.path().join("host.log")).unwrap();
        assert!(started.elapsed() < PATIENCE, "no span of the Deployment's creation:\n{}", log());
        std::thread::yield_now();
    }
    let spans = spans.lock().unwrap();
    let create = spans.iter().find(|span| creates(span)).unwrap();
    let reconcile = spans.iter().find(|span| span.span_id == create.parent_span_id).unwrap();
    assert_eq!(reconcile.name, "reconcile");
    assert_eq!(text(reconcile, "plugin"), "hello");
    assert!(text(reconcile, "object").contains("traced/world"), "{reconcile:?}");
    assert_eq!(text(reconcile, "hook"), "reconcile");
    assert!(text(reconcile, "writes").parse::<u32>().unwrap() >= 4, "{reconcile:?}");
    let hook = spans.iter().find(|span| span.name == "hook reconcile" && span.trace_id == create.trace_id);
    assert_eq!(hook.unwrap().parent_span_id, reconcile.span_id);
}
