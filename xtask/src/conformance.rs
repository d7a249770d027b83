//! `cargo xtask conformance`: a corpus that helm has rendered, rendered by the host's binary or by another program with
//! helm's command line.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use helm_conformance::cases::Corpus;
use helm_conformance::compare::Verdict;
use helm_conformance::rules::{Rule, rules};
use pilothouse_testbed::binaries;

use crate::build;
use crate::steps::{Terminal, say};

mod jobs;
pub(crate) mod program;
mod table;

use jobs::{Job, Judged};
use program::Program;

/// Flags of `cargo xtask conformance`.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  cargo xtask conformance                                  the host's binary on ../shared/corpus/helm and our own rules
  cargo xtask conformance --program \"$(which helm)\"        helm against itself: what the tool is worth
  cargo xtask conformance --only nats --diff /tmp/nats     some cases, with both texts of what differs
  cargo xtask conformance --write-golden                   let the real helm render our own rules again")]
pub(crate) struct ConformanceArgs {
    /// Directory with cases.jsonl, charts.tar.gz and expected.tar.gz.
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Program that is called with helm's arguments; without it the host is built and used.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Only cases whose id or chart contains this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Write both texts of every case that differs to this directory.
    #[arg(long, value_name = "DIR")]
    diff: Option<PathBuf>,
    /// Write what helm says about our own rules (plugins/helm/chart/tests/rules) instead of comparing anything.
    #[arg(long, conflicts_with_all = ["corpus", "diff"])]
    write_golden: bool,
}

/// Where our own rules are.
const RULES: &str = "plugins/helm/chart/tests/rules";
/// Where the corpus lies beside a checkout.
pub(crate) const CORPUS: &str = "../shared/corpus/helm";

/// Renders, compares, prints a table; an error when anything is different.
pub(crate) fn conformance(args: &ConformanceArgs) -> Result<()> {
    let rules = chosen_rules(&args.only)?;
    if args.write_golden {
        return write_golden(&helm(args)?, &rules);
    }
    let program = match &args.program {
        Some(program) => Program::new(program)?,
        None => Program::host()?,
    };
    let corpus = corpus(args)?;
    let charts = tempfile::tempdir().context("a directory for the charts")?;
    let mut all: Vec<Job<'_>> = rules.iter().map(Job::Rule).collect();
    if let Some(corpus) = &corpus {
        jobs::unpack(corpus, charts.path())?;
        let chosen = corpus.cases.iter();
        let chosen = chosen.filter(|case| case.chart.contains(&args.only) || case.id.contains(&args.only));
        all.extend(chosen.map(|case| Job::Case { corpus, case, charts: charts.path() }));
    }
    if all.is_empty() {
        bail!("no case contains {:?}", args.only);
    }
    let terminal = Terminal::new();
    let judged = jobs::judge_all(&all, &program, &terminal)?;
    drop(terminal);
    report(&judged, args.diff.as_deref())
}

fn report(judged: &[Judged<'_>], diff: Option<&Path>) -> Result<()> {
    for judged in judged.iter().filter(|judged| judged.verdict != Verdict::Identical) {
        println!("{}", judged.line());
        if let Some(directory) = diff {
            judged.keep(directory)?;
        }
    }
    print!("{}", table::table(judged));
    let different = judged.iter().filter(|judged| judged.verdict != Verdict::Identical).count();
    if different > 0 { bail!("{different} of {} cases are not helm's", judged.len()) } else { Ok(()) }
}

fn corpus(args: &ConformanceArgs) -> Result<Option<Corpus>> {
    let directory = args.corpus.clone().unwrap_or_else(|| build::root().join(CORPUS));
    if args.corpus.is_none() && !directory.join("cases.jsonl").is_file() {
        say(&format!("SKIPPED: no corpus in {CORPUS}; only our own rules are compared"));
        return Ok(None);
    }
    Ok(Some(Corpus::open(&directory)?))
}

fn chosen_rules(only: &str) -> Result<Vec<Rule>> {
    let mut rules = rules(&build::root().join(RULES)).context(RULES)?;
    rules.retain(|rule| rule.name.contains(only));
    Ok(rules)
}

/// The release of helm that the corpus was made with.
pub(crate) fn helm_binary() -> Result<PathBuf> {
    let terminal = Terminal::new();
    Ok(binaries::HELM_CLI.find(&terminal)?)
}

/// The real helm: the one that was named, or the release the corpus was made with.
fn helm(args: &ConformanceArgs) -> Result<Program> {
    let path = match &args.program {
        Some(program) => program.clone(),
        None => helm_binary()?,
    };
    let version = Command::new(&path).args(["version", "--short"]).output().context("helm version")?;
    let version = String::from_utf8_lossy(&version.stdout);
    if !version.starts_with(binaries::HELM.version) {
        bail!("{} says it is {version:?}, and not {}", path.display(), binaries::HELM.version);
    }
    Program::new(&path)
}

fn write_golden(helm: &Program, rules: &[Rule]) -> Result<()> {
    for rule in rules {
        let text = helm.run(&rule.arguments(), &rule.directory)?;
        // What differs from call to call (Go's order of maps) would make a test that fails now and then.
        for _ in 1..program::REPEATED {
            if helm.run(&rule.arguments(), &rule.directory)? != text {
                bail!("{}: helm says something else each time", rule.name);
            }
        }
        rule.write_golden(text.text())?;
    }
    say(&format!("{} rules written", rules.len()));
    Ok(())
}
