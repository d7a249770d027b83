//! A real guest sends requests: rights, identities out of Secrets, budgets and deadlines hold for it.
//!
//! Needs `outside.wasm`, built by `cargo xtask test` (`PILOTHOUSE_TEST_PLUGINS` names its directory); skips aloud without it.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Response};
use kube::client::Body;
use pilothouse::binding::Binding;
use pilothouse::blob::table::{Metrics as TransferMetrics, Transfers};
use pilothouse::capability::grants::GrantSpec;
use pilothouse::capability::rule::Rule;
use pilothouse::cluster::Cluster;
use pilothouse::cluster::request::Api;
use pilothouse::controller::discovery::Discovery;
use pilothouse::controller::observe::Observer;
use pilothouse::controller::throttle::Throttle;
use pilothouse::controller::watch::Watches;
use pilothouse::egress::Egress;
use pilothouse::egress::metrics::Metrics;
use pilothouse::object::{Gvk, ObjectKey, Owner};
use pilothouse::plugin::bindings::{Request as Asked, WitGvk};
use pilothouse::plugin::call::{Answer, Hook, call};
use pilothouse::plugin::compiled::CompiledCache;
use pilothouse::plugin::compiler::Compiler;
use pilothouse::plugin::context::HookContext;
use pilothouse::plugin::engine::{Engine, EngineOptions};
use pilothouse::plugin::package::Package;
use pilothouse::plugin::revision::Revision;
use pilothouse::telemetry::ClientMetrics;
use pilothouse::telemetry::series::PluginMetrics;
use serde_json::{Value, json};

use crate::server::{Authority, Pair, Scripted, acceptor, full, mebibytes, serve};

const SERVICES: &str = "https://*.NAMESPACE.svc:2379";

/// The guest under grants; none (said aloud) when it was not built.
fn revision(grant: &GrantSpec) -> Option<Revision> {
    let directory = std::env::var_os("PILOTHOUSE_TEST_PLUGINS").map(PathBuf::from);
    let Some(bytes) = directory.and_then(|dir| std::fs::read(dir.join("outside.wasm")).ok()) else {
        pilothouse_testbed::skip("no PILOTHOUSE_TEST_PLUGINS with outside.wasm; run `cargo xtask test`");
        return None;
    };
    let package = Package::read(bytes).unwrap();
    let engine = Engine::new(EngineOptions { slots: 4 }).unwrap();
    Some(Revision::prepare(&engine, &CompiledCache::none(Compiler::Here), &package, Some(grant)).unwrap())
}

fn grant(egress: &[&str], verbs: &[&str]) -> GrantSpec {
    let rule = Rule {
        api_groups: vec![String::new()],
        resources: vec!["secrets".to_owned()],
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..Rule::default()
    };
    let egress = egress.iter().map(|place| place.parse().unwrap()).collect();
    GrantSpec { kube: vec![rule], egress, ..GrantSpec::default() }
}

type Secrets = Arc<Mutex<Vec<(String, Value)>>>;

/// An API server that has Secrets in namespace shop and nothing else.
async fn api_server(request: Request<Body>, secrets: Secrets) -> Result<Response<Body>, Infallible> {
    let resources = json!([{"resource": "secrets", "scope": "Namespaced", "singularResource": "secret", "verbs": ["get"],
        "responseKind": {"group": "", "version": "v1", "kind": "Secret"}}]);
    let list = |items: Value| json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    let (code, body) = match request.uri().path() {
        "/api" => {
            (200, list(json!([{"metadata": {}, "versions": [{"version": "v1", "resources": resources}]}])))
        }
        "/apis" => (200, list(json!([]))),
        path => {
            let name = path.strip_prefix("/api/v1/namespaces/shop/secrets/").unwrap_or_default();
            let secrets = secrets.lock().unwrap();
            match secrets.iter().rev().find(|(known, _)| known == name) {
                Some((_, secret)) => (200, secret.clone()),
                None => (
                    404,
                    json!({"kind": "Status", "reason": "NotFound", "message": "not found", "code": 404}),
                ),
            }
        }
    };
    Ok(Response::builder().status(code).body(Body::from(body.to_string().into_bytes())).unwrap())
}

