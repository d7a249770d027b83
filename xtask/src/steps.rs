//! What is being done, how long it takes, and how it ended.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
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

/// Runs cargo, passing on what it prints, and remembers the lines that a summary repeats.
pub(crate) fn run_heard(command: &mut Command, told: &mut Told) -> Result<()> {
    let shown = format!("{} {}", command.get_program().to_string_lossy(), arguments(command));
    // One pipe for both streams keeps the order in which they are written.
    let (reader, writer) = std::io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("cannot start {shown}"))?;
    // The command holds the writing end, which would keep the pipe open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        std::io::stderr().lock().write_all(&line)?;
        told.hear(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child.wait()?;
    if status.success() { Ok(()) } else { bail!("{shown}: {status}") }
}

/// What cargo and its tests said that matters at the end.
#[derive(Debug, Default)]
pub(crate) struct Told {
    running: String,
    /// What the compiler refused, for which the place is still to come.
    refused: Option<String>,
    /// `test result: …` with the program it is of.
    results: Vec<String>,
    failed: Vec<String>,
    /// What the compiler or a lint refused, and where.
    errors: Vec<String>,
    /// What a test said it leaves out, and why.
    skipped: Vec<String>,
}

impl Told {
    fn hear(&mut self, line: &str) {
        let line = line.trim();
        if let Some(place) = line.strip_prefix("--> ") {
            self.errors.extend(self.refused.take().map(|refused| format!("{refused}  [{place}]")));
        } else if line.starts_with("warning") || line.starts_with("error: could not compile") {
            // The next place is of something else.
            self.refused = None;
        } else if line.starts_with("error: ") || line.starts_with("error[") {
            self.refused = Some(line.to_owned());
        } else if let Some(running) =
            line.strip_prefix("Running ").or_else(|| line.strip_prefix("Doc-tests "))
        {
            self.running = running.split(" (").next().unwrap_or(running).to_owned();
        } else if line.starts_with("test result: ") && !line.contains(" 0 passed; 0 failed; 0 ignored;") {
            self.results.push(format!("{line}  [{}]", self.running));
        } else if line.starts_with("test ") && line.ends_with(" FAILED") {
            self.failed.push(format!("{line}  [{}]", self.running));
        } else if let Some(at) = line.find("SKIPPED: ") {
            self.skipped.push(line.get(at..).unwrap_or(line).to_owned());
        }
    }

    /// Repeats it, so that nobody has to scroll for it.
    pub(crate) fn repeat(&mut self) {
        self.skipped.sort();
        self.skipped.dedup();
        for line in [&self.skipped, &self.results, &self.failed, &self.errors].into_iter().flatten() {
            eprintln!("{line}");
        }
    }
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
        for (name, outcome, _) in &self.done {
            if let Outcome::Failed(why) = outcome {
                say(&format!("{name} FAILED: {why}"));
            }
        }
        if failed > 0 { bail!("{failed} of {} steps failed", self.done.len()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &str) -> Told {
        let mut told = Told::default();
        lines.lines().for_each(|line| told.hear(line));
        told
    }

    #[test]
    fn results_are_kept_with_the_program_they_are_of() {
        let told = told(
            "     Running unittests src/lib.rs (target/a)\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured",
        );
        assert_eq!(
            told.results,
            ["test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured  [unittests src/lib.rs]"]
        );
    }

    #[test]
    fn programs_without_tests_are_left_out_and_those_with_ignored_ones_are_not() {
        let told = told(
            "test result: ok. 0 passed; 0 failed; 0 ignored; 0\ntest result: ok. 0 passed; 0 failed; 2 ignored; 0",
        );
        assert_eq!(told.results.len(), 1);
    }

    #[test]
    fn what_is_skipped_or_fails_is_heard_in_the_middle_of_other_output() {
        let told = told("test a ... SKIPPED: no root\ntest b ... FAILED\ntest c ... ok");
        assert_eq!(told.skipped, ["SKIPPED: no root"]);
        assert_eq!(told.failed, ["test b ... FAILED  []"]);
    }

    #[test]
    fn what_the_compiler_refuses_is_heard_with_its_place() {
        let told = told(
            "error: unused variable: `a`\n  --> xtask/src/a.rs:1:2\n   |\nerror: could not compile `xtask`\ntest a ... ok",
        );
        assert_eq!(told.errors, ["error: unused variable: `a`  [xtask/src/a.rs:1:2]"]);
    }

    #[test]
    fn the_place_of_a_warning_is_not_taken_for_that_of_an_error() {
        let told = told(
            "error: could not compile `a`\nwarning: unused\n  --> a.rs:1:2\nerror: linking failed\nwarning: old\n  --> b.rs:1:2",
        );
        assert!(told.errors.is_empty(), "{:?}", told.errors);
    }

    #[test]
    fn a_failed_step_does_not_keep_the_next_from_being_done() {
        let mut steps = Steps::default();
        steps.step("one", || bail!("broken"));
        let mut done = false;
        steps.step("two", || {
            done = true;
            Ok(())
        });
        assert!(done && steps.finish().unwrap_err().to_string().contains("1 of 2"));
    }

    #[test]
    fn the_output_of_both_streams_is_heard_and_the_status_kept() {
        let mut told = Told::default();
        let script = "echo 'SKIPPED: one' >&2; echo 'SKIPPED: two'; exit 1";
        assert!(run_heard(Command::new("sh").args(["-c", script]), &mut told).is_err());
        assert_eq!(told.skipped, ["SKIPPED: one", "SKIPPED: two"]);
    }
}
