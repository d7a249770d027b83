//! What would become of one object.

use pilothouse_sdk::ObjectRef;
use serde::Serialize;
use serde_json::Value;

use super::masked::texts;

/// What would become of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Change {
    /// It would be created.
    Added,
    /// It would be changed.
    Changed,
    /// It would be deleted.
    Deleted,
    /// It would be deleted and made anew.
    Replaced,
    /// It goes from the release, and stays in the cluster.
    Kept,
    /// The operation would fail with it.
    Refused,
}

/// An object that would not stay as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectChange {
    pub(super) change: Change,
    api_version: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    name: String,
    /// As it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// As it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// Fields that somebody else has changed since the deployed revision was applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    drift: Vec<String>,
    /// What there is to say of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl ObjectChange {
    /// What would become of an object, with its two states as they are to be shown.
    pub(super) fn new(
        change: Change,
        reference: &ObjectRef,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Self {
        let (before, after) = texts(before, after);
        Self {
            change,
            api_version: reference.kind.api_version(),
            kind: reference.kind.kind.clone(),
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
            before,
            after,
            drift: Vec::new(),
            note: None,
        }
    }

    /// The same with something to say.
    pub(super) fn noted(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// The same with what somebody else changed.
    pub(super) fn drifted(self, drift: Vec<String>) -> Self {
        Self { drift, ..self }
    }
}

/// The paths at which two states of an object differ, the shortest that say it.
pub(super) fn differing(one: &Value, other: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    compare(one, other, "", &mut paths);
    paths
}

fn compare(one: &Value, other: &Value, path: &str, paths: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let only_b = b.keys().filter(|name| !a.contains_key(*name));
            for name in a.keys().chain(only_b) {
                let below = below(path, name);
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => compare(a, b, &below, paths),
                    _ => paths.push(below),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => match (named(a), named(b)) {
            (Some(_), Some(_)) => compare_named(a, b, path, paths),
            _ if a.len() == b.len() => {
                for (at, (a, b)) in a.iter().zip(b).enumerate() {
                    compare(a, b, &format!("{path}[{at}]"), paths);
                }
            }
            _ => paths.push(path.to_owned()),
        },
        (a, b) if a == b => {}
        _ => paths.push(path.to_owned()),
    }
}

/// As kubectl's JSON paths write it.
fn below(path: &str, name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if plain { format!("{path}.{name}") } else { format!("{path}[{name:?}]") }
}

/// The names of items that all have one.
fn named(items: &[Value]) -> Option<Vec<&str>> {
    items.iter().map(|item| item.get("name")?.as_str()).collect()
}

fn compare_named(a: &[Value], b: &[Value], path: &str, paths: &mut Vec<String>) {
    let (names, others) = (named(a).unwrap_or_default(), named(b).unwrap_or_default());
    let only_b = others.iter().filter(|name| !names.contains(name));
    for name in names.iter().chain(only_b) {
        let item = |items: &'_ [Value]| items.iter().find(|item| item["name"] == **name).cloned();
        let below = format!("{path}[{name}]");
        match (item(a), item(b)) {
            (Some(a), Some(b)) => compare(&a, &b, &below, paths),
            _ => paths.push(below),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_named_by_paths() {
        let one = json!({
            "spec": {"replicas": 1, "containers": [{"name": "a", "image": "x"}, {"name": "b"}], "args": ["1", "2"]},
            "metadata": {"labels": {"app.kubernetes.io/x": "1"}},
        });
        let other = json!({
            "spec": {"replicas": 2, "containers": [{"name": "c"}, {"name": "a", "image": "y"}], "args": ["1", "3"]},
            "metadata": {"labels": {"app.kubernetes.io/x": "2"}, "annotations": {}},
        });
        assert_eq!(
            differing(&one, &other),
            [
                ".spec.replicas",
                ".spec.containers[a].image",
                ".spec.containers[b]",
                ".spec.containers[c]",
                ".spec.args[1]",
                ".metadata.labels[\"app.kubernetes.io/x\"]",
                ".metadata.annotations",
            ]
        );
        assert_eq!(differing(&one, &one), [""; 0]);
    }

    #[test]
    fn states_are_shown_as_yaml_and_what_is_not_there_is_left_out() {
        let reference = ObjectRef::new(pilothouse_sdk::Gvk::new("", "v1", "ConfigMap"), "shop", "a");
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let added = ObjectChange::new(Change::Added, &reference, None, Some(map)).noted("new");
        assert_eq!(
            serde_json::to_value(&added).unwrap(),
            json!({"change": "added", "apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "a",
                "after": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n", "note": "new"})
        );
    }
}
