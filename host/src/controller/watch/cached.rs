//! An object as the cache keeps it: its text, and the few facts that decide who is woken.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;

use crate::action::ownership::{OWNER_LABEL, PLUGIN_LABEL};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A cached object.
#[derive(Clone, PartialEq, Eq)]
pub struct Cached {
    /// `metadata.uid`.
    pub uid: Arc<str>,
    /// `metadata.resourceVersion`.
    pub resource_version: Box<str>,
    /// Of everything but the status and what the server counts (resource version, generation, finalizers).
    pub digest: u64,
    /// The object, without `managedFields` and the last-applied annotation.
    pub json: Box<[u8]>,
    plugin: Option<Box<str>>,
    owner: Option<Box<str>>,
}

impl std::fmt::Debug for Cached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the text: it may be a Secret.
        f.debug_struct("Cached")
            .field("uid", &self.uid)
            .field("resource_version", &self.resource_version)
            .finish_non_exhaustive()
    }
}

impl Cached {
    pub(super) fn new(mut object: DynamicObject, api_version: &str, kind: &str) -> Self {
        object.metadata.managed_fields = None;
        if let Some(annotations) = &mut object.metadata.annotations {
            annotations.remove(LAST_APPLIED);
        }
        let label =
            |name: &str| object.metadata.labels.as_ref()?.get(name).map(|value| Box::from(value.as_str()));
        let (plugin, owner) = (label(PLUGIN_LABEL), label(OWNER_LABEL));
        let uid = Arc::from(object.metadata.uid.as_deref().unwrap_or_default());
        let resource_version = Box::from(object.metadata.resource_version.as_deref().unwrap_or_default());
        let mut value = serde_json::to_value(&object).unwrap_or(Value::Null);
        // Items of a list do not name their kind.
        if let Some(map) = value.as_object_mut() {
            map.insert("apiVersion".to_owned(), Value::String(api_version.to_owned()));
            map.insert("kind".to_owned(), Value::String(kind.to_owned()));
        }
        let digest = digest(&value);
        Self {
            uid,
            resource_version,
            digest,
            json: value.to_string().into_bytes().into_boxed_slice(),
            plugin,
            owner,
        }
    }

    /// The labels that tie an object to its owner; others are in the text.
    pub fn label(&self, name: &str) -> Option<&str> {
        match name {
            PLUGIN_LABEL => self.plugin.as_deref(),
            OWNER_LABEL => self.owner.as_deref(),
            _ => None,
        }
    }

    /// Bytes it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.json.len() + self.uid.len() + 160
    }
}

fn digest(object: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("status", _) => {}
            ("metadata", Value::Object(metadata)) => {
                for (key, value) in metadata {
                    if !matches!(
                        key.as_str(),
                        "resourceVersion" | "generation" | "finalizers" | "managedFields"
                    ) {
                        key.hash(&mut hasher);
                        value.to_string().hash(&mut hasher);
                    }
                }
            }
            (key, value) => {
                key.hash(&mut hasher);
                value.to_string().hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cached(value: Value) -> Cached {
        Cached::new(serde_json::from_value(value).unwrap(), "v1", "Pod")
    }

    #[test]
    fn status_finalizers_and_counters_do_not_move_the_digest_but_the_rest_does() {
        let one = cached(
            json!({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"x": 1}, "status": {"s": 1}}),
        );
        let same = cached(
            json!({"metadata": {"name": "a", "resourceVersion": "2", "generation": 4, "finalizers": ["a/b"]},
            "spec": {"x": 1}, "status": {"s": 2}}),
        );
        assert_eq!(one.digest, same.digest);
        for other in [
            json!({"metadata": {"name": "a", "labels": {"l": "v"}}, "spec": {"x": 1}}),
            json!({"metadata": {"name": "a"}, "spec": {"x": 2}}),
            json!({"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"x": 1}}),
        ] {
            assert_ne!(cached(other).digest, one.digest);
        }
    }

    #[test]
    fn what_nobody_reads_is_not_kept() {
        let object = cached(json!({"metadata": {"name": "a", "managedFields": [{"manager": "m"}],
            "annotations": {LAST_APPLIED: "{}", "keep": "me"}, "labels": {PLUGIN_LABEL: "helm", OWNER_LABEL: "u"}}}));
        let text = String::from_utf8(object.json.to_vec()).unwrap();
        assert!(
            !text.contains("managedFields") && !text.contains(LAST_APPLIED) && text.contains("keep"),
            "{text}"
        );
        assert!(text.contains("\"kind\":\"Pod\""), "{text}");
        assert_eq!((object.label(PLUGIN_LABEL), object.label(OWNER_LABEL)), (Some("helm"), Some("u")));
    }
}
