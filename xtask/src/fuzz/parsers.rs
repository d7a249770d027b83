//! `cargo xtask fuzz-helm --parser NAME`: libFuzzer on what reads text that anybody may have written.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::build;
use crate::steps::{run, say};

/// The parsers, each a target of `plugins/helm/fuzz`.
pub(super) const PARSERS: [&str; 9] =
    ["template", "yaml", "json", "toml", "archive", "semver", "strvals", "glob", "regex"];

/// What cargo-fuzz tells a nightly compiler, in words that a stable one takes: counters at every edge and hooks in
/// comparisons for libFuzzer, and Rust's own checks. Sanitizers are left out; our code has nothing unsafe.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks";

/// Longest time for one input, in seconds, and most memory, in MiB.
const LIMITS: [&str; 2] = ["-timeout=25", "-rss_limit_mb=2048"];

/// Builds the target of a parser and runs it for so many seconds. What it learns is kept in a corpus beside what is
/// built, which grows from run to run; `program` writes what it begins with.
pub(super) fn fuzz(parser: &str, seconds: u64, program: &Path) -> Result<()> {
    let directory = build::target_dir().join("fuzz");
    let triple = build::host_triple()?;
    say("building libFuzzer's targets");
    let manifest = build::root().join("plugins/helm/fuzz/Cargo.toml");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--target", &triple, "--bin", parser, "--manifest-path"]);
    cargo.arg(&manifest).env("CARGO_TARGET_DIR", &directory).env("RUSTFLAGS", FLAGS);
    run(cargo.env_remove(format!("CARGO_TARGET_{}_RUSTFLAGS", triple.to_uppercase().replace('-', "_"))))?;

    let corpus = directory.join("corpus");
    run(Command::new(program).arg("--samples").arg(&corpus))?;
    let found = directory.join("found").join(parser);
    fs::create_dir_all(&found).with_context(|| found.display().to_string())?;
    let mut prefix = OsStr::new("-artifact_prefix=").to_owned();
    prefix.push(&found);
    prefix.push("/");
    let mut target = Command::new(directory.join(triple).join("release").join(parser));
    target.arg(format!("-max_total_time={seconds}")).args(LIMITS).arg(prefix).arg(corpus.join(parser));
    if target.status().with_context(|| parser.to_owned())?.success() {
        Ok(())
    } else {
        bail!("{parser} stumbled over what lies in {}", found.display())
    }
}
