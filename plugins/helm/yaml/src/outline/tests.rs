use std::collections::BTreeMap;
use std::fmt::Write as _;

use helm_template::Value;

use super::*;
use crate::{Duplicates, from_yaml};

/// A line for each entry: its depth as indentation, its key, and what it holds.
fn told(text: &str) -> Option<String> {
    let mut told = String::new();
    outline(text, |entry| {
        let (pad, key) = ("  ".repeat(entry.depth), entry.key.unwrap_or("-"));
        let value = match entry.value {
            Content::Open => "…".to_owned(),
            Content::Text(text) => format!("{text:?}"),
            Content::Other => "?".to_owned(),
        };
        writeln!(told, "{pad}{key} {value}").ok()
    })?;
    Some(told)
}

#[test]
fn a_manifest_is_told_entry_by_entry() {
    let manifest = "# Source: x\napiVersion: v1  # one\nkind: \"ConfigMap\"\nmetadata:\n  name: 'a'\n  labels: {}\n  \
                    annotations:\n    a.b/c: \"1\"\n\ndata:\n  key: |-\n    not: [yaml\n\n     at all\n  port: 8080\n  \
                    empty:\nlist:\n- a: b\n  c:\n  - d\n  - -x\n-   e: http://x\n- |\n  text\n-\n  f: {}\nlast: a#b";
    let expected = "apiVersion \"v1\"\nkind \"ConfigMap\"\nmetadata …\n  name \"a\"\n  labels …\n  annotations …\n    \
                    a.b/c \"1\"\ndata …\n  key ?\n  port ?\n  empty …\nlist …\n  - …\n    a \"b\"\n    c …\n      \
                    - \"d\"\n      - \"-x\"\n  - …\n    e \"http://x\"\n  - ?\n  - …\n    f …\nlast \"a#b\"\n";
    assert_eq!(told(manifest).as_deref(), Some(expected));
}

#[test]
fn whatever_is_not_surely_understood_is_left_to_the_reader() {
    for text in [
        "",
        "# nothing",
        "- a",
        " a: b",
        "a: b: c",
        "a: b\n  c: d",
        "a:\n  b: 1\n c: 2",
        "a:\n    b: 1\n  c: 2",
        "a: b\n- c",
        "a: {b: c}",
        "a: &x b",
        "a: *x",
        "a: !!str b",
        "a: \"b",
        "a: \"b\" c",
        "a: .inf",
        "a: -.inf",
        "a: +1",
        "a: %b",
        "a: @b",
        "a: - b",
        "a: ? b",
        "a:\tb",
        "a: b\r\n",
        "a: b\u{0}",
        "a: \u{85}",
        "a: \u{2028}",
        "a: \u{feff}",
        "a: \"\\x41\"",
        "a: [b: c]",
        "a: [[b]]",
        "a: [b",
        "a: [b\"c\"]",
        "a: b\n  c # d\n  e",
        "a: b # c\n  d",
        "1: b",
        "null: b",
        "y: b",
        "~: b",
        "<<: b",
        "a b: c",
        "? a",
        "--- a",
        "a: b\n...\nc: d",
        "a: |2\n  b",
        "a: | # c\n  b",
        "a: |\n    \n  b",
        "a: |\n  b\n c",
        "a: b\n\"c\\x\": d",
        "a:\n- - b",
        "a: b:",
        "a:b",
    ] {
        assert_eq!(told(text), None, "{text:?}");
    }
}

#[test]
fn whoever_listens_may_stop() {
    let mut entries = 0;
    let stopped = outline("a: b\nc: d\n", |_| {
        entries += 1;
        None
    });
    assert_eq!((stopped, entries), (None, 1));
}

#[test]
fn deep_documents_and_long_keys_are_left_to_the_reader() {
    let deep: String = (0..MAX_DEPTH + 1).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert_eq!(told(&deep), None);
    assert_eq!(told(&format!("{}: b", "a".repeat(MAX_KEY + 1))), None);
}

/// What an outline says of a document.
#[derive(Debug)]
enum Tree {
    Open(Vec<(Option<String>, Tree)>),
    Text(String),
    Other,
}

