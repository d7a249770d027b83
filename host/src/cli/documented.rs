//! Every command that the documents and the help show is one that the program takes.

use clap::{CommandFactory as _, Parser as _};

use super::Cli;

const DOCUMENTS: [(&str, &str); 7] = [
    ("README.md", include_str!("../../../README.md")),
    ("docs/backup.md", include_str!("../../../docs/backup.md")),
    ("docs/install.md", include_str!("../../../docs/install.md")),
    ("docs/migrating-from-operator-sdk.md", include_str!("../../../docs/migrating-from-operator-sdk.md")),
    ("docs/plugin-authoring.md", include_str!("../../../docs/plugin-authoring.md")),
    ("docs/projects.md", include_str!("../../../docs/projects.md")),
    ("docs/releases.md", include_str!("../../../docs/releases.md")),
];

/// The words of a shown command; none: the line shows no call of the program.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.trim_start().strip_prefix("$ ").unwrap_or(line.trim_start());
    let ends = [" # ", " && ", " | ", " > "];
    let call = ends.iter().fold(line, |call, end| call.split(end).next().unwrap_or_default());
    let call = call.trim_end().trim_end_matches('\\').trim_end();
    let words: Vec<String> =
        call.split_whitespace().map(|word| word.trim_matches(['\'', '"']).to_owned()).collect();
    // Outlines of usage are no calls.
    let is_call = words.first().is_some_and(|word| word == "pilothouse") && !call.contains(['[', '…', '<']);
    (is_call && words.len() > 1).then_some(words)
}

fn refused(place: &str, text: &str) -> Vec<String> {
    let calls = text.lines().filter_map(words);
    let refusal = |words: Vec<String>| match Cli::try_parse_from(&words) {
        Err(error) if error.use_stderr() => Some(format!("{place}: {}: {error}", words.join(" "))),
        _ => None,
    };
    calls.filter_map(refusal).collect()
}

fn of_help(command: &clap::Command) -> Vec<(String, String)> {
    let help = command.get_after_help().map(|help| (command.get_name().to_owned(), help.to_string()));
    command.get_subcommands().flat_map(of_help).chain(help).collect()
}

#[test]
fn commands_of_the_documents_and_of_the_help_are_taken() {
    let mut shown: Vec<(String, String)> =
        DOCUMENTS.iter().map(|(place, text)| ((*place).to_owned(), (*text).to_owned())).collect();
    shown.extend(of_help(&Cli::command()));
    let calls = shown.iter().flat_map(|(_, text)| text.lines()).filter_map(words).count();
    assert!(calls > 30, "only {calls} calls are shown");
    let refused: Vec<String> = shown.iter().flat_map(|(place, text)| refused(place, text)).collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn a_flag_that_is_not_there_is_found() {
    let text = "text\n  pilothouse adopt . --operator-imagine x   # a comment\npilothouse [OPTIONS]\n";
    assert_eq!(refused("here", text).len(), 1);
}
