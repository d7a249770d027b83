//! Objects that are read with their comments and written again.

use crate::cases;
use crate::compare::assert_same;
use helm_fuzzing::generate::{yaml_comments, yaml_soup as soup};
use helm_fuzzing::{Question, Random};

/// To a post-renderer, and back.
const OPERATIONS: [&str; 2] = ["nodes-marked", "nodes-unmarked"];

fn assert_written_the_same(documents: impl IntoIterator<Item = Vec<u8>>) {
    let questions: Vec<Question> = documents
        .into_iter()
        .flat_map(|document| OPERATIONS.map(|op| Question::yaml(op, document.as_slice())))
        .collect();
    assert_same(&questions);
}

#[test]
fn objects_with_comments_everywhere_are_written_as_by_kyaml() {
    assert_written_the_same(
        cases(3000).map(|seed| yaml_comments::stream(&mut Random::new(seed)).into_bytes()),
    );
}

#[test]
fn random_pieces_are_read_and_written_as_by_kyaml() {
    assert_written_the_same(cases(1500).map(|seed| soup::text(&mut Random::new(seed), 12).into_bytes()));
}

#[test]
fn random_lines_are_read_and_written_as_by_kyaml() {
    assert_written_the_same(cases(1500).map(|seed| soup::lines(&mut Random::new(seed), 10).into_bytes()));
}

#[test]
fn anchors_and_aliases_are_kept_as_by_kyaml() {
    assert_written_the_same(cases(1000).map(|seed| soup::anchored(&mut Random::new(seed)).into_bytes()));
}

#[test]
fn damaged_text_is_refused_as_by_kyaml() {
    assert_written_the_same(cases(1000).map(|seed| {
        let mut random = Random::new(seed);
        let text = soup::damaged(&mut random);
        soup::break_bytes(&mut random, text)
    }));
}