impl Tree {
    fn of(text: &str) -> Option<Tree> {
        let mut root = Tree::Open(Vec::new());
        outline(text, |entry| {
            let mut place = &mut root;
            for _ in 0..entry.depth {
                let Tree::Open(entries) = place else { panic!("{text}\n{entry:?} is in a scalar") };
                place = &mut entries.last_mut().unwrap().1;
            }
            let Tree::Open(entries) = place else { panic!("{text}\n{entry:?} is in a scalar") };
            let value = match entry.value {
                Content::Open => Tree::Open(Vec::new()),
                Content::Text(text) => Tree::Text(text.to_owned()),
                Content::Other => Tree::Other,
            };
            entries.push((entry.key.map(str::to_owned), value));
            Some(())
        })?;
        Some(root)
    }

    fn is(&self, read: &Value) -> bool {
        match (self, read) {
            (Tree::Open(entries), Value::Nil) => entries.is_empty(),
            (Tree::Open(entries), Value::Map(read)) => {
                let last: BTreeMap<_, _> =
                    entries.iter().map(|(key, value)| (key.clone().unwrap(), value)).collect();
                let same = |(key, value): (&String, &&Tree)| {
                    read.get(key.as_bytes()).is_some_and(|read| value.is(&read))
                };
                last.len() == read.len() && last.iter().all(same)
            }
            (Tree::Open(entries), Value::List(read)) => {
                let pairs = entries.iter().zip(read.iter());
                entries.len() == read.len()
                    && pairs.into_iter().all(|((key, value), read)| key.is_none() && value.is(read))
            }
            (Tree::Text(text), Value::String(read)) => text.as_bytes() == read.as_bytes(),
            (Tree::Other, read) => !matches!(read, Value::Map(_)),
            _ => false,
        }
    }
}

/// Lines that follow each other in any order: what is told of them has to be what the reader reads.
#[test]
fn what_is_told_is_what_the_reader_reads() {
    const LINES: &[&str] = &[
        "a: b",
        "a:",
        "b: 1",
        "- a: b",
        "- a:",
        "- b",
        "-",
        "c: |",
        "c: >-",
        "- |",
        "text",
        "\"k\": v",
        "'k': \"v\"",
        "# c",
        "",
        "d: {}",
        "d: []",
        "e: true # c",
        "f: ~",
        "- 'x'",
        "-   g: h",
        "h: a:b",
        "- a:b",
        "i: 1e3",
        "j: 0x1F",
        "k: 2001-01-01",
        "- - a",
        "l: \"a: b\"",
        "- ",
        "m:  # c",
        "n: .5",
        "- - ",
        "o: [a, \"b\", 'c', 1, ]",
        "o: [a b]",
        "p: \"a\\\"b\\\\\" # c",
        "q: 'a''b'",
        "{}",
        "[]",
        "null",
        "~",
        "\"x\"",
        "x y",
        "x: y: z",
        "é: b",
        "r: é©",
        "- [a/b, c*]",
        "'x' # y",
        "x #y",
        "- ./a",
        "s: |-  ",
        ": x",
        "t: []]",
        "[a] b",
    ];
    let (mut state, mut known, mut refused) = (0x2545_F491_4F6C_DD1D_u64, 0, 0);
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(below).unwrap()).unwrap()
    };
    for _ in 0..60_000 {
        let mut text = String::new();
        for line in 0..=next(6) {
            let indent = if line == 0 { 0 } else { next(4) * [1, 2][next(2)] };
            writeln!(text, "{}{}", " ".repeat(indent), LINES[next(LINES.len())]).unwrap();
        }
        let Some(told) = Tree::of(&text) else {
            refused += 1;
            continue;
        };
        known += 1;
        match from_yaml(text.as_bytes(), Duplicates::LastWins) {
            Ok(read) => assert!(told.is(&read), "{text}\nis told as {told:#?}, and read as {read:#?}"),
            Err(error) => panic!("{text}\nis told as {told:#?}, but {error}"),
        }
    }
    assert!(known > 4_000 && refused > 4_000, "{known} known, {refused} refused");
}
