//! Objects as they are shown: without what the server writes, and without what is in Secrets.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use crate::{objects::section, values::to_value};

const BEFORE: &str = "*** (before)";
const AFTER: &str = "*** (after)";
const SAME: &str = "***";
/// `kubectl apply` keeps the whole object here.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// By these the host finds what it manages; they are the same before and after, or come and go with the object.
const MARKS: [(&str, &[&str]); 2] = [
    ("labels", &["pilothouse.dev/plugin", "pilothouse.dev/owner"]),
    ("annotations", &["pilothouse.dev/owned-by"]),
];

/// An object without what only the server or the host writes.
pub(super) fn without_bookkeeping(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
        let metadata = section(fields, "metadata");
        for name in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"]
        {
            metadata.shift_remove(name);
        }
        for (table, names) in MARKS {
            let Some(Value::Object(marks)) = metadata.get_mut(table) else { continue };
            marks.retain(|name, _| !names.contains(&name.as_str()));
            if marks.is_empty() {
                metadata.shift_remove(table);
            }
        }
    }
    object
}

/// Two states of an object as texts; of a Secret's values only whether they differ.
pub(super) fn texts(mut before: Option<Value>, mut after: Option<Value>) -> (Option<String>, Option<String>) {
    let is_secret = |object: &Option<Value>| object.as_ref().is_some_and(is_secret);
    if is_secret(&before) || is_secret(&after) {
        mask(before.as_mut(), after.as_mut());
    }
    (before.as_ref().map(text), after.as_ref().map(text))
}

fn text(object: &Value) -> String {
    match helm_yaml::to_yaml(&to_value(object)) {
        Ok(yaml) => String::from_utf8_lossy(&yaml).into_owned(),
        Err(error) => format!("# cannot be written as YAML: {error}\n"),
    }
}

fn is_secret(object: &Value) -> bool {
    object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

fn mask(mut before: Option<&mut Value>, mut after: Option<&mut Value>) {
    for object in [before.as_deref_mut(), after.as_deref_mut()].into_iter().flatten() {
        fold_string_data(object);
    }
    let data = |object| table(object, "/data");
    mask_table(data(before.as_deref_mut()), data(after.as_deref_mut()), |_| true);
    let annotations = |object| table(object, "/metadata/annotations");
    let (old, new) = (annotations(before), annotations(after));
    mask_table(old, new, |name| name == LAST_APPLIED);
}

fn table<'o>(object: Option<&'o mut Value>, pointer: &str) -> Option<&'o mut Map<String, Value>> {
    object?.pointer_mut(pointer)?.as_object_mut()
}

/// What the API server makes of `stringData`.
fn fold_string_data(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    let Some(Value::Object(texts)) = fields.shift_remove("stringData") else { return };
    let data = section(fields, "data");
    for (name, text) in texts {
        let bytes = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        data.insert(name, STANDARD.encode(bytes).into());
    }
}

/// Replaces the values of a table in both states.
fn mask_table(
    mut old: Option<&mut Map<String, Value>>,
    mut new: Option<&mut Map<String, Value>>,
    is_masked: impl Fn(&str) -> bool,
) {
    let tables = [&old, &new].into_iter().flatten();
    let names: BTreeSet<String> = tables.flat_map(|table| table.keys().cloned()).collect();
    for name in names.iter().filter(|name| is_masked(name)) {
        let value = |table: &Option<&mut Map<String, Value>>| table.as_ref()?.get(name).cloned();
        let words = match (value(&old), value(&new)) {
            (Some(one), Some(other)) if one != other => (BEFORE, AFTER),
            _ => (SAME, SAME),
        };
        put(&mut old, name, words.0);
        put(&mut new, name, words.1);
    }
}

fn put(table: &mut Option<&mut Map<String, Value>>, name: &str, word: &str) {
    if let Some(value) = table.as_mut().and_then(|table| table.get_mut(name)) {
        *value = word.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secret(fields: &Value) -> Value {
        let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        secret.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        secret
    }

    #[test]
    fn of_a_secrets_values_only_whether_they_differ_is_shown() {
        let before = secret(&json!({"data": {"same": "c2FtZQ==", "password": "b2xk", "gone": "Z29uZQ=="}}));
        let after = secret(&json!({"data": {"same": "c2FtZQ==", "password": "bmV3", "new": "bmV3"}}));
        let (before, after) = texts(Some(before), Some(after));
        assert!(before.unwrap().starts_with(
            "apiVersion: v1\ndata:\n  gone: '***'\n  password: '*** (before)'\n  same: '***'\nkind: Secret\n"
        ));
        assert!(after.unwrap().starts_with(
            "apiVersion: v1\ndata:\n  new: '***'\n  password: '*** (after)'\n  same: '***'\nkind: Secret\n"
        ));
    }

    #[test]
    fn what_is_written_as_text_is_compared_with_what_the_server_made_of_it() {
        let (before, after) = texts(
            Some(secret(&json!({"data": {"password": "aHVudGVyMg=="}}))),
            Some(secret(&json!({"stringData": {"password": "hunter2"}}))),
        );
        assert_eq!(before, after);
        assert!(!after.unwrap().contains("hunter2"));
    }

    #[test]
    fn what_kubectl_keeps_of_a_secret_is_hidden_and_other_annotations_are_not() {
        let annotated = |text: &str| {
            secret(&json!({"metadata": {"annotations": {LAST_APPLIED: text, "note": "n", "a.b/c": "d"}}}))
        };
        let (before, after) = texts(Some(annotated("{hunter2}")), Some(annotated("{hunter3}")));
        let (before, after) = (before.unwrap(), after.unwrap());
        assert!(!before.contains("hunter") && !after.contains("hunter"), "{before}{after}");
        assert!(before.contains(BEFORE) && after.contains("a.b/c: d"), "{before}{after}");
    }

    #[test]
    fn what_is_no_secret_is_shown_whole() {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}, "metadata": {"name": "c"}});
        let (none, shown) = texts(None, Some(map));
        assert_eq!(none, None);
        assert_eq!(shown.unwrap(), "apiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\nmetadata:\n  name: c\n");
    }

    #[test]
    fn what_the_server_and_the_host_write_is_left_out() {
        let live = json!({"metadata": {"name": "a", "uid": "u", "generation": 3,
            "labels": {"x": "y", "pilothouse.dev/plugin": "helm"},
            "annotations": {"pilothouse.dev/owned-by": "Second game"}}, "spec": {}, "status": {}});
        assert_eq!(
            without_bookkeeping(live),
            json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {}})
        );
    }
}
