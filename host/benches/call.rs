//! What one hook call costs beside the same work done natively and behind a webhook on the loopback interface.
//!
//! Run by `cargo xtask bench call`; every figure of a row comes from this run, the rows take turns. The engine, the limits
//! and the checks are those of the host at work.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
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
use pilothouse::plugin::bindings::{Request, WitGvk};
use pilothouse::plugin::call::{Answer, Hook, call};
use pilothouse::plugin::compiled::CompiledCache;
use pilothouse::plugin::compiler::Compiler;
use pilothouse::plugin::context::HookContext;
use pilothouse::plugin::engine::{Engine, EngineOptions};
use pilothouse::plugin::manifest::Model;
use pilothouse::plugin::package::Package;
use pilothouse::plugin::revision::Revision;
use pilothouse::telemetry::ClientMetrics;
use pilothouse::telemetry::series::PluginMetrics;
use serde_json::{Value, json};

/// Calls of one row before another takes its turn.
const TURN: usize = 250;
const TURNS: usize = 20;
const THROUGHPUT: Duration = Duration::from_secs(2);

fn main() {
    let Some(directory) = std::env::var_os("PILOTHOUSE_TEST_PLUGINS").map(PathBuf::from) else {
        return eprintln!(
            "SKIPPED: PILOTHOUSE_TEST_PLUGINS names no directory; run `cargo xtask bench call`"
        );
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(measure(&directory));
}

async fn measure(directory: &Path) {
    let engine = Engine::new(EngineOptions::default()).unwrap();
    let kept = tempfile::tempdir().unwrap();
    let cache = CompiledCache::open(kept.path(), Compiler::Here);
    println!("{}", loads(directory, &engine, &cache));
    let fresh = prepare(directory, "triplet", &engine, &cache, Model::Fresh);
    let warm = prepare(directory, "triplet", &engine, &cache, Model::Pooled);
    let peer = Webhook::start().await;
    let mut rows = [
        ("natively", Vec::new()),
        ("warm instance", Vec::new()),
        ("fresh instance for each call", Vec::new()),
        ("webhook on loopback, connection kept", Vec::new()),
    ];
    for turn in 0..=TURNS {
        for (index, (_, times)) in rows.iter_mut().enumerate() {
            for _ in 0..TURN {
                let started = Instant::now();
                match index {
                    0 => natively(),
                    1 => plugin(&warm).await,
                    2 => plugin(&fresh).await,
                    _ => peer.ask().await,
                }
                // The first turn warms caches.
                if turn > 0 {
                    times.push(started.elapsed());
                }
            }
        }
    }
    println!("{}", calls(&rows));
    println!("{}", throughput(&fresh).await);
}

/// An object of some 1.4 kB, as one comes from the API server.
fn object() -> &'static str {
    static TEXT: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    TEXT.get_or_init(|| {
        let env: Vec<_> = (0..8).map(|i| json!({"name": format!("SETTING_{i}"), "value": format!("value {i}")})).collect();
        json!({
            "apiVersion": "test.pilothouse.dev/v1", "kind": "Triplet",
            "metadata": {
                "name": "sample", "namespace": "default", "uid": "6f1c2b1e-8f0a-4b7e-9a6e-0d6d2f9b7c11",
                "resourceVersion": "123456", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"app.kubernetes.io/name": "sample", "app.kubernetes.io/part-of": "bench"},
                "annotations": {"example.com/note": "an annotation that says a little about this object"},
            },
            "spec": {
                "image": "registry.example.com/team/app:1.2.3", "replicas": 3, "port": 8080, "env": env,
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
                "config": {"app.toml": "[server]\nport = 8080\nworkers = 4\n[log]\nlevel = \"info\"\nformat = \"json\"\n"},
            },
            "status": {
                "observedGeneration": 3,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Available", "message": "3 of 3 pods are ready",
                                "lastTransitionTime": "2026-01-01T00:00:10Z", "observedGeneration": 3}],
            },
        })
        .to_string()
    })
}

fn natively() {
    let texts = triplet::children(object());
    // The host reads every child of an answer; who does it natively has them as values, too.
    let children: Vec<Value> = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(std::hint::black_box(children).len(), 3);
}

async fn plugin(revision: &Arc<Revision>) {
    let request = Request {
        kind: WitGvk {
            group: "test.pilothouse.dev".to_owned(),
            version: "v1".to_owned(),
            kind: "Triplet".to_owned(),
        },
        object: object().to_owned(),
        reasons: Vec::new(),
        failures: 0,
        deadline_ms: 1_000,
    };
    let context = context(revision);
    match call(revision, Hook::Reconcile, &request, context).await.0.unwrap() {
        Answer::Done(reply) => assert_eq!(reply.children.unwrap().len(), 3),
        other => panic!("{other:?}"),
    }
}

fn prepare(
    directory: &Path,
    name: &str,
    engine: &Engine,
    cache: &CompiledCache,
    model: Model,
) -> Arc<Revision> {
    let mut package = Package::read(std::fs::read(directory.join(format!("{name}.wasm"))).unwrap()).unwrap();
    package.manifest.instance.model = model;
    let grant = GrantSpec { all_requested: true, ..GrantSpec::default() };
    Arc::new(Revision::prepare(engine, cache, &package, Some(&grant)).unwrap())
}

