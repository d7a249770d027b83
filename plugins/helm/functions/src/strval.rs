//! sprig's `strval`: how values become text outside of `printf`.

use helm_template::{CallError, Str, Value, fmt};

/// `strval` of sprig's strings.go: a string as it is, bytes as text, everything else as `%v` prints it.
pub(crate) fn strval(value: &Value) -> Result<Str, CallError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bytes(bytes) => Ok(Str::from_bytes(bytes)),
        other => fmt::text(other).map_err(|error| CallError::new(error.to_string())),
    }
}

/// `strslice`: a list's elements as text (nil elements left out; of bytes their numbers), nil as no text, anything else as one text.
pub(crate) fn strslice(value: &Value) -> Result<Vec<Str>, CallError> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::Bytes(bytes) => Ok(bytes.iter().map(|byte| Str::from(byte.to_string())).collect()),
        Value::List(list) => list.iter().filter(|item| !item.is_nil()).map(strval).collect(),
        other => Ok(vec![strval(other)?]),
    }
}
