//! What a plugin does wrong stays with that plugin: real guest, real engine, a scripted API server.
//!
//! Needs `misbehave.wasm`, built by `cargo xtask plugins` (`PILOTHOUSE_TEST_PLUGINS` names its directory); skips aloud
//! without it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use kube::client::Body;
use pilothouse::binding::Binding;
use pilothouse::capability::grants::GrantSpec;
use pilothouse::cluster::Cluster;
use pilothouse::cluster::request::Api;
use pilothouse::controller::discovery::Discovery;
use pilothouse::controller::observe::Observer;
use pilothouse::controller::throttle::Throttle;
use pilothouse::controller::watch::Watches;
use pilothouse::object::Owner;
use pilothouse::object::{Gvk, ObjectKey};
use pilothouse::plugin::call::{Answer, Fault, Hook, Reply, call};
use pilothouse::plugin::compiled::CompiledCache;
use pilothouse::plugin::compiler::Compiler;
use pilothouse::plugin::context::HookContext;
use pilothouse::plugin::engine::{Engine, EngineOptions};
use pilothouse::plugin::package::Package;
use pilothouse::plugin::revision::Revision;
use pilothouse::telemetry::ClientMetrics;
use pilothouse::telemetry::series::PluginMetrics;

/// The guest with good code and with a draft; none (said aloud) when it was not built.
fn revisions() -> Vec<Arc<Revision>> {
    with_engines().into_iter().map(|(_, revision)| revision).collect()
}

/// The same with the engine of each.
fn with_engines() -> Vec<(Engine, Arc<Revision>)> {
    let directory = std::env::var_os("PILOTHOUSE_TEST_PLUGINS").map(PathBuf::from);
    let Some(bytes) = directory.and_then(|dir| std::fs::read(dir.join("misbehave.wasm")).ok()) else {
        eprintln!("SKIPPED: no PILOTHOUSE_TEST_PLUGINS with misbehave.wasm; run `cargo xtask test`");
        return Vec::new();
    };
    let package = Package::read(bytes).unwrap();
    let grant = GrantSpec { all_requested: true, ..GrantSpec::default() };
    let cache = CompiledCache::none(Compiler::Here);
    let engines = [Engine::new(EngineOptions { slots: 16 }), Engine::for_drafts()];
    let revision = |engine: &Engine| Revision::prepare(engine, &cache, &package, Some(&grant)).unwrap();
    let with_revision = |engine: Engine| (engine.clone(), Arc::new(revision(&engine)));
    engines.into_iter().map(|engine| with_revision(engine.unwrap())).collect()
}

