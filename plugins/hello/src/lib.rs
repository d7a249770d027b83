//! The smallest plugin that is worth reading: a `Hello` becomes a web page that says its greeting.
//! `docs/plugin-authoring.md` goes through it line by line.

use k8s_openapi::{api::apps::v1::Deployment, apimachinery::pkg::apis::meta::v1::Condition};
use kube::{CustomResource, ResourceExt};
use pilothouse_sdk::{Context, Error, Gvk, Outcome, Reconciler, Watch, export, info};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a `Hello` asks for.
#[derive(CustomResource, Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hello.pilothouse.dev",
    version = "v1alpha1",
    kind = "Hello",
    namespaced,
    status = "HelloStatus"
)]
#[kube(doc = "A web page that says a greeting.")]
#[kube(printcolumn(name = "URL", type_ = "string", json_path = ".status.url"))]
pub struct HelloSpec {
    /// The text of the page.
    #[schemars(length(min = 1))]
    pub greeting: String,
    /// How many pods serve it.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 20))]
    pub replicas: i32,
    /// An image with a busybox in it.
    #[serde(default = "busybox")]
    pub image: String,
}

fn one() -> i32 {
    1
}

fn busybox() -> String {
    "docker.io/library/busybox:1.37".to_owned()
}

/// Where a `Hello` stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HelloStatus {
    /// Where the page is, inside of the cluster.
    pub url: String,
    /// How many pods serve it now.
    pub ready_replicas: i32,
    /// The generation the host has last told about.
    pub observed_generation: i64,
    /// What the host and the plugin say.
    pub conditions: Vec<Condition>,
}

/// Reconciles `Hello` objects.
#[derive(Debug)]
pub struct Greeter;

impl Reconciler for Greeter {
    type Resource = Hello;

    fn reconcile(&self, ctx: &Context, hello: &Hello) -> Result<Outcome, Error> {
        let (name, namespace) = (hello.name_any(), hello.namespace().unwrap_or_default());
        let deployment: Option<Deployment> = ctx.kube().get(&*namespace, &name)?;
        let ready = deployment.and_then(|found| found.status?.ready_replicas).unwrap_or(0);
        let wanted = hello.spec.replicas;
        info!(ctx, ready = ready, wanted = wanted, "looked at {name}");

        let outcome = match ready >= wanted {
            true => Outcome::ready(),
            false => Outcome::progressing("PodsStarting", format!("{ready} of {wanted} pods are ready")),
        };
        let url = format!("http://{name}.{namespace}.svc/");
        Ok(outcome
            .child(&page(&name, hello))
            .child(&server(&name, hello))
            .child(&service(&name))
            .status(&json!({"url": url, "readyReplicas": ready}))
            .watch(Watch::owned(Gvk::of::<Deployment>())))
    }
}

fn page(name: &str, hello: &Hello) -> Value {
    let data = json!({"index.html": hello.spec.greeting});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn server(name: &str, hello: &Hello) -> Value {
    let container = json!({
        "name": "httpd",
        "image": hello.spec.image,
        "command": ["busybox", "httpd", "-f", "-p", "8080", "-h", "/www"],
        "ports": [{"name": "http", "containerPort": 8080}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
        "volumeMounts": [{"name": "page", "mountPath": "/www"}],
    });
    let volume = json!({"name": "page", "configMap": {"name": name}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": hello.spec.replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container], "volumes": [volume]},
            },
        },
    })
}

fn service(name: &str) -> Value {
    let spec = json!({"selector": {"app": name}, "ports": [{"port": 80, "targetPort": "http"}]});
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

export!(Greeter);
