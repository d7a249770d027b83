//! Making a question that is answered differently small.

use std::time::{Duration, Instant};

use anyhow::Result;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value as Json;

use crate::compare::differ;
use crate::judge::{Judgement, judge};
use crate::ours::Worker;
use crate::{Answer, Oracle, Question};

/// How many questions one difference may cost.
const ATTEMPTS: usize = 1500;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(40);
/// How many are tried before the first that differs is looked for.
const AT_ONCE: usize = 40;

/// A question with what we and Go answer.
#[derive(Debug, Clone)]
pub struct Difference {
    /// What was asked.
    pub question: Question,
    /// Our answer.
    pub ours: Answer,
    /// All that Go gives.
    pub theirs: Vec<Answer>,
}

/// The smallest question found that is still answered differently. What differs may turn into something else on the way,
/// which is a difference all the same.
///
/// # Errors
/// The oracle cannot be started.
pub fn shrink(found: Difference, oracle: &mut Oracle, worker: &mut Worker) -> Result<Difference> {
    let mut shrinker = Shrinker { best: found, oracle, worker, left: ATTEMPTS, started: Instant::now() };
    loop {
        let before = shrinker.best.question.clone();
        shrinker.drop_parts()?;
        for part in 0..shrinker.best.question.parts.len() {
            shrinker.part(part)?;
        }
        if shrinker.best.question == before || shrinker.left == 0 {
            return Ok(shrinker.best);
        }
    }
}

struct Shrinker<'a> {
    best: Difference,
    oracle: &'a mut Oracle,
    worker: &'a mut Worker,
    left: usize,
    started: Instant,
}

impl Shrinker<'_> {
    /// Tries several smaller questions; takes the first that differs.
    fn take_any(&mut self, mut candidates: Vec<Question>) -> Result<bool> {
        candidates.truncate(self.left);
        for some in candidates.chunks(AT_ONCE) {
            if self.started.elapsed() > PATIENCE {
                self.left = 0;
                return Ok(false);
            }
            self.left -= some.len();
            let answers = self.oracle.ask_alike(some)?;
            for (question, theirs) in some.iter().zip(answers) {
                let ours = self.worker.answer(question);
                if !theirs.unstable && !differ(question, &ours, &theirs) {
                    continue;
                }
                if let Judgement::Different(theirs) = judge(self.oracle, question, &ours, &theirs)? {
                    self.best = Difference { question: question.clone(), ours, theirs };
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Leaves whole files of a chart out.
    fn drop_parts(&mut self) -> Result<()> {
        loop {
            let question = &self.best.question;
            if question.op != "chart" && question.op != "values" {
                return Ok(());
            }
            let without = |part| {
                let mut smaller = question.clone();
                smaller.parts.remove(part);
                smaller
            };
            let candidates = (0..question.parts.len()).map(without).collect();
            if !self.take_any(candidates)? {
                return Ok(());
            }
        }
    }

    fn part(&mut self, part: usize) -> Result<()> {
        if matches!(self.best.question.parts[part].0.as_str(), "data" | "missingkey") {
            return Ok(());
        }
        if self.best.question.op.starts_with("yaml:to-") {
            return self.tree(part);
        }
        self.part_by(part, lines)?;
        self.part_by(part, pieces)
    }

    fn part_by(&mut self, part: usize, split: fn(&[u8]) -> Vec<Vec<u8>>) -> Result<()> {
        let mut size = (split(&self.best.question.parts[part].1).len() / 2).max(1);
        loop {
            let all = split(&self.best.question.parts[part].1);
            let mut candidates = Vec::new();
            for start in (0..all.len()).step_by(size) {
                let end = (start + size).min(all.len());
                let kept = [&all[..start], &all[end..]].concat().concat();
                candidates.push(self.with(part, kept));
            }
            // The balanced pieces of templates are parentheses.
            if size == 1 {
                candidates.extend(unwrapped(&all).map(|kept| self.with(part, kept)));
            }
            if self.left == 0 || (!self.take_any(candidates)? && size == 1) {
                return Ok(());
            }
            size = (size / 2).max(1);
        }
    }

    fn with(&self, part: usize, data: Vec<u8>) -> Question {
        let mut question = self.best.question.clone();
        question.parts[part].1 = data;
        question
    }

    /// For values spelled as JSON.
    fn tree(&mut self, part: usize) -> Result<()> {
        loop {
            let Ok(tree) = serde_json::from_slice::<Json>(&self.best.question.parts[part].1) else {
                return Ok(());
            };
            let candidates = smaller(&tree)
                .into_iter()
                .map(|tree| self.with(part, tree.to_string().into_bytes()))
                .collect();
            if self.left == 0 || !self.take_any(candidates)? {
                return Ok(());
            }
        }
    }
}

/// The lines of a text.
fn lines(data: &[u8]) -> Vec<Vec<u8>> {
    data.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// The characters of a text, or the bytes of what is none.
fn pieces(data: &[u8]) -> Vec<Vec<u8>> {
    match std::str::from_utf8(data) {
        Ok(text) => text.chars().map(|c| c.to_string().into_bytes()).collect(),
        Err(_) => data.iter().map(|byte| vec![*byte]).collect(),
    }
}

/// The text with only the inner of one pair of parentheses in its place, or with nothing in place of the pair.
fn unwrapped(all: &[Vec<u8>]) -> impl Iterator<Item = Vec<u8>> {
    let mut open = Vec::new();
    let mut pairs = Vec::new();
    for (at, piece) in all.iter().enumerate() {
        match piece.as_slice() {
            b"(" => open.push(at),
            b")" => pairs.extend(open.pop().map(|start| (start, at))),
            _ => {}
        }
    }
    pairs.into_iter().flat_map(move |(start, end)| {
        let without = [&all[..start], &all[end + 1..]].concat().concat();
        let inner = [&all[..start], &all[start + 1..end], &all[end + 1..]].concat().concat();
        let constant = [&all[..start], &[b"nil".to_vec()], &all[end + 1..]].concat().concat();
        [without, inner, constant]
    })
}

/// What a spelled value becomes with something taken away.
fn smaller(tree: &Json) -> Vec<Json> {
    let Some([kind, content]) = tree.as_array().map(Vec::as_slice) else { return Vec::new() };
    let mut out = vec![Json::Null];
    match (kind.as_str(), content) {
        (Some("s" | "y"), Json::String(text)) => {
            let all = pieces(&BASE64_STANDARD.decode(text).unwrap_or_default());
            for size in [all.len() / 2, all.len() / 4, 1] {
                for start in (0..all.len()).step_by(size.max(1)) {
                    let end = (start + size.max(1)).min(all.len());
                    let kept = [&all[..start], &all[end..]].concat().concat();
                    out.push(serde_json::json!([kind, BASE64_STANDARD.encode(kept)]));
                }
            }
        }
        (Some("l" | "m"), Json::Array(items)) => {
            for at in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(at);
                out.push(serde_json::json!([kind, fewer]));
                let entry = kind == "m";
                let inner = if entry { &items[at][1] } else { &items[at] };
                out.push(inner.clone());
                for less in smaller(inner) {
                    let mut items = items.clone();
                    items[at] = if entry { serde_json::json!([items[at][0], less]) } else { less };
                    out.push(serde_json::json!([kind, items]));
                }
            }
        }
        _ => {}
    }
    out
}
