//! One cluster for all tests of the binary, a namespace for each, and what the tests do to it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use pilothouse::cluster::path::Resource;
use pilothouse::controller::discovery::Discovery;
use pilothouse::controller::watch::{
    ObjectEvent, Subscriber, Trouble, Usage, WatchHandle, WatchSpec, Watches,
};
use pilothouse::object::{Gvk, ObjectKey};
use pilothouse_testbed::Cluster;
use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc};
use tokio::time::{sleep, timeout};

/// Generous: machines that build beside the test are slow.
const LIMIT: Duration = Duration::from_secs(120);

/// The control plane that all tests of this binary share.
pub(crate) fn cluster() -> &'static Cluster {
    Cluster::shared().expect("a cluster")
}

fn disturbance() -> &'static RwLock<()> {
    static LOCK: OnceLock<RwLock<()>> = OnceLock::new();
    LOCK.get_or_init(RwLock::default)
}

/// Held by tests that need the API server as it should be.
pub(crate) async fn ordinary() -> RwLockReadGuard<'static, ()> {
    disturbance().read().await
}

/// Held by tests that disturb it.
pub(crate) async fn undisturbed() -> RwLockWriteGuard<'static, ()> {
    disturbance().write().await
}

/// Waits until it holds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let reached = async {
        while !holds() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LIMIT, reached).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// A namespace and the parts under test.
pub(crate) struct Bench {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) discovery: Arc<Discovery>,
    watches: Watches,
}

/// A watch that a test joined.
pub(crate) struct Joined {
    pub(crate) handle: WatchHandle,
    events: mpsc::UnboundedReceiver<ObjectEvent>,
}

async fn client(kubeconfig: &std::path::Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a configuration")).expect("a client")
}

impl Bench {
    pub(crate) async fn new(namespace: &str) -> Self {
        let kubeconfig = tokio::task::spawn_blocking(|| cluster().kubeconfig()).await.expect("a cluster");
        let bench = Self::with(client(&kubeconfig).await, namespace);
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        bench.create(object).await;
        bench
    }

    /// The same namespace, seen by another user.
    pub(crate) async fn as_user(&self, user: &str) -> Self {
        let kubeconfig = cluster().kubeconfig_for(user, &[]).expect("a kubeconfig");
        Self::with(client(&kubeconfig).await, &self.namespace)
    }

    fn with(client: Client, namespace: &str) -> Self {
        let discovery = Arc::new(Discovery::new(client.clone()));
        let watches = Watches::new(client.clone(), Arc::clone(&discovery));
        Self { client, namespace: namespace.to_owned(), discovery, watches }
    }

    pub(crate) fn spec(&self, group: &str, version: &str, kind: &str, labels: &str) -> WatchSpec {
        WatchSpec {
            gvk: Arc::new(Gvk::new(group, version, kind)),
            namespace: Some(Arc::from(self.namespace.as_str())),
            labels: labels.to_owned(),
            fields: String::new(),
        }
    }

    pub(crate) fn key(&self, group: &str, version: &str, kind: &str, name: &str) -> ObjectKey {
        ObjectKey::new(Arc::new(Gvk::new(group, version, kind)), Some(&self.namespace), name)
    }

    pub(crate) fn join(&self, spec: &WatchSpec) -> Joined {
        static NAMES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let name = NAMES.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
        let (sender, events) = mpsc::unbounded_channel();
        let hear = move |event| {
            let _ = sender.send(event);
        };
        Joined { handle: self.watches.acquire(spec, Subscriber { name, hear: Arc::new(hear) }), events }
    }

    /// Of the only watch there is.
    pub(crate) fn usage(&self) -> Usage {
        self.watches.usage().pop().expect("a watch")
    }

