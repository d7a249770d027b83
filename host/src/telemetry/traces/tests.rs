use std::sync::Mutex;

use axum::extract::State;
use axum::http::HeaderMap;
use clap::Parser;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;

/// What a collector was sent.
type Received = Arc<Mutex<Vec<(HeaderMap, ExportTraceServiceRequest)>>>;

async fn collector(code: u16) -> (String, Received) {
    let received = Received::default();
    let take = move |State(received): State<Received>, headers: HeaderMap, body: Bytes| async move {
        received.lock().unwrap().push((headers, ExportTraceServiceRequest::decode(body).unwrap()));
        http::StatusCode::from_u16(code).unwrap()
    };
    let app =
        axum::Router::new().route("/v1/traces", axum::routing::post(take)).with_state(Arc::clone(&received));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, app).into_future());
    (url, received)
}

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    traces: TraceArgs,
}

fn args(flags: &[&str]) -> TraceArgs {
    Flags::parse_from(["x"].iter().chain(flags)).traces
}

/// Does something within spans that go to a collector, and waits until they are there.
async fn traced(flags: &[&str], work: impl FnOnce()) {
    let traces = Traces::start(&args(flags), &Handle::current()).unwrap().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(traces.layer()), work);
    tokio::task::spawn_blocking(move || traces.finish()).await.unwrap();
}

fn spans(received: &Received) -> Vec<Span> {
    let requests = received.lock().unwrap();
    let resources = requests.iter().flat_map(|(_, request)| &request.resource_spans);
    resources.flat_map(|r| &r.scope_spans).flat_map(|s| &s.spans).cloned().collect()
}

fn text<'a>(span: &'a Span, key: &str) -> Option<&'a str> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_span_and_its_child_reach_the_collector_with_what_was_recorded_on_them() {
    let (url, received) = collector(200).await;
    traced(&["--otlp-endpoint", &format!("{url}/")], || {
        let outer =
            tracing::info_span!(target: "pilothouse::x", "reconcile", object = "a/b", result = "success");
        let _outer = outer.enter();
        let _inner = tracing::debug_span!(target: "pilothouse::x", "request", otel.kind = "client").entered();
        tracing::info!(target: "plugin", "said within");
        let _foreign = tracing::info_span!(target: "hyper", "connection").entered();
    })
    .await;
    let spans = spans(&received);
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let (outer, inner) = (named("reconcile"), named("request"));
    assert_eq!(spans.len(), 2, "only the host's own: {spans:?}");
    assert_eq!(inner.parent_span_id, outer.span_id);
    assert_eq!(text(outer, "object"), Some("a/b"));
    assert_eq!(inner.kind, 3, "a client's");
    assert_eq!(inner.events.len(), 1);
    let requests = received.lock().unwrap();
    let (headers, request) = &requests[0];
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let resource = format!("{:?}", request.resource_spans[0].resource);
    assert!(resource.contains("service.name") && resource.contains("pilothouse"), "{resource}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_refuses_or_is_away_costs_spans_and_nothing_else() {
    let (url, received) = collector(400).await;
    traced(&["--otlp-endpoint", &url], || drop(tracing::info_span!(target: "pilothouse", "lost"))).await;
    assert_eq!(received.lock().unwrap().len(), 1);
    traced(&["--otlp-endpoint", "http://127.0.0.1:1"], || {
        drop(tracing::info_span!(target: "pilothouse", "lost"));
    })
    .await;
}

#[test]
fn without_an_endpoint_or_when_switched_off_there_are_no_traces() {
    let off = |flags: &[&str]| args(flags).url().unwrap().is_none();
    assert!(off(&[]));
    assert!(off(&["--otlp-endpoint="]));
    assert!(off(&["--otlp-endpoint=http://c:4318", "--otel-sdk-disabled=true"]));
    assert!(off(&["--otlp-endpoint=http://c:4318", "--traces-exporter=none"]));
}

#[test]
fn an_endpoint_of_traces_alone_is_taken_as_it_is() {
    let url = |flags: &[&str]| args(flags).url().unwrap().unwrap();
    assert_eq!(url(&["--otlp-endpoint=http://c:4318"]), "http://c:4318/v1/traces");
    assert_eq!(
        url(&["--otlp-endpoint=http://c:4318", "--otlp-traces-endpoint=https://t/in"]),
        "https://t/in"
    );
}

#[test]
fn a_wrong_endpoint_or_another_protocol_is_answered_with_what_to_do() {
    let error = |flags: &[&str]| args(flags).url().unwrap_err().to_string();
    assert_eq!(
        error(&["--otlp-endpoint=collector:4317"]),
        r#""collector:4317" is no OTLP endpoint such as http://collector:4318"#
    );
    let told = error(&["--otlp-endpoint=ftp://me:secret@collector"]);
    assert!(told.contains("collector") && !told.contains("secret"), "{told}");
    assert!(error(&["--otlp-endpoint=http://c:4317", "--otlp-protocol=grpc"]).contains("4318"));
}
