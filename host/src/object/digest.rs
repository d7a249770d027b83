//! Whether two versions of an object differ, and where: two numbers instead of two trees.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value};

/// Metadata that moves without anybody having asked for something else.
const COUNTED: [&str; 4] = ["resourceVersion", "generation", "managedFields", "finalizers"];

/// What client-side apply notes for itself; caches do not keep it.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Digests of one version of an object. Equal digests: equal objects, but for one chance in 2⁶⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Of all that somebody may have asked for: everything but the status and the metadata the server or finalizers
    /// move.
    pub asked: u64,
    /// Of the status and the finalizers.
    pub reported: u64,
}

/// Digests of an object; its own kind, which items of a list do not name, is left out. The order of keys does not matter.
pub fn digests(object: &Map<String, Value>) -> Digests {
    let (mut asked, mut reported) = (0_u64, 0_u64);
    for (key, value) in object {
        match (key.as_str(), value) {
            ("apiVersion" | "kind", _) => {}
            ("status", _) => reported = reported.wrapping_add(entry(key, value)),
            ("metadata", Value::Object(metadata)) => {
                for (key, value) in metadata {
                    if key == "finalizers" {
                        reported = reported.wrapping_add(entry(key, value));
                    } else if let ("annotations", Value::Object(annotations)) = (key.as_str(), value) {
                        let kept = annotations.iter().filter(|(name, _)| *name != LAST_APPLIED);
                        let sum = kept.fold(0_u64, |sum, (name, value)| sum.wrapping_add(entry(name, value)));
                        asked = asked.wrapping_add(entry(key, &sum.into()));
                    } else if !COUNTED.contains(&key.as_str()) {
                        asked = asked.wrapping_add(entry(key, value));
                    }
                }
            }
            _ => asked = asked.wrapping_add(entry(key, value)),
        }
    }
    Digests { asked, reported }
}

fn entry(key: &str, value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, hash(value)).hash(&mut hasher);
    hasher.finish()
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(value) => (1_u8, value).hash(&mut hasher),
        Value::Number(value) => (2_u8, value).hash(&mut hasher),
        Value::String(value) => (3_u8, value).hash(&mut hasher),
        Value::Array(items) => {
            4_u8.hash(&mut hasher);
            for item in items {
                hash(item).hash(&mut hasher);
            }
            items.len().hash(&mut hasher);
        }
        Value::Object(map) => {
            let sum = map.iter().fold(0_u64, |sum, (key, value)| sum.wrapping_add(entry(key, value)));
            (5_u8, map.len(), sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(value: Value) -> Digests {
        digests(value.as_object().expect("an object"))
    }

    #[test]
    fn counters_of_the_server_move_neither_digest() {
        let one = of(
            json!({"metadata": {"name": "a", "resourceVersion": "1", "generation": 1}, "spec": {"x": [1, 2]}}),
        );
        let two = of(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"x": [1, 2]},
            "metadata": {"generation": 2, "managedFields": [{}], "resourceVersion": "2", "name": "a"}}));
        assert_eq!(one, two);
    }

    #[test]
    fn what_kubectl_notes_for_itself_does_not_count_and_other_annotations_do() {
        let of =
            |annotations: Value| of(json!({"metadata": {"name": "a", "annotations": annotations}})).asked;
        assert_eq!(of(json!({"a": "b"})), of(json!({"a": "b", LAST_APPLIED: "{}"})));
        assert_ne!(of(json!({"a": "b"})), of(json!({"a": "c"})));
        assert_ne!(of(json!({"a": "b"})), of(json!({"a": "b", "c": "d"})));
    }

    #[test]
    fn status_and_finalizers_are_reported_and_all_else_is_asked() {
        let plain = of(json!({"metadata": {"name": "a"}, "spec": {"x": 1}}));
        for reported in [
            json!({"metadata": {"name": "a"}, "spec": {"x": 1}, "status": {"ready": true}}),
            json!({"metadata": {"name": "a", "finalizers": ["a/b"]}, "spec": {"x": 1}}),
        ] {
            let moved = of(reported);
            assert!(moved.asked == plain.asked && moved.reported != plain.reported);
        }
        for asked in [
            json!({"metadata": {"name": "a"}, "spec": {"x": 2}}),
            json!({"metadata": {"name": "a", "labels": {"l": ""}}, "spec": {"x": 1}}),
            json!({"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"x": 1}}),
            json!({"metadata": {"name": "a"}, "spec": {"x": 1}, "data": {"k": "v"}}),
        ] {
            let moved = of(asked);
            assert!(moved.asked != plain.asked && moved.reported == plain.reported);
        }
    }

    #[test]
    fn the_order_of_keys_does_not_matter_and_that_of_items_does() {
        let of = |text: &str| of(serde_json::from_str(text).unwrap()).asked;
        assert_eq!(
            of(r#"{"spec": {"a": 1, "b": {"c": 2, "d": 3}}}"#),
            of(r#"{"spec": {"b": {"d": 3, "c": 2}, "a": 1}}"#)
        );
        assert_ne!(of(r#"{"spec": {"a": [1, 2]}}"#), of(r#"{"spec": {"a": [2, 1]}}"#));
        assert_ne!(of(r#"{"spec": {"a": [[1], 2]}}"#), of(r#"{"spec": {"a": [[1, 2]]}}"#));
        assert_ne!(of(r#"{"spec": {"a": "1"}}"#), of(r#"{"spec": {"a": 1}}"#));
    }
}
