//! The cases that are written down.

use std::fs;
use std::path::Path;

use helm_fuzzing::Question;
use helm_fuzzing::generate::templates::data;

/// The text of a file of cases.
pub(crate) fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(file)).unwrap()
}

/// One text, executed with the given data.
pub(crate) fn one(text: &str, data: &[u8]) -> Question {
    Question::new("text", [("text:t", text.as_bytes()), ("data", data)])
}

/// The cases of a file: one on each line, or several lines between two lines of `----`.
pub(crate) fn cases(file: &str) -> Vec<Question> {
    let (content, data) = (read(file), data());
    let mut cases = Vec::new();
    for (index, part) in content.split("----\n").enumerate() {
        if index % 2 == 1 {
            cases.push(case(part.strip_suffix('\n').unwrap_or(part), &data));
        } else {
            for line in part.lines().filter(|line| !line.is_empty() && !line.starts_with("#")) {
                cases.push(case(line, &data));
                cases.extend(actions(line).map(|action| case(&action, &data)));
            }
        }
    }
    cases
}

/// Each action of a line for itself, where the line is nothing but independent actions: an error
/// in one of them would hide the others.
fn actions(line: &str) -> impl Iterator<Item = String> {
    let blocks = ["define", "if ", "with ", "range ", "template", "block", "end ", ":=", "§"];
    let option = ["!zero ", "!error "].into_iter().find(|option| line.starts_with(option)).unwrap_or("");
    let parts: Vec<&str> = line.split("{{").skip(1).collect();
    let independent = parts.len() > 1 && !blocks.iter().any(|block| line.contains(block));
    parts
        .into_iter()
        .filter_map(|part| part.split_once("}}"))
        .map(move |(action, _)| format!("{option}{{{{{action}}}}}"))
        .collect::<Vec<_>>()
        .into_iter()
        .filter(move |_| independent)
}

/// A case may begin with `!zero` or `!error` for the option, and `§name§` begins a further text.
fn case(text: &str, data: &[u8]) -> Question {
    let (missing_key, text) = match text.split_at_checked(text.find(' ').unwrap_or(0)) {
        Some(("!zero", rest)) => ("zero", &rest[1..]),
        Some(("!error", rest)) => ("error", &rest[1..]),
        _ => ("default", text),
    };
    let mut case = Question::new("text", []);
    let mut text_of = |name: &str, text: &str| {
        case.parts.push((format!("text:{name}"), text.as_bytes().to_vec()));
    };
    let mut parts = text.split('§');
    let first = parts.next().unwrap_or_default();
    if !first.is_empty() || !text.contains('§') {
        text_of("t", first);
    }
    while let (Some(name), Some(text)) = (parts.next(), parts.next()) {
        text_of(name, text);
    }
    case.parts.push(("data".to_owned(), data.to_vec()));
    case.parts.push(("missingkey".to_owned(), missing_key.as_bytes().to_vec()));
    case
}
