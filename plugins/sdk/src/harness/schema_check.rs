//! Custom objects against the schema of their definition: defaults, pruning and the plain rules
//! (`type`, `required`, `enum`, `minimum`, `maximum`, `minLength`, `maxLength`, `minItems`, `maxItems`).
//! `pattern`, `format` and `x-kubernetes-validations` are not looked at.

use serde_json::Value;

use super::object::{text, unprocessable};
use crate::KubeError;

/// Adds defaults, drops unknown fields and refuses what breaks the schema, with every complaint.
pub(super) fn admit(object: &mut Value, schema: Option<&Value>) -> Result<(), KubeError> {
    let Some(schema) = schema else { return Ok(()) };
    let mut complaints = Vec::new();
    walk(object, schema, "", &mut complaints);
    if complaints.is_empty() {
        return Ok(());
    }
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    Err(unprocessable(format!("{kind} {name:?} is invalid: {}", complaints.join(", "))))
}

fn walk(value: &mut Value, schema: &Value, path: &str, complaints: &mut Vec<String>) {
    if value.is_null() && schema.get("nullable").and_then(Value::as_bool) == Some(true) {
        return;
    }
    if let Some(complaint) = complaint(value, schema) {
        complaints.push(format!("{}: {complaint}", if path.is_empty() { "<root>" } else { path }));
        return;
    }
    let is_root = path.is_empty();
    match value {
        Value::Object(members) => {
            let known = schema.get("properties").and_then(Value::as_object);
            let others = schema.get("additionalProperties");
            let open =
                schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool) == Some(true);
            members.retain(|name, value| {
                let typed = is_root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
                let known = known.and_then(|known| known.get(name));
                // A null where none is allowed is as if it were not there, so that the default can take its place.
                let keep = known.is_some() || others.is_some() || open || typed;
                keep && !(value.is_null() && known.is_some_and(|schema| schema.get("nullable").is_none()))
            });
            for (name, schema) in known.into_iter().flatten() {
                if let Some(default) = schema.get("default").filter(|_| !members.contains_key(name)) {
                    members.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in members.iter_mut().filter(|(name, _)| !(is_root && *name == "metadata")) {
                let schema = known.and_then(|known| known.get(name)).or(others);
                if let Some(schema) = schema.filter(|schema| schema.is_object()) {
                    walk(value, schema, join(path, name).as_str(), complaints);
                }
            }
            for name in schema
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                if !members.contains_key(name) {
                    complaints.push(format!("{}: Required value", join(path, name)));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if let Some(schema) = schema.get("items") {
                    walk(item, schema, &format!("{path}[{index}]"), complaints);
                }
            }
        }
        _ => {}
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// What is wrong with a value by itself.
fn complaint(value: &Value, schema: &Value) -> Option<String> {
    let int_or_string = schema.get("x-kubernetes-int-or-string").and_then(Value::as_bool) == Some(true);
    let fits = match schema.get("type").and_then(Value::as_str) {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        _ => !int_or_string || value.is_string() || value.is_i64(),
    };
    if !fits {
        let wanted = schema.get("type").and_then(Value::as_str).unwrap_or("integer or string");
        return Some(format!("Invalid value: {value}: must be of type {wanted}"));
    }
    let allowed = schema.get("enum").and_then(Value::as_array);
    if let Some(allowed) = allowed.filter(|allowed| !allowed.contains(value)) {
        let allowed: Vec<_> = allowed.iter().map(Value::to_string).collect();
        return Some(format!("Unsupported value: {value}: supported values: {}", allowed.join(", ")));
    }
    #[expect(clippy::cast_precision_loss, reason = "lengths are small")]
    let (size, least, most) = match value {
        Value::Number(number) => (number.as_f64(), "minimum", "maximum"),
        Value::String(text) => (Some(text.chars().count() as f64), "minLength", "maxLength"),
        Value::Array(items) => (Some(items.len() as f64), "minItems", "maxItems"),
        _ => (None, "", ""),
    };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    match (size, bound(least), bound(most)) {
        (Some(size), Some(bound), _) if size < bound => {
            Some(format!("Invalid value: {value}: {least} is {bound}"))
        }
        (Some(size), _, Some(bound)) if size > bound => {
            Some(format!("Invalid value: {value}: {most} is {bound}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "required": ["greeting"], "properties": {
            "greeting": {"type": "string", "minLength": 1},
            "replicas": {"type": "integer", "default": 1, "minimum": 0, "maximum": 9},
            "tier": {"type": "string", "enum": ["a", "b"]},
            "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "port": {"x-kubernetes-int-or-string": true},
            "note": {"type": "string", "nullable": true},
        }}}})
    }

    fn admitted(spec: &Value) -> Result<Value, String> {
        let mut object =
            json!({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "n", "labels": {}}, "spec": spec});
        admit(&mut object, Some(&schema())).map(|()| object["spec"].take()).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_added_and_unknown_fields_pruned() {
        let spec = json!({"greeting": "hi", "typo": 1, "extra": {"any": [1]}, "labels": {"x": "y"}, "note": null, "port": "http"});
        assert_eq!(
            admitted(&spec).unwrap(),
            json!({"greeting": "hi", "extra": {"any": [1]}, "labels": {"x": "y"}, "note": null, "port": "http", "replicas": 1})
        );
        assert_eq!(
            admitted(&json!({"greeting": "hi", "replicas": null})).unwrap(),
            json!({"greeting": "hi", "replicas": 1})
        );
    }

    #[test]
    fn every_broken_rule_is_named_with_its_field() {
        let complaint =
            admitted(&json!({"replicas": 10, "tier": "c", "labels": {"x": 1}, "port": true})).unwrap_err();
        for part in [
            "spec.greeting: Required value",
            "spec.replicas: Invalid value: 10: maximum is 9",
            "spec.tier: Unsupported value: \"c\"",
            "spec.labels.x: Invalid value: 1: must be of type string",
            "spec.port: Invalid value: true",
        ] {
            assert!(complaint.contains(part), "{part} in {complaint}");
        }
        assert!(admitted(&json!({"greeting": ""})).unwrap_err().contains("minLength is 1"));
    }
}
