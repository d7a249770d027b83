//! `cargo xtask fuzz-helm`: the program of `plugins/helm/fuzzing`, built and run.

mod parsers;

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::build::{self, cargo};
use crate::steps::{run, say};

/// Flags of `cargo xtask fuzz-helm`.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  cargo xtask fuzz-helm --seconds 3600                  an hour of everything
  cargo xtask fuzz-helm --only template --seed 500      from another beginning, templates only
  cargo xtask fuzz-helm --parser yaml --seconds 600     libFuzzer on the reader of YAML

What differs is made small, shown, and kept in plugins/helm/fuzzing/regressions with Helm's answer; the tests of
helm-fuzzing try it again without Go. The exit code is 1 when anything differed.

With --parser nothing is compared: libFuzzer looks for inputs that make a parser panic, take too long or use too much
memory. What it finds is kept in the target directory, with what it learnt; a fix comes with a test of its own.")]
pub(crate) struct FuzzArgs {
    /// How long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where to begin; the questions of a seed are always the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compare one area only.
    #[arg(long, value_parser = ["functions", "template", "yaml", "values", "charts"])]
    only: Option<String>,
    /// Do not keep what is found.
    #[arg(long)]
    dry: bool,
    /// Let libFuzzer look for what a parser cannot stand instead.
    #[arg(long, value_parser = parsers::PARSERS, conflicts_with_all = ["only", "dry", "seed"])]
    parser: Option<String>,
}

/// The program's package and binary.
const PROGRAM: &str = "helm-fuzzing";

/// Builds the program and runs it.
pub(crate) fn fuzz_helm(args: &FuzzArgs) -> Result<()> {
    say("building helm-fuzzing");
    run(cargo("build")?.args(["--package", PROGRAM]))?;
    let program = build::target_dir().join(build::host_triple()?).join("release").join(PROGRAM);
    if let Some(parser) = &args.parser {
        return parsers::fuzz(parser, args.seconds, &program);
    }
    let mut command = Command::new(&program);
    command.args(["--seconds", &args.seconds.to_string(), "--seed", &args.seed.to_string()]);
    if let Some(area) = &args.only {
        command.args(["--only", area]);
    }
    if args.dry {
        command.arg("--dry");
    }
    let status = command.status().with_context(|| program.display().to_string())?;
    match status.code() {
        Some(0) => Ok(()),
        // The program has shown what differs.
        Some(1) => bail!("the engine is not Helm in what is shown above"),
        _ => bail!("{}: {status}", program.display()),
    }
}
