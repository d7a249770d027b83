//! The Helm plugin beside Helm's SDK: loading and rendering a chart, warm, in one process.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::grown::{self, SCALES};
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

/// Nanoseconds of the least run and the least median, bytes of the output, and nanoseconds of a run with other values.
#[derive(Clone, Copy)]
struct Figure {
    least: f64,
    median: f64,
    bytes: f64,
    /// Of the plugin only.
    again: Option<f64>,
}

/// Measures.
pub(super) fn render(args: &RenderArgs) -> Result<()> {
    let work = tempfile::tempdir()?;
    let helm = Program::new(&helm_binary()?)?;
    let charts = if args.charts.is_empty() { charts(&helm, work.path())? } else { args.charts.clone() };
    let grown = grown::charts(work.path())?;
    let charts: Vec<String> = charts
        .iter()
        .chain(&grown)
        .map(|chart| Ok(chart.canonicalize()?.display().to_string()))
        .collect::<Result<_>>()?;
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
    if theirs.len() != charts.len() || own.len() != charts.len() {
        bail!("{} charts, {} and {} figures", charts.len(), theirs.len(), own.len());
    }
    let rows: Vec<Row<'_>> = charts
        .iter()
        .zip(theirs)
        .zip(own)
        .map(|((chart, theirs), own)| Row { chart: chart.rsplit('/').next().unwrap_or(chart), theirs, own })
        .collect();
    let (real, grown) = rows.split_at(rows.len() - SCALES.len());
    println!("{}\n{}\n{}", table(real)?, table_again(real)?, table_of_growth(grown)?);
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
        let numbers: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let &[least, median, bytes, ref more @ ..] = numbers.as_slice() else { return None };
        Some(Figure { least, median, bytes, again: more.first().copied() })
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
        figure.again = figure.again.zip(other.again).map(|(one, other)| one.min(other));
    }
}

/// A chart and what both took for it.
struct Row<'c> {
    chart: &'c str,
    theirs: Figure,
    own: Figure,
}

fn table(rows: &[Row<'_>]) -> Result<String> {
    let mut text = String::from(
        "| chart | Helm's SDK: least, median ms | plugin: least, median ms | ratio of medians |\n|---|---|---|---|\n",
    );
    for Row { chart, theirs, own } in rows {
        let [a, b, c, d] = [theirs.least, theirs.median, own.least, own.median].map(|ns| ns / 1e6);
        writeln!(text, "| {chart} | {a:.2}, {b:.2} | {c:.2}, {d:.2} | {:.2} |", d / b)?;
    }
    let ratios = rows.iter().map(|row| row.own.median / row.theirs.median);
    writeln!(text, "| geometric mean | | | {:.2} |", geometric_mean(ratios))?;
    Ok(text)
}

/// The same chart with other values, parsed already; Helm's SDK keeps nothing parsed.
fn table_again(rows: &[Row<'_>]) -> Result<String> {
    let mut text = String::from(
        "| chart, other values | Helm's SDK: least ms | plugin, chart kept: least ms | ratio |\n|---|---|---|---|\n",
    );
    let again = |row: &Row<'_>| row.own.again.unwrap_or(f64::NAN);
    for row in rows {
        let (theirs, own) = (row.theirs.least / 1e6, again(row) / 1e6);
        writeln!(text, "| {} | {theirs:.2} | {own:.2} | {:.2} |", row.chart, own / theirs)?;
    }
    let ratios = rows.iter().map(|row| again(row) / row.theirs.least);
    writeln!(text, "| geometric mean | | | {:.2} |", geometric_mean(ratios))?;
    Ok(text)
}

fn table_of_growth(rows: &[Row<'_>]) -> Result<String> {
    let mut text = String::from(
        "| size | output, kB | Helm's SDK: least ms | plugin: least ms | plugin, \u{b5}s for a kB | ratio |\n\
         |---|---|---|---|---|---|\n",
    );
    for (Row { theirs, own, .. }, scale) in rows.iter().zip(SCALES) {
        let (kilobytes, theirs, own) = (own.bytes / 1e3, theirs.least / 1e6, own.least / 1e6);
        let (each, ratio) = (own * 1e3 / kilobytes, own / theirs);
        writeln!(
            text,
            "| \u{d7}{scale} | {kilobytes:.0} | {theirs:.2} | {own:.2} | {each:.0} | {ratio:.2} |"
        )?;
    }
    Ok(text)
}

fn geometric_mean(ratios: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = f64::from(u32::try_from(ratios.len()).unwrap_or(u32::MAX));
    (ratios.map(f64::ln).sum::<f64>() / count).exp()
}
