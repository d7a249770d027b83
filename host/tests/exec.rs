//! Commands in a container of a real node, under an account of their own.
//!
//! Needs a node, so root: `cargo xtask test` runs it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::Method;
use pilothouse::action::execute::{Actor, EvictOptions, Executor, Manager};
use pilothouse::capability::grants::{GrantSpec, Grants};
use pilothouse::cluster::kubeconfig::ClusterArgs;
use pilothouse::cluster::path::Resource;
use pilothouse::cluster::request::{Api, Call};
use pilothouse::exec::protocol::Tail;
use pilothouse::exec::{Command, ExecError, session};
use pilothouse::object::{Gvk, ObjectKey, Owner};
use pilothouse::plugin::manifest::Manifest;
use pilothouse::telemetry::ClientMetrics;
use pilothouse_testbed::{Cluster, busybox, node};

const NAMESPACE: &str = "exec";
const IMAGE: &str = "docker.io/library/busybox:1.37";
const MANIFEST: &str = "
name: test
version: 0.1.0
interface: pilothouse:operator@0.1.0
bindable: true
rights:
  kube: [{ apiGroups: [''], resources: [pods/eviction], verbs: [create] }]
";
const ACCOUNT: &str = "system:serviceaccount:exec:runner";

fn objects() -> String {
    let rules = serde_json::json!([
        {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": rules,
            "metadata": {"name": "runner", "namespace": NAMESPACE}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "runner", "namespace": NAMESPACE},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "runner"},
            "subjects": [{"kind": "ServiceAccount", "name": "runner", "namespace": NAMESPACE}]},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db", "namespace": NAMESPACE, "labels": {"app": "db"}},
            "spec": {"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false,
                "containers": [{"name": "db", "image": IMAGE, "imagePullPolicy": "Never",
                    "command": ["sleep", "3600"]}]}},
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "db", "namespace": NAMESPACE},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}}},
    ]})
    .to_string()
}

fn command(arguments: &[&str]) -> Command {
    Command {
        namespace: NAMESPACE.to_owned(),
        pod: "db".to_owned(),
        container: "db".to_owned(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        stdin: None,
        timeout: Duration::from_secs(30),
        account: Some(ACCOUNT.to_owned()),
    }
}

async fn outcome(api: &Api, command: &Command) -> (Result<i32, ExecError>, String) {
    let tail = Mutex::new(Tail::default());
    let result = session::run(api, command, &tail).await;
    (result, tail.into_inner().unwrap().text())
}

#[test]
#[ignore = "needs a node"]
fn commands_run_in_the_container_of_a_real_pod_and_tell_how_they_ended() {
    if let Err(error) = node::check() {
        return eprintln!("SKIPPED: {error}");
    }
    let cluster = Cluster::shared_with_node().unwrap();
    cluster.import_images(&[busybox::archive(IMAGE).unwrap()]).unwrap();
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), objects()).unwrap();
    cluster.kubectl(&["apply", "--filename", &file.path().display().to_string()]).unwrap();
    let ready = ["wait", "--for=condition=Ready", "pod/db", "--timeout=120s", "--namespace", NAMESPACE];
    cluster.kubectl(&ready).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let args = ClusterArgs { kubeconfig: Some(cluster.kubeconfig()), context: None };
    runtime.block_on(async {
        let client = args.connect().await.unwrap();
        let api = Api::new(client, ClientMetrics::default());
        commands(&api).await;
        evictions(&api).await;
    });
    cluster.kubectl(&["delete", "namespace", NAMESPACE, "--wait=false"]).unwrap();
}

async fn commands(api: &Api) {
    let shell = |script: &str| command(&["sh", "-c", script]);
    assert_eq!(outcome(api, &shell("echo out; echo err >&2")).await.0, Ok(0));
    let (result, output) = outcome(api, &shell("echo no such table >&2; exit 3")).await;
    assert_eq!((result, output.as_str()), (Ok(3), "no such table\n"));
    let (result, output) = outcome(api, &shell("seq 1 100000")).await;
    assert_eq!((result, output.ends_with("99999\n100000\n")), (Ok(0), true));
    let with_input = Command { stdin: Some(vec![b'i'; 60_000]), ..shell("wc -c") };
    let (result, output) = outcome(api, &with_input).await;
    assert_eq!((result, output.trim()), (Ok(0), "60000"));
    let missing = outcome(api, &command(&["/no/such/program"])).await.0;
    assert!(!matches!(missing, Ok(0)), "{missing:?}");
    let other = Command { container: "other".to_owned(), ..shell("true") };
    assert!(matches!(outcome(api, &other).await.0, Err(ExecError::Refused(_) | ExecError::Unreachable(_))));
    let nobody = Command { account: Some(format!("{ACCOUNT}-2")), ..shell("true") };
    let refused = outcome(api, &nobody).await.0;
    assert!(matches!(&refused, Err(ExecError::Refused(why)) if why.contains("cannot")), "{refused:?}");
    // A container that dies under its command has told no code of 0.
    let killed = outcome(api, &shell("echo about to die; kill -9 1; sleep 20; kill -9 -1")).await.0;
    assert!(!matches!(killed, Ok(0)), "{killed:?}");
}

async fn evictions(api: &Api) {
    let executor = Executor::new(api.clone());
    let pods = Resource { gvk: Gvk::new("", "v1", "Pod"), plural: "pods".to_owned(), namespaced: true };
    let key = ObjectKey::new(Arc::new(pods.gvk.clone()), Some(NAMESPACE), "db");
    let manager = Manager { name: "pilothouse-test".to_owned(), supersedes: Vec::new() };
    let manifest = Manifest::parse(MANIFEST).unwrap();
    let grants = Grants::new(&manifest, Some(&GrantSpec::of_all_requested(&manifest))).unwrap();
    let owner = Owner { key: key.clone(), uid: Arc::from("") };
    let actor = Actor { plugin: "test", manager: &manager, grants: &grants, owner: &owner };
    let options = EvictOptions::default();
    let evict = || executor.evict(&actor, &pods, &key, &options);
    let refused = evict().await.unwrap_err();
    assert!(refused.to_string().contains("disruption budget"), "{refused}");
    let path = format!("/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/db");
    api.send(Call::new(Method::DELETE, path, None)).await.unwrap();
    assert!(evict().await.unwrap());
    let started = Instant::now();
    while evict().await.unwrap() {
        assert!(started.elapsed() < Duration::from_secs(60), "the pod does not go");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
