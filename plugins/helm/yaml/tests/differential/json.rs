//! JSON that is read.

use helm_fuzzing::generate::json::{nested, questions, text};
use helm_fuzzing::{Question, Random};

use crate::cases;
use crate::compare::assert_same;

#[test]
fn texts_of_random_pieces_are_read_as_by_go() {
    let texts: Vec<Question> =
        cases(3000).flat_map(|seed| questions(&text(&mut Random::new(seed))).collect::<Vec<_>>()).collect();
    assert_same(&texts);
}

#[test]
fn nested_json_is_read_as_by_go() {
    let texts: Vec<Question> = cases(3000)
        .flat_map(|seed| {
            let mut text = String::new();
            nested(&mut Random::new(seed), 4, &mut text);
            questions(text.as_bytes()).collect::<Vec<_>>()
        })
        .collect();
    assert_same(&texts);
}

#[test]
fn the_limit_of_nesting_is_that_of_go() {
    let nest = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let texts: Vec<Question> = [9_999, 10_000, 10_001]
        .map(nest)
        .iter()
        .map(|text| Question::yaml("check-json", text.as_str()))
        .collect();
    assert_same(&texts);
}
