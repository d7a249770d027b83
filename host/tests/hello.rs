//! The host as its user runs it: the real binary, the plugin `hello`, a real API server.
//!
//! Needs plugins built by `cargo xtask plugins` (`PILOTHOUSE_TEST_PLUGINS` names their directory) and the programs of a
//! control plane; skips aloud without them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pilothouse_testbed::Cluster;

const PATIENCE: Duration = Duration::from_secs(60);

/// What `hello` makes, and what the host remembers of it; and how both are found.
const KINDS: &str = "deployments,services,configmaps";
const LABEL: &str = "pilothouse.dev/plugin=hello";
/// Two rounds of the garbage collector, and what a busy machine adds.
const COLLECTED: &str = "--timeout=120s";

/// The host in the background; ends with the test, its log is printed when the test fails.
struct Host {
    child: Child,
    plugins: tempfile::TempDir,
    log: PathBuf,
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}", std::fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

impl Host {
    fn start(cluster: &Cluster, plugin: &Path) -> Self {
        let plugins = tempfile::tempdir().unwrap();
        std::fs::copy(plugin, plugins.path().join("hello.wasm")).unwrap();
        let log = plugins.path().join("host.log");
        let output = std::fs::File::create(&log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_pilothouse"))
            .current_dir(plugins.path())
            .arg("run")
            .arg("--grant-requested")
            .arg(format!("--kubeconfig={}", cluster.kubeconfig().display()))
            .arg(format!("--plugin-dir={}", plugins.path().display()))
            .arg(format!("--cache-dir={}", plugins.path().join("compiled").display()))
            .args(["--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap();
        Self { child, plugins, log }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

fn plugin(name: &str) -> Option<PathBuf> {
    let file = PathBuf::from(std::env::var_os("PILOTHOUSE_TEST_PLUGINS")?).join(name);
    file.is_file().then_some(file)
}

fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "not seen in {PATIENCE:?}: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_hello_object_is_served_kept_and_cleaned_up() {
    let Some(file) = plugin("hello.wasm") else {
        return eprintln!("SKIPPED: no PILOTHOUSE_TEST_PLUGINS with hello.wasm; run `cargo xtask test`");
    };
    if std::env::var_os("PILOTHOUSE_NO_CLUSTER").is_some() {
        return eprintln!("SKIPPED: PILOTHOUSE_NO_CLUSTER is set");
    }
    let cluster = Cluster::shared().unwrap();
    let kubectl = |arguments: &[&str]| cluster.kubectl(arguments);
    let value = |object: &str, path: &str| {
        kubectl(&["get", object, "-n", "hello", &format!("-o=jsonpath={path}")]).unwrap_or_default()
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/hello");
    kubectl(&["create", "namespace", "hello"]).unwrap();
    kubectl(&["apply", "-f", &root.join("crd.yaml").display().to_string()]).unwrap();
    let host = Host::start(cluster, &file);

    kubectl(&["apply", "-n", "hello", "-f", &root.join("sample.yaml").display().to_string()]).unwrap();
    await_that("the Deployment is there", || value("deployment/world", "{.spec.replicas}") == "2");
    await_that("the status has its address", || {
        value("hello/world", "{.status.url}").contains("world.hello.svc")
    });
    let ready = r#"{.status.conditions[?(@.type=="Ready")].status}"#;
    await_that("it is not ready while no pod is", || value("hello/world", ready) == "False");

    kubectl(&["delete", "deployment/world", "-n", "hello", "--wait=false"]).unwrap();
    await_that("a deleted child is back", || value("deployment/world", "{.spec.replicas}") == "2");
    kubectl(&[
        "patch",
        "deployment/world",
        "-n",
        "hello",
        "--type=merge",
        "-p",
        r#"{"spec":{"replicas":5}}"#,
    ])
    .unwrap();
    await_that("a changed field is reverted", || value("deployment/world", "{.spec.replicas}") == "2");
    kubectl(&["label", "service/world", "-n", "hello", "pilothouse.dev/plugin-"]).unwrap();
    await_that("a label taken off is put on again", || {
        value("service/world", r"{.metadata.labels.pilothouse\.dev/plugin}") == "hello"
    });

    std::fs::write(host.plugins.path().join("hello.wasm"), b"no plugin").unwrap();
    await_that("a broken file is refused aloud", || host.log().contains("plugin refused"));
    kubectl(&["patch", "hello/world", "-n", "hello", "--type=merge", "-p", r#"{"spec":{"replicas":3}}"#])
        .unwrap();
    await_that("the revision before goes on", || value("deployment/world", "{.spec.replicas}") == "3");

    let children = || kubectl(&["get", KINDS, "-n", "hello", "-l", LABEL, "-o=name"]).unwrap();
    assert_eq!(children().matches("/world").count(), 3, "{}", children());
    kubectl(&["delete", "hello/world", "-n", "hello"]).unwrap();
    // Kubernetes collects them. It looks for new kinds of owners every half minute only, so that is how long this takes.
    kubectl(&["wait", "--for=delete", KINDS, "-n", "hello", "-l", LABEL, COLLECTED]).unwrap();
    assert_eq!(children(), "");
}