    pub(crate) fn config_map(&self, name: &str, labels: &Value) -> Value {
        let metadata = json!({"name": name, "namespace": self.namespace, "labels": labels});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "1"}})
    }

    pub(crate) fn custom(&self, group: &str, kind: &str, name: &str) -> Value {
        let metadata = json!({"name": name, "namespace": self.namespace});
        json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": metadata})
    }

    fn api(&self, object: &Value) -> Api<DynamicObject> {
        let gvk = Gvk::of(object).expect("a kind");
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&gvk.group, &gvk.version, &gvk.kind));
        match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind),
            None => Api::all_with(self.client.clone(), &kind),
        }
    }

    /// Creates an object, as soon as its kind is served.
    pub(crate) async fn create(&self, object: Value) -> Value {
        let api = self.api(&object);
        let typed: DynamicObject = serde_json::from_value(object).expect("an object");
        let create = async {
            loop {
                match api.create(&PostParams::default(), &typed).await {
                    Err(kube::Error::Api(status)) if status.code == 404 => {
                        sleep(Duration::from_millis(50)).await;
                    }
                    created => return serde_json::to_value(created.expect("created")).expect("JSON"),
                }
            }
        };
        timeout(LIMIT, create).await.expect("created in time")
    }

    pub(crate) async fn apply(&self, object: Value) -> Value {
        let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
        let applied =
            self.api(&object).patch(&name, &PatchParams::apply("test"), &Patch::Apply(&object)).await;
        serde_json::to_value(applied.expect("applied")).expect("JSON")
    }

    /// Patches a ConfigMap.
    pub(crate) async fn merge(&self, name: &str, patch: Value) -> Value {
        let api = self.api(&self.config_map(name, &json!({})));
        let patched = api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        serde_json::to_value(patched.expect("patched")).expect("JSON")
    }

    /// Deletes a ConfigMap.
    pub(crate) async fn delete(&self, name: &str) {
        let api = self.api(&self.config_map(name, &json!({})));
        api.delete(name, &DeleteParams::default()).await.expect("deleted");
    }

    pub(crate) async fn define(&self, group: &str, kind: &str, plural: &str) {
        let schema =
            json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
        let names = json!({"kind": kind, "plural": plural, "singular": kind.to_lowercase()});
        self.create(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
        }))
        .await;
    }

    pub(crate) async fn undefine(&self, name: &str) {
        let kind = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {}});
        self.api(&kind).delete(name, &DeleteParams::default()).await.expect("deleted");
    }

    /// A group whose server does not exist.
    pub(crate) async fn register_dead_service(&self, name: &str, group: &str) {
        self.create(json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name},
            "spec": {
                "group": group, "version": "v1", "insecureSkipTLSVerify": true, "groupPriorityMinimum": 1000,
                "versionPriority": 10, "service": {"name": "nobody", "namespace": self.namespace},
            },
        }))
        .await;
    }

    pub(crate) async fn unregister(&self, name: &str) {
        let kind = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {}});
        self.api(&kind).delete(name, &DeleteParams::default()).await.expect("deleted");
    }

    /// The kind's resource, as soon as it is served.
    pub(crate) async fn resolved(&self, gvk: &Gvk) -> Arc<Resource> {
        let resolve = async {
            loop {
                match self.discovery.resolve(gvk).await {
                    Ok(resource) => return resource,
                    Err(_) => sleep(Duration::from_millis(100)).await,
                }
            }
        };
        timeout(LIMIT, resolve).await.expect("served in time")
    }

    /// Lets a user read a resource in the namespace.
    pub(crate) async fn grant(&self, user: &str, resource: &str) {
        let metadata = json!({"name": user, "namespace": self.namespace});
        let api = "rbac.authorization.k8s.io";
        let rule = json!({"apiGroups": [""], "resources": [resource], "verbs": ["get", "list", "watch"]});
        self.create(
            json!({"apiVersion": format!("{api}/v1"), "kind": "Role", "metadata": metadata, "rules": [rule]}),
        )
        .await;
        self.create(json!({
            "apiVersion": format!("{api}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": api, "kind": "Role", "name": user},
            "subjects": [{"apiGroup": api, "kind": "User", "name": user}],
        }))
        .await;
    }

    pub(crate) async fn lease_holder(&self, name: &str) -> String {
        let lease = Api::<Lease>::namespaced(self.client.clone(), &self.namespace).get(name).await;
        lease.expect("a lease").spec.and_then(|spec| spec.holder_identity).unwrap_or_default()
    }

    /// Watches of a resource in a namespace that are open at the API server, by its own count.
    pub(crate) async fn watches_at_the_server(&self, resource: &str) -> u64 {
        let request = http::Request::get("/metrics").body(Vec::new()).expect("a request");
        let metrics = self.client.request_text(request).await.expect("metrics");
        let wanted = format!("resource=\"{resource}\"");
        let lines = metrics.lines().filter(|line| {
            line.starts_with("apiserver_longrunning_requests{")
                && line.contains(&wanted)
                && line.contains("WATCH")
                // The garbage collector soon watches every new kind as well, in all namespaces.
                && line.contains("scope=\"namespace\"")
        });
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
    }

    /// Until the API server answers again.
    pub(crate) async fn retry_until_served(&self) {
        let served = async {
            while self.client.apiserver_version().await.is_err() {
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(LIMIT, served).await.expect("served again");
    }
}

impl Joined {
    pub(crate) async fn synced(&self) {
        timeout(LIMIT, self.handle.synced()).await.expect("synced in time");
    }

    /// The next change: name, and whether it was there before and is there after. What Kubernetes itself puts into every
    /// namespace is passed over.
    pub(crate) async fn next(&mut self) -> (String, bool, bool) {
        loop {
            let event = timeout(LIMIT, self.events.recv()).await.expect("an event in time").expect("a watch");
            if &*event.key.name != "kube-root-ca.crt" {
                return (event.key.name.to_string(), event.before.is_some(), event.after.is_some());
            }
        }
    }

    /// Passes over the creation of these, in any order.
    pub(crate) async fn skip(&mut self, names: &[&str]) {
        let mut left: Vec<_> = names.to_vec();
        while !left.is_empty() {
            let (name, ..) = self.next().await;
            left.retain(|other| *other != name);
        }
    }

    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.handle.trouble().map(|(trouble, _)| trouble)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.handle.keys().iter().map(|key| key.name.to_string()).collect();
        names.sort();
        names
    }
}
