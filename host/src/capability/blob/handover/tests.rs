//! An API server that keeps Secrets, and the host before this one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::kube::client::Body;
use http::{Method, Request, Response};
use object_store::memory::InMemory;
use serde_json::Value;

use super::*;
use crate::action::execute::Manager;
use crate::action::ownership::OWNER_LABEL;
use crate::binding::Binding;
use crate::blob::store::{Backend, Store};
use crate::capability::grants::{GrantSpec, Grants};
use crate::cluster::fence::Fence;
use crate::command::context::cluster;
use crate::controller::throttle::Throttle;
use crate::handover::authority::Authority;
use crate::handover::table::Metrics;
use crate::object::{Gvk, ObjectKey, Owner};
use crate::plugin::identity::Identity;
use crate::plugin::manifest::Manifest;

const SECRETS: &str = "/api/v1/namespaces/shop/secrets/";

/// Secrets by name, and what was asked.
type Asked = (BTreeMap<String, Value>, Vec<String>);

#[derive(Clone, Default)]
struct Server(Arc<Mutex<Asked>>);

impl Server {
    fn state(&self) -> MutexGuard<'_, Asked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn secret(&self, name: &str) -> Option<Value> {
        self.state().0.get(name).cloned()
    }

    fn entry(&self, name: &str, entry: &str) -> String {
        let secret = self.secret(name).unwrap();
        String::from_utf8(STANDARD.decode(secret["data"][entry].as_str().unwrap()).unwrap()).unwrap()
    }

    fn client(&self) -> ::kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (method, path) = (request.method().clone(), request.uri().path().to_owned());
                let body = request.into_body().collect_bytes().await.unwrap();
                let (code, body) = server.answer(&method, &path, &body);
                let answer = Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
                Ok::<_, std::io::Error>(answer.unwrap())
            }
        });
        ::kube::Client::new(service, "default")
    }

    fn answer(&self, method: &Method, path: &str, body: &[u8]) -> (u16, Value) {
        let status =
            |code: u16, message: &str| (code, json!({"kind": "Status", "message": message, "code": code}));
        let Some(name) = path.strip_prefix(SECRETS) else { return discovery(path) };
        let mut state = self.state();
        state.1.push(format!("{method} {name}"));
        let secrets = &mut state.0;
        let said: Value = serde_json::from_slice(body).unwrap_or_default();
        match (method, secrets.get(name).cloned()) {
            (&Method::GET, Some(found)) => (200, found),
            (&Method::PATCH, Some(found)) if found["type"] != said["type"] => {
                status(422, "type: field is immutable")
            }
            (&Method::PATCH, found) => {
                let mut applied = said;
                let version = found.as_ref().map_or(1, |found| version(found) + 1);
                applied["metadata"]["uid"] = json!(format!("uid-of-{name}"));
                applied["metadata"]["resourceVersion"] = json!(version.to_string());
                secrets.insert(name.to_owned(), applied.clone());
                (if found.is_some() { 200 } else { 201 }, applied)
            }
            (&Method::DELETE, Some(found)) => {
                assert_eq!(
                    said["preconditions"]["uid"], found["metadata"]["uid"],
                    "no other one of the name"
                );
                secrets.remove(name);
                (200, found)
            }
            _ => status(404, "not there"),
        }
    }
}

fn version(object: &Value) -> u32 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn discovery(path: &str) -> (u16, Value) {
    let list = |items: Value| json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    let secrets = json!({"resource": "secrets", "scope": "Namespaced", "singularResource": "secret",
        "verbs": ["get", "create", "patch", "delete"],
        "responseKind": {"group": "", "version": "v1", "kind": "Secret"}});
    match path {
        "/api" => {
            (200, list(json!([{"metadata": {}, "versions": [{"version": "v1", "resources": [secrets]}]}])))
        }
        "/apis" => (200, list(json!([]))),
        _ => (404, json!({"kind": "Status", "message": path, "code": 404})),
    }
}

/// One start of the host: nothing but the API server outlives it.
struct Host {
    context: HookContext,
    table: Arc<Handovers>,
    store: Store,
}

