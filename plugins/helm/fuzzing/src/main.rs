//! `cargo xtask fuzz-helm`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use helm_fuzzing::entry::ENTRIES;
use helm_fuzzing::fuzz::{Plan, fuzz};
use helm_fuzzing::generate::{Area, templates};
use helm_fuzzing::ours::Worker;
use helm_fuzzing::{Oracle, Question, differ, regression, shown};

/// Compares the Helm engine with Helm's own code on questions that are made up.
#[derive(Debug, Parser)]
struct Args {
    /// How long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where to begin; the questions of a seed are always the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compare one area only.
    #[arg(long, value_enum)]
    only: Option<Area>,
    /// Compare what is in a file instead: on each line a template with Helm's functions.
    #[arg(long)]
    calls: Option<PathBuf>,
    /// The same for templates of a chart, with the values that made-up ones get.
    #[arg(long)]
    templates: Option<PathBuf>,
    /// Keep what is in the file, with Go's answers, whether it differs or not.
    #[arg(long)]
    keep: Option<Area>,
    /// Write the inputs that parsers are tried with into a directory for each of them.
    #[arg(long)]
    samples: Option<PathBuf>,
    /// Do not write what is found into the files of regressions.
    #[arg(long)]
    dry: bool,
}

fn main() -> ExitCode {
    run(&Args::parse()).unwrap_or_else(|error| {
        eprintln!("Error: {error:#}");
        ExitCode::from(2)
    })
}

fn run(args: &Args) -> Result<ExitCode> {
    if let Some(directory) = &args.samples {
        return samples(directory);
    }
    if let Some(file) = &args.calls {
        let questions: Vec<_> = fs::read_to_string(file)?.lines().map(Question::call).collect();
        return compare(&questions, args.keep);
    }
    if let Some(file) = &args.templates {
        let questions: Vec<_> = fs::read_to_string(file)?.lines().map(templates::in_chart).collect();
        return compare(&questions, args.keep);
    }
    let areas = args.only.map_or_else(|| Area::ALL.to_vec(), |area| vec![area]);
    let time = Duration::from_secs(args.seconds);
    let summary = fuzz(&Plan { time, seed: args.seed, areas, keep: !args.dry })?;
    println!(
        "{} questions compared, {} answered differently; go on with --seed {}",
        summary.compared, summary.different, summary.next_seed
    );
    Ok(if summary.different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes what every parser is known to take.
fn samples(directory: &Path) -> Result<ExitCode> {
    for entry in ENTRIES {
        let directory = directory.join(entry.name);
        fs::create_dir_all(&directory)?;
        for (number, sample) in (entry.samples)().into_iter().enumerate() {
            fs::write(directory.join(format!("sample-{number}")), sample)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows every question that is answered differently.
fn compare(questions: &[Question], keep: Option<Area>) -> Result<ExitCode> {
    let answers = Oracle::build()?.ask(questions)?;
    let (mut worker, mut code) = (Worker::default(), ExitCode::SUCCESS);
    for (question, theirs) in questions.iter().zip(answers) {
        if let Some(area) = keep.filter(|_| !theirs.unstable) {
            regression::add(&regression::file(area), question, std::slice::from_ref(&theirs))?;
        }
        let ours = worker.answer(question);
        if differ(question, &ours, &theirs) {
            let text = String::from_utf8_lossy(question.part("text"));
            println!("{text}\n  Go {}\n  we {}", shown(&theirs), shown(&ours));
            code = ExitCode::FAILURE;
        }
    }
    println!("{} compared", questions.len());
    Ok(code)
}
