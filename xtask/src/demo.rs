//! `cargo xtask demo`: a real cluster, the host, an operator-sdk Helm project, in steps one can follow.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use pilothouse_testbed::{Cluster, Options};

use crate::build;
use crate::steps::{output, run, say};

/// Flags of `cargo xtask demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  cargo xtask demo --once                      plays the scene; exit code 0 when every step was seen
  cargo xtask demo --project ~/my-operator     your own operator-sdk Helm project instead of the sample")]
pub(crate) struct DemoArgs {
    /// Which scene.
    #[arg(long, default_value = "S1", value_parser = ["S1"])]
    scene: String,
    /// Play it through and end, instead of leaving it to you to try.
    #[arg(long)]
    once: bool,
    /// An operator-sdk Helm project.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// How long a step may take to be seen.
const PATIENCE: Duration = Duration::from_secs(60);
/// The namespace of the scene.
const NAMESPACE: &str = "operators";

/// Plays the scene.
pub(crate) fn demo(args: &DemoArgs) -> Result<()> {
    let plugins = build::plugins()?;
    let project =
        args.project.clone().unwrap_or_else(|| build::root().join("charts/samples/player-stats-operator"));
    let name = format!("demo-{}", std::process::id());
    say("starting a control plane");
    let cluster = Cluster::up(&Options { name, tied: true, node: false }, &say)?;
    let work = tempfile::tempdir()?;
    let scene = Scene::start(&cluster, &project, &plugins, work.path())?;
    say(&format!("scene {}: an operator-sdk Helm project runs unchanged", args.scene));
    let played = scene.play();
    if let Err(error) = &played {
        eprintln!("{}", scene.log_tail());
        say(&format!("not seen: {error:#}"));
    }
    if !args.once && played.is_ok() {
        say("the scene is yours now; try it in another terminal, Ctrl-C ends it:");
        println!("export KUBECONFIG={}", cluster.kubeconfig().display());
        println!("kubectl get all,player-stats --namespace {NAMESPACE}");
        println!("log of the host: {}", scene.log.display());
        wait_for_ctrl_c();
    }
    drop(scene);
    cluster.down();
    played
}

/// The host at work on a project.
struct Scene<'a> {
    cluster: &'a Cluster,
    project: PathBuf,
    plugins: PathBuf,
    log: PathBuf,
    host: Child,
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        let _ = self.host.kill();
        let _ = self.host.wait();
    }
}

