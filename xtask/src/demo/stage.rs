//! Where the host of a scene runs: as a process here, or in a pod from the image, installed by the chart.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::access::Access;
use crate::build;
use crate::steps::{run, say};

/// The host of a scene, on copies of the project and the plugins that the scene may edit.
pub(crate) trait Stage {
    /// Starts it.
    fn start(&mut self) -> Result<()>;
    /// Stops it in order, as a node does that is drained.
    fn stop(&mut self) -> Result<()>;
    /// Takes it away, as somebody does who deletes an operator; it can be started again.
    fn remove(&mut self) -> Result<()> {
        self.stop()
    }
    /// What it logged since its start.
    fn log(&self) -> String;
    /// The project's copy.
    fn project(&self) -> &Path;
    /// The plugins' directory.
    fn plugins(&self) -> &Path;
    /// A line for those who want to see the log.
    fn how_to_see_the_log(&self) -> String;
}

/// What both have in common.
#[derive(Debug)]
struct Copies {
    project: PathBuf,
    plugins: PathBuf,
}

impl Copies {
    fn make(source: &Path, plugins: &[PathBuf], work: &Path) -> Result<Self> {
        let copies = Self { project: work.join("project"), plugins: work.join("plugins") };
        run(Command::new("cp").arg("-r").arg(source).arg(&copies.project))?;
        copies.with(plugins, work)
    }

    fn of_plugins(plugins: &[PathBuf], work: &Path) -> Result<Self> {
        Self { project: work.join("project"), plugins: work.join("plugins") }.with(plugins, work)
    }

    fn with(self, plugins: &[PathBuf], work: &Path) -> Result<Self> {
        let copies = self;
        fs::create_dir_all(&copies.plugins)?;
        for plugin in plugins {
            let name = plugin.file_name().context("a plugin without a name")?;
            fs::copy(plugin, copies.plugins.join(name))?;
        }
        // The pod's user reads them, we write them.
        run(Command::new("chmod").args(["-R", "u+w,a+rX"]).arg(work))?;
        Ok(copies)
    }
}

/// The host as a process of this machine.
#[derive(Debug)]
pub(crate) struct Process {
    program: PathBuf,
    kubeconfig: PathBuf,
    copies: Copies,
    log: PathBuf,
    log_filter: &'static str,
    child: Option<Child>,
}

impl Process {
    /// Everything but the start.
    pub(crate) fn prepare(access: &Access, source: &Path, plugins: &[PathBuf], work: &Path) -> Result<Self> {
        Ok(Self {
            program: build::host()?,
            kubeconfig: access.kubeconfig().to_owned(),
            copies: Copies::make(source, plugins, work)?,
            log: work.join("host.log"),
            log_filter: "info",
            child: None,
        })
    }

    /// The same with a line for each reconcile.
    pub(crate) fn telling_of_reconciles(mut self) -> Self {
        self.log_filter = "info,pilothouse::controller::reconcile=debug";
        self
    }
}

impl Process {
    /// Its process, while it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }
}

/// How long the host may take to end.
const PATIENCE: Duration = Duration::from_secs(30);

