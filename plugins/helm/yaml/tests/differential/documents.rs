//! Documents that are read.

use crate::cases;
use crate::compare::assert_same;
use crate::oracle::Question;
use crate::soup::{self, Random};

const READERS: &[&str] = &["yaml-to-json", "yaml-to-json-strict", "from-yaml-map", "from-yaml-list"];

fn questions(document: &[u8]) -> impl Iterator<Item = Question> {
    READERS.iter().map(move |op| Question::new(op, document))
}

#[test]
fn texts_of_random_pieces_are_read_as_by_go() {
    let documents: Vec<Question> = cases(2000)
        .flat_map(|seed| questions(soup::text(&mut Random::new(seed), 12).as_bytes()).collect::<Vec<_>>())
        .collect();
    assert_same(&documents);
}

#[test]
fn random_indented_lines_are_read_as_by_go() {
    let documents: Vec<Question> = cases(2000)
        .flat_map(|seed| questions(soup::lines(&mut Random::new(seed), 10).as_bytes()).collect::<Vec<_>>())
        .collect();
    assert_same(&documents);
}
