//! Documents that are read.

use crate::cases;
use crate::compare::assert_same;
use helm_fuzzing::Question;
use helm_fuzzing::Random;
use helm_fuzzing::generate::yaml_soup as soup;

/// Every way to read each of the documents.
fn assert_read_the_same(documents: impl IntoIterator<Item = impl Into<Vec<u8>>>) {
    let questions: Vec<Question> = documents
        .into_iter()
        .map(Into::into)
        .flat_map(|document: Vec<u8>| {
            soup::READERS.iter().map(move |op| Question::yaml(op, document.clone()))
        })
        .collect();
    assert_same(&questions);
}

#[test]
fn texts_of_random_pieces_are_read_as_by_go() {
    assert_read_the_same(cases(2000).map(|seed| soup::text(&mut Random::new(seed), 12)));
}

#[test]
fn random_indented_lines_are_read_as_by_go() {
    assert_read_the_same(cases(2000).map(|seed| soup::lines(&mut Random::new(seed), 10)));
}

#[test]
fn random_anchors_aliases_and_merges_are_read_as_by_go() {
    assert_read_the_same(cases(2000).map(|seed| soup::anchored(&mut Random::new(seed))));
}

#[test]
fn damaged_text_of_any_encoding_is_read_as_by_go() {
    assert_read_the_same(cases(1000).map(|seed| {
        let mut random = Random::new(seed);
        let text = soup::damaged(&mut random);
        soup::break_bytes(&mut random, text)
    }));
}

#[test]
fn documents_that_blow_up_through_aliases_are_refused_as_by_go() {
    // Each level repeats the one above `width` times.
    let bomb = |levels: usize, width: usize| {
        let mut text = String::from("l0: &l0 [x]\n");
        for level in 1..=levels {
            let aliases = vec![format!("*l{}", level - 1); width].join(", ");
            text.push_str(&format!("l{level}: &l{level} [{aliases}]\n"));
        }
        text
    };
    // So many nodes of its own, and so many out of one alias.
    let mixed = |own: usize, aliased: usize| {
        format!("a: &a [{}]\nb: [{}]\nc: [{}]\n", "1,".repeat(aliased), "1,".repeat(own), "*a,".repeat(20))
    };
    let documents = [
        bomb(3, 5),
        bomb(4, 9),
        bomb(9, 9),
        bomb(30, 2),
        mixed(0, 60),
        mixed(10, 2000),
        mixed(30_000, 30_000),
    ];
    let questions: Vec<Question> =
        documents.iter().map(|document| Question::yaml("check-yaml", document.as_str())).collect();
    assert_same(&questions);
}

#[test]
fn the_limits_of_nesting_are_those_of_go() {
    let flow = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let sequences = |levels: usize| format!("{}x", "- ".repeat(levels));
    let mappings = |levels: usize| format!("{}x: 1", "? ".repeat(levels));
    let questions: Vec<Question> = [9_998, 9_999, 10_000, 10_001, 10_002]
        .into_iter()
        .flat_map(|levels| {
            [flow(levels), sequences(levels), mappings(levels), "[".repeat(levels), "{a: ".repeat(levels)]
        })
        .map(|document| Question::yaml("check-yaml", document))
        .collect();
    assert_same(&questions);
}

#[test]
fn keys_of_the_greatest_length_are_read_as_by_go() {
    let keys = (1020..1030).flat_map(|length| ["k", "é"].map(|letter| letter.repeat(length)));
    assert_read_the_same(keys.flat_map(|key| {
        [
            format!("{key}: 1\n"),
            format!("a:\n  {key}: 1\n"),
            format!("{{{key}: 1}}"),
            format!("{{\"{key}\": 1}}"),
            format!("[{key}: 1]"),
            format!("\"{key}\":1\n"),
            format!("- {key} : 1\n"),
        ]
    }));
}

#[test]
fn documents_of_every_kind_are_read_as_by_go() {
    assert_read_the_same(include_str!("documents.txt").split("\n=====\n").map(unescape));
}

/// The escapes of `documents.txt`, for what an editor would not keep.
fn unescape(text: &str) -> Vec<u8> {
    let text = text
        .replace("\\r", "\r")
        .replace("\\t", "\t")
        .replace("\\BOM", "\u{FEFF}")
        .replace("\\NEL", "\u{85}")
        .replace("\\LS", "\u{2028}");
    text.into_bytes()
}
