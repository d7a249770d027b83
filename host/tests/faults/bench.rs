//! One control plane for all tests of the binary, a namespace for each, and what the tests do to it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use pilothouse::capability::grants::GrantSpec;
use pilothouse::plugin::compiled::CompiledCache;
use pilothouse::plugin::compiler::Compiler;
use pilothouse::plugin::engine::{Engine, EngineOptions};
use pilothouse::plugin::package::Package;
use pilothouse::plugin::revision::Revision;
use pilothouse_testbed::{Cluster, skip};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// Generous: machines that build beside the test are slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The plugins that the tests run.
pub(crate) const PLUGINS: [&str; 5] =
    ["hello.wasm", "helm.wasm", "misbehave.wasm", "announcer.wasm", "watchman.wasm"];

/// Asks until there is an answer. The error is what is seen instead.
pub(crate) async fn await_that<T>(
    what: impl std::fmt::Display,
    mut look: impl AsyncFnMut() -> Result<T, String>,
) -> (T, Duration) {
    let started = Instant::now();
    let mut pause = Duration::from_millis(10);
    loop {
        match look().await {
            Ok(found) => return (found, started.elapsed()),
            Err(seen) => {
                assert!(started.elapsed() < PATIENCE, "not seen in {PATIENCE:?}: {what}; but {seen}");
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(Duration::from_millis(200));
    }
}

/// A namespace of a cluster, and its administrator.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) cluster: &'static Cluster,
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

/// Whether the tests can run here; if not, it is said.
pub(crate) fn is_possible(test: &str) -> bool {
    if std::env::var_os("PILOTHOUSE_NO_CLUSTER").is_some() {
        skip(&format!("{test}: PILOTHOUSE_NO_CLUSTER is set"));
        return false;
    }
    let there = plugins().is_some_and(|directory| PLUGINS.iter().all(|name| directory.join(name).is_file()));
    if !there {
        skip(&format!(
            "{test}: no PILOTHOUSE_TEST_PLUGINS with {}; run `cargo xtask test`",
            PLUGINS.join(", ")
        ));
    }
    there
}

fn plugins() -> Option<PathBuf> {
    std::env::var_os("PILOTHOUSE_TEST_PLUGINS").map(PathBuf::from)
}

/// A plugin's bytes.
pub(crate) fn plugin(name: &str) -> Vec<u8> {
    std::fs::read(plugins().unwrap().join(name)).unwrap()
}

/// Where hosts keep compiled plugins.
pub(crate) fn compiled() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled")
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A client of a user, for the runtime of one test.
pub(crate) async fn client(kubeconfig: &Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

impl Bench {
    /// A new namespace on the shared control plane; `None`, said aloud, where tests of this kind cannot run.
    pub(crate) async fn new(namespace: &str) -> Option<Self> {
        if !is_possible(namespace) {
            return None;
        }
        let cluster = tokio::task::spawn_blocking(|| Cluster::shared().unwrap()).await.unwrap();
        static PREPARED: OnceCell<()> = OnceCell::const_new();
        let bench = Self::on(cluster, namespace).await;
        PREPARED.get_or_init(|| bench.prepare()).await;
        bench.create_namespace().await;
        Some(bench)
    }

    /// A namespace that is not there yet.
    pub(crate) async fn on(cluster: &'static Cluster, namespace: &str) -> Self {
        let client = client(&cluster.kubeconfig()).await;
        Self { cluster, client, namespace: namespace.to_owned() }
    }

    pub(crate) async fn create_namespace(&self) {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}});
        self.create("/api/v1/namespaces", &object).await;
    }

    /// Definitions, and every plugin compiled once before many hosts ask for it at the same time.
    pub(crate) async fn prepare(&self) {
        let compiling = tokio::task::spawn_blocking(|| {
            let engine = Engine::new(EngineOptions::default()).unwrap();
            let cache = CompiledCache::open(&compiled(), Compiler::Here);
            let grant = GrantSpec { all_requested: true, ..GrantSpec::default() };
            for name in PLUGINS {
                let package = Package::read(plugin(name)).unwrap();
                Revision::prepare(&engine, &cache, &package, Some(&grant)).unwrap();
            }
        });
        let helm =
            "charts/samples/player-stats-operator/config/crd/bases/charts.example.com_player-stats.yaml";
        let releases = "deploy/crds/helm.pilothouse.dev_releases.yaml";
        let runs = "deploy/crds/lifecycle.pilothouse.dev_lifecycleruns.yaml";
        for file in ["plugins/hello/crd.yaml", releases, runs, helm] {
            let file = root().join(file);
            self.kubectl(&["apply", "--filename", &file.display().to_string()]).await.unwrap();
        }
        self.define("test.pilothouse.dev", "Misbehave", "misbehaves").await;
        self.define("test.pilothouse.dev", "Change", "changes").await;
        self.define("charts.example.com", "Second", "seconds").await;
        compiling.await.unwrap();
    }

    async fn define(&self, group: &str, kind: &str, plural: &str) {
        let schema =
            json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema, "subresources": {"status": {}}});
        let names = json!({"kind": kind, "plural": plural, "singular": kind.to_lowercase()});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version("v1", true)]},
        });
        self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await;
    }

    /// kubectl as the administrator.
    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.cluster.kubectl_command().map_err(|error| error.to_string())?;
        command.args(arguments);
        output(command).await
    }

    /// The real helm, in the namespace.
    pub(crate) async fn helm(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.cluster.helm_command().map_err(|error| error.to_string())?;
        command.args(arguments).args(["--namespace", &self.namespace]);
        output(command).await
    }

    /// Asks the API server; what it refuses is an error in its words.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: &Value,
    ) -> Result<Value, String> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request =
            Request::builder().method(method).uri(path).header("content-type", kind).body(body).unwrap();
        self.client.request::<Value>(request).await.map_err(|error| error.to_string())
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, String> {
        self.ask(Method::GET, path, "application/json", &Value::Null).await
    }

    /// Creates an object, as soon as its kind is served.
    pub(crate) async fn create(&self, collection: &str, object: &Value) -> Value {
        let started = Instant::now();
        // Not by `await_that`: its closures cannot go to tasks.
        loop {
            match self.ask(Method::POST, collection, "application/json", object).await {
                Ok(created) => return created,
                Err(refusal) => assert!(started.elapsed() < PATIENCE, "{collection}: {refusal}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Value {
        self.ask(Method::PATCH, path, "application/merge-patch+json", patch).await.unwrap()
    }

    pub(crate) async fn delete(&self, path: &str) {
        self.ask(Method::DELETE, path, "application/json", &Value::Null).await.unwrap();
    }

    /// Path of an object (or, without a name, of the collection) in the namespace.
    pub(crate) fn path(&self, resource: &str, name: &str) -> String {
        let api = match resource {
            "hellos" => "/apis/hello.pilothouse.dev/v1alpha1",
            "player-stats" => "/apis/charts.example.com/v1alpha1",
            "seconds" => "/apis/charts.example.com/v1",
            "releases" => "/apis/helm.pilothouse.dev/v1alpha1",
            "lifecycleruns" => "/apis/lifecycle.pilothouse.dev/v1alpha1",
            "misbehaves" | "changes" => "/apis/test.pilothouse.dev/v1",
            "deployments" | "statefulsets" => "/apis/apps/v1",
            "roles" | "rolebindings" => "/apis/rbac.authorization.k8s.io/v1",
            _ => "/api/v1",
        };
        let slash = if name.is_empty() { "" } else { "/" };
        format!("{api}/namespaces/{}/{resource}{slash}{name}", self.namespace)
    }

    /// An object in the namespace.
    pub(crate) async fn object(&self, resource: &str, name: &str) -> Result<Value, String> {
        self.get(&self.path(resource, name)).await
    }

    /// Creates a custom resource.
    pub(crate) async fn make(&self, resource: &str, name: &str, spec: Value) {
        let (api_version, kind) = match resource {
            "hellos" => ("hello.pilothouse.dev/v1alpha1", "Hello"),
            "player-stats" => ("charts.example.com/v1alpha1", "Player-stats"),
            "seconds" => ("charts.example.com/v1", "Second"),
            "releases" => ("helm.pilothouse.dev/v1alpha1", "Release"),
            "changes" => ("test.pilothouse.dev/v1", "Change"),
            _ => ("test.pilothouse.dev/v1", "Misbehave"),
        };
        let metadata = json!({"name": name, "namespace": self.namespace});
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec});
        self.create(&self.path(resource, ""), &object).await;
    }

    /// Changes a custom resource's spec.
    pub(crate) async fn respec(&self, resource: &str, name: &str, spec: Value) {
        self.merge(&self.path(resource, name), &json!({"spec": spec})).await;
    }

    /// Waits for the replicas of a Deployment's spec.
    pub(crate) async fn await_replicas(&self, deployment: &str, replicas: u64) {
        await_that(format!("{deployment} has {replicas} replicas"), async || {
            let object = self.object("deployments", deployment).await?;
            let now = object.pointer("/spec/replicas").and_then(Value::as_u64);
            if now == Some(replicas) { Ok(()) } else { Err(format!("it has {now:?}")) }
        })
        .await;
    }

    /// Waits for a condition with this status whose reason or message has all the words; its message.
    pub(crate) async fn await_condition(
        &self,
        resource: &str,
        name: &str,
        (kind, status): (&str, &str),
        words: &[&str],
    ) -> String {
        let what = format!("{resource}/{name} is {kind}={status} and says {words:?}");
        let seen = await_that(what, async || {
            let object = self.object(resource, name).await?;
            let conditions = object.pointer("/status/conditions").cloned().unwrap_or_default();
            let all = conditions.as_array().into_iter().flatten();
            let found =
                all.clone().find(|condition| condition["type"] == kind && condition["status"] == status);
            let text = found.map(|condition| {
                let part = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
                format!("{}: {}", part("reason"), part("message"))
            });
            text.filter(|text| words.iter().all(|word| text.contains(word)))
                .ok_or_else(|| format!("it says {conditions}"))
        });
        seen.await.0
    }
}

async fn output(mut command: std::process::Command) -> Result<String, String> {
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let output = output.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
