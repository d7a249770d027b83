//! Cases of a corpus and rules of ours, done side by side.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result, bail};
use helm_conformance::cases::{Case, Corpus, FLAGS, RELEASE};
use helm_conformance::compare::{Outcome, Verdict, compare};
use helm_conformance::random::{Generated, SAMPLES, compare_random};
use helm_conformance::rules::{ERROR, Rule};
use pilothouse_testbed::Progress;

use super::program::Program;

/// Something to render.
#[derive(Debug, Clone, Copy)]
pub(super) enum Job<'a> {
    Rule(&'a Rule),
    Case { corpus: &'a Corpus, case: &'a Case, charts: &'a Path },
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Judged<'a> {
    pub(super) job: Job<'a>,
    pub(super) verdict: Verdict,
    pub(super) generated: Generated,
    theirs: String,
    ours: Outcome,
}

impl<'a> Job<'a> {
    fn id(&self) -> &'a str {
        match self {
            Self::Rule(rule) => &rule.name,
            Self::Case { case, .. } => &case.id,
        }
    }

    /// The row of the table it is counted in.
    pub(super) fn family(&self) -> &'a str {
        match self {
            Self::Rule(_) => "(our own rules)",
            Self::Case { case, .. } => case.family(),
        }
    }

    pub(super) fn is_random(&self) -> bool {
        matches!(self, Self::Case { case, .. } if case.random)
    }

    fn run(&self, program: &Program) -> Result<Outcome> {
        match self {
            Self::Rule(rule) => program.run(&rule.arguments(), &rule.directory),
            Self::Case { case, charts, .. } => program.run(&arguments(case, charts), charts),
        }
    }

    fn judge(self, program: &Program) -> Result<Judged<'a>> {
        let ours = self.run(program)?;
        let (theirs, fails) = match self {
            Self::Rule(rule) => {
                let golden = rule.golden().with_context(|| format!("{}: no golden text", rule.name))?;
                let fails = golden.starts_with(ERROR);
                (golden, fails)
            }
            Self::Case { corpus, case, .. } => {
                let expected =
                    corpus.expected(case).with_context(|| format!("{}: nothing expected", case.id))?;
                (String::from_utf8(expected.to_vec()).context("expected text")?, case.fails)
            }
        };
        let (verdict, generated) = match self {
            Self::Case { corpus, case, .. } if case.random => {
                let mut samples = vec![ours.clone()];
                for _ in 1..SAMPLES {
                    samples.push(self.run(program)?);
                }
                compare_random(&theirs, &samples, &corpus.passwords(case))
            }
            _ => (compare(&theirs, fails, &ours), Generated::default()),
        };
        Ok(Judged { job: self, verdict, generated, theirs, ours })
    }
}

fn arguments(case: &Case, charts: &Path) -> Vec<String> {
    let chart = charts.join(&case.chart);
    let mut arguments = vec!["template".to_owned(), RELEASE.to_owned(), chart.display().to_string()];
    arguments.extend(FLAGS.map(str::to_owned));
    for values in &case.values {
        arguments.extend(["--values".to_owned(), chart.join(values).display().to_string()]);
    }
    arguments
}

impl Judged<'_> {
    /// What is wrong, in a line.
    pub(super) fn line(&self) -> String {
        let (word, what) = match &self.verdict {
            Verdict::Identical => ("identical", String::new()),
            Verdict::SameYaml(difference) => ("same YAML", difference.to_string()),
            Verdict::Different(difference) => ("different", difference.to_string()),
            Verdict::WronglyFailed(error) => ("wrongly failed", error.trim_end().to_owned()),
            Verdict::WronglyPassed => ("wrongly passed", String::new()),
        };
        let chart = match self.job {
            Job::Rule(_) => String::new(),
            Job::Case { case, .. } => format!(" {} {}", case.chart, case.values.join(" ")),
        };
        format!("{word}: {}{chart}\n    {}", self.job.id(), what.replace('\n', "\n    "))
    }

    /// Writes both texts.
    pub(super) fn keep(&self, directory: &Path) -> Result<()> {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        let write =
            |kind: &str, text: &str| fs::write(directory.join(format!("{}.{kind}", self.job.id())), text);
        write("helm", &self.theirs)?;
        Ok(write("ours", self.ours.text())?)
    }
}

/// Puts the charts where a program finds them.
pub(super) fn unpack(corpus: &Corpus, directory: &Path) -> Result<()> {
    for (path, data) in &corpus.charts {
        let inside = Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !inside {
            bail!("{path} leads out of the charts");
        }
        let file: PathBuf = directory.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&file, data).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// How often a line says how far it is, where no terminal shows it.
const TELL: usize = 100;

/// Does all of it, as many at once as there are processors, and keeps the order.
pub(super) fn judge_all<'a>(
    jobs: &[Job<'a>],
    program: &Program,
    progress: &(dyn Progress + Sync),
) -> Result<Vec<Judged<'a>>> {
    let (next, done, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()), jobs.len());
    let work = || -> Result<()> {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            progress.now(&format!("{} of {all}: {}", next.load(Ordering::Relaxed).min(all), job.id()));
            let judged = job.judge(program)?;
            let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            done.push((job.id(), judged));
            if done.len() % TELL == 0 {
                progress.line(&format!("{} of {all} cases", done.len()));
            }
        }
        Ok(())
    };
    thread::scope(|scope| -> Result<()> {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for handle in handles {
            match handle.join() {
                Ok(result) => result?,
                Err(_) => bail!("a comparison panicked"),
            }
        }
        Ok(())
    })?;
    let mut judged = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    judged.sort_by_key(|(id, judged)| (judged.job.family(), *id));
    Ok(judged.into_iter().map(|(_, judged)| judged).collect())
}
