//! Fields that an older tool manages in objects that a plugin took over from it.
//!
//! A tool that does not apply but update (client-side apply, as Helm 3 and operator-sdk have it) owns what it wrote under its
//! own name. When the plugin's next apply leaves such a field out, it stays: somebody else still wants it. So what the tools
//! named in the plugin's manifest own is made the plugin's own first, as `csaupgrade` of client-go does it, and an apply after
//! that takes away what is not wanted any more.

use http::Method;
use serde_json::{Map, Value, json};

use super::{Actor, Executor};
use crate::cluster::path::{Resource, escape};
use crate::cluster::request::{ApiError, Call, ErrorKind};
use crate::object::ObjectKey;

/// Who applies, and whose fields it takes over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manager {
    /// Its name in `metadata.managedFields`.
    pub name: String,
    /// Names of tools whose updates become its own.
    pub supersedes: Vec<String>,
}

impl Manager {
    /// A JSON patch that makes the fields of superseded tools the manager's own; none where there are none, or where the
    /// manager applied nothing yet. `object` is the API server's answer to an apply.
    pub(super) fn patch_for(&self, object: &Value) -> Option<String> {
        let entries = object.pointer("/metadata/managedFields")?.as_array()?;
        let is_old = |entry: &Value| self.is_superseded(entry);
        let is_own = |entry: &Value| {
            text(entry, "operation") == "Apply"
                && text(entry, "subresource").is_empty()
                && text(entry, "manager") == self.name
        };
        if !entries.iter().any(is_old) || !entries.iter().any(is_own) {
            return None;
        }
        let (old, mut kept): (Vec<&Value>, Vec<Value>) = (
            entries.iter().filter(|entry| is_old(entry)).collect(),
            entries.iter().filter(|entry| !is_old(entry)).cloned().collect(),
        );
        let own = kept.iter_mut().find(|entry| is_own(entry))?.as_object_mut()?;
        let fields = own.entry("fieldsV1").or_insert_with(|| json!({})).as_object_mut()?;
        for entry in old {
            if let Some(Value::Object(more)) = entry.get("fieldsV1") {
                unite(fields, more);
            }
        }
        let version = object.pointer("/metadata/resourceVersion")?;
        // The resource version is the precondition: who came in between is not overwritten.
        let patch = json!([
            {"op": "replace", "path": "/metadata/managedFields", "value": kept},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        ]);
        Some(patch.to_string())
    }
}

impl Manager {
    /// Whether an entry of `metadata.managedFields` is of a tool whose fields become the manager's own.
    pub(super) fn is_superseded(&self, entry: &Value) -> bool {
        text(entry, "operation") == "Update"
            && text(entry, "subresource").is_empty()
            && self.supersedes.iter().any(|name| name == text(entry, "manager"))
    }
}

impl Executor {
    /// Makes the fields of superseded managers the plugin's own. False: somebody wrote meanwhile, and the next apply finds the
    /// same to do.
    pub(super) async fn take_over(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        key: &ObjectKey,
        patch: String,
    ) -> Result<bool, ApiError> {
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        let path = format!("{path}?fieldManager={}", escape(&actor.manager.name));
        let call = Call::new(Method::PATCH, path, actor.grants.account.as_deref());
        match self.api.send_json(call.body("application/json-patch+json", patch.into_bytes())).await {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind, ErrorKind::Conflict | ErrorKind::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

pub(super) fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The union of two sets of fields (`FieldsV1`: a tree whose leaves are empty).
pub(super) fn unite(fields: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (path, below) in more {
        match (fields.get_mut(path), below) {
            (Some(Value::Object(known)), Value::Object(below)) => unite(known, below),
            (Some(_), _) => {}
            (None, _) => drop(fields.insert(path.clone(), below.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager() -> Manager {
        Manager { name: "helm".into(), supersedes: vec!["helm-operator".into(), "helm".into()] }
    }

    fn entry(manager: &str, operation: &str, subresource: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "subresource": subresource, "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    fn object(entries: &[Value]) -> Value {
        json!({"metadata": {"resourceVersion": "7", "managedFields": entries}})
    }

    #[test]
    fn what_older_tools_updated_becomes_what_the_plugin_applied() {
        let own = entry("helm", "Apply", "", &json!({"f:data": {"f:a": {}}}));
        let old = entry("helm-operator", "Update", "", &json!({"f:data": {"f:b": {}, "f:a": {}}}));
        let older = entry("helm", "Update", "", &json!({"f:metadata": {"f:labels": {"f:x": {}}}}));
        let others = [
            entry("kubectl", "Update", "", &json!({"f:data": {"f:c": {}}})),
            entry("helm", "Update", "status", &json!({})),
        ];
        let [kubectl, status] = others.clone();
        let patch = manager().patch_for(&object(&[old, kubectl, own, status, older])).unwrap();
        let patch: Value = serde_json::from_str(&patch).unwrap();
        let [kubectl, status] = others;
        let united = json!({"f:data": {"f:a": {}, "f:b": {}}, "f:metadata": {"f:labels": {"f:x": {}}}});
        assert_eq!(patch[0]["value"], json!([kubectl, entry("helm", "Apply", "", &united), status]));
        assert_eq!(patch[1], json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}));
    }

    #[test]
    fn where_nothing_is_superseded_nothing_is_sent() {
        let own = entry("helm", "Apply", "", &json!({}));
        let kubectl = entry("kubectl", "Update", "", &json!({}));
        let old = entry("helm-operator", "Update", "", &json!({}));
        assert_eq!(manager().patch_for(&object(&[own, kubectl])), None);
        assert_eq!(manager().patch_for(&object(&[old])), None, "nothing was applied yet");
        assert_eq!(manager().patch_for(&json!({"metadata": {}})), None);
    }
}