fn secret(authority: &Authority, client: &Pair) -> Value {
    let entries = [
        ("ca.crt", authority.pem()),
        ("tls.crt", client.certificate.clone()),
        ("tls.key", client.key.clone()),
    ];
    let data: serde_json::Map<_, _> =
        entries.into_iter().map(|(key, text)| (key.to_owned(), STANDARD.encode(text).into())).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "etcd-tls", "namespace": "shop"}, "data": data})
}

fn context(revision: &Revision, egress: &Arc<Egress>, secrets: &Secrets) -> Arc<HookContext> {
    context_with(revision, egress, secrets, None)
}

fn context_with(
    revision: &Revision,
    egress: &Arc<Egress>,
    secrets: &Secrets,
    transfers: Option<&Arc<Transfers>>,
) -> Arc<HookContext> {
    let secrets = Arc::clone(secrets);
    let client = kube::Client::new(
        tower::service_fn(move |request| api_server(request, Arc::clone(&secrets))),
        "shop",
    );
    let discovery = Arc::new(Discovery::new(client.clone()));
    let watches = Arc::new(Watches::new(client.clone(), Arc::clone(&discovery)));
    let (observer, _) = Observer::new(watches, &[]);
    let api = Api::new(client, ClientMetrics::default());
    let gvk = Arc::new(Gvk::new("test.pilothouse.dev", "v1", "Outside"));
    Arc::new(HookContext {
        plugin: Arc::clone(&revision.identity),
        grants: Arc::clone(&revision.grants),
        owner: Owner { key: ObjectKey::new(Arc::clone(&gvk), Some("shop"), "x"), uid: Arc::from("u") },
        binding: Arc::new(Binding::new(&revision.identity.name, gvk, Duration::from_secs(600), "test")),
        manager: pilothouse::action::execute::Manager { name: "test".to_owned(), supersedes: Vec::new() },
        throttle: Arc::new(Throttle::new(1_000.0, 1_000)),
        cluster: Arc::new(Cluster::new(api, discovery, Arc::new(observer))),
        metrics: Arc::new(PluginMetrics::default()),
        charts: None,
        wishes: Arc::default(),
        egress: Arc::clone(egress),
        transfers: transfers.cloned(),
        commands: None,
        handovers: None,
        announcer: None,
    })
}

