//! `cargo xtask test`: what CI runs.

use std::process::Command;

use anyhow::Result;
use clap::Args;
use pilothouse_testbed::node;

use crate::build::{self, cargo};
use crate::demo;
use crate::deploy;
use crate::setup;
use crate::steps::{Steps, Told, run, run_heard};
use crate::wit;

/// Flags of `cargo xtask test`.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  cargo xtask test                 everything; as root also pods on a real node
  cargo xtask test --no-cluster    what needs no Kubernetes")]
pub(crate) struct TestArgs {
    /// Leave out what needs a real cluster.
    #[arg(long)]
    no_cluster: bool,
    /// Leave out what needs a real node, also as root.
    #[arg(long)]
    no_node: bool,
}

/// Links to private items are for those who read the source.
const DOC_LINTS: &str = "-D warnings -A rustdoc::private_intra_doc_links";

/// What a test may do: a panic is how it fails.
const TEST_MAY: [&str; 9] = [
    "missing-docs",
    "unreachable-pub",
    "clippy::unwrap-used",
    "clippy::expect-used",
    "clippy::panic",
    "clippy::indexing-slicing",
    "clippy::missing-panics-doc",
    "clippy::needless-pass-by-value",
    "clippy::too-many-lines",
];

/// Everything, in the order of cost; all steps run, the summary says which failed.
pub(crate) fn test(args: &TestArgs) -> Result<()> {
    let (mut steps, mut told) = (Steps::default(), Told::default());
    let on_node = !args.no_cluster && !args.no_node && node::is_root();
    if !args.no_cluster {
        setup::programs_meanwhile(on_node);
    }
    let fmt = || run(Command::new("cargo").current_dir(build::root()).args(["fmt", "--all", "--check"]));
    steps.step("format", fmt);
    steps.step("released plugin interfaces are unchanged", wit::check);
    steps.step("lints", || lints(&mut told));
    steps.step("plugins build as components", || {
        build::plugins()?;
        build::test_guests().map(drop)
    });
    if !args.no_cluster {
        steps.step("programs of a real control plane", setup::control_plane);
    }
    steps.step("unit and integration tests", || run_heard(tests(args)?.arg("--no-fail-fast"), &mut told));
    steps.step("chart and kustomize", || deploy::check(!args.no_cluster));
    if !args.no_cluster {
        // Where there is a node, the others are played on that.
        let elsewhere = |scene: &&str| !on_node || *scene == demo::FIRST;
        for scene in demo::SCENES.into_iter().filter(|scene| !demo::needs_pods(scene)).filter(elsewhere) {
            steps.step(&format!("scene {scene} on a control plane"), || demo::once(scene, false));
        }
    }
    end_to_end(args, &mut steps, &mut told);
    steps.step("documentation builds", || {
        let mut doc = cargo("doc")?;
        run_heard(doc.args(["--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", DOC_LINTS), &mut told)
    });
    told.repeat();
    steps.finish()
}

/// Everything that ships is held to all lints; tests may unwrap, index and panic.
fn lints(told: &mut Told) -> Result<()> {
    run_heard(cargo("clippy")?.args(["--workspace", "--lib", "--bins", "--", "-D", "warnings"]), told)?;
    let lenient = TEST_MAY.iter().flat_map(|lint| ["-A", lint]);
    let all = ["--workspace", "--all-targets", "--", "-D", "warnings"];
    run_heard(cargo("clippy")?.args(all).args(lenient), told)
}

/// Tests that need a node are `#[ignore]`d for everybody who runs `cargo test`, and run here.
fn end_to_end(args: &TestArgs, steps: &mut Steps, told: &mut Told) {
    const NAME: &str = "end to end on a real node";
    if args.no_cluster || args.no_node {
        return steps.skip(NAME, "left out by a flag");
    }
    if !node::is_root() {
        return steps.skip(NAME, "needs root: `sudo -E cargo xtask test`");
    }
    steps.step("programs of a real node", setup::node);
    if let Err(error) = node::check() {
        return steps.skip(NAME, &error.to_string());
    }
    for scene in demo::SCENES {
        steps.step(&format!("scene {scene} on a node"), || demo::once(scene, true));
    }
    steps.step(NAME, || {
        // One after the other: a node takes what memory and processors there are.
        run_heard(
            tests(args)?.args(["--no-fail-fast", "--tests", "--", "--ignored", "--test-threads=1"]),
            told,
        )
    });
}

/// cargo's tests of everything, with what they need to know.
fn tests(args: &TestArgs) -> Result<Command> {
    let mut command = cargo("test")?;
    command.arg("--workspace").env("PILOTHOUSE_TEST_PLUGINS", build::plugins_dir());
    if args.no_cluster {
        command.env("PILOTHOUSE_NO_CLUSTER", "1");
    }
    Ok(command)
}
