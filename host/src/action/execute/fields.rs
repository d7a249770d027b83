//! What a written object says of itself, and what it may not say.

use std::sync::Arc;

use serde_json::Value;

use crate::cluster::path::Resource;
use crate::cluster::request::ApiError;
use crate::object::ObjectKey;

/// Fields the server writes: in an applied text they would be claimed or refused.
pub(super) fn drop_server_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in
            ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"]
        {
            metadata.remove(field);
        }
    }
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
    }
}

pub(super) fn key_of(resource: &Resource, object: &Value) -> Result<ObjectKey, ApiError> {
    let namespace = namespace_of(resource, object)?;
    let key = ObjectKey::of(object)
        .ok_or_else(|| ApiError::invalid("an object needs apiVersion, kind and metadata.name"))?;
    Ok(ObjectKey { namespace: namespace.as_deref().map(Arc::from), ..key })
}

pub(super) fn namespace_of(resource: &Resource, object: &Value) -> Result<Option<String>, ApiError> {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).filter(|ns| !ns.is_empty());
    match (resource.namespaced, namespace) {
        (true, Some(namespace)) => Ok(Some(namespace.to_owned())),
        (true, None) => Err(ApiError::invalid(format!(
            "{} lives in a namespace, and the object names none",
            resource.gvk
        ))),
        (false, _) => Ok(None),
    }
}