/// An API server that serves Secrets and ConfigMaps by discovery and nothing else.
async fn serve(request: Request<Body>) -> Result<Response<Body>, std::convert::Infallible> {
    let resources = serde_json::json!([
        {"resource": "secrets", "responseKind": {"group": "", "version": "v1", "kind": "Secret"}, "scope": "Namespaced",
         "singularResource": "secret", "verbs": ["get"]},
    ]);
    let list = |items: serde_json::Value| serde_json::json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    let (code, body) = match request.uri().path() {
        "/api" => (
            200,
            list(
                serde_json::json!([{"metadata": {}, "versions": [{"version": "v1", "resources": resources}]}]),
            ),
        ),
        "/apis" => (200, list(serde_json::json!([]))),
        "/version" => (
            200,
            serde_json::json!({"major": "1", "minor": "34", "gitVersion": "v1.34.4", "gitCommit": "",
            "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}),
        ),
        path => (
            404,
            serde_json::json!({"kind": "Status", "reason": "NotFound", "message": format!("{path} not found"), "code": 404}),
        ),
    };
    Ok(Response::builder().status(code).body(Body::from(body.to_string().into_bytes())).unwrap())
}

fn context(revision: &Revision) -> Arc<HookContext> {
    let client = kube::Client::new(tower::service_fn(serve), "default");
    let discovery = Arc::new(Discovery::new(client.clone()));
    let watches = Arc::new(Watches::new(client.clone(), Arc::clone(&discovery)));
    let (observer, _) = Observer::new(watches, &[]);
    let api = Api::new(client, ClientMetrics::default());
    let gvk = Arc::new(Gvk::new("test.pilothouse.dev", "v1", "Misbehave"));
    Arc::new(HookContext {
        plugin: Arc::clone(&revision.identity),
        grants: Arc::clone(&revision.grants),
        owner: Owner { key: ObjectKey::new(Arc::clone(&gvk), Some("default"), "x"), uid: Arc::from("u") },
        binding: Arc::new(Binding::new(&revision.identity.name, gvk, Duration::from_secs(600), "test")),
        manager: pilothouse::action::execute::Manager { name: "test".to_owned(), supersedes: Vec::new() },
        throttle: Arc::new(Throttle::new(1_000.0, 1_000)),
        cluster: Arc::new(Cluster::new(api, discovery, Arc::new(observer))),
        metrics: Arc::new(PluginMetrics::default()),
        charts: None,
        wishes: Arc::default(),
        egress: Arc::default(),
        transfers: None,
        commands: None,
        handovers: None,
        announcer: None,
    })
}

async fn told_to(revision: &Arc<Revision>, what: &str) -> Result<Reply, Fault> {
    let request = pilothouse::plugin::bindings::Request {
        kind: pilothouse::plugin::bindings::WitGvk {
            group: "test.pilothouse.dev".to_owned(),
            version: "v1".to_owned(),
            kind: "Misbehave".to_owned(),
        },
        object: serde_json::json!({"spec": {"do": what}}).to_string(),
        reasons: Vec::new(),
        failures: 0,
        deadline_ms: 1_000,
    };
    match call(revision, Hook::Reconcile, &request, context(revision)).await.0? {
        Answer::Done(reply) => Ok(*reply),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_misdeed_is_a_fault_with_its_own_reason_and_the_next_call_is_well() {
    for revision in revisions() {
        for (what, reason) in [
            ("trap", "PluginTrapped"),
            ("loop", "PluginCpuExceeded"),
            ("allocate", "PluginMemoryExceeded"),
            ("recurse", "PluginTrapped"),
            ("bad-status", "PluginAnswerInvalid"),
            ("bad-child", "PluginAnswerInvalid"),
            ("bad-condition", "PluginAnswerInvalid"),
            ("large-answer", "PluginAnswerInvalid"),
        ] {
            let fault = told_to(&revision, what).await.unwrap_err();
            assert_eq!(fault.reason(), reason, "{what}: {fault}");
            assert!(told_to(&revision, "nothing").await.is_ok(), "after {what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_that_stops_guests_stands_when_none_runs() {
    for (engine, revision) in with_engines() {
        assert!(!engine.runs(), "before any call");
        for what in ["nothing", "nothing", "loop", "trap"] {
            let _ = told_to(&revision, what).await;
            assert!(!engine.runs(), "after {what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_large_is_told_with_the_size_it_may_have() {
    for revision in revisions() {
        let fault = told_to(&revision, "large-answer").await.unwrap_err();
        assert!(fault.to_string().contains(&revision.limits.answer_bytes.to_string()), "{fault}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_log_lines_is_cut_and_counted_but_is_no_fault() {
    for revision in revisions() {
        let request = pilothouse::plugin::bindings::Request {
            kind: pilothouse::plugin::bindings::WitGvk {
                group: String::new(),
                version: String::new(),
                kind: String::new(),
            },
            object: serde_json::json!({"spec": {"do": "log-flood"}}).to_string(),
            reasons: Vec::new(),
            failures: 0,
            deadline_ms: 1_000,
        };
        let (answer, cost) = call(&revision, Hook::Reconcile, &request, context(&revision)).await;
        assert!(answer.is_ok());
        // Four KiB hold two lines of 2,000 bytes.
        assert_eq!(cost.dropped_lines, 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn host_calls_beyond_the_budget_are_answered_as_exhausted() {
    for revision in revisions() {
        let reply = told_to(&revision, "many-calls").await.unwrap();
        assert_eq!(reply.status.unwrap()["exhausted"], 10);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_was_not_asked_for_is_refused_before_any_request() {
    for revision in revisions() {
        let reply = told_to(&revision, "foreign").await.unwrap();
        assert_eq!(reply.status.unwrap()["denied"], "get secrets grants");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_finds_no_files_no_environment_and_no_assets_of_others() {
    for revision in revisions() {
        let reply = told_to(&revision, "look-around").await.unwrap();
        assert_eq!(reply.status.unwrap(), serde_json::json!({"files": 0, "variables": 0, "asset": true}));
    }
}
