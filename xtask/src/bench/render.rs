//! The Helm plugin beside Helm's SDK: loading and rendering a chart, warm, in one process.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::template::charts;
use crate::build::{self, cargo};
use crate::conformance::helm_binary;
use crate::conformance::program::Program;
use crate::steps::{output, run, say};

/// Flags of `cargo xtask bench render`.
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// How often each chart is rendered in a round.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    times: u16,
    /// Chart directories or archives; default: charts of the corpus, and one that `helm create` writes.
    #[arg(value_name = "CHART")]
    charts: Vec<PathBuf>,
}

/// Rounds in which both take turns.
const ROUNDS: usize = 3;
/// The Go version that Helm 4.3.1 is built with.
const GO: &str = "go1.27.2";

/// Nanoseconds of the least run and the least median.
#[derive(Clone, Copy)]
struct Figure {
    least: f64,
    median: f64,
}

/// Measures.
pub(super) fn render(args: &RenderArgs) -> Result<()> {
    let work = tempfile::tempdir()?;
    let helm = Program::new(&helm_binary()?)?;
    let charts = if args.charts.is_empty() { charts(&helm, work.path())? } else { args.charts.clone() };
    let charts: Vec<String> =
        charts.iter().map(|chart| Ok(chart.canonicalize()?.display().to_string())).collect::<Result<_>>()?;
    let peer = go_program(work.path())?;
    let plugins = build::plugins()?;
    let plugin =
        plugins.iter().find(|plugin| plugin.ends_with("helm.wasm")).context("no Helm plugin was built")?;
    let compiled = work.path().join("compiled");
    // The host's binary is the one that compiles.
    run(Command::new(build::host()?)
        .args(["template", charts.first().context("no chart")?])
        .env("PILOTHOUSE_HELM_PLUGIN", plugin)
        .env("PILOTHOUSE_CACHE_DIR", &compiled)
        .stdout(Stdio::null()))?;
    let (mut theirs, mut own) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        say(&format!("round {round} of {ROUNDS}"));
        let mut command = Command::new(&peer);
        least(&mut theirs, &figures(command.arg(args.times.to_string()).args(&charts))?);
        let mut command = cargo("test")?;
        command
            .args(["--workspace", "--quiet", "--bench", "render", "--", &args.times.to_string()])
            .args(&charts);
        command.env("PILOTHOUSE_HELM_PLUGIN", plugin).env("PILOTHOUSE_CACHE_DIR", &compiled);
        least(&mut own, &figures(&mut command)?);
    }
    print!("{}", table(&charts, &theirs, &own)?);
    Ok(())
}

/// Helm's SDK in a program of its own.
fn go_program(work: &Path) -> Result<PathBuf> {
    let program = work.join("sdk");
    say("building a program with Helm's SDK");
    run(Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg("./render")
        .current_dir(build::root().join("testbed/helm-oracle"))
        .env("GOTOOLCHAIN", GO)
        .env("GOFLAGS", "-mod=readonly"))?;
    Ok(program)
}

/// The lines that a program prints: nanoseconds of the least run, of the median, and bytes.
fn figures(command: &mut Command) -> Result<Vec<Figure>> {
    let text = output(command)?;
    let figure = |line: &str| {
        let mut numbers = line.split_whitespace().map(str::parse::<f64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(least)), Some(Ok(median))) => Some(Figure { least, median }),
            _ => None,
        }
    };
    Ok(text.lines().filter_map(figure).collect())
}

fn least(all: &mut Vec<Figure>, round: &[Figure]) {
    if all.is_empty() {
        return all.extend(round);
    }
    for (figure, other) in all.iter_mut().zip(round) {
        figure.least = figure.least.min(other.least);
        figure.median = figure.median.min(other.median);
    }
}

fn table(charts: &[String], theirs: &[Figure], own: &[Figure]) -> Result<String> {
    if theirs.len() != charts.len() || own.len() != charts.len() {
        bail!("{} charts, {} and {} figures", charts.len(), theirs.len(), own.len());
    }
    let mut text = String::from(
        "| chart | Helm's SDK: least, median ms | plugin: least, median ms | ratio of medians |\n|---|---|---|---|\n",
    );
    let mut product = 0.0;
    for ((chart, theirs), own) in charts.iter().zip(theirs).zip(own) {
        let name = chart.rsplit('/').next().unwrap_or(chart);
        let ratio = own.median / theirs.median;
        product += ratio.ln();
        let [a, b, c, d] = [theirs.least, theirs.median, own.least, own.median].map(|ns| ns / 1e6);
        writeln!(text, "| {name} | {a:.2}, {b:.2} | {c:.2}, {d:.2} | {ratio:.2} |")?;
    }
    let count = f64::from(u32::try_from(charts.len()).unwrap_or(u32::MAX));
    writeln!(text, "| geometric mean | | | {:.2} |", (product / count).exp())?;
    Ok(text)
}