impl Stage for Process {
    fn start(&mut self) -> Result<()> {
        let log = File::create(&self.log)?;
        let cache = pilothouse_testbed::paths::cache().join("compiled");
        let child = Command::new(&self.program)
            .current_dir(&self.copies.project)
            .arg("run")
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()))
            .arg(format!("--plugin-dir={}", self.copies.plugins.display()))
            .arg(format!("--cache-dir={}", cache.display()))
            .arg("--grant-requested")
            .arg(format!("--log={}", self.log_filter))
            .args(["--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .stdout(log.try_clone()?)
            .stderr(log)
            .stdin(Stdio::null())
            // Ctrl-C is for us; the host is stopped in its turn.
            .process_group(0)
            .spawn()
            .with_context(|| self.program.display().to_string())?;
        self.child = Some(child);
        Ok(())
    }

    fn stop(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        let started = Instant::now();
        while child.try_wait()?.is_none() {
            if started.elapsed() > PATIENCE {
                child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn project(&self) -> &Path {
        &self.copies.project
    }

    fn plugins(&self) -> &Path {
        &self.copies.plugins
    }

    fn how_to_see_the_log(&self) -> String {
        format!("tail -f {}", self.log.display())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// The host in a pod; project and plugins are directories of the node.
#[derive(Debug)]
pub(crate) struct Pod {
    access: Access,
    copies: Copies,
    values: PathBuf,
    installed: bool,
}

/// Where the chart is installed.
pub(super) const NAMESPACE: &str = "pilothouse-system";
const SELECTOR: &str = "app.kubernetes.io/name=pilothouse";

impl Pod {
    /// Everything but the start. The host's image is on the node already.
    pub(crate) fn prepare(access: &Access, source: &Path, plugins: &[PathBuf], work: &Path) -> Result<Self> {
        let values = json!({
            "grantRequested": true,
            // The scene takes any project; what a project really needs is `rbac.rules`.
            "rbac": {"clusterAdmin": true},
        });
        Self::of_project(access, source, plugins, values, work)
    }

    /// The same for a project whose plugins may do what `values` of the chart say.
    pub(crate) fn of_project(
        access: &Access,
        source: &Path,
        plugins: &[PathBuf],
        mut values: Value,
        work: &Path,
    ) -> Result<Self> {
        let copies = Copies::make(source, plugins, work)?;
        let fields = values.as_object_mut().context("values that are no object")?;
        fields.insert("project".to_owned(), json!({"volume": directory(&copies.project)}));
        Self::of(access, copies, values, work)
    }

    /// The same for plugins without a project: `values` of the chart say what they may do.
    pub(crate) fn of_plugins(
        access: &Access,
        plugins: &[PathBuf],
        values: Value,
        work: &Path,
    ) -> Result<Self> {
        Self::of(access, Copies::of_plugins(plugins, work)?, values, work)
    }

    fn of(access: &Access, copies: Copies, mut values: Value, work: &Path) -> Result<Self> {
        let plugins = json!([{"name": "scene", "source": directory(&copies.plugins)}]);
        let always = [
            ("image", json!({"pullPolicy": "Never"})),
            ("plugins", json!({"imageDirectory": "", "volumes": plugins})),
            ("log", json!({"format": "text"})),
        ];
        let fields = values.as_object_mut().context("values that are no object")?;
        fields.extend(always.map(|(name, value)| (name.to_owned(), value)));
        let file = work.join("values.json");
        fs::write(&file, values.to_string())?;
        Ok(Self { access: access.clone(), copies, values: file, installed: false })
    }
}

/// A directory of the node as a volume.
fn directory(path: &Path) -> Value {
    json!({"hostPath": {"path": path.display().to_string(), "type": "Directory"}})
}

impl Pod {
    fn install(&self) -> Result<()> {
        let chart = build::root().join("charts/pilothouse").display().to_string();
        let values = self.values.display().to_string();
        let install = ["install", "pilothouse", &chart, "--values", &values];
        let place = ["--namespace", NAMESPACE, "--create-namespace", "--wait", "--timeout=120s"];
        self.access.helm(&[install.as_slice(), &place].concat()).map(drop)
    }

    fn scale(&self, replicas: u32) -> Result<()> {
        let replicas = format!("--replicas={replicas}");
        let place = ["deployment/pilothouse", "--namespace", NAMESPACE];
        self.access.kubectl(&[["scale", &replicas].as_slice(), &place].concat())?;
        // Waits for both: that those wanted are ready and that those not wanted are gone.
        self.access.kubectl(&[["rollout", "status", "--timeout=60s"].as_slice(), &place].concat())?;
        let stopped = ["wait", "pods", "--for=delete", "--selector", SELECTOR, "--namespace", NAMESPACE];
        if replicas.ends_with("=0") {
            self.access.kubectl(&[stopped.as_slice(), &["--timeout=60s"]].concat())?;
        }
        Ok(())
    }
}

impl Stage for Pod {
    fn start(&mut self) -> Result<()> {
        if self.installed {
            self.scale(1)?;
        } else {
            self.install()?;
            self.installed = true;
        }
        say("the host runs in a pod:");
        println!("{}", self.access.kubectl(&["get", "pods", "--namespace", NAMESPACE])?);
        Ok(())
    }

    fn stop(&mut self) -> Result<()> {
        if self.installed { self.scale(0) } else { Ok(()) }
    }

    fn remove(&mut self) -> Result<()> {
        if std::mem::take(&mut self.installed) {
            let uninstall = ["uninstall", "pilothouse", "--wait", "--timeout=60s", "--namespace", NAMESPACE];
            self.access.helm(&uninstall)?;
        }
        Ok(())
    }

    fn log(&self) -> String {
        let arguments = ["logs", "--namespace", NAMESPACE, "--selector", SELECTOR, "--tail=-1"];
        self.access.kubectl(&arguments).unwrap_or_default()
    }

    fn project(&self) -> &Path {
        &self.copies.project
    }

    fn plugins(&self) -> &Path {
        &self.copies.plugins
    }

    fn how_to_see_the_log(&self) -> String {
        format!("kubectl logs --namespace {NAMESPACE} --selector {SELECTOR} --follow")
    }
}

/// The last lines of a log.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}
