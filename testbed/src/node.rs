//! A node that runs pods, in namespaces of its own: its mounts, its network and its processes belong to one first process
//! and end with it, so that nothing of it can be left on the machine. The control plane of such a cluster lives there too.
//!
//! The machine and the node are joined by a veth pair. Through it the machine reaches the API server, pods and Services.

mod cgroup;
mod images;
mod network;
mod packages;
mod parts;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub use cgroup::cgroups;
pub use network::{Network, free_number};
pub use packages::{PACKAGES, missing_packages};

use crate::binaries::Program;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::process::{Namespaces, Place, wait_until};
use crate::progress::Progress;

/// The first process of the namespaces.
pub(crate) const INIT: &str = "init";
/// In the order in which they start.
pub(crate) const DAEMONS: [&str; 5] = ["coredns", "kube-scheduler", "containerd", "kubelet", "kube-proxy"];

/// The node's name.
pub const NAME: &str = "node";

const START: Duration = Duration::from_secs(120);

/// Whether we may make what a node is made of.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this machine can run a node now.
///
/// # Errors
/// Says what is missing and how to get it.
pub fn check() -> Result<()> {
    if !is_root() {
        return Err(Error::Other("a node needs root: it makes namespaces, mounts and containers".to_owned()));
    }
    let missing = missing_packages();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::Other(format!(
        "a node needs {}; `cargo xtask setup --node` installs them where apt is",
        missing.join(", ")
    )))
}

/// Makes the namespaces and their network. Called before anything else of the cluster starts.
pub(crate) fn prepare(cluster: &Cluster, programs: &[PathBuf]) -> Result<()> {
    let directory = cluster.directory();
    settings::write(cluster)?;
    cgroup::create(cluster.name())?;
    // Whatever the node covers with directories of its own, it has to go on seeing these.
    let mut keep: Vec<&Path> = programs.iter().filter_map(|program| program.parent()).collect();
    keep.push(directory);
    keep.dedup();
    let ready = directory.join("node/ready");
    let mut command = Command::new("sh");
    command.arg(directory.join("node/init.sh")).arg(directory).args(keep);
    let init = cluster.daemon(INIT);
    init.start(command, &Place { namespaces: Namespaces::New, ..cluster.place() })?;
    init.await_ready(START, || ready.exists())?;
    let pid = init.last_pid().ok_or_else(|| Error::Other("the node's first process is gone".to_owned()))?;
    network(cluster)?.join(pid)
}

/// Starts the parts that run pods and waits until the node is ready.
pub(crate) fn start(
    cluster: &Cluster,
    program: &dyn Fn(&Program) -> Result<PathBuf>,
    progress: &dyn Progress,
) -> Result<()> {
    let started = Instant::now();
    settings::write_credentials(cluster)?;
    for part in DAEMONS {
        progress.now(part);
        parts::start(cluster, part, program)?;
    }
    progress.now("the node's pause image");
    images::import(cluster, &[images::pause()?])?;
    parts::storage_class(cluster)?;
    let status = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
    let ready =
        || cluster.kubectl(&["get", "node", NAME, "--output", status]).is_ok_and(|text| text == "True");
    cluster.daemon("kubelet").await_ready(START, ready)?;
    progress.line(&format!("node ready in {:.1} s", started.elapsed().as_secs_f32()));
    Ok(())
}

/// Ends every process of the node, and with them its mounts and its network; removes its cgroups.
pub(crate) fn stop(cluster: &Cluster) {
    let init = cluster.daemon(INIT);
    // Not asked first: the namespace ends with it, and there is nothing in it to be saved.
    init.kill();
    if let Ok(network) = network(cluster) {
        network.remove();
    }
    // Processes leave their cgroups a moment after they were killed.
    wait_until(Duration::from_secs(10), || cgroup::remove(cluster.name()));
}

fn network(cluster: &Cluster) -> Result<Network> {
    let number = cluster.record().node;
    number.map(Network::new).ok_or_else(|| Error::Other(format!("cluster {:?} has no node", cluster.name())))
}

impl Cluster {
    /// A command that runs on the node, with its mounts, network and processes: `ctr`, `nft`, `ip`, `sh` …
    ///
    /// # Errors
    /// When the cluster has no node, or it is down.
    pub fn on_node(&self, program: &str) -> Result<Command> {
        let pid = self.daemon(INIT).pid().filter(|_| self.has_node());
        let pid =
            pid.ok_or_else(|| Error::Other(format!("cluster {:?} has no node that runs", self.name())))?;
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--target={}", pid.as_raw_nonzero()))
            .args(["--mount", "--net", "--pid", "--", program]);
        command.env("CONTAINERD_ADDRESS", settings::CONTAINERD).env("CONTAINERD_NAMESPACE", "k8s.io");
        Ok(command)
    }

    /// Puts images into the node's containerd, where pods with `imagePullPolicy: IfNotPresent` find them.
    ///
    /// # Errors
    /// When the cluster has no node, or containerd refuses one.
    pub fn import_images(&self, images: &[crate::image::Archive]) -> Result<()> {
        images::import(self, images)
    }

    /// The node's networks.
    ///
    /// # Errors
    /// When the cluster has no node.
    pub fn network(&self) -> Result<Network> {
        network(self)
    }

    /// Puts the images of a docker-archive file (`docker save`, `cargo xtask image`) into the node's containerd.
    ///
    /// # Errors
    /// When the file cannot be read, the cluster has no node, or containerd refuses it.
    pub fn import_image_file(&self, file: &Path) -> Result<()> {
        images::import_stream(self, fs::File::open(file).map_err(Error::file(file))?)
    }
}
