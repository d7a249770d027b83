//! Small questions to objects in JSON form, and errors in the API server's words.

use serde_json::{Map, Value};

use crate::{ApiStatus, Gvk, KubeError, ObjectRef};

/// The text at a JSON pointer; empty when there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The kind an object names itself.
pub(super) fn gvk_of(object: &Value) -> Gvk {
    Gvk::from_api_version(text(object, "/apiVersion"), text(object, "/kind"))
}

/// The reference of an object that names itself.
pub(super) fn ref_of(object: &Value) -> ObjectRef {
    let namespace = Some(text(object, "/metadata/namespace")).filter(|namespace| !namespace.is_empty());
    ObjectRef::new(gvk_of(object), namespace, text(object, "/metadata/name"))
}

/// The members of an object below a key, which is made when it is not there.
pub(super) fn section<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    members(members(object).entry(key.to_owned()).or_insert(Value::Null))
}

/// The members of a value, which becomes an object when it is none.
pub(super) fn members(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(members) => members,
        _ => unreachable!("made an object above"),
    }
}

/// The texts of a list at a pointer.
pub(super) fn texts<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a str> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Is it being deleted?
pub(super) fn is_deleting(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

/// The owner references of an object.
pub(super) fn owner_references(object: &Value) -> impl Iterator<Item = &Value> {
    object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten()
}

fn status(code: u16, reason: &str, message: String) -> ApiStatus {
    ApiStatus { code, reason: reason.to_owned(), message }
}

/// 404 for `plural.group "name"`.
pub(super) fn not_found(resource: &str, name: &str) -> KubeError {
    KubeError::NotFound(status(404, "NotFound", format!("{resource} {name:?} not found")))
}

/// 409 AlreadyExists.
pub(super) fn already_exists(resource: &str, name: &str) -> KubeError {
    KubeError::AlreadyExists(status(409, "AlreadyExists", format!("{resource} {name:?} already exists")))
}

/// 409 Conflict.
pub(super) fn conflict(message: impl Into<String>) -> KubeError {
    KubeError::Conflict(status(409, "Conflict", message.into()))
}

/// 400 BadRequest.
pub(super) fn bad_request(message: impl Into<String>) -> KubeError {
    KubeError::Invalid(status(400, "BadRequest", message.into()))
}

/// 422 Invalid.
pub(super) fn unprocessable(message: impl Into<String>) -> KubeError {
    KubeError::Invalid(status(422, "Invalid", message.into()))
}

/// The answer for what an apply left out after a failure.
pub(super) fn skipped() -> KubeError {
    KubeError::Other(status(0, "Skipped", "an earlier object of the same call failed".to_owned()))
}
