//! An object as the cache keeps it: its text, and the few facts that decide who is woken.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use kube::api::{ApiResource, ObjectMeta};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::action::ownership::{OWNER_LABEL, PLUGIN_LABEL};
use crate::object::digest::{Digests, LAST_APPLIED, digests};
use crate::object::{Gvk, ObjectKey};

/// A cached object.
#[derive(Clone, PartialEq, Eq)]
pub struct Cached {
    /// `metadata.uid`.
    pub uid: Arc<str>,
    /// `metadata.resourceVersion`.
    pub resource_version: Box<str>,
    /// Of everything but the status and what the server counts (resource version, generation, finalizers).
    pub digest: u64,
    /// Of the status and the finalizers.
    pub status_digest: u64,
    /// The object with `apiVersion` and `kind`, without `managedFields` and the last-applied annotation.
    pub json: Box<[u8]>,
    plugin: Option<Box<str>>,
    owner: Option<Box<str>>,
}

impl fmt::Debug for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the text: it may be a Secret.
        f.debug_struct("Cached")
            .field("uid", &self.uid)
            .field("resource_version", &self.resource_version)
            .finish_non_exhaustive()
    }
}

impl Cached {
    /// The labels that tie an object to its owner; others are in the text.
    pub fn label(&self, name: &str) -> Option<&str> {
        match name {
            PLUGIN_LABEL => self.plugin.as_deref(),
            OWNER_LABEL => self.owner.as_deref(),
            _ => None,
        }
    }

    /// As a watch would keep it.
    #[cfg(test)]
    pub(in crate::controller) fn of_test(object: Value) -> Self {
        serde_json::from_value::<Arrival>(object).unwrap().into_cached("g/v1", "App")
    }

    /// Whether nothing differs but what the server counts.
    pub(super) fn says_the_same_as(&self, other: &Self) -> bool {
        self.uid == other.uid && self.digest == other.digest && self.status_digest == other.status_digest
    }

    /// Bytes it takes, about: its text, the two copies of its short texts, and the parts of fixed size.
    pub(super) fn bytes(&self) -> usize {
        self.json.len() + self.uid.len() + self.resource_version.len() + size_of::<Self>() + 96
    }
}

/// An object on its way from the API server: parsed, reduced and written down again one by one, so that a page of a list
/// is never in memory as a tree.
#[derive(Clone)]
pub(super) struct Arrival {
    meta: ObjectMeta,
    digests: Digests,
    plugin: Option<Box<str>>,
    owner: Option<Box<str>>,
    /// JSON object without its kind.
    text: Vec<u8>,
}

impl fmt::Debug for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrival").field("name", &self.meta.name).finish_non_exhaustive()
    }
}

impl<'de> Deserialize<'de> for Arrival {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Map::deserialize(deserializer)?;
        object.shift_remove("apiVersion");
        object.shift_remove("kind");
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        let mut meta = ObjectMeta::default();
        let (mut plugin, mut owner) = (None, None);
        if let Some(metadata) = metadata {
            metadata.shift_remove("managedFields");
            if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
                annotations.shift_remove(LAST_APPLIED);
            }
            let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
            meta.name = text("name");
            meta.namespace = text("namespace").filter(|namespace| !namespace.is_empty());
            meta.uid = text("uid");
            meta.resource_version = text("resourceVersion");
            let label = |name: &str| metadata.get("labels")?.get(name)?.as_str().map(Box::from);
            (plugin, owner) = (label(PLUGIN_LABEL), label(OWNER_LABEL));
        }
        let text = serde_json::to_vec(&object).map_err(serde::de::Error::custom)?;
        Ok(Self { meta, digests: digests(&object), plugin, owner, text })
    }
}

impl kube::Resource for Arrival {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&of.kind)
    }

    fn group(of: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&of.group)
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&of.version)
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&of.plural)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

impl Arrival {
    /// `None` when it has no name.
    pub(super) fn key(&self, gvk: &Arc<Gvk>) -> Option<ObjectKey> {
        let name = self.meta.name.as_deref()?;
        Some(ObjectKey::new(Arc::clone(gvk), self.meta.namespace.as_deref(), name))
    }

    pub(super) fn resource_version(&self) -> &str {
        self.meta.resource_version.as_deref().unwrap_or_default()
    }

    /// `api_version` and `kind` are names of Kubernetes, which need no escapes in JSON.
    pub(super) fn into_cached(self, api_version: &str, kind: &str) -> Cached {
        let head = format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}""#);
        let body = self.text.get(1..).unwrap_or(b"}");
        let mut json = Vec::with_capacity(head.len() + 1 + body.len());
        json.extend_from_slice(head.as_bytes());
        if body != b"}" {
            json.push(b',');
        }
        json.extend_from_slice(body);
        Cached {
            uid: Arc::from(self.meta.uid.unwrap_or_default()),
            resource_version: Box::from(self.meta.resource_version.unwrap_or_default()),
            digest: self.digests.asked,
            status_digest: self.digests.reported,
            json: json.into_boxed_slice(),
            plugin: self.plugin,
            owner: self.owner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cached(value: Value) -> Cached {
        serde_json::from_value::<Arrival>(value).unwrap().into_cached("apps/v1", "Deployment")
    }

    fn text(cached: &Cached) -> &str {
        std::str::from_utf8(&cached.json).unwrap()
    }

    #[test]
    fn what_only_managers_read_is_not_kept_and_the_kind_is_always_named() {
        let cached = cached(json!({
            "metadata": {
                "name": "a", "uid": "u", "resourceVersion": "7", "managedFields": [{"manager": "x"}],
                "annotations": {LAST_APPLIED: "{}", "note": "n"},
            },
            "spec": {"replicas": 1},
        }));
        assert_eq!(
            text(&cached),
            r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","uid":"u","resourceVersion":"7","annotations":{"note":"n"}},"spec":{"replicas":1}}"#
        );
        assert_eq!((&*cached.uid, &*cached.resource_version), ("u", "7"));
    }

    #[test]
    fn an_object_of_a_list_and_the_same_one_of_an_event_are_kept_alike() {
        let item = cached(json!({"metadata": {"name": "a"}, "spec": {"x": 1}}));
        let event = cached(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"x": 1}}),
        );
        assert_eq!(item, event);
    }

    #[test]
    fn an_empty_object_is_still_json() {
        assert_eq!(text(&cached(json!({}))), r#"{"apiVersion":"apps/v1","kind":"Deployment"}"#);
    }

    #[test]
    fn the_labels_of_ownership_are_at_hand() {
        let tied =
            cached(json!({"metadata": {"name": "a", "labels": {PLUGIN_LABEL: "helm", OWNER_LABEL: "uid"}}}));
        assert_eq!((tied.label(PLUGIN_LABEL), tied.label(OWNER_LABEL)), (Some("helm"), Some("uid")));
        assert_eq!(cached(json!({"metadata": {"name": "a", "labels": null}})).label(PLUGIN_LABEL), None);
    }

    #[test]
    fn the_text_of_a_secret_does_not_show_in_debug_output() {
        let secret = cached(json!({"metadata": {"name": "a"}, "data": {"password": "aHVudGVyMg=="}}));
        assert!(!format!("{secret:?}").contains("aHVudGVyMg=="));
    }
}