impl<'a> Scene<'a> {
    /// A copy of the project and the plugins, so that the scene may edit them, and the host on it.
    fn start(cluster: &'a Cluster, project: &Path, plugins: &[PathBuf], work: &Path) -> Result<Self> {
        let (copy, plugin_dir, log) = (work.join("project"), work.join("plugins"), work.join("host.log"));
        run(Command::new("cp").arg("-r").arg(project).arg(&copy))?;
        run(Command::new("chmod").args(["-R", "u+w"]).arg(&copy))?;
        std::fs::create_dir_all(&plugin_dir)?;
        for plugin in plugins {
            std::fs::copy(plugin, plugin_dir.join(plugin.file_name().context("a plugin without a name")?))?;
        }
        let output = File::create(&log)?;
        let host = Command::new(build::host()?)
            .current_dir(&copy)
            .arg("run")
            .arg("--watches-file=watches.yaml")
            .arg(format!("--kubeconfig={}", cluster.kubeconfig().display()))
            .arg(format!("--plugin-dir={}", plugin_dir.display()))
            .arg(format!("--cache-dir={}", pilothouse_testbed::paths::cache().join("compiled").display()))
            .args(["--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .stdout(output.try_clone()?)
            .stderr(output)
            .stdin(Stdio::null())
            .spawn()
            .context("the host did not start")?;
        Ok(Self { cluster, project: copy, plugins: plugin_dir, log, host })
    }

    fn play(&self) -> Result<()> {
        self.install()?;
        self.drift()?;
        self.upgrade()?;
        self.reload()?;
        self.swap()?;
        self.uninstall()
    }

    fn install(&self) -> Result<()> {
        self.kubectl(&["create", "namespace", NAMESPACE])?;
        let crds = self.project.join("config/crd/bases");
        self.kubectl(&["apply", "--filename", &crds.display().to_string()])?;
        let sample = self.sample()?;
        self.kubectl(&["apply", "--namespace", NAMESPACE, "--filename", &sample.display().to_string()])?;
        self.seen("the release is installed", || self.history_has(1, "deployed"))?;
        self.show(&["get", "deployments,services,persistentvolumeclaims", "--namespace", NAMESPACE])?;
        println!("{}", self.cluster.helm(&["list", "--namespace", NAMESPACE])?);
        Ok(())
    }

    fn drift(&self) -> Result<()> {
        let deployment = "deployment/player-stats-sample";
        self.kubectl(&[
            "patch",
            deployment,
            "--namespace",
            NAMESPACE,
            "--type=merge",
            "--patch",
            r#"{"spec":{"replicas":3}}"#,
        ])?;
        let replicas = || self.value(deployment, "{.spec.replicas}").is_ok_and(|text| text == "1");
        self.seen("replicas set to 3 by hand are 1 again", replicas)?;
        self.kubectl(&["delete", deployment, "--namespace", NAMESPACE, "--wait=false"])?;
        self.seen("the deleted Deployment is back", || self.value(deployment, "{.spec.replicas}").is_ok())
    }

    fn upgrade(&self) -> Result<()> {
        let resource = "player-stats/player-stats-sample";
        self.kubectl(&[
            "patch",
            resource,
            "--namespace",
            NAMESPACE,
            "--type=merge",
            "--patch",
            r#"{"spec":{"replicaCount":2}}"#,
        ])?;
        self.run_hook_jobs("the pre-upgrade backup runs, then revision 2 is deployed", || {
            self.history_has(2, "deployed")
        })?;
        println!("{}", self.cluster.helm(&["history", "player-stats-sample", "--namespace", NAMESPACE])?);
        Ok(())
    }

    /// Saving a template re-renders its release.
    fn reload(&self) -> Result<()> {
        let template = self.project.join("helm-charts/player-stats/templates/service.yaml");
        let text = std::fs::read_to_string(&template)?;
        std::fs::write(
            &template,
            text.replacen("metadata:\n", "metadata:\n  annotations: {edited: \"yes\"}\n", 1),
        )?;
        let edited = || {
            self.value("service/player-stats-sample", "{.metadata.annotations.edited}")
                .is_ok_and(|text| text == "yes")
        };
        self.run_hook_jobs("an edited template is rolled out", edited)
    }

    /// A plugin file that is written again with other content is swapped while the host runs.
    fn swap(&self) -> Result<()> {
        let file = self.plugins.join("hello.wasm");
        std::fs::write(&file, b"not wasm at all")?;
        self.seen("a broken plugin file is refused, the one before goes on", || self.logged("plugin refused"))
    }

    fn uninstall(&self) -> Result<()> {
        self.kubectl(&[
            "delete",
            "player-stats/player-stats-sample",
            "--namespace",
            NAMESPACE,
            "--wait=false",
        ])?;
        let gone = || {
            let left = self.kubectl(&[
                "get",
                "deployments,services,player-stats",
                "--namespace",
                NAMESPACE,
                "--output=name",
            ]);
            left.is_ok_and(|names| names.trim().is_empty())
        };
        self.seen("the CR is deleted and everything with it", gone)
    }

    /// A control plane runs no pods: the scene stands in for the node and lets the hooks' pods succeed.
    fn run_hook_jobs(&self, what: &str, done: impl Fn() -> bool) -> Result<()> {
        let of_jobs = ["get", "pods", "--namespace", NAMESPACE, "--selector=job-name", "--output=name"];
        let status = r#"{"status":{"phase":"Succeeded"}}"#;
        self.seen(what, || {
            for pod in self.kubectl(&of_jobs).unwrap_or_default().lines() {
                let place = ["patch", pod, "--namespace", NAMESPACE, "--subresource=status"];
                let _ = self.kubectl(&[place.as_slice(), &["--type=merge", "--patch", status]].concat());
            }
            done()
        })
    }

    fn seen(&self, what: &str, mut holds: impl FnMut() -> bool) -> Result<()> {
        let started = Instant::now();
        while !holds() {
            if started.elapsed() > PATIENCE {
                bail!("{what} (waited {} s)", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        say(&format!("seen after {:>5} ms: {what}", started.elapsed().as_millis()));
        Ok(())
    }

    fn history_has(&self, revision: u64, status: &str) -> bool {
        let arguments = ["history", "player-stats-sample", "--namespace", NAMESPACE, "--output=json"];
        let text = self.cluster.helm(&arguments).unwrap_or_default();
        let revisions: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        revisions.as_array().is_some_and(|all| {
            all.iter().any(|entry| entry["revision"].as_u64() == Some(revision) && entry["status"] == status)
        })
    }

    fn sample(&self) -> Result<PathBuf> {
        let samples = self.project.join("config/samples");
        let files = std::fs::read_dir(&samples).with_context(|| samples.display().to_string())?.flatten();
        let mut files = files.map(|entry| entry.path()).filter(|path| !path.ends_with("kustomization.yaml"));
        files.next().context("the project has no sample")
    }

    fn value(&self, object: &str, path: &str) -> Result<String> {
        self.kubectl(&["get", object, "--namespace", NAMESPACE, &format!("--output=jsonpath={path}")])
    }

    fn show(&self, arguments: &[&str]) -> Result<()> {
        println!("{}", self.kubectl(arguments)?);
        Ok(())
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        Ok(self.cluster.kubectl(arguments)?)
    }

    fn logged(&self, text: &str) -> bool {
        std::fs::read_to_string(&self.log).is_ok_and(|log| log.contains(text))
    }

    fn log_tail(&self) -> String {
        output(Command::new("tail").args(["-n", "40"]).arg(&self.log)).unwrap_or_default()
    }
}

/// The terminal sends Ctrl-C to the whole group; the cluster is in groups of its own and is stopped in order after this.
fn wait_for_ctrl_c() {
    let mut line = String::new();
    // Ctrl-D, or Enter.
    let _ = std::io::stdin().read_line(&mut line);
}
