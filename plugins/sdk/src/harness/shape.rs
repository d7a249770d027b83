//! Objects with fields left out: nulls nobody meant, and what a field mask does not ask for.

use serde_json::{Value, json};

use super::{kinds::Kind, object::members};

/// A null member of a built-in object is as if it were not there; custom kinds decide by their schema.
pub(super) fn drop_nulls(value: &mut Value, kind: &Kind) {
    match value {
        _ if kind.custom => {}
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(|value| drop_nulls(value, kind));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| drop_nulls(value, kind)),
        _ => {}
    }
}

/// What the server writes is no part of an applied text, where it would be claimed or refused.
pub(super) fn drop_server_fields(object: &mut Value) {
    let metadata = super::object::section(object, "metadata");
    for field in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"] {
        metadata.shift_remove(field);
    }
    members(object).shift_remove("status");
}

/// The object with what names it and the asked-for paths only.
pub(super) fn project(object: Value, fields: &[String]) -> Value {
    if fields.is_empty() {
        return object;
    }
    let mut kept = json!({});
    let always = [
        "apiVersion",
        "kind",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "metadata.resourceVersion",
    ];
    for path in always.into_iter().chain(fields.iter().map(String::as_str)) {
        if let Some(value) = object.pointer(&format!("/{}", path.replace('.', "/"))) {
            let (parents, name) = path.rsplit_once('.').unwrap_or(("", path));
            let parents = parents.split('.').filter(|part| !part.is_empty());
            let parent = parents.fold(&mut kept, |value, part| {
                members(value).entry(part.to_owned()).or_insert_with(|| json!({}))
            });
            members(parent).insert(name.to_owned(), value.clone());
        }
    }
    kept
}
