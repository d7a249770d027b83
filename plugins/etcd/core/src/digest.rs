//! Digests of JSON that do not depend on the order of fields.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Sixteen hexadecimal digits of a hash over the value.
pub(crate) fn digest(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// As JSON, with fields in order of their names. Writing to a text cannot fail.
fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            text.push('{');
            for (field, value) in sorted(map) {
                let _ = write!(text, "{field:?}:");
                write(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write(item, text);
                text.push(',');
            }
            text.push(']');
        }
        other => {
            let _ = write!(text, "{other}");
        }
    }
}

fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = map.iter().collect();
    fields.sort_by_key(|(field, _)| field.as_str());
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::digest;

    #[test]
    fn the_order_of_fields_does_not_count_and_everything_else_does() {
        let one = digest(&json!({"a": 1, "b": {"c": [1, 2], "d": null}}));
        assert_eq!(one, digest(&json!({"b": {"d": null, "c": [1, 2]}, "a": 1})));
        assert_eq!(one.len(), 16);
        for other in [
            json!({"a": 1, "b": {"c": [2, 1], "d": null}}),
            json!({"a": "1", "b": {"c": [1, 2], "d": null}}),
            json!({"a": 1, "b": {"c": [1, 2]}}),
        ] {
            assert_ne!(one, digest(&other), "{other}");
        }
    }
}
