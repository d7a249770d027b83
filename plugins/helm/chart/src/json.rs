//! JSON into values.

use helm_template::{List, Map, Value};

/// Reads JSON text.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(text).map(|json| to_value(&json))
}

/// JSON as Go's encoding/json decodes it into `interface{}`: every number a `float64`.
#[must_use]
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

/// JSON as Kubernetes' clients decode objects: whole numbers are `int64`, others `float64`. For what [`crate::Lookup`]
/// returns.
#[must_use]
pub fn to_object(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => to_value(json),
        },
        serde_json::Value::Array(items) => Value::List(List::new(items.iter().map(to_object).collect())),
        serde_json::Value::Object(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key, to_object(value))).collect::<Map>())
        }
        other => to_value(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_floats_in_values_and_integers_in_objects() {
        let json: serde_json::Value = serde_json::from_str(r#"{"a": 1, "b": [1.5, null]}"#).unwrap();
        let (values, object) = (to_value(&json), to_object(&json));
        assert_eq!(values.as_map().unwrap().get("a"), Some(1.0.into()));
        assert_eq!(object.as_map().unwrap().get("a"), Some(1_i64.into()));
        assert_eq!(object.as_map().unwrap().get("b"), Some(vec![Value::from(1.5), Value::Nil].into()));
    }
}
