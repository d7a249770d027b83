//! Starting what runs pods.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::NAME;
use crate::binaries::{COREDNS_SERVER, KUBE_PROXY, KUBE_SCHEDULER, KUBELET, Program};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::process::run;

const START: Duration = Duration::from_secs(180);

/// Starts one of the node's programs.
pub(super) fn start(
    cluster: &Cluster,
    part: &str,
    program: &dyn Fn(&Program) -> Result<PathBuf>,
) -> Result<()> {
    let daemon = cluster.daemon(part);
    let command = match part {
        "coredns" => coredns(cluster, &program(&COREDNS_SERVER)?),
        "kube-scheduler" => scheduler(cluster, &program(&KUBE_SCHEDULER)?),
        "containerd" => containerd(cluster),
        "kubelet" => kubelet(cluster, &program(&KUBELET)?)?,
        "kube-proxy" => kube_proxy(cluster, &program(&KUBE_PROXY)?),
        other => return Err(Error::Other(format!("{other} is no part of a node"))),
    };
    daemon.start(command, &cluster.place())?;
    if part == "containerd" {
        daemon.await_ready(START, || {
            cluster.on_node("ctr").is_ok_and(|mut ctr| run(ctr.arg("version")).is_ok())
        })?;
    }
    Ok(())
}

fn file(cluster: &Cluster, name: &str) -> String {
    cluster.directory().join("node").join(name).display().to_string()
}

fn coredns(cluster: &Cluster, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("-conf").arg(file(cluster, "Corefile"));
    command
}

fn scheduler(cluster: &Cluster, program: &Path) -> Command {
    let config = cluster.part_kubeconfig("scheduler").display().to_string();
    let mut command = Command::new(program);
    command.args(["--leader-elect=false", "--secure-port=0"]);
    for flag in ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"] {
        command.arg(format!("--{flag}={config}"));
    }
    command
}

fn containerd(cluster: &Cluster) -> Command {
    let mut command = Command::new("containerd");
    command.arg("--config").arg(file(cluster, "containerd.toml"));
    command
}

fn kubelet(cluster: &Cluster, program: &Path) -> Result<Command> {
    let mut command = Command::new(program);
    command
        .arg(format!("--config={}", file(cluster, "kubelet.json")))
        .arg(format!("--kubeconfig={}", file(cluster, "node.kubeconfig")))
        .arg(format!("--root-dir={}", file(cluster, "kubelet")))
        .arg(format!("--hostname-override={NAME}"))
        .arg(format!("--node-ip={}", super::network(cluster)?.address()));
    Ok(command)
}

fn kube_proxy(cluster: &Cluster, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(format!("--config={}", file(cluster, "kube-proxy.json")));
    command
}

/// Claims are served with directories of the node.
pub(super) fn storage_class(cluster: &Cluster) -> Result<()> {
    cluster.kubectl(&["apply", "--filename", &file(cluster, "storage-class.json")]).map(drop)
}
