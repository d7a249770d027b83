//! `cargo xtask setup`: what a fresh machine lacks. Everything looks first and does nothing where nothing is missing, so
//! the other tasks call the parts that they need by themselves.

mod wasm;

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use pilothouse_testbed::binaries::{
    self, CONTROL_PLANE, ETCD, ETCD_AFTER, ETCD_BEFORE, ETCDCTL, HELM_CLI, HELM_OPERATOR, NODE, Program,
    REGISTRY_SERVER, S3_SERVER, etcd_programs,
};
use pilothouse_testbed::{node, paths};

use crate::build::plugins_dir;
use crate::steps::{Terminal, run, say};

pub(crate) use wasm::wasm_target;

/// Flags of `cargo xtask setup`.
#[derive(Debug, Args)]
#[command(
    after_help = "EXAMPLE:\n  cargo xtask setup --node      what `cluster up --node` and the end-to-end tests need, as root"
)]
pub(crate) struct SetupArgs {
    /// Also what a node needs: kubelet and its companions, and Debian's packages of container tools (root).
    #[arg(long)]
    node: bool,
}

/// Everything, with times.
pub(crate) fn setup(args: &SetupArgs) -> Result<()> {
    let started = Instant::now();
    for directory in [paths::cache(), paths::tools(), paths::clusters(), plugins_dir()] {
        fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    }
    wasm_target()?;
    control_plane()?;
    if args.node {
        node_packages()?;
        programs(&NODE)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    say(&format!("set up in {seconds:.1} s; everything lies in {}", paths::cache().display()));
    Ok(())
}

/// The programs of a control plane, and helm.
pub(crate) fn control_plane() -> Result<()> {
    let more = [ETCDCTL, HELM_CLI, HELM_OPERATOR, REGISTRY_SERVER];
    programs(&CONTROL_PLANE.into_iter().chain(more).collect::<Vec<_>>())
}

/// Programs of Kubernetes and its friends, from wherever they can be had.
fn programs(wanted: &[Program]) -> Result<()> {
    binaries::find_all(wanted, &Terminal::new())?;
    Ok(())
}

/// What a node needs.
pub(crate) fn node() -> Result<()> {
    node_packages()?;
    programs(&NODE)
}

/// Begins to build, in the background, what is built of Go modules (minutes on a new machine): compiling Rust leaves one processor
/// or the other without work again and again. Whoever needs a program waits for it, and is told where that fails.
pub(crate) fn programs_meanwhile(with_node: bool) {
    std::thread::spawn(move || {
        let mut all = control_plane();
        if with_node {
            let images = [&ETCD_BEFORE, &ETCD, &ETCD_AFTER].map(etcd_programs);
            let later = NODE.into_iter().chain(images.into_iter().flatten()).chain([S3_SERVER]);
            all = all.and_then(|()| programs(&later.collect::<Vec<_>>()));
        }
        if let Err(error) = all {
            say(&format!("what is built meanwhile: {error:#}"));
        }
    });
}

/// Debian's packages of what a node needs, where they are missing.
pub(crate) fn node_packages() -> Result<()> {
    let missing = node::missing_packages();
    if missing.is_empty() {
        return Ok(());
    }
    let started = Instant::now();
    if paths::on_path("apt-get").is_none() {
        bail!("a node needs {}; install them with your system's package manager", missing.join(", "));
    }
    say(&format!("installing {} (apt-get)", missing.join(" ")));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        run(command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq").args(arguments).stdout(Stdio::null()))
    };
    // The lists may be older than the archive; nothing of the machine's is removed to make room.
    apt(&["update"])?;
    let options = ["install", "--yes", "--no-install-recommends", "--no-remove"];
    apt(&options.iter().chain(&missing).copied().collect::<Vec<_>>())?;
    say(&format!("packages installed in {:.1} s", started.elapsed().as_secs_f64()));
    Ok(())
}
