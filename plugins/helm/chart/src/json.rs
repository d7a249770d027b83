//! JSON into values.

use helm_template::{List, Map, Value};

/// Reads the JSON value that `text` starts with, and how many bytes it takes.
pub(crate) fn decode_first(text: &str) -> Result<(Value, usize), String> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter();
    match stream.next() {
        Some(Ok(json)) => Ok((to_value(&json), stream.byte_offset())),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("unexpected end of JSON input".to_owned()),
    }
}

/// JSON as Go's encoding/json decodes it into `interface{}`: every number a `float64`.
pub fn to_value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(truth) => (*truth).into(),
        serde_json::Value::Number(number) => number.as_f64().unwrap_or(f64::NAN).into(),
        serde_json::Value::String(text) => text.into(),
        serde_json::Value::Array(items) => Value::List(List::new(items.iter().map(to_value).collect())),
        serde_json::Value::Object(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key, to_value(value))).collect::<Map>())
        }
    }
}

/// JSON with whole numbers as integers.
pub(crate) fn to_typed(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) => number.into(),
            (None, None) => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        serde_json::Value::Array(items) => Value::List(List::new(items.iter().map(to_typed).collect())),
        serde_json::Value::Object(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key, to_typed(value))).collect::<Map>())
        }
        other => to_value(other),
    }
}
