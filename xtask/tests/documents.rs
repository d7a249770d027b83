//! What documents say of the repository is so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn files(below: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        let hidden = path.file_name().unwrap().to_string_lossy().starts_with('.');
        if path.is_dir() && !hidden && !path.ends_with("target") {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}

/// Names of functions of the repository.
fn functions() -> BTreeSet<String> {
    let mut sources = Vec::new();
    files(&root(), "rs", &mut sources);
    let mut names = BTreeSet::new();
    for source in sources {
        for line in fs::read_to_string(source).unwrap().lines() {
            let Some((_, rest)) = line.split_once("fn ") else { continue };
            names.insert(
                rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap().to_owned(),
            );
        }
    }
    names
}

/// Is it the name of a test, whole or with its end left out? They are sentences: fields, variables and metrics are shorter.
fn is_sentence(word: &str) -> bool {
    word.matches('_').count() >= 4
        && !word.starts_with("pilothouse_")
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '…')
}

#[test]
fn every_test_that_a_document_names_is_there() {
    let mut documents = Vec::new();
    files(&root().join("docs"), "md", &mut documents);
    let functions = functions();
    let (mut missing, mut seen) = (Vec::new(), 0);
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for word in text.split('`').skip(1).step_by(2).filter(|word| is_sentence(word)) {
            seen += 1;
            let there = match (word.strip_prefix('…'), word.strip_suffix('…')) {
                (Some(end), _) => functions.iter().any(|name| name.ends_with(end)),
                (_, Some(start)) => functions.iter().any(|name| name.starts_with(start)),
                _ => functions.contains(word),
            };
            if !there {
                missing.push(format!("{}: {word}", document.file_name().unwrap().display()));
            }
        }
    }
    assert!(seen > 100, "documents name {seen} tests: they are not found any more");
    assert_eq!(missing, Vec::<String>::new());
}
