//! `cargo xtask faults`: a plugin's scenes in a simulated cluster.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::build::{self, cargo};
use crate::steps::{run, say};

/// Flags of `cargo xtask faults`.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  cargo xtask faults --plugin etcd                            every request of every scene goes wrong in every way
  cargo xtask faults --plugin etcd --brief --minutes 30       deaths only, then seeds by chance for half an hour
  cargo xtask faults --plugin etcd --scene upgrade --seed 7 --runs 1 --chance
                                                              one run again, by the seed that was printed

Nothing real is needed: cluster, etcd and time are simulated. Every failure is printed with the shortest run that shows
it. The exit code is 1 when there was any.")]
pub(crate) struct FaultsArgs {
    /// Whose scenes.
    #[arg(long, value_parser = ["etcd"])]
    plugin: String,
    /// The first seed of runs by chance.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds each scene is played by.
    #[arg(long, default_value_t = 10)]
    runs: u64,
    /// Go on with further seeds until so many minutes have passed.
    #[arg(long)]
    minutes: Option<u64>,
    /// Only scenes whose name contains this.
    #[arg(long, default_value = "")]
    scene: String,
    /// Runs by chance only.
    #[arg(long)]
    chance: bool,
    /// Deaths only, and a sample of the rest.
    #[arg(long, conflicts_with = "chance")]
    brief: bool,
    /// Print the names of the scenes.
    #[arg(long)]
    list: bool,
}

/// Builds the program that plays it, and runs it.
pub(crate) fn faults(args: &FaultsArgs) -> Result<()> {
    let (package, binary) = (format!("{}-simulation", args.plugin), format!("{}-faults", args.plugin));
    say(&format!("building {package}"));
    run(cargo("build")?.args(["--package", &package, "--bin", &binary]))?;
    let program = build::target_dir().join(build::host_triple()?).join("release").join(binary);
    let orders = serde_json::json!({
        "seed": args.seed,
        "runs": args.runs,
        "minutes": args.minutes,
        "scene": args.scene,
        "chance": args.chance,
        "brief": args.brief,
        "list": args.list,
    });
    let status = Command::new(&program).arg(orders.to_string()).status();
    let status = status.with_context(|| program.display().to_string())?;
    match status.code() {
        Some(0) => Ok(()),
        // The program has shown what went wrong.
        Some(1) => bail!("what is shown above went wrong"),
        _ => bail!("{}: {status}", program.display()),
    }
}
