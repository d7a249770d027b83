//! Puts questions to both sides and reports where they differ.

use helm_fuzzing::{Question, ask, differ, ours, shown};

/// How many differences are shown.
const SHOWN: usize = 10;

/// Fails if this crate answers any of the questions in another way than Go.
pub(crate) fn assert_same(questions: &[Question]) {
    let Some(theirs) = ask(questions) else { return };
    let mut differences = Vec::new();
    for (question, theirs) in questions.iter().zip(&theirs) {
        let ours = ours::answer(question);
        if differ(question, &ours, theirs) {
            differences.push(format!(
                "--- {} of {}\n  ours {}\n  Go's {}\n",
                question.op,
                cut(format!("{:?}", String::from_utf8_lossy(question.part("in")))),
                cut(shown(&ours)),
                cut(shown(theirs))
            ));
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

/// The start of a long text.
fn cut(mut text: String) -> String {
    const SHOWN: usize = 600;
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(end);
        text.push('…');
    }
    text
}
