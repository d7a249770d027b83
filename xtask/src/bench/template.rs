//! `pilothouse template` beside `helm template`, as processes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use wait4::Wait4 as _;

use crate::build;
use crate::conformance::program::Program;
use crate::conformance::{CORPUS, helm_binary};
use crate::steps::{run, say};

/// Flags of `cargo xtask bench template`.
#[derive(Debug, Args)]
pub(crate) struct TemplateArgs {
    /// How often each chart is rendered by each program; they take turns.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..))]
    times: u16,
    /// Chart directories or archives; default: charts of the corpus, and one that `helm create` writes.
    #[arg(value_name = "CHART")]
    charts: Vec<PathBuf>,
}

/// Charts of the corpus that are measured, small and large ones.
const CHARTS: [&str; 5] = [
    "kubernetes+ingress-nginx/charts/ingress-nginx",
    "cert-manager+cert-manager/deploy/charts/cert-manager",
    "nats-io+k8s/helm/charts/nats",
    "traefik+traefik-helm-chart/traefik",
    "prometheus-community+helm-charts/charts/kube-prometheus-stack",
];

/// What one program needs for one chart.
#[derive(Default)]
struct Runs {
    times: Vec<Duration>,
    /// Bytes, the most that one run had.
    memory: u64,
}

/// Measures.
pub(super) fn template(args: &TemplateArgs) -> Result<()> {
    let helm = Program::new(&helm_binary()?)?;
    let ours = Program::host()?;
    let work = tempfile::tempdir()?;
    let charts = if args.charts.is_empty() { charts(&helm, work.path())? } else { args.charts.clone() };
    let mut table = String::from(
        "| chart | output, kB | helm: least, median ms | ours: least, median ms | ratio of medians | helm, MiB | ours, MiB | ratio |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for chart in &charts {
        let chart = chart.canonicalize().with_context(|| chart.display().to_string())?;
        let (mut theirs, mut own, mut bytes) = (Runs::default(), Runs::default(), 0);
        // The first turn warms caches.
        for turn in 0..=args.times {
            let (output, expected) =
                (render(&ours, &chart, &mut own, turn > 0)?, render(&helm, &chart, &mut theirs, turn > 0)?);
            bytes = expected;
            if output != expected {
                bail!("{}: {output} bytes, helm writes {expected}", chart.display());
            }
        }
        let row = row(&chart, bytes, &mut theirs, &mut own)?;
        say(row.trim());
        table.push_str(&row);
    }
    println!("{table}");
    Ok(())
}

/// Renders a chart once; the answer is how many bytes it gave.
fn render(program: &Program, chart: &Path, runs: &mut Runs, counts: bool) -> Result<u64> {
    let output = tempfile::tempfile()?;
    let arguments = ["template", "rel", &chart.display().to_string()].map(ToOwned::to_owned);
    let mut command = program.command(&arguments, Path::new("/"));
    command.stdout(output.try_clone()?).stderr(Stdio::null());
    let started = Instant::now();
    let ended = command.spawn()?.wait4()?;
    let took = started.elapsed();
    if !ended.status.success() {
        bail!("{command:?} failed");
    }
    if counts {
        runs.times.push(took);
        runs.memory = runs.memory.max(ended.rusage.maxrss);
    }
    Ok(output.metadata()?.len())
}

fn row(chart: &Path, bytes: u64, theirs: &mut Runs, own: &mut Runs) -> Result<String> {
    let mut row = String::new();
    let name = chart.file_name().unwrap_or_default().to_string_lossy();
    let [(least, median), (own_least, own_median)] = [theirs.milliseconds(), own.milliseconds()];
    let mebibytes = |bytes: u64| f64::from(u32::try_from(bytes >> 10).unwrap_or(u32::MAX)) / 1024.0;
    let (memory, own_memory) = (mebibytes(theirs.memory), mebibytes(own.memory));
    writeln!(
        row,
        "| {name} | {} | {least:.0}, {median:.0} | {own_least:.0}, {own_median:.0} | {:.2} | {memory:.0} | {own_memory:.0} | {:.2} |",
        bytes / 1000,
        own_median / median,
        own_memory / memory,
    )?;
    Ok(row)
}

impl Runs {
    /// The least and the median.
    fn milliseconds(&mut self) -> (f64, f64) {
        self.times.sort_unstable();
        let at = |index: usize| self.times.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0);
        (at(0), at(self.times.len() / 2))
    }
}

/// A chart that `helm create` writes, and those of the corpus where it lies beside the checkout.
pub(super) fn charts(helm: &Program, work: &Path) -> Result<Vec<PathBuf>> {
    let created =
        helm.command(&["create".to_owned(), "created".to_owned()], work).stdout(Stdio::null()).status()?;
    if !created.success() {
        bail!("helm create failed");
    }
    let mut charts = vec![work.join("created")];
    let corpus = build::root().join(CORPUS);
    if corpus.join("cases.jsonl").is_file() {
        // Not by this process: a child's peak begins with the size of who started it.
        run(Command::new("tar").arg("xzf").arg(corpus.join("charts.tar.gz")).arg("-C").arg(work))?;
        charts.extend(CHARTS.map(|chart| work.join(chart)));
    } else {
        say(&format!("SKIPPED: no corpus in {CORPUS}; only the chart of `helm create` is measured"));
    }
    Ok(charts)
}
