//! How an applied object is tied to its owner, as the host does it.

use serde_json::{Value, json};

use super::object::{gvk_of, ref_of, section, text};
use crate::{ObjectRef, Ownership};

/// Label with the plugin's name.
pub(super) const PLUGIN_LABEL: &str = "pilothouse.dev/plugin";
/// Label with the owner's uid.
pub(super) const OWNER_LABEL: &str = "pilothouse.dev/owner";

/// The object a hook call is for.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) reference: ObjectRef,
    pub(super) uid: String,
}

impl Owner {
    pub(super) fn of(object: &Value) -> Self {
        Self { reference: ref_of(object), uid: text(object, "/metadata/uid").to_owned() }
    }
}

/// Adds labels and, where Kubernetes allows one, an owner reference: never across namespaces.
pub(super) fn tie(object: &mut Value, plugin: &str, owner: &Owner, ownership: Ownership) {
    if ownership == Ownership::None {
        return;
    }
    let namespace = text(object, "/metadata/namespace").to_owned();
    let metadata = section(object, "metadata");
    for (name, value) in [(PLUGIN_LABEL, plugin), (OWNER_LABEL, owner.uid.as_str())] {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        super::object::members(labels).insert(name.to_owned(), value.into());
    }
    let reachable = owner.reference.namespace.as_ref().is_none_or(|of_owner| *of_owner == namespace);
    if ownership != Ownership::Reference || !reachable {
        return;
    }
    let ObjectRef { kind, name, .. } = &owner.reference;
    let reference = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "name": name, "uid": owner.uid,
        "controller": true, "blockOwnerDeletion": true,
    });
    let references = metadata.entry("ownerReferences").or_insert_with(|| json!([]));
    if let Some(references) = references.as_array_mut() {
        references.retain(|known| text(known, "/uid") != owner.uid);
        references.push(reference);
    }
}

/// The plugin and the owner's uid, as an object's labels name them.
pub(super) fn owner_of(object: &Value) -> Option<(&str, &str)> {
    let labels = object.pointer("/metadata/labels")?;
    Some((labels.get(PLUGIN_LABEL)?.as_str()?, labels.get(OWNER_LABEL)?.as_str()?))
}

/// Is this the same object in whatever version?
pub(super) fn same_object(a: &ObjectRef, b: &ObjectRef) -> bool {
    (&a.kind.group, &a.kind.kind, &a.namespace, &a.name)
        == (&b.kind.group, &b.kind.kind, &b.namespace, &b.name)
}

/// Does the object name the kind as its own, in whatever version?
pub(super) fn is_of_kind(object: &Value, kind: &crate::Gvk) -> bool {
    let own = gvk_of(object);
    (own.group, own.kind) == (kind.group.clone(), kind.kind.clone())
}