/// The status of a call for an object with this spec.
async fn told(revision: &Revision, context: Arc<HookContext>, spec: Value) -> Value {
    let asked = Asked {
        kind: WitGvk { group: "test.pilothouse.dev".to_owned(), version: "v1".to_owned(), kind: "Outside".to_owned() },
        object: json!({"apiVersion": "test.pilothouse.dev/v1", "kind": "Outside", "metadata": {"name": "x", "namespace": "shop"}, "spec": spec}).to_string(),
        reasons: Vec::new(),
        failures: 0,
        deadline_ms: 4_000,
    };
    match call(revision, Hook::Reconcile, &asked, context).await.0 {
        Ok(Answer::Done(reply)) => reply.status.unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn told_outside(
    grant: &GrantSpec,
    network: &Arc<Scripted>,
    secrets: &Secrets,
    spec: Value,
) -> Option<Value> {
    let revision = revision(grant)?;
    let egress = Arc::new(Egress::new(network.clone(), Metrics::default()));
    Some(told(&revision, context(&revision, &egress, secrets), spec).await)
}

fn get(url: &str) -> Value {
    json!({"method": "GET", "url": url})
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_grant_or_a_wish_in_the_manifest_nothing_is_sent_and_the_sentence_says_what_is_missing() {
    let network = Arc::new(Scripted::default());
    let spec = json!({"requests": [get("https://etcd.shop.svc:2379/health"), get("https://etcd.bank.svc:2379/"), get("ftp://a/")]});
    let Some(status) = told_outside(&grant(&[], &[]), &network, &Secrets::default(), spec).await else {
        return;
    };
    let said = |index: usize| status["answers"][index]["message"].as_str().unwrap().to_owned();
    assert!(said(0).contains("https://etcd.shop.svc:2379 may not be reached: the administrator's grants do not have it (`egress`)"), "{status}");
    assert!(said(1).contains("the plugin's manifest does not ask for it (`rights.egress`)"), "{status}");
    assert_eq!(status["answers"][0]["error"], "Denied");
    assert!(network.met.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_talks_under_an_identity_it_never_sees_and_a_new_key_is_used_by_the_next_call() {
    let (authority, others) = (Authority::new(), Authority::new());
    let tls = acceptor(&authority.signs("etcd.shop.svc"), Some(&authority));
    let server = serve(Some(tls), |request| async move {
        use http_body_util::BodyExt as _;
        let path = request.uri().path().to_owned();
        let got = request.into_body().collect().await.unwrap().to_bytes().len();
        Response::new(full(format!("{path} {got}")))
    })
    .await;
    let network = Arc::new(Scripted::default());
    network.name("etcd.shop.svc", &["10.1.2.3"]);
    network.door("10.1.2.3:2379", server);
    let grant = grant(&[SERVICES], &["use"]);
    let Some(revision) = revision(&grant) else { return };
    let egress = Arc::new(Egress::new(network, Metrics::default()));
    let secrets = Secrets::default();
    let request = json!({"method": "POST", "url": "https://etcd.shop.svc:2379/v3/kv/range", "bytes": 10_000});
    let identity = json!({"servers": SERVICES, "namespace": "shop", "secret": "etcd-tls"});
    let spec = json!({"identity": identity, "requests": [request]});
    let context = context(&revision, &egress, &secrets);

    let missing = told(&revision, Arc::clone(&context), spec.clone()).await;
    assert_eq!(missing["identity"], "Unusable(\"Secret shop/etcd-tls is not there\")");

    secrets.lock().unwrap().push(("etcd-tls".to_owned(), secret(&authority, &others.signs("me"))));
    let stranger = told(&revision, Arc::clone(&context), spec.clone()).await;
    assert_eq!(stranger["answers"][0]["error"], "Tls", "{stranger}");

    secrets.lock().unwrap().push(("etcd-tls".to_owned(), secret(&others, &authority.signs("me"))));
    let distrusted = told(&revision, Arc::clone(&context), spec.clone()).await;
    assert!(
        distrusted["answers"][0]["message"]
            .as_str()
            .unwrap()
            .contains("certificate of etcd.shop.svc:2379 is not accepted"),
        "{distrusted}"
    );

    secrets.lock().unwrap().push(("etcd-tls".to_owned(), secret(&authority, &authority.signs("me"))));
    let known = told(&revision, Arc::clone(&context), spec).await;
    assert_eq!(known["answers"][0]["status"], 200, "{known}");
    assert_eq!(known["answers"][0]["start"], "/v3/kv/range 10000");
    assert_eq!(known["secret"], "Forbidden", "it may have it used, not see it: {known}");
    assert_eq!(egress.metrics.count("outside", "2xx"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_no_grant_lets_it_use_is_not_read() {
    let identity = json!({"servers": SERVICES, "namespace": "shop", "secret": "etcd-tls"});
    let network = Arc::new(Scripted::default());
    let spec = json!({"identity": identity, "requests": []});
    let Some(status) =
        told_outside(&grant(&[SERVICES], &["list"]), &network, &Secrets::default(), spec).await
    else {
        return;
    };
    let said = status["identity"].as_str().unwrap();
    assert!(said.starts_with("Denied(") && said.contains("use secrets") && said.contains("grants"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_bodies_slow_servers_and_bad_addresses_end_as_errors_of_the_request_and_never_of_the_call() {
    let endless = serve(None, |_| async { Response::new(mebibytes(usize::MAX)) }).await;
    let silent = serve(None, |_| std::future::pending()).await;
    let network = Arc::new(Scripted::default());
    for (name, address) in [
        ("endless.example", "8.8.8.1"),
        ("silent.example", "8.8.8.2"),
        ("inside.example", "10.0.0.1"),
        ("cloud.example", "169.254.169.254"),
    ] {
        network.name(name, &[address]);
    }
    network.door("8.8.8.1:80", endless);
    network.door("8.8.8.2:80", silent);
    let slow = json!({"method": "GET", "url": "http://silent.example", "timeoutMs": 50});
    let requests = json!([
        slow,
        get("http://inside.example"),
        get("http://cloud.example"),
        get("http://nowhere.example"),
        get("http://127.0.0.1:1"),
        get("http://endless.example"),
        get("http://silent.example")
    ]);
    let grant = grant(&["http://*:*"], &[]);
    let begin = Instant::now();
    let Some(status) =
        told_outside(&grant, &network, &Secrets::default(), json!({"requests": requests})).await
    else {
        return;
    };
    let errors: Vec<&str> =
        status["answers"].as_array().unwrap().iter().map(|a| a["error"].as_str().unwrap_or("none")).collect();
    // The engine hands on that a body ended, and not why: the sentence says so.
    assert_eq!(
        errors[..6],
        ["Timeout", "Denied", "Denied", "Unreachable", "Denied", "Unreachable"],
        "{status}"
    );
    let said = status["answers"][5]["message"].as_str().unwrap();
    assert!(said.contains("budget of bytes"), "{said}");
    // What the endless one has left of the call's budget and time may be enough to ask and is not to be answered.
    assert!(["Timeout", "TooLarge"].contains(&errors[6]), "{status}");
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_does_not_make_the_call_a_fault() {
    let silent = serve(None, |_| std::future::pending()).await;
    let network = Arc::new(Scripted::default());
    network.name("silent.example", &["8.8.8.2"]);
    network.door("8.8.8.2:80", silent);
    let spec = json!({"requests": [get("http://silent.example")]});
    let Some(status) = told_outside(&grant(&["http://*"], &[]), &network, &Secrets::default(), spec).await
    else {
        return;
    };
    assert_eq!(status["answers"][0]["error"], "Timeout", "{status}");
    assert!(status["answers"][0]["message"].as_str().unwrap().contains("the call's time was up"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_keeps_objects_and_is_called_when_what_it_had_fetched_is_there() {
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    let url = format!("file://{}", directory.path().canonicalize().unwrap().display());
    let network = Arc::new(Scripted::default());
    network.name("files.example", &["8.8.8.1"]);
    network.door("8.8.8.1:80", serve(None, |_| async { Response::new(mebibytes(40)) }).await);
    let spec = json!({"store": {"url": url, "from": "http://files.example/large"}});

    let without = grant(&["http://*"], &[]);
    let Some(status) = told_outside(&without, &network, &Secrets::default(), spec.clone()).await else {
        return;
    };
    assert!(
        status["stored"]["message"]
            .as_str()
            .unwrap()
            .contains("the administrator's grants do not have it (`stores`)"),
        "{status}"
    );

    let grant = GrantSpec { stores: vec![url.parse().unwrap()], ..without };
    let Some(revision) = revision(&grant) else { return };
    let egress = Arc::new(Egress::new(network, Metrics::default()));
    let (transfers, mut ended) = Transfers::new(TransferMetrics::default());
    let context = context_with(&revision, &egress, &Secrets::default(), Some(&transfers));
    let first = told(&revision, Arc::clone(&context), spec.clone()).await;
    assert_eq!(first["stored"]["part"], "tent", "{first}");
    assert_eq!(first["stored"]["progress"]["state"], "Running");
    assert_eq!(first["stored"]["keys"], json!(["small"]));
    assert_eq!(ended.recv().await, Some(vec![context.owner.key.clone()]));
    let second = told(&revision, context, spec).await;
    assert_eq!(second["stored"]["progress"], json!({"state": "Done", "bytes": 40 << 20}), "{second}");
    assert_eq!(second["stored"]["keys"], json!(["large", "small"]));
}
