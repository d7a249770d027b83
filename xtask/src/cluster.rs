//! `cargo xtask cluster`.

use anyhow::Result;
use clap::Subcommand;
use pilothouse_testbed::{Cluster, Options};

use crate::steps::say;

/// Local clusters.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterTask {
    /// Start a control plane and wait until it serves.
    Up {
        /// Clusters of different names run side by side.
        #[arg(long, default_value = "dev")]
        name: String,
    },
    /// Stop a cluster and remove everything of it.
    Down {
        /// Which.
        #[arg(long, default_value = "dev")]
        name: String,
    },
    /// Clusters, their programs and logs.
    Status,
    /// Print where a cluster's kubeconfig is: `export KUBECONFIG=$(cargo xtask cluster kubeconfig)`.
    Kubeconfig {
        /// Which.
        #[arg(long, default_value = "dev")]
        name: String,
    },
}

/// Does the task.
pub(crate) fn run(task: ClusterTask) -> Result<()> {
    match task {
        ClusterTask::Up { name } => {
            let started = std::time::Instant::now();
            let cluster = Cluster::up(&Options { name, tied: false }, &say)?;
            say(&format!(
                "cluster {:?} is up at {} after {:.1} s",
                cluster.name(),
                cluster.server(),
                started.elapsed().as_secs_f64()
            ));
            println!("export KUBECONFIG={}", cluster.kubeconfig().display());
        }
        ClusterTask::Down { name } => Cluster::open(&name)?.down(),
        ClusterTask::Status => status(),
        ClusterTask::Kubeconfig { name } => println!("{}", Cluster::open(&name)?.kubeconfig().display()),
    }
    Ok(())
}

fn status() {
    let names = Cluster::all();
    if names.is_empty() {
        say("no clusters; start one with `cargo xtask cluster up`");
    }
    for cluster in names.iter().filter_map(|name| Cluster::open(name).ok()) {
        println!("{}  {}  {}", cluster.name(), cluster.server(), cluster.kubeconfig().display());
        for daemon in cluster.daemons() {
            let state = daemon
                .pid()
                .map_or_else(|| "stopped".to_owned(), |pid| format!("pid {}", pid.as_raw_nonzero()));
            println!("  {:24} {state:12} {}", daemon.name, daemon.log().display());
        }
    }
}
