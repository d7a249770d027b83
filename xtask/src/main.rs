//! Repository tasks, run as `cargo xtask`.

use anyhow::Result;
use clap::{Parser, Subcommand};

mod build;
mod cluster;
mod demo;
mod setup;
mod steps;
mod test;
mod wit;

/// Repository tasks.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    after_help = "\
EXAMPLES:
  cargo xtask demo                 a cluster, the host, a Helm operator project; then it is yours to try
  cargo xtask test                 everything CI runs
  cargo xtask cluster up           a real Kubernetes control plane beside your work

Tools, build results and clusters live in $PILOTHOUSE_CACHE (default ~/.cache/pilothouse)."
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Bring this machine what it lacks: the WebAssembly target and the cache directories.
    Setup,
    /// Build every plugin of the repository into the cache.
    Plugins,
    /// Start, look at and stop local clusters.
    #[command(subcommand)]
    Cluster(cluster::ClusterTask),
    /// Play a scene on a real cluster.
    Demo(demo::DemoArgs),
    /// Format, lints, unit tests, guests, integration on a real API server, docs.
    Test(test::TestArgs),
    /// Check that released directories of the plugin interface did not change.
    CheckWit,
}

fn main() -> Result<()> {
    match Cli::parse().task {
        Task::Setup => setup::setup(),
        Task::Plugins => build::plugins().map(drop),
        Task::Cluster(task) => cluster::run(task),
        Task::Demo(args) => demo::demo(&args),
        Task::Test(args) => test::test(&args),
        Task::CheckWit => wit::check(),
    }
}
