//! The host as it is deployed: its image on a node, installed by its chart into a namespace that admits restricted pods
//! only, with the rights the project needs and no others; releases are real pods.
//!
//! Needs a node, so root: `cargo xtask test` runs it; plugins as in `hello.rs`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pilothouse_testbed::image::Archive;
use pilothouse_testbed::{Cluster, busybox, node, playerstats};

const PATIENCE: Duration = Duration::from_secs(120);
const SYSTEM: &str = "pilothouse-system";
const SHOP: &str = "operators";
const IMAGE: &str = "pilothouse.dev/pilothouse:test";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The project of operator-sdk's own users where it is at hand, else the sample.
fn project() -> (PathBuf, &'static str) {
    let corpus = root().join("../shared/corpus/playerstats-operator");
    if corpus.is_dir() {
        return (corpus, "charts.quay.io");
    }
    eprintln!("SKIPPED: the project of the corpus is not there; the sample project is used");
    (root().join("charts/samples/player-stats-operator"), "charts.example.com")
}

/// As `cargo xtask image --plugins --add project:/opt/helm` makes it.
fn image(project: &Path, plugin: &Path) -> Archive {
    let mut image = Archive::new(IMAGE);
    image.file_from("/pilothouse", Path::new(env!("CARGO_BIN_EXE_pilothouse")), 0o755).unwrap();
    image.file_from("/plugins/helm.wasm", plugin, 0o644).unwrap();
    image.file_from("/opt/helm/watches.yaml", &project.join("watches.yaml"), 0o644).unwrap();
    image.tree_from("/opt/helm/helm-charts", &project.join("helm-charts")).unwrap();
    image.directory("/var/cache", 0o1777, 0);
    image.user("65532:65532").entrypoint(&["/pilothouse"]).working_directory("/opt/helm");
    image
}

fn values(group: &str) -> String {
    let all = serde_json::json!(["get", "list", "watch", "create", "update", "patch", "delete"]);
    let rule = |group: &str, resources: &[&str]| serde_json::json!({"apiGroups": [group], "resources": resources, "verbs": all});
    serde_json::json!({
        "image": {"tag": "test", "pullPolicy": "Never"},
        "rbac": {
            "releaseRecords": true,
            "inventories": false,
            "kinds": [{"group": group, "resources": ["player-stats"]}],
            "rules": [
                rule("", &["persistentvolumeclaims", "serviceaccounts", "services"]),
                rule("apps", &["deployments"]),
                rule("batch", &["jobs"]),
            ],
        },
    })
    .to_string()
}

struct Pod<'a> {
    cluster: &'a Cluster,
    /// Where the chart's values are.
    values: tempfile::NamedTempFile,
}

impl Drop for Pod<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for arguments in [
                ["logs", "deployment/pilothouse", "--tail=60"].as_slice(),
                &["describe", "pods"],
                &["get", "events"],
            ] {
                let told = self.cluster.kubectl(&[arguments, &["--namespace", SYSTEM]].concat());
                eprintln!("{}", told.unwrap_or_default());
            }
        }
    }
}

