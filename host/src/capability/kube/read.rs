//! Reads: from the host's caches where they know the answer, else from the API server.

use std::sync::Arc;

use http::Method;
use serde_json::{Map, Value};

use super::errors::{invalid, not_granted};
use crate::capability::rule::Access;
use crate::cluster::path::{Resource, escape};
use crate::cluster::request::{Call, Wanted};
use crate::controller::discovery::Served;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::kube::{
    Consistency, Error, Page, Query, ReadOptions, ServedKind, ServerVersion,
};
use crate::plugin::bindings::{ObjectRef, WitGvk};
use crate::plugin::context::HookContext;
use crate::plugin::instance::HookState;
use crate::plugin::names::{host_gvk, wit_gvk};

/// Objects in a page when the guest does not say.
const PAGE: u32 = 500;
/// The largest tail of a container's log.
const MAX_LOG: u32 = 64 * 1024;

impl HookState {
    pub(in crate::capability) async fn get_object(
        &mut self,
        object: &ObjectRef,
        options: &ReadOptions,
    ) -> Result<Option<String>, Error> {
        self.admit(object.name.len())?;
        let cx = Arc::clone(&self.context);
        let (resource, key) = cx.target(object).await?;
        let access = access(&resource, "get", "", &key);
        cx.granted(&access)?;
        if options.consistency == Consistency::Cached
            && let Some(cached) = cx.cluster.observer.known(&cx.plugin.name, &key)
        {
            cx.reviewed(&access).await?;
            return self.project(&cached.json, &resource.gvk, &options.fields).map(Some);
        }
        cx.pace().await?;
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        let wanted = if is_metadata(&options.fields) { Wanted::Metadata } else { Wanted::All };
        match cx.fetch(path, &access, self.budget.bytes_left(), wanted).await {
            Ok(body) => self.project(&body, &resource.gvk, &options.fields).map(Some),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn list_objects(&mut self, query: &Query, options: &ReadOptions) -> Result<Page, Error> {
        self.admit(query.label_selector.len() + query.field_selector.len())?;
        let cx = Arc::clone(&self.context);
        let resource = cx.resource(&host_gvk(&query.kind)).await?;
        let namespace = query.namespace.as_deref().filter(|ns| !ns.is_empty());
        let access = Access {
            verb: "list",
            group: &resource.gvk.group,
            resource: &resource.plural,
            namespace,
            name: None,
        };
        cx.granted(&access)?;
        cx.pace().await?;
        let limit = if query.limit == 0 { PAGE } else { query.limit };
        let mut path = format!("{}?limit={limit}", resource.collection(namespace));
        for (name, value) in
            [("labelSelector", &query.label_selector), ("fieldSelector", &query.field_selector)]
        {
            if !value.is_empty() {
                path.push_str(&format!("&{name}={}", escape(value)));
            }
        }
        if let Some(next) = &query.from {
            path.push_str(&format!("&continue={}", escape(next)));
        }
        let wanted = if is_metadata(&options.fields) { Wanted::MetadataOfList } else { Wanted::All };
        let body = cx.fetch(path, &access, self.budget.bytes_left(), wanted).await?;
        self.page(&body, &resource, &options.fields)
    }

    fn page(&mut self, body: &[u8], resource: &Resource, fields: &[String]) -> Result<Page, Error> {
        let list: Value = serde_json::from_slice(body)
            .map_err(|error| invalid(format!("the list is not JSON: {error}")))?;
        let text =
            |pointer: &str| list.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (next, resource_version) = (text("/metadata/continue"), text("/metadata/resourceVersion"));
        let mut items = Vec::new();
        for item in list.get("items").and_then(Value::as_array).into_iter().flatten() {
            let mut item = item.clone();
            // Items of a list do not name their kind.
            name_kind(&mut item, &resource.gvk);
            let json = render(item, fields);
            self.settle(json.len())?;
            items.push(json);
        }
        Ok(Page { items, next: Some(next).filter(|next| !next.is_empty()), resource_version })
    }

    pub(super) async fn pod_logs(
        &mut self,
        namespace: &str,
        pod: &str,
        container: Option<&str>,
        bytes: u32,
    ) -> Result<String, Error> {
        self.admit(pod.len())?;
        let cx = Arc::clone(&self.context);
        let access = Access {
            verb: "get",
            group: "",
            resource: "pods/log",
            namespace: Some(namespace),
            name: Some(pod),
        };
        cx.granted(&access)?;
        cx.pace().await?;
        let path = format!("/api/v1/namespaces/{}/pods/{}/log?tailLines=200", escape(namespace), escape(pod));
        let container = container.map(|name| format!("&container={}", escape(name))).unwrap_or_default();
        let body =
            cx.fetch(format!("{path}{container}"), &access, self.budget.bytes_left(), Wanted::All).await?;
        let keep = usize::try_from(bytes.min(MAX_LOG)).unwrap_or(0);
        let tail = body.get(body.len().saturating_sub(keep)..).unwrap_or_default();
        let text = String::from_utf8_lossy(tail).into_owned();
        self.settle(text.len())?;
        Ok(text)
    }

    pub(super) async fn may(
        &mut self,
        verb: &str,
        kind: &WitGvk,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Result<bool, Error> {
        self.admit(verb.len())?;
        let cx = Arc::clone(&self.context);
        let resource = cx.resource(&host_gvk(kind)).await?;
        let access = Access { verb, group: &resource.gvk.group, resource: &resource.plural, namespace, name };
        if cx.grants.check(&access).is_err() {
            return Ok(false);
        }
        cx.review(&access).await
    }

    pub(super) async fn all_kinds(&mut self) -> Result<Vec<ServedKind>, Error> {
        self.admit(0)?;
        let cx = Arc::clone(&self.context);
        let served = cx.cluster.discovery.served().await.map_err(|error| {
            Error::Unavailable(crate::plugin::bindings::Status {
                code: 0,
                reason: String::new(),
                message: error.to_string(),
            })
        })?;
        self.settle(served.len() * 64)?;
        let kind = |served: &Served| ServedKind {
            kind: wit_gvk(&served.resource.gvk),
            resource: served.resource.plural.clone(),
            namespaced: served.resource.namespaced,
            preferred: served.preferred,
        };
        Ok(served.iter().map(kind).collect())
    }

    pub(super) async fn server_version(&mut self) -> Result<ServerVersion, Error> {
        self.admit(0)?;
        let cx = Arc::clone(&self.context);
        match cx.cluster.discovery.version().await {
            Ok(version) => Ok(ServerVersion {
                major: version.major,
                minor: version.minor,
                git_version: version.git_version,
            }),
            Err(error) => Err(Error::Unavailable(crate::plugin::bindings::Status {
                code: 0,
                reason: String::new(),
                message: error.to_string(),
            })),
        }
    }

    /// The fields asked for, as text; counted.
    fn project(&mut self, json: &[u8], gvk: &Gvk, fields: &[String]) -> Result<String, Error> {
        let mut object: Value = serde_json::from_slice(json)
            .map_err(|error| invalid(format!("the object is not JSON: {error}")))?;
        // Metadata alone comes as an object of another kind.
        name_kind(&mut object, gvk);
        let text = render(object, fields);
        self.settle(text.len())?;
        Ok(text)
    }
}

impl HookContext {
    pub(super) fn granted(&self, access: &Access<'_>) -> Result<(), Error> {
        self.grants.check(access).map_err(|message| not_granted(access, message))
    }

    /// A cache is filled under the host's account: before it answers, the plugin's own account must have the right.
    pub(super) async fn reviewed(&self, access: &Access<'_>) -> Result<(), Error> {
        if self.grants.account.is_none() || self.review(access).await? {
            return Ok(());
        }
        let account = self.grants.account_name();
        Err(Error::Denied(crate::plugin::bindings::Denial {
            verb: access.verb.to_owned(),
            group: access.group.to_owned(),
            resource: access.resource.to_owned(),
            namespace: access.namespace.map(ToOwned::to_owned),
            name: access.name.map(ToOwned::to_owned),
            account: account.to_owned(),
            message: format!("User {account:?} cannot {} resource {:?}", access.verb, access.resource),
        }))
    }

    async fn review(&self, access: &Access<'_>) -> Result<bool, Error> {
        let (cluster, grants) = (&self.cluster, &self.grants);
        let answer = cluster.reviews.allowed(&cluster.api, grants.account.as_deref(), access).await;
        answer.map_err(|error| self.failed(error, access))
    }

    pub(super) async fn fetch(
        &self,
        path: String,
        access: &Access<'_>,
        max_bytes: u64,
        wanted: Wanted,
    ) -> Result<Vec<u8>, Error> {
        let mut call = Call::new(Method::GET, path, self.grants.account.as_deref());
        call.wanted = wanted;
        call.max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        match self.cluster.api.send(call).await {
            Ok(reply) => Ok(reply.body),
            Err(error) => Err(self.failed(error, access)),
        }
    }
}

/// The access to one object.
pub(super) fn access<'a>(
    resource: &'a Resource,
    verb: &'a str,
    subresource: &'a str,
    key: &'a ObjectKey,
) -> Access<'a> {
    // Subresources are named by the caller where they matter; reads have none.
    debug_assert!(subresource.is_empty());
    Access {
        verb,
        group: &resource.gvk.group,
        resource: &resource.plural,
        namespace: key.namespace.as_deref(),
        name: Some(&key.name),
    }
}

/// Fields every projection keeps.
const ALWAYS: [&str; 6] =
    ["apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion"];

/// Whether nothing but metadata is asked for.
fn is_metadata(fields: &[String]) -> bool {
    !fields.is_empty() && fields.iter().all(|field| field.starts_with("metadata."))
}

fn name_kind(object: &mut Value, gvk: &Gvk) {
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".to_owned(), Value::String(gvk.api_version()));
        map.insert("kind".to_owned(), Value::String(gvk.kind.clone()));
    }
}

fn render(mut object: Value, fields: &[String]) -> String {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    if fields.is_empty() {
        return object.to_string();
    }
    let mut kept = Value::Object(Map::new());
    for path in ALWAYS.into_iter().chain(fields.iter().map(String::as_str)) {
        keep(&object, &mut kept, path);
    }
    kept.to_string()
}

fn keep(from: &Value, to: &mut Value, path: &str) {
    let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
    let (Some(value), Some(to)) = (from.get(head), to.as_object_mut()) else { return };
    match rest {
        None => {
            to.insert(head.to_owned(), value.clone());
        }
        Some(rest) => keep(value, to.entry(head).or_insert_with(|| Value::Object(Map::new())), rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_projection_keeps_identity_and_what_was_asked_for() {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"a": 1, "b": {"c": 2, "d": 3}},
            "metadata": {"name": "x", "uid": "u", "labels": {"l": "v"}, "managedFields": [1]}});
        let kept: Value =
            serde_json::from_str(&render(object.clone(), &["spec.b.c".to_owned(), "no.such".to_owned()]))
                .unwrap();
        assert_eq!(
            kept,
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "uid": "u"}, "spec": {"b": {"c": 2}}})
        );
        assert!(!render(object, &[]).contains("managedFields"));
    }
}