fn host(server: &Server) -> Host {
    let manifest = "{name: backup, version: 0.1.0, interface: 'pilothouse:operator@0.1.0', bindable: true,
        rights: {kube: [{apiGroups: [''], resources: [secrets], verbs: [create, patch, delete]}]}}";
    let manifest = Manifest::parse(manifest).unwrap();
    let gvk = Arc::new(Gvk::new("backup.pilothouse.dev", "v1alpha1", "Backup"));
    let name: Arc<str> = Arc::from("backup");
    let (authority, _) = Authority::new("https://10.0.0.7:8444").unwrap();
    let (table, _) = Handovers::new(authority, Fence::default(), Metrics::default());
    let memory = Backend::Remote(Arc::new(InMemory::new()));
    let context = HookContext {
        grants: Arc::new(Grants::new(&manifest, Some(&GrantSpec::of_all_requested(&manifest))).unwrap()),
        owner: Owner { key: ObjectKey::new(Arc::clone(&gvk), Some("shop"), "db"), uid: Arc::from("o") },
        binding: Arc::new(Binding::new(&name, gvk, Duration::from_secs(600), "test")),
        plugin: Arc::new(Identity { name, version: "0.1.0".to_owned(), digest: String::new() }),
        manager: Manager { name: "test".to_owned(), supersedes: Vec::new() },
        throttle: Arc::new(Throttle::per_second(1_000)),
        cluster: cluster(server.client()),
        metrics: Arc::default(),
        charts: None,
        wishes: Arc::default(),
        egress: Arc::default(),
        transfers: None,
        commands: None,
        handovers: Some(Arc::clone(&table)),
        announcer: None,
    };
    Host { context, table, store: Store::of("s3://bucket".parse().unwrap(), memory).unwrap() }
}

impl Host {
    async fn open(&self, name: &str) -> Result<blob::Progress, Error> {
        let errand =
            Errand::Upload { store: self.store.clone(), path: self.store.path("db/1").unwrap(), most: 100 };
        let order = self.context.order("task".to_owned(), errand, 60);
        self.context.hand_over(&self.table, ("shop", name), order).await
    }

    async fn close(&self, name: &str) -> Result<(), Error> {
        self.context.take_back(&self.table, ("shop".to_owned(), name)).await
    }

    fn knows(&self, server: &Server, name: &str) -> bool {
        let (url, token) = (server.entry(name, "url"), server.entry(name, "token"));
        let header = format!("Bearer {token}");
        self.table.admit(url.rsplit('/').next().unwrap(), Some(header.as_bytes())).is_some()
    }
}

#[tokio::test]
async fn a_new_host_writes_its_own_token_and_authority_over_those_of_the_one_before() {
    let server = Server::default();
    let before = host(&server);
    before.open("dump").await.unwrap();
    assert!(before.knows(&server, "dump"));
    let entries = ["url", "token", "ca.crt"];
    let old = entries.map(|entry| server.entry("dump", entry));
    before.open("dump").await.unwrap();
    assert_eq!(entries.map(|entry| server.entry("dump", entry)), old, "opened twice it is the same");

    let after = host(&server);
    assert!(!after.knows(&server, "dump") && after.table.find(&after.context.owner.key, "dump").is_none());
    let progress = after.open("dump").await.unwrap();
    assert!(matches!(progress.state, blob::State::Running));
    assert!(after.knows(&server, "dump") && !before.knows(&server, "dump"));
    let new = entries.map(|entry| server.entry("dump", entry));
    assert!(std::iter::zip(&old, &new).all(|(old, new)| old != new), "{new:?}");
}

#[tokio::test]
async fn a_secret_that_somebody_deleted_comes_back_with_the_same_token() {
    let server = Server::default();
    let host = host(&server);
    host.open("dump").await.unwrap();
    let token = server.entry("dump", "token");
    server.state().0.clear();
    host.open("dump").await.unwrap();
    assert_eq!(server.entry("dump", "token"), token);
}

#[tokio::test]
async fn closing_takes_the_secret_away_also_that_of_the_host_before() {
    let server = Server::default();
    host(&server).open("dump").await.unwrap();
    let after = host(&server);
    after.close("dump").await.unwrap();
    assert_eq!(server.secret("dump"), None);
    after.close("dump").await.unwrap();
}

#[tokio::test]
async fn a_secret_of_somebody_else_stays_as_it_is() {
    let server = Server::default();
    let theirs = |labels: Value| {
        json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"password": "eA=="},
            "metadata": {"name": "db", "namespace": "shop", "uid": "t", "resourceVersion": "7", "labels": labels}})
    };
    for labels in [json!({}), json!({OWNER_LABEL: "of-another-object"})] {
        server.state().0.insert("db".to_owned(), theirs(labels.clone()));
        let host = host(&server);
        let refused = host.open("db").await.unwrap_err();
        assert!(matches!(&refused, Error::Credentials(said) if said.contains("immutable")), "{refused:?}");
        host.close("db").await.unwrap();
        assert_eq!(server.secret("db"), Some(theirs(labels)));
    }
}