impl Pod<'_> {
    fn kubectl(&self, arguments: &[&str]) -> String {
        self.cluster.kubectl(arguments).unwrap_or_else(|error| panic!("kubectl {arguments:?}: {error}"))
    }

    fn in_shop(&self, arguments: &[&str]) -> String {
        self.cluster.kubectl(&[arguments, &["--namespace", SHOP]].concat()).unwrap_or_default()
    }

    fn install(&self) {
        let chart = root().join("charts/pilothouse").display().to_string();
        let values = self.values.path().display().to_string();
        let install = ["install", "pilothouse", &chart, "--namespace", SYSTEM, "--values", &values];
        self.cluster.helm(&[install.as_slice(), &["--wait", "--timeout=120s"]].concat()).unwrap();
    }

    fn history(&self) -> Vec<String> {
        let history = ["history", "player-stats-sample", "--namespace", SHOP, "--output=json"];
        let text = self.cluster.helm(&history).unwrap_or_default();
        let revisions: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let all = revisions.as_array().cloned().unwrap_or_default();
        all.iter().map(|one| format!("{} {}", one["revision"], one["status"].as_str().unwrap())).collect()
    }

    fn seen(&self, what: &str, holds: impl Fn() -> bool) {
        let started = Instant::now();
        while !holds() {
            assert!(started.elapsed() < PATIENCE, "not seen: {what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
#[ignore = "needs a node"]
fn an_operator_sdk_project_runs_in_a_restricted_pod_with_the_rights_it_needs_and_no_others() {
    let plugin = std::env::var_os("PILOTHOUSE_TEST_PLUGINS").map(|dir| PathBuf::from(dir).join("helm.wasm"));
    let Some(plugin) = plugin.filter(|plugin| plugin.is_file()) else {
        return eprintln!("SKIPPED: PILOTHOUSE_TEST_PLUGINS has no helm.wasm");
    };
    if let Err(error) = node::check() {
        return eprintln!("SKIPPED: {error}");
    }
    let (project, group) = project();
    let cluster = Cluster::shared_with_node().unwrap();
    let mut images = playerstats::images().unwrap();
    images.push(busybox::archive("docker.io/library/busybox:1.37").unwrap());
    images.push(image(&project, &plugin));
    cluster.import_images(&images).unwrap();
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), values(group)).unwrap();
    let pod = Pod { cluster, values: file };
    for namespace in [SYSTEM, SHOP] {
        pod.kubectl(&["create", "namespace", namespace]);
    }
    pod.kubectl(&["label", "namespace", SYSTEM, "pod-security.kubernetes.io/enforce=restricted"]);
    pod.kubectl(&["apply", "--filename", &project.join("config/crd/bases").display().to_string()]);
    pod.install();

    let sample = project.join("config/samples/charts_v1alpha1_player-stats.yaml").display().to_string();
    pod.kubectl(&["apply", "--namespace", SHOP, "--filename", &sample]);
    pod.seen("revision 1 is deployed", || pod.history() == ["1 deployed"]);
    pod.in_shop(&["wait", "--for=condition=Available", "deployments", "--all", "--timeout=120s"]);

    let resource = format!("player-stats.{group}/player-stats-sample");
    pod.kubectl(&[
        "patch",
        &resource,
        "--namespace",
        SHOP,
        "--type=merge",
        "--patch",
        r#"{"spec":{"replicaCount":2}}"#,
    ]);
    pod.seen("its backup ran and revision 2 is deployed", || pod.history() == ["1 superseded", "2 deployed"]);
    let ready = || {
        pod.in_shop(&["get", "deployment/player-stats-sample", "--output=jsonpath={.status.readyReplicas}"])
    };
    pod.seen("two pods of it run", || ready() == "2");

    pod.kubectl(&["scale", "deployment/player-stats-sample", "--namespace", SHOP, "--replicas=5"]);
    let wanted =
        || pod.in_shop(&["get", "deployment/player-stats-sample", "--output=jsonpath={.spec.replicas}"]);
    pod.seen("a scale by hand is taken back", || wanted() == "2");

    pod.kubectl(&["delete", "deployment/pilothouse", "--namespace", SYSTEM]);
    pod.kubectl(&["delete", &resource, "--namespace", SHOP, "--wait=false"]);
    assert!(!pod.in_shop(&["get", &resource, "--output=name"]).is_empty(), "the finalizer keeps it");
    pod.cluster.helm(&["uninstall", "pilothouse", "--namespace", SYSTEM]).unwrap();
    pod.install();
    pod.seen("the operator is back: nothing is stuck and nothing is left", || {
        pod.in_shop(&["get", "deployments,services,player-stats", "--output=name"]).is_empty()
    });
}
