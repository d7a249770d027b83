//! Puts questions to both sides and reports where they differ.

use crate::oracle::{Answer, Question, ask};
use crate::ours;

/// How many differences are shown.
const SHOWN: usize = 10;

/// Fails if this crate answers any of the questions in another way than Go.
pub(crate) fn assert_same(questions: &[Question]) {
    let Some(theirs) = ask(questions) else { return };
    let mut differences = Vec::new();
    for (question, theirs) in questions.iter().zip(&theirs) {
        // Where Go itself breaks down there is nothing to be equal to.
        if theirs.err.starts_with("panic: ") {
            continue;
        }
        let ours = ours::answer(question);
        if ours != *theirs {
            differences.push(describe(question, &ours, theirs));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        questions.len(),
        differences.iter().take(SHOWN).cloned().collect::<String>()
    );
}

fn describe(question: &Question, ours: &Answer, theirs: &Answer) -> String {
    let show = |answer: &Answer| match (&answer.err, answer.out.is_empty()) {
        (error, _) if !error.is_empty() => format!("error {error:?} {}", answer.value),
        (_, true) => answer.value.to_string(),
        _ => format!("{:?}", String::from_utf8_lossy(&answer.out)),
    };
    format!(
        "--- {} of {}\n  ours {}\n  Go's {}\n",
        question.op,
        cut(format!("{:?}", String::from_utf8_lossy(&question.r#in))),
        cut(show(ours)),
        cut(show(theirs))
    )
}

/// The start of a long text.
fn cut(mut text: String) -> String {
    const SHOWN: usize = 600;
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(end);
        text.push('…');
    }
    text
}
