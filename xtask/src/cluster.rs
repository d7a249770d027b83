//! `cargo xtask cluster`.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Subcommand;
use pilothouse_testbed::{Cluster, Options};

use crate::setup;
use crate::steps::{Terminal, say};

/// Local clusters.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterTask {
    /// Start a cluster and wait until it serves: etcd, kube-apiserver, kube-controller-manager.
    #[command(
        after_help = "EXAMPLE:\n  cargo xtask cluster up --name mine && export KUBECONFIG=$(cargo xtask cluster kubeconfig --name mine)"
    )]
    Up {
        /// Clusters of different names run side by side.
        #[arg(long, default_value = "dev", env = "PILOTHOUSE_CLUSTER")]
        name: String,
        /// With a node that runs pods (scheduler, kubelet, containerd, kube-proxy, CoreDNS). Needs root.
        #[arg(long)]
        node: bool,
    },
    /// Stop a cluster and remove everything of it, also when the process that started it was killed.
    Down {
        /// Which.
        #[arg(long, default_value = "dev", env = "PILOTHOUSE_CLUSTER")]
        name: String,
        /// All that run on this machine.
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// Clusters, their programs and where these write their logs.
    Status,
    /// Print where a cluster's kubeconfig is.
    #[command(after_help = "EXAMPLE:\n  export KUBECONFIG=$(cargo xtask cluster kubeconfig)")]
    Kubeconfig {
        /// Which.
        #[arg(long, default_value = "dev", env = "PILOTHOUSE_CLUSTER")]
        name: String,
    },
    /// Put the images of a docker-archive file into a node.
    #[command(
        after_help = "EXAMPLE:\n  cargo xtask image --output host.tar && cargo xtask cluster import host.tar"
    )]
    Import {
        /// What `cargo xtask image` or `docker save` wrote.
        file: PathBuf,
        /// Which.
        #[arg(long, default_value = "dev", env = "PILOTHOUSE_CLUSTER")]
        name: String,
    },
}

/// Does the task.
pub(crate) fn run(task: ClusterTask) -> Result<()> {
    match task {
        ClusterTask::Up { name, node } => up(name, node),
        ClusterTask::Down { all: true, .. } => {
            for name in Cluster::all() {
                down(&name)?;
            }
            Ok(())
        }
        ClusterTask::Down { name, .. } => down(&name),
        ClusterTask::Status => {
            status();
            Ok(())
        }
        ClusterTask::Kubeconfig { name } => {
            println!("{}", Cluster::open(&name)?.kubeconfig().display());
            Ok(())
        }
        ClusterTask::Import { file, name } => Ok(Cluster::open(&name)?.import_image_file(&file)?),
    }
}

fn up(name: String, node: bool) -> Result<()> {
    let started = Instant::now();
    if node {
        setup::node_packages()?;
    }
    let terminal = Terminal::new();
    let cluster = Cluster::up(&Options { name, tied: false, node }, &terminal)?;
    drop(terminal);
    say(&format!(
        "cluster {:?} is up after {:.1} s; logs in {}",
        cluster.name(),
        started.elapsed().as_secs_f64(),
        cluster.directory().join("logs").display()
    ));
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    Ok(())
}

fn down(name: &str) -> Result<()> {
    let started = Instant::now();
    Cluster::open(name)?.down();
    say(&format!("cluster {name:?} is gone after {:.1} s", started.elapsed().as_secs_f64()));
    Ok(())
}

fn status() {
    let names = Cluster::all();
    if names.is_empty() {
        say("no clusters; start one with `cargo xtask cluster up`");
    }
    for cluster in names.iter().filter_map(|name| Cluster::open(name).ok()) {
        println!("{}  {}  KUBECONFIG={}", cluster.name(), cluster.server(), cluster.kubeconfig().display());
        for part in cluster.parts() {
            let state = part.pid.map_or_else(|| "stopped".to_owned(), |pid| format!("pid {pid}"));
            println!("  {:24} {state:12} {}", part.name, part.log.display());
        }
    }
}
