//! Making questions up until the time is over.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::generate::Area;
use crate::judge::{Judgement, judge};
use crate::ours::Worker;
use crate::shrink::{Difference, shrink};
use crate::{Answer, Oracle, Question, compare, regression};

/// How many questions are put at once.
const LOT: usize = 400;
/// How many differences of one kind are shrunk and kept: they are likely to be one mistake.
const OF_A_KIND: usize = 2;
/// After so many differences the rest can wait until those are looked at.
const ENOUGH: usize = 60;
/// How often there is a word about how it goes.
const TELL: Duration = Duration::from_secs(10);

/// What to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How long.
    pub time: Duration,
    /// Where to begin; questions are the same for a seed.
    pub seed: u64,
    /// What to compare.
    pub areas: Vec<Area>,
    /// Whether what is found is written into the files of regressions.
    pub keep: bool,
}

/// How it went.
#[derive(Debug, Default)]
pub struct Summary {
    /// Questions that were compared.
    pub compared: usize,
    /// Questions that have no answer in Go, or always another.
    pub unstable: usize,
    /// Different answers.
    pub different: usize,
    /// The seed to go on with.
    pub next_seed: u64,
}

/// Compares until the time is over or enough was found. What is found is printed, small.
///
/// # Errors
/// The oracle cannot be had.
pub fn fuzz(plan: &Plan) -> Result<Summary> {
    println!("building Helm's own code with Go");
    let mut fuzzer = Fuzzer {
        plan,
        oracle: Oracle::build()?,
        worker: Worker::default(),
        summary: Summary { next_seed: plan.seed, ..Summary::default() },
        kinds: HashMap::new(),
        kept: 0,
        started: Instant::now(),
        told: Instant::now(),
    };
    while fuzzer.started.elapsed() < plan.time && fuzzer.kept < ENOUGH {
        for &area in &plan.areas {
            fuzzer.lot(area)?;
        }
        fuzzer.summary.next_seed += 1;
    }
    fuzzer.tell();
    Ok(fuzzer.summary)
}

struct Fuzzer<'p> {
    plan: &'p Plan,
    oracle: Oracle,
    worker: Worker,
    summary: Summary,
    kinds: HashMap<String, usize>,
    kept: usize,
    started: Instant,
    told: Instant,
}

impl Fuzzer<'_> {
    fn lot(&mut self, area: Area) -> Result<()> {
        let questions = area.questions(self.summary.next_seed);
        for part in questions.chunks(LOT) {
            let answers = self.oracle.ask(part)?;
            for (question, theirs) in part.iter().zip(answers) {
                self.compare(area, question, &theirs)?;
            }
            if self.told.elapsed() > TELL {
                self.tell();
            }
            if self.started.elapsed() > self.plan.time {
                return Ok(());
            }
        }
        Ok(())
    }

    fn compare(&mut self, area: Area, question: &Question, theirs: &Answer) -> Result<()> {
        if theirs.is_missing() {
            self.summary.unstable += 1;
            return Ok(());
        }
        let ours = self.worker.answer(question);
        if !theirs.unstable && !compare::differ(question, &ours, theirs) {
            self.summary.compared += 1;
            return Ok(());
        }
        match judge(&mut self.oracle, question, &ours, theirs)? {
            Judgement::Alike => self.summary.compared += 1,
            Judgement::Unknown => self.summary.unstable += 1,
            Judgement::Different(theirs) => {
                self.summary.compared += 1;
                self.summary.different += 1;
                self.found(area, Difference { question: question.clone(), ours, theirs })?;
            }
        }
        Ok(())
    }

    fn found(&mut self, area: Area, difference: Difference) -> Result<()> {
        let kind = kind(&difference);
        if self.kinds.get(&kind).is_some_and(|count| *count >= OF_A_KIND) || self.kept >= ENOUGH {
            return Ok(());
        }
        *self.kinds.entry(kind).or_default() += 1;
        let small = shrink(difference, &mut self.oracle, &mut self.worker)?;
        let kind = format!("small {}", self::kind(&small));
        let count = self.kinds.entry(kind).or_default();
        *count += 1;
        if *count > OF_A_KIND {
            return Ok(());
        }
        self.kept += 1;
        let seed = self.summary.next_seed;
        println!("\n== {} (seed {seed})", small.question.op);
        for (name, data) in small.question.parts.iter().filter(|(name, _)| name != "data") {
            println!("  {name}: {}", compare::printable(data));
        }
        for theirs in &small.theirs {
            println!("  Go {}", compare::shown(theirs));
        }
        println!("  we {}", compare::shown(&small.ours));
        if self.plan.keep {
            regression::add(&regression::file(area), &small.question, &small.theirs)?;
        }
        Ok(())
    }

    fn tell(&mut self) {
        self.told = Instant::now();
        let seconds = self.started.elapsed().as_secs_f64();
        let Summary { compared, unstable, different, next_seed } = &self.summary;
        println!(
            "{seconds:.0} s: {compared} compared ({:.0}/s), {unstable} without an answer, {different} different, seed {next_seed}",
            *compared as f64 / seconds
        );
    }
}

/// What differences have in common: the operation and the words of both answers but for what is quoted and numbers.
fn kind(difference: &Difference) -> String {
    let words = |answer: &Answer| {
        let text = String::from_utf8_lossy(if answer.error.is_empty() { b"out" } else { &answer.error })
            .into_owned();
        let start = text.len().saturating_sub(80);
        let tail = text.get(start..).unwrap_or(&text);
        tail.split(['"', '<', '>', '`', '\''])
            .step_by(2)
            .collect::<String>()
            .replace(|c: char| c.is_ascii_digit(), "")
    };
    let first = difference.question.parts.first().map(|(_, data)| String::from_utf8_lossy(data).into_owned());
    let function =
        first.unwrap_or_default().split([' ', '{', '(']).find(|word| !word.is_empty()).map(str::to_owned);
    let theirs = difference.theirs.first().cloned().unwrap_or_default();
    let outs = difference.ours.error.is_empty() && theirs.error.is_empty();
    let function = if outs { function.unwrap_or_default() } else { String::new() };
    format!("{} {} | {} {function}", difference.question.op, words(&difference.ours), words(&theirs))
}
