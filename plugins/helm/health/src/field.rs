//! Fields of objects that may have any shape.

use serde_json::Value;

use crate::Odd;

/// The value at a path with dots. A field below null is not there; one below a text or a list is odd.
pub(crate) fn at<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, Odd> {
    let mut value = object;
    for field in path.split('.') {
        match value {
            Value::Null => return Ok(None),
            Value::Object(map) => match map.get(field) {
                Some(found) => value = found,
                None => return Ok(None),
            },
            _ => return Err(Odd),
        }
    }
    Ok(Some(value))
}

/// An integer that must be one if it is there.
pub(crate) fn strict_integer(object: &Value, path: &str) -> Result<Option<i64>, Odd> {
    at(object, path)?.map(|value| value.as_i64().ok_or(Odd)).transpose()
}

/// An integer; what is none counts as not there.
pub(crate) fn integer(object: &Value, path: &str) -> Option<i64> {
    at(object, path).ok().flatten().and_then(Value::as_i64)
}

/// A counter, which is not written when it is zero.
pub(crate) fn count(object: &Value, path: &str) -> i64 {
    integer(object, path).unwrap_or(0)
}

/// A text; what is none counts as not there.
pub(crate) fn text<'a>(object: &'a Value, path: &str) -> Option<&'a str> {
    at(object, path).ok().flatten().and_then(Value::as_str)
}

/// The kind for the beginning of a sentence.
pub(crate) fn kind(object: &Value) -> &str {
    match text(object, "kind") {
        Some(kind) if !kind.is_empty() => kind,
        _ => "Object",
    }
}
