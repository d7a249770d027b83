//! Whether an answer is one of Go's: it goes through maps in another order each time, and what it answers may depend
//! on that order.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::{Answer, Oracle, Question, compare};

/// How often a question is put in a round. Of two entries in a map Go begins with the second once in eight times.
const AGAIN: usize = 40;
/// After so many rounds that bring new answers there is no end of them.
const ROUNDS: usize = 8;
/// No question is worth more.
const PATIENCE: Duration = Duration::from_secs(20);
/// So many rounds without a new answer say that all are known.
const QUIET: usize = 2;

/// What Go answers when it is asked again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// What we do as well.
    Alike,
    /// Something else: one of these, and never what we do.
    Different(Vec<Answer>),
    /// Nothing, or something new each time.
    Unknown,
}

/// Compares our answer with all that Go gives, the first of which is known.
///
/// # Errors
/// The oracle cannot be started.
pub fn judge(oracle: &mut Oracle, question: &Question, ours: &Answer, first: &Answer) -> Result<Judgement> {
    let mut known: Vec<Answer> = Vec::new();
    if let Some(judgement) = hear(question, ours, first.clone(), &mut known) {
        return Ok(judgement);
    }
    let (mut quiet, started) = (0, Instant::now());
    for _ in 0..ROUNDS {
        if started.elapsed() > PATIENCE {
            break;
        }
        let before = known.len();
        for answer in oracle.ask_alike(&vec![question.clone(); AGAIN])? {
            if let Some(judgement) = hear(question, ours, answer, &mut known) {
                return Ok(judgement);
            }
        }
        quiet = if known.len() == before { quiet + 1 } else { 0 };
        if quiet >= QUIET {
            break;
        }
    }
    if known.len() > 1 && known.iter().any(|theirs| same_words(ours, theirs)) {
        return Ok(Judgement::Alike);
    }
    if quiet < QUIET {
        return Ok(Judgement::Unknown);
    }
    // What depends on where things lie in memory is the same until another process is asked.
    oracle.stop();
    for answer in oracle.ask_alike(&vec![question.clone(); AGAIN])? {
        let before = known.len();
        if let Some(judgement) = hear(question, ours, answer, &mut known) {
            return Ok(judgement);
        }
        if known.len() > before {
            return Ok(Judgement::Unknown);
        }
    }
    Ok(Judgement::Different(known))
}

/// Words so long that only digests, and what is encoded, have them: they show an order in another way.
const DIGEST: usize = 32;

/// Whether two answers are of the same words. Where Go's order changes, ours may be one that it never comes to, and of
/// some things there are more orders than one can ask for.
fn same_words(one: &Answer, other: &Answer) -> bool {
    let words = |answer: &Answer| {
        let text = [&*answer.out, b" ", &*answer.error].concat();
        let is_word = |byte: &u8| !byte.is_ascii_whitespace() && *byte != b',';
        let masked = |word: &[u8]| match word {
            long if long.len() >= DIGEST && long.iter().all(u8::is_ascii_alphanumeric) => b"DIGEST".to_vec(),
            word => word.to_vec(),
        };
        let mut words: Vec<Vec<u8>> = text
            .chunk_by(|a, b| is_word(a) == is_word(b))
            .filter(|word| is_word(&word[0]))
            .map(masked)
            .collect();
        words.sort();
        words
    };
    words(one) == words(other)
}

/// Takes an answer down, unless it settles the question.
fn hear(question: &Question, ours: &Answer, answer: Answer, known: &mut Vec<Answer>) -> Option<Judgement> {
    if answer.is_missing() {
        return Some(Judgement::Unknown);
    }
    let answer = Answer { unstable: false, ..answer };
    if !compare::differ(question, ours, &answer) {
        return Some(Judgement::Alike);
    }
    if !known.iter().any(|known| compare::same_but_for_addresses(known, &answer)) {
        known.push(answer);
    }
    None
}
