//! How an applied object is tied to its owner: labels that make watches small, and owner references.

use serde_json::{Map, Value, json};

use crate::object::Owner;

/// Label with the plugin's name, on every object a plugin ties to an owner. Watches of children select by it.
pub const PLUGIN_LABEL: &str = "pilothouse.dev/plugin";
/// Label with the owner's uid.
pub const OWNER_LABEL: &str = "pilothouse.dev/owner";
/// Annotation with the owner in words, for people.
pub const OWNER_ANNOTATION: &str = "pilothouse.dev/owned-by";

/// Adds the labels that tie an object to its owner.
pub fn mark(object: &mut Value, plugin: &str, owner: &Owner) {
    let labels = section(object, "labels");
    labels.insert(PLUGIN_LABEL.to_owned(), json!(plugin));
    labels.insert(OWNER_LABEL.to_owned(), json!(&*owner.uid));
    section(object, "annotations").insert(OWNER_ANNOTATION.to_owned(), json!(owner.key.to_string()));
}

/// Adds a controller reference where Kubernetes allows one: to an owner in the same namespace or in cluster scope.
/// True when it was added.
pub fn refer(object: &mut Value, owner: &Owner) -> bool {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let allowed = match &owner.key.namespace {
        None => true,
        Some(owner_namespace) => namespace == Some(&**owner_namespace),
    };
    if !allowed {
        return false;
    }
    let reference = json!({
        "apiVersion": owner.key.gvk.api_version(), "kind": owner.key.gvk.kind, "name": &*owner.key.name,
        "uid": &*owner.uid, "controller": true, "blockOwnerDeletion": true,
    });
    let metadata = metadata(object);
    match metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
        Some(references) => {
            references.retain(|other| other.get("uid").and_then(Value::as_str) != Some(&*owner.uid));
            references.push(reference);
        }
        None => {
            metadata.insert("ownerReferences".to_owned(), json!([reference]));
        }
    }
    true
}

/// The owner's uid and the plugin, as an object's labels name them.
pub fn owner_of<'a>(label: impl Fn(&str) -> Option<&'a str>) -> Option<(&'a str, &'a str)> {
    Some((label(PLUGIN_LABEL)?, label(OWNER_LABEL)?))
}

fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    child(object, "metadata")
}

fn section<'a>(object: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    let metadata = metadata(object);
    let entry = metadata.entry(name.to_owned()).or_insert(Value::Null);
    as_map(entry)
}

fn child<'a>(object: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    as_map(as_map(object).entry(name.to_owned()).or_insert(Value::Null))
}

/// The value as a map; whatever else it was gives way.
fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Gvk, ObjectKey};
    use std::sync::Arc;

    fn owner(namespace: Option<&str>) -> Owner {
        let gvk = Arc::new(Gvk::new("example.com", "v1", "App"));
        Owner { key: ObjectKey::new(gvk, namespace, "shop"), uid: Arc::from("u-1") }
    }

    #[test]
    fn labels_name_plugin_and_owner() {
        let mut object = json!({"metadata": {"name": "x", "labels": null}});
        mark(&mut object, "helm", &owner(Some("a")));
        assert_eq!(object["metadata"]["labels"], json!({PLUGIN_LABEL: "helm", OWNER_LABEL: "u-1"}));
        assert_eq!(object["metadata"]["annotations"][OWNER_ANNOTATION], json!("App.v1.example.com a/shop"));
    }

    #[test]
    fn an_owner_reference_never_crosses_namespaces() {
        let mut same = json!({"metadata": {"name": "x", "namespace": "a"}});
        assert!(refer(&mut same, &owner(Some("a"))));
        assert_eq!(same["metadata"]["ownerReferences"][0]["uid"], json!("u-1"));
        assert!(refer(&mut same, &owner(Some("a"))), "twice");
        assert_eq!(same["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
        let mut other = json!({"metadata": {"name": "x", "namespace": "b"}});
        assert!(!refer(&mut other, &owner(Some("a"))));
        let mut cluster = json!({"metadata": {"name": "x"}});
        assert!(!refer(&mut cluster, &owner(Some("a"))));
        assert!(refer(&mut cluster, &owner(None)));
    }
}