/// Of a call that asks the cluster nothing.
fn context(revision: &Arc<Revision>) -> Arc<HookContext> {
    static CLUSTER: std::sync::OnceLock<Arc<Cluster>> = std::sync::OnceLock::new();
    let cluster = CLUSTER.get_or_init(|| {
        let nobody = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Ok::<_, std::io::Error>(http::Response::new(kube::client::Body::empty()))
        });
        let client = kube::Client::new(nobody, "default");
        let discovery = Arc::new(Discovery::new(client.clone()));
        let watches = Arc::new(Watches::new(client.clone(), Arc::clone(&discovery)));
        let (observer, _) = Observer::new(watches, &[]);
        let api = Api::new(client, ClientMetrics::default());
        Arc::new(Cluster::new(api, discovery, Arc::new(observer)))
    });
    let gvk = Arc::new(Gvk::new("test.pilothouse.dev", "v1", "Triplet"));
    Arc::new(HookContext {
        plugin: Arc::clone(&revision.identity),
        grants: Arc::clone(&revision.grants),
        owner: Owner {
            key: ObjectKey::new(Arc::clone(&gvk), Some("default"), "sample"),
            uid: Arc::from("u"),
        },
        binding: Arc::new(Binding::new(&revision.identity.name, gvk, Duration::from_secs(600), "bench")),
        manager: pilothouse::action::execute::Manager { name: "bench".to_owned(), supersedes: Vec::new() },
        throttle: Arc::new(Throttle::new(1_000.0, 1_000)),
        cluster: Arc::clone(cluster),
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

/// The peer: the same function behind HTTP, spoken to as Metacontroller speaks to its hooks.
struct Webhook {
    url: String,
    client: Client<HttpConnector, Full<bytes::Bytes>>,
}

impl Webhook {
    async fn start() -> Self {
        let answer = |body: String| async move {
            let request: Value = serde_json::from_str(&body).unwrap();
            let children = triplet::children(&request["parent"].to_string());
            let children: Vec<Value> =
                children.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
            json!({"status": {}, "children": children}).to_string()
        };
        let app = axum::Router::new().route("/sync", axum::routing::post(answer));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/sync", listener.local_addr().unwrap());
        // Its own threads, as a hook's process has: the caller's are busy with waiting.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let listener = listener.into_std().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
        Self { url, client: Client::builder(TokioExecutor::new()).build_http() }
    }

    async fn ask(&self) {
        let body = format!("{{\"parent\":{}}}", object());
        let request = http::Request::post(&self.url).body(Full::from(body)).unwrap();
        let answer = self.client.request(request).await.unwrap().into_body().collect().await.unwrap();
        let answer: Value = serde_json::from_slice(&answer.to_bytes()).unwrap();
        assert_eq!(answer["children"].as_array().unwrap().len(), 3);
    }
}

fn calls(rows: &[(&str, Vec<Duration>)]) -> String {
    let mut text = String::from(
        "| an object of 1.4 kB in, three children out | p50, µs | p99, µs | p50 beside the webhook |\n|---|---|---|---|\n",
    );
    let at = |times: &[Duration], share: f64| {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index"
        )]
        let index = (sorted.len() as f64 * share) as usize;
        sorted[index.min(sorted.len() - 1)].as_secs_f64() * 1e6
    };
    let webhook = at(&rows[rows.len() - 1].1, 0.5);
    for (name, times) in rows {
        let (middle, high) = (at(times, 0.5), at(times, 0.99));
        let _ = writeln!(text, "| {name} | {middle:.0} | {high:.0} | {:.2} |", middle / webhook);
    }
    text
}

/// Calls in a second on one thread and on all.
async fn throughput(revision: &Arc<Revision>) -> String {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut text = String::from("| fresh instances, tasks at once | calls in a second |\n|---|---|\n");
    for tasks in [1, threads] {
        let started = Instant::now();
        let workers: Vec<_> = (0..tasks)
            .map(|_| {
                let revision = Arc::clone(revision);
                tokio::spawn(async move {
                    let mut calls = 0_u64;
                    while started.elapsed() < THROUGHPUT {
                        plugin(&revision).await;
                        calls += 1;
                    }
                    calls
                })
            })
            .collect();
        let mut calls = 0;
        for worker in workers {
            calls += worker.await.unwrap();
        }
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let rate = calls as f64 / started.elapsed().as_secs_f64();
        let _ = writeln!(text, "| {tasks} | {rate:.0} |");
    }
    text
}

/// What it takes until a plugin can be called: the first time, and after a restart.
fn loads(directory: &Path, engine: &Engine, cache: &CompiledCache) -> String {
    let mut text = String::from(
        "| component | MB | compiled and linked, ms | from the cache, ms |\n|---|---|---|---|\n",
    );
    for name in ["triplet", "hello", "helm"] {
        let file = directory.join(format!("{name}.wasm"));
        let Ok(size) = file.metadata().map(|found| found.len()) else {
            let _ = writeln!(text, "| {name} | not built | | |");
            continue;
        };
        let mut took = [Duration::ZERO; 2];
        for time in &mut took {
            let started = Instant::now();
            drop(prepare(directory, name, engine, cache, Model::Fresh));
            *time = started.elapsed();
        }
        #[expect(clippy::cast_precision_loss, reason = "megabytes")]
        let size = size as f64 / 1e6;
        let [first, again] = took.map(|time| time.as_secs_f64() * 1e3);
        let _ = writeln!(text, "| {name} | {size:.2} | {first:.0} | {again:.1} |");
    }
    text
}
