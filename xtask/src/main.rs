//! Repository tasks, run as `cargo xtask`.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod bench;
mod build;
mod cluster;
mod conformance;
mod demo;
mod deploy;
mod faults;
mod fuzz;
mod image;
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
  cargo xtask cluster up           a real Kubernetes control plane beside your work; --node runs pods
  cargo xtask image                the host's container image, without Docker

Tools, build results and clusters live in $PILOTHOUSE_CACHE (default ~/.cache/pilothouse)."
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Bring this machine what it lacks: the WebAssembly target, a Kubernetes, the cache directories.
    Setup(setup::SetupArgs),
    /// Build every plugin of the repository into the cache.
    Plugins {
        /// Also those that only tests need.
        #[arg(long)]
        tests: bool,
    },
    /// Write the host's container image, or those that tests need, to a file.
    Image(image::ImageArgs),
    /// Start, look at and stop local clusters.
    #[command(subcommand)]
    Cluster(cluster::ClusterTask),
    /// Play a scene on a real cluster.
    Demo(demo::DemoArgs),
    /// Figures of the host at work.
    #[command(subcommand)]
    Bench(bench::BenchTask),
    /// Compare the Helm engine with Helm's own code on made-up charts, templates, values and YAML.
    FuzzHelm(fuzz::FuzzArgs),
    /// Play a plugin's scenes in a simulated cluster with everything that can go wrong.
    Faults(faults::FaultsArgs),
    /// Compare what we render with what helm rendered, byte for byte.
    Conformance(conformance::ConformanceArgs),
    /// Everything CI runs: format, lints, guests, tests on a real API server and a real node, docs.
    Test(test::TestArgs),
    /// Check that released directories of the plugin interface did not change.
    CheckWit,
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without the backtrace: what failed is known by its words, and a summary stays at the end.
            steps::say(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Setup(args) => setup::setup(&args),
        Task::Plugins { tests } => {
            build::plugins()?;
            if tests { build::test_guests().map(drop) } else { Ok(()) }
        }
        Task::Image(args) => image::image(&args),
        Task::Cluster(task) => cluster::run(task),
        Task::Demo(args) => demo::demo(&args),
        Task::Bench(task) => bench::bench(&task),
        Task::FuzzHelm(args) => fuzz::fuzz_helm(&args),
        Task::Faults(args) => faults::faults(&args),
        Task::Conformance(args) => conformance::conformance(&args),
        Task::Test(args) => test::test(&args),
        Task::CheckWit => wit::check(),
    }
}
