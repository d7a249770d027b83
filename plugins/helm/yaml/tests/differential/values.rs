//! Values that are written.

use helm_fuzzing::generate::yaml_values::{TEXTS, questions, value};
use helm_fuzzing::{Question, Random};
use helm_template::{List, Map, Value};

use crate::cases;
use crate::compare::assert_same;

#[test]
fn random_values_are_written_as_by_go() {
    let questions: Vec<Question> = cases(4000)
        .flat_map(|seed| questions(&value(&mut Random::new(seed), 4)).collect::<Vec<_>>())
        .collect();
    assert_same(&questions);
}

#[test]
fn every_text_is_written_as_by_go_as_value_key_and_item() {
    let texts = || TEXTS.iter().flat_map(|a| ["", "a", " ", "\n", "'"].map(|b| format!("{a}{b}")));
    let long = (120..140).chain(1010..1030).map(|length| "k".repeat(length));
    let escaped = (165..175).map(|length| "<".repeat(length));
    let questions: Vec<Question> = texts()
        .chain(long)
        .chain(escaped)
        .flat_map(|text| {
            let shapes = [
                Value::from(&text),
                Value::Map(Map::from_iter([("k", Value::from(&text))])),
                Value::Map(Map::from_iter([(text.as_str(), Value::from("v"))])),
                Value::Map(Map::from_iter([(text.as_str(), vec![Value::from(&text)])])),
                Value::Map(Map::from_iter([(
                    "a",
                    Value::Map(Map::from_iter([(text.as_str(), Value::from(&text))])),
                )])),
                Value::List(List::new(vec![
                    Value::from(&text),
                    Value::List(List::new(vec![Value::from(&text)])),
                ])),
            ];
            shapes.iter().flat_map(|value| questions(value).collect::<Vec<_>>()).collect::<Vec<_>>()
        })
        .collect();
    assert_same(&questions);
}
