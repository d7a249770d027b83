//! The exact comparison of two texts.

use crate::unordered::in_order;
use helm_yaml::Duplicates;
use std::fmt;

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every byte is the same; for random cases, every byte that helm does not make up.
    Identical,
    /// The texts differ but say the same in YAML.
    SameYaml(Difference),
    /// The texts differ.
    Different(Difference),
    /// Helm renders it, the other does not; with the text of the error.
    WronglyFailed(String),
    /// Helm refuses it, the other renders it.
    WronglyPassed,
}

/// Where two texts differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Number of the line, from one; none when texts as a whole differ.
    pub line: Option<usize>,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

/// What a renderer did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Its manifests.
    Rendered(String),
    /// The text of its error, from `Error: ` on.
    Failed(String),
}

impl Outcome {
    /// Manifests or error.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Rendered(text) | Self::Failed(text) => text,
        }
    }
}

/// Compares a case that helm renders the same way each time.
#[must_use]
pub fn compare(theirs: &str, fails: bool, ours: &Outcome) -> Verdict {
    match ours {
        Outcome::Rendered(_) if fails => Verdict::WronglyPassed,
        Outcome::Failed(ours) if fails && in_order(ours) == in_order(theirs) => Verdict::Identical,
        Outcome::Failed(error) if !fails => Verdict::WronglyFailed(error.clone()),
        Outcome::Rendered(ours) | Outcome::Failed(ours) if ours == theirs => Verdict::Identical,
        Outcome::Failed(ours) => Verdict::Different(first_difference(theirs, ours)),
        Outcome::Rendered(ours) => {
            let difference = first_difference(theirs, ours);
            if same_yaml(theirs, ours) {
                Verdict::SameYaml(difference)
            } else {
                Verdict::Different(difference)
            }
        }
    }
}

/// The first line in which two texts that are not equal differ.
#[must_use]
pub fn first_difference(theirs: &str, ours: &str) -> Difference {
    let (mut theirs, mut ours) = (theirs.split('\n'), ours.split('\n'));
    let mut line = 1;
    loop {
        let why = match (ours.next(), theirs.next()) {
            (Some(ours), Some(theirs)) if ours == theirs => {
                line += 1;
                continue;
            }
            (Some(ours), Some(theirs)) => return differing(line, ours, theirs),
            (Some(ours), None) => format!("{ours:?} instead of the end"),
            (None, Some(theirs)) => format!("the end instead of {theirs:?}"),
            (None, None) => "no difference".to_owned(),
        };
        return Difference { line: Some(line), why };
    }
}

/// How much of a line is shown.
const SHOWN: usize = 160;

pub(crate) fn differing(line: usize, ours: &str, theirs: &str) -> Difference {
    // Long lines (CRDs in JSON, base64) are shown from shortly before the place.
    let equal = ours.chars().zip(theirs.chars()).take_while(|(ours, theirs)| ours == theirs).count();
    let from = if equal > SHOWN / 2 { equal - SHOWN / 4 } else { 0 };
    let part = |text: &str| text.chars().skip(from).take(SHOWN).collect::<String>();
    Difference { line: Some(line), why: format!("{:?} instead of {:?}", part(ours), part(theirs)) }
}

/// Whether two streams have equal documents in the same order.
fn same_yaml(theirs: &str, ours: &str) -> bool {
    let (theirs, ours) = (documents(theirs), documents(ours));
    theirs.is_some() && theirs == ours
}

fn documents(stream: &str) -> Option<Vec<serde_json::Value>> {
    let stream = format!("\n{stream}");
    let documents = stream.split("\n---").map(|document| {
        // What follows the dashes on their line (a comment) belongs to no document.
        let document = document.split_once('\n').map_or("", |(_, rest)| rest);
        helm_yaml::yaml_to_json(document.as_bytes(), Duplicates::LastWins).ok()
    });
    documents.filter(|document| !matches!(document, Some(serde_json::Value::Null))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(theirs: &str, ours: &str) -> Verdict {
        compare(theirs, false, &Outcome::Rendered(ours.to_owned()))
    }

    #[test]
    fn a_text_is_identical_only_to_itself() {
        assert_eq!(rendered("a: 1\n", "a: 1\n"), Verdict::Identical);
        assert!(matches!(rendered("a: 1\n", "a: 1"), Verdict::SameYaml(_)));
        assert!(matches!(rendered("a: 1\n", "a: '1'\n"), Verdict::Different(_)));
    }

    #[test]
    fn order_of_keys_is_no_difference_in_yaml_and_order_of_documents_is() {
        assert!(matches!(rendered("---\na: 1\nb: 2\n", "---\nb: 2\na: 1\n"), Verdict::SameYaml(_)));
        assert!(matches!(
            rendered("---\na: 1\n---\nb: 2\n", "---\nb: 2\n---\na: 1\n"),
            Verdict::Different(_)
        ));
    }

    #[test]
    fn what_is_no_yaml_on_both_sides_is_not_the_same() {
        assert!(matches!(rendered("a: [\n", "a: {\n"), Verdict::Different(_)));
    }

    #[test]
    fn errors_are_compared_by_their_text() {
        let failed = |text: &str| Outcome::Failed(text.to_owned());
        assert_eq!(compare("Error: x\n", true, &failed("Error: x\n")), Verdict::Identical);
        assert!(matches!(compare("Error: x\n", true, &failed("Error: y\n")), Verdict::Different(_)));
        assert_eq!(
            compare("a: 1\n", false, &failed("Error: y\n")),
            Verdict::WronglyFailed("Error: y\n".into())
        );
        let passed = Outcome::Rendered("Error: x\n".to_owned());
        assert_eq!(compare("Error: x\n", true, &passed), Verdict::WronglyPassed);
    }

    #[test]
    fn a_difference_is_told_with_its_line_and_what_is_around_it() {
        assert_eq!(first_difference("a\nb\n", "a\nc\n").to_string(), "line 2: \"c\" instead of \"b\"");
        assert_eq!(first_difference("a\nb", "a").to_string(), "line 2: the end instead of \"b\"");
        let long = "x".repeat(1000);
        let told = first_difference(&format!("{long}a"), &format!("{long}b")).to_string();
        assert!(told.len() < 300 && told.contains("xb\""), "{told}");
    }
}
