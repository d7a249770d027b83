//! What is being done, how long it takes, and how it ended.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use pilothouse_testbed::Progress;

/// Says a line about what is being done.
pub(crate) fn say(line: &str) {
    eprintln!("xtask: {line}");
}

/// Shows long work: on a terminal what is being done right now and for how long, elsewhere only the lines that stay.
#[derive(Debug)]
pub(crate) struct Terminal {
    bar: ProgressBar,
}

impl Terminal {
    /// Begins to show.
    pub(crate) fn new() -> Self {
        // indicatif draws nothing where standard error is no terminal.
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Terminal {
    fn line(&self, text: &str) {
        self.bar.suspend(|| say(text));
    }

    fn now(&self, text: &str) {
        self.bar.set_message(text.to_owned());
    }
}

/// Runs a command to its end, its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = format!("{} {}", command.get_program().to_string_lossy(), arguments(command));
    let status = command.status().with_context(|| format!("cannot start {shown}"))?;
    if status.success() { Ok(()) } else { bail!("{shown}: {status}") }
}

/// Runs a command to its end and gives its output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = format!("{} {}", command.get_program().to_string_lossy(), arguments(command));
    let output = command.output().with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        bail!("{shown}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn arguments(command: &Command) -> String {
    command.get_args().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Named steps with their times; a summary at the end.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<(String, Outcome, Duration)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

impl Steps {
    /// Does a step; a failure is remembered and the next step is done all the same.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        say(&format!("── {name}"));
        let started = Instant::now();
        let outcome = match work() {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                say(&format!("{name} FAILED: {error:#}"));
                Outcome::Failed(format!("{error:#}"))
            }
        };
        self.done.push((name.to_owned(), outcome, started.elapsed()));
    }

    /// Says loudly that a step is not done, and why.
    pub(crate) fn skip(&mut self, name: &str, why: &str) {
        say(&format!("── {name}: SKIPPED: {why}"));
        self.done.push((name.to_owned(), Outcome::Skipped(why.to_owned()), Duration::ZERO));
    }

    /// The table; an error when a step failed.
    pub(crate) fn finish(self) -> Result<()> {
        let mut failed = 0;
        for (name, outcome, took) in &self.done {
            let (word, why) = match outcome {
                Outcome::Passed => ("passed", String::new()),
                Outcome::Failed(_) => {
                    failed += 1;
                    ("FAILED", String::new())
                }
                Outcome::Skipped(why) => ("SKIPPED", format!("  ({why})")),
            };
            say(&format!("{word:8} {:>6.1} s  {name}{why}", took.as_secs_f64()));
        }
        if failed > 0 { bail!("{failed} of {} steps failed", self.done.len()) } else { Ok(()) }
    }
}
