//! The same questions, answered by this crate.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use helm_template::{List, Map, Value};
use helm_yaml::json as go_json;
use helm_yaml::nodes::{ObjectError, Objects};
use helm_yaml::{
    Duplicates, from_yaml, from_yaml_list, from_yaml_map, to_yaml, to_yaml_pretty, yaml_to_json,
    yaml_to_json_text,
};
use serde_json::json;

use crate::Answer;
use crate::generate::yaml_values::untree;

/// What helm-yaml makes of an input.
pub fn answer(op: &str, input: &[u8]) -> Answer {
    match op {
        "yaml-to-json" => json_text(input, Duplicates::LastWins),
        "yaml-to-json-strict" => json_text(input, Duplicates::Refuse),
        "from-yaml-map" => map(from_yaml_map(input, Duplicates::LastWins)),
        "from-yaml-map-strict" => map(from_yaml_map(input, Duplicates::Refuse)),
        "from-yaml-list" => list(from_yaml_list(input, Duplicates::LastWins)),
        "yaml-again" => text(from_yaml(input, Duplicates::LastWins).map(|value| to_yaml(&value).unwrap())),
        "yaml-again-pretty" => {
            text(from_yaml(input, Duplicates::LastWins).map(|value| to_yaml_pretty(&value).unwrap()))
        }
        "from-json" => partial(go_json::from_json(input)),
        "from-json-map" => {
            let (map, error) = go_json::from_json_map(input);
            partial((Value::Map(map), error))
        }
        "from-json-list" => {
            let (list, error) = go_json::from_json_list(input);
            partial((Value::List(list), error))
        }
        "check-json" => only_error(go_json::from_json(input).1),
        "nodes-marked" => text(marked(input)),
        "nodes-unmarked" => text(unmarked(input)),
        "check-yaml" => only_error(from_yaml(input, Duplicates::LastWins).err()),
        other => written(other, &untree(&serde_json::from_slice(input).unwrap())),
    }
}

/// The annotation that Helm gives to what a post-renderer shall see.
const MARK: &str = "postrenderer.helm.sh/postrender-filename";

fn marked(input: &[u8]) -> Result<Vec<u8>, ObjectError> {
    let mut objects = Objects::read(input)?;
    for object in &mut objects.0 {
        object.set_annotation(MARK, "chart/templates/file.yaml")?;
    }
    Ok(objects.write()?.into_bytes())
}

fn unmarked(input: &[u8]) -> Result<Vec<u8>, ObjectError> {
    let mut objects = Objects::read(input)?;
    for object in &mut objects.0 {
        object.annotation(MARK)?;
        object.clear_annotation(MARK)?;
    }
    Ok(objects.write()?.into_bytes())
}

fn written(op: &str, value: &Value) -> Answer {
    match op {
        "to-yaml" => text(to_yaml(value)),
        "to-yaml-pretty" => text(to_yaml_pretty(value).ok_or("cannot be written")),
        "to-json" => text(go_json::to_json(value)),
        "to-json-raw" => text(go_json::to_json_raw(value)),
        "to-json-pretty" => text(go_json::to_json_pretty(value)),
        other => panic!("no operation {other}"),
    }
}

fn text<E: ToString>(result: Result<Vec<u8>, E>) -> Answer {
    match result {
        Ok(out) => Answer::of(out),
        Err(error) => failed(&json!(null), &error),
    }
}

fn only_error<E: ToString>(error: Option<E>) -> Answer {
    partial((Value::Nil, error))
}

fn partial<E: ToString>((value, error): (Value, Option<E>)) -> Answer {
    spelled(&tree(&value), &error.map(|error| error.to_string()).unwrap_or_default())
}

/// The text of the JSON, which must be that of its values.
fn json_text(input: &[u8], duplicates: Duplicates) -> Answer {
    let answer = text(yaml_to_json_text(input, duplicates));
    match yaml_to_json(input, duplicates) {
        Ok(value) => {
            let read = from_yaml(input, duplicates).unwrap();
            assert_eq!(value_of(&value), tree(&read), "the two ways to read differ");
        }
        Err(error) => assert_eq!(error.to_string().into_bytes(), answer.error),
    }
    answer
}

/// JSON values spelled as the oracle does.
fn value_of(value: &serde_json::Value) -> serde_json::Value {
    let (values, error) = go_json::from_json(value.to_string().as_bytes());
    assert_eq!(error, None);
    tree(&values)
}

fn map<E: ToString>(result: Result<Map, E>) -> Answer {
    match result {
        Ok(map) => spelled(&tree(&Value::Map(map)), ""),
        Err(error) => failed(&json!(["m", []]), &error),
    }
}

fn list<E: ToString>(result: Result<List, E>) -> Answer {
    match result {
        Ok(list) => spelled(&tree(&Value::List(list)), ""),
        Err(error) => failed(&json!(["l", []]), &error),
    }
}

fn failed(value: &serde_json::Value, error: &impl ToString) -> Answer {
    spelled(value, &error.to_string())
}

/// An answer with a value: its tree, unless that is null.
pub(crate) fn spelled(tree: &serde_json::Value, error: &str) -> Answer {
    let out = if tree.is_null() { Vec::new() } else { tree.to_string().into_bytes() };
    Answer { out, error: error.as_bytes().to_vec(), ..Answer::default() }
}

/// A value spelled as the oracle does.
pub fn tree(value: &Value) -> serde_json::Value {
    match value {
        Value::Nil => json!(null),
        Value::Bool(value) => json!(["b", value]),
        Value::Int(value, _) => json!(["i", value.to_string()]),
        Value::Uint(value, _) => json!(["u", value.to_string()]),
        Value::Float(value, _) => json!(["f", format!("{:x}", value.to_bits())]),
        Value::String(text) => json!(["s", BASE64_STANDARD.encode(text.as_bytes())]),
        Value::Bytes(bytes) => json!(["y", BASE64_STANDARD.encode(bytes)]),
        Value::List(items) => json!(["l", items.iter().map(tree).collect::<Vec<_>>()]),
        Value::Map(map) => {
            let entries: Vec<_> = map
                .snapshot()
                .iter()
                .map(|(key, value)| json!([BASE64_STANDARD.encode(key.as_bytes()), tree(value)]))
                .collect();
            json!(["m", entries])
        }
        other => panic!("no spelling for {other:?}"),
    }
}
