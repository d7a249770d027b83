//! Checks what people install with: the chart and the kustomize tree.

use std::process::Command;

use anyhow::Result;
use pilothouse_testbed::binaries::{HELM_CLI, KUBECTL};
use pilothouse_testbed::{Cluster, Options};

use crate::build::root;
use crate::steps::{Terminal, run};

/// Lints and renders; with a server a real API server judges every object too.
pub(crate) fn check(with_server: bool) -> Result<()> {
    let terminal = Terminal::new();
    let mut command = Command::new(root().join("deploy/check.sh"));
    command.env("HELM", HELM_CLI.find(&terminal)?).env("KUBECTL", KUBECTL.find(&terminal)?);
    if !with_server {
        return run(&mut command);
    }
    let name = format!("deploy-{}", std::process::id());
    let cluster = Cluster::up(&Options { name, tied: true, node: false }, &terminal)?;
    drop(terminal);
    let checked = run(command.arg("--server").env("KUBECONFIG", cluster.kubeconfig()));
    cluster.down();
    checked
}
