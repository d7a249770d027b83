//! What a patch says about itself: `$patch` and its relatives.

use serde_json::{Map, Value};

/// `$patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directive {
    Merge,
    Replace,
    Delete,
}

/// Takes the directive out of a map.
pub(crate) fn strategy(patch: &mut Map<String, Value>) -> Result<Directive, String> {
    match patch.shift_remove("$patch") {
        None => Ok(Directive::Merge),
        Some(value) => read(&value),
    }
}

fn read(value: &Value) -> Result<Directive, String> {
    match value.as_str() {
        Some("merge") => Ok(Directive::Merge),
        Some("replace") => Ok(Directive::Replace),
        Some("delete") => Ok(Directive::Delete),
        Some(other) => Err(format!("unknown patch strategy '{other}'")),
        None => Err(format!("unknown patch strategy '{value}'")),
    }
}

/// Takes the directive out of a list: it is an element of its own.
pub(crate) fn list_strategy(patch: &mut Vec<Value>) -> Result<Directive, String> {
    let alone =
        |value: &Value| value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key("$patch"));
    let Some(place) = patch.iter().position(alone) else { return Ok(Directive::Merge) };
    patch.remove(place).get("$patch").map_or(Ok(Directive::Merge), read)
}

/// Takes all directives with a prefix out of a map: the field they are for, and what they say.
pub(crate) fn take(patch: &mut Map<String, Value>, prefix: &str) -> Vec<(String, Vec<Value>)> {
    let keys: Vec<String> = patch.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
    let mut taken = Vec::new();
    for key in keys {
        if let Some(Value::Array(list)) = patch.shift_remove(&key) {
            taken.push((key.get(prefix.len()..).unwrap_or_default().to_owned(), list));
        }
    }
    taken
}

/// `$deleteFromPrimitiveList`.
pub(crate) fn delete_elements(there: Option<&mut Value>, gone: &[Value]) {
    if let Some(there) = there
        && let Value::Array(list) = there
    {
        list.retain(|element| !gone.contains(element));
    }
}
