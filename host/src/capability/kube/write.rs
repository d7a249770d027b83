//! Writes: parsed and named here, done by `action::execute`.

use std::sync::Arc;

use serde_json::Value;

use super::errors::invalid;
use crate::action::execute::{self, Applied, ApplyOptions, EvictOptions, Seen, Tie, WriteError};
use crate::capability::rule::Access;
use crate::controller::observe::Tied;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::kube::{self, Error, Ownership, PatchFormat, Propagation};
use crate::plugin::bindings::{ObjectRef, Status, WitGvk};
use crate::plugin::instance::HookState;

impl HookState {
    pub(super) async fn apply_all(
        &mut self,
        items: Vec<kube::ApplyItem>,
        options: kube::ApplyOptions,
    ) -> Vec<Result<kube::Applied, Error>> {
        let mut answers = Vec::with_capacity(items.len());
        let mut failed = false;
        for item in items {
            if failed && options.stop_on_error {
                answers.push(Err(skipped()));
                continue;
            }
            let answer = self.apply_one(&item, options).await;
            failed |= answer.is_err();
            answers.push(answer);
        }
        answers
    }

    async fn apply_one(
        &mut self,
        item: &kube::ApplyItem,
        options: kube::ApplyOptions,
    ) -> Result<kube::Applied, Error> {
        self.admit(item.object.len() + item.keep.iter().map(String::len).sum::<usize>())?;
        let cx = Arc::clone(&self.context);
        let (object, gvk) = parse(&item.object)?;
        let resource = cx.resource(&gvk).await?;
        let tie = tie_of(item.ownership);
        let key = ObjectKey::of(&object);
        let namespaced_key = key.clone().filter(|_| resource.namespaced);
        let cached = match (&key, tie) {
            (Some(key), Tie::Mark | Tie::Reference) => cx.cluster.tied(&cx.plugin.name, key).await,
            _ => Tied::Unwatched,
        };
        let seen = cached.seen();
        if !matches!(seen, Seen::Live(_)) {
            cx.pace().await?;
        }
        let strict = options.strict.then_some(item.keep.as_slice());
        let how = ApplyOptions { force: options.force, dry_run: options.dry_run, strict };
        let done = cx.cluster.executor.apply(&cx.actor(), &resource, object, tie, how, seen).await;
        let access = Access {
            verb: "patch",
            group: &resource.gvk.group,
            resource: &resource.plural,
            namespace: namespaced_key.as_ref().and_then(|key| key.namespace.as_deref()),
            name: key.as_ref().map(|key| &*key.name),
        };
        done.map(wit_applied).map_err(|error| cx.not_written(error, &access))
    }

    pub(super) async fn preview_all(
        &mut self,
        items: &[kube::ApplyItem],
        strict: bool,
    ) -> Vec<Result<String, Error>> {
        let mut answers = Vec::with_capacity(items.len());
        for item in items {
            answers.push(self.preview_one(item, strict).await);
        }
        answers
    }

    async fn preview_one(&mut self, item: &kube::ApplyItem, strict: bool) -> Result<String, Error> {
        self.admit(item.object.len())?;
        let cx = Arc::clone(&self.context);
        let (object, gvk) = parse(&item.object)?;
        let resource = cx.resource(&gvk).await?;
        let key = ObjectKey::of(&object);
        cx.pace().await?;
        let executor = &cx.cluster.executor;
        let (tie, keep) = (tie_of(item.ownership), strict.then_some(item.keep.as_slice()));
        let previewed = executor.preview(&cx.actor(), &resource, object, tie, keep).await;
        let access = Access {
            verb: "patch",
            group: &resource.gvk.group,
            resource: &resource.plural,
            namespace: key.as_ref().and_then(|key| key.namespace.as_deref()).filter(|_| resource.namespaced),
            name: key.as_ref().map(|key| &*key.name),
        };
        self.answer(previewed, &access)
    }

    pub(super) async fn create_object(
        &mut self,
        object: &str,
        ownership: Ownership,
    ) -> Result<String, Error> {
        self.admit(object.len())?;
        let cx = Arc::clone(&self.context);
        let (object, gvk) = parse(object)?;
        let resource = cx.resource(&gvk).await?;
        cx.pace().await?;
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(ToOwned::to_owned);
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let created = cx.cluster.executor.create(&cx.actor(), &resource, object, tie_of(ownership)).await;
        let access = Access {
            verb: "create",
            group: &resource.gvk.group,
            resource: &resource.plural,
            namespace: namespace.as_deref(),
            name: name.as_deref(),
        };
        self.answer(created, &access)
    }

    pub(super) async fn replace_object(&mut self, object: &str) -> Result<String, Error> {
        self.admit(object.len())?;
        let cx = Arc::clone(&self.context);
        let (object, gvk) = parse(object)?;
        let resource = cx.resource(&gvk).await?;
        cx.pace().await?;
        let replaced = cx.cluster.executor.replace(&cx.actor(), &resource, &object).await;
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let access = Access {
            verb: "update",
            group: &resource.gvk.group,
            resource: &resource.plural,
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        };
        self.answer(replaced, &access)
    }

    pub(super) async fn patch_object(
        &mut self,
        object: &ObjectRef,
        format: PatchFormat,
        patch: String,
        subresource: &str,
    ) -> Result<String, Error> {
        self.admit(patch.len())?;
        let cx = Arc::clone(&self.context);
        let (resource, key) = cx.target(object).await?;
        cx.pace().await?;
        let content_type = match format {
            PatchFormat::JsonPatch => "application/json-patch+json",
            PatchFormat::Merge => "application/merge-patch+json",
            PatchFormat::StrategicMerge => "application/strategic-merge-patch+json",
        };
        let executor = &cx.cluster.executor;
        let patched = executor.patch(&cx.actor(), &resource, &key, content_type, patch, subresource).await;
        let rbac_name = resource.rbac_name(subresource);
        let access = Access {
            verb: "patch",
            group: &resource.gvk.group,
            resource: &rbac_name,
            namespace: key.namespace.as_deref(),
            name: Some(&key.name),
        };
        self.answer(patched, &access)
    }

    pub(super) async fn delete_object(
        &mut self,
        object: &ObjectRef,
        options: kube::DeleteOptions,
    ) -> Result<bool, Error> {
        self.admit(object.name.len())?;
        let cx = Arc::clone(&self.context);
        let (resource, key) = cx.target(object).await?;
        cx.pace().await?;
        let how = execute::DeleteOptions {
            propagation: match options.propagation {
                Propagation::Background => "Background",
                Propagation::Foreground => "Foreground",
                Propagation::Orphan => "Orphan",
            },
            uid: options.uid,
            resource_version: options.resource_version,
            grace_period: options.grace_period_seconds,
        };
        let deleted = cx.cluster.executor.delete(&cx.actor(), &resource, &key, &how).await;
        let access = super::read::access(&resource, "delete", "", &key);
        deleted.map_err(|error| cx.not_written(error, &access))
    }

    pub(super) async fn evict_pod(
        &mut self,
        namespace: String,
        pod: String,
        options: &EvictOptions,
    ) -> Result<bool, Error> {
        self.admit(pod.len())?;
        let cx = Arc::clone(&self.context);
        let kind = WitGvk { group: String::new(), version: "v1".to_owned(), kind: "Pod".to_owned() };
        let (pods, key) = cx.target(&ObjectRef { kind, namespace: Some(namespace), name: pod }).await?;
        cx.pace().await?;
        let evicted = cx.cluster.executor.evict(&cx.actor(), &pods, &key, options).await;
        let rbac_name = pods.rbac_name("eviction");
        let access = Access {
            verb: "create",
            group: "",
            resource: &rbac_name,
            namespace: key.namespace.as_deref(),
            name: Some(&key.name),
        };
        evicted.map_err(|error| cx.not_written(error, &access))
    }

    fn answer(&mut self, written: Result<Value, WriteError>, access: &Access<'_>) -> Result<String, Error> {
        let mut object = written.map_err(|error| self.context.not_written(error, access))?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let text = object.to_string();
        self.settle(text.len())?;
        Ok(text)
    }
}

fn parse(text: &str) -> Result<(Value, Gvk), Error> {
    let object: Value =
        serde_json::from_str(text).map_err(|error| invalid(format!("the object is not JSON: {error}")))?;
    let gvk = Gvk::of(&object).ok_or_else(|| invalid("the object names no apiVersion and kind"))?;
    Ok((object, gvk))
}

fn tie_of(ownership: Ownership) -> Tie {
    match ownership {
        Ownership::None => Tie::None,
        Ownership::Mark => Tie::Mark,
        Ownership::Reference => Tie::Reference,
    }
}

fn wit_applied(applied: Applied) -> kube::Applied {
    kube::Applied {
        change: match applied.change {
            execute::Change::Unchanged => kube::Change::Unchanged,
            execute::Change::Created => kube::Change::Created,
            execute::Change::Configured => kube::Change::Configured,
        },
        uid: applied.uid,
        resource_version: applied.resource_version,
        generation: applied.generation,
        taken: applied.taken.into_iter().map(wit_taken).collect(),
        left: applied.left,
    }
}

fn wit_taken(taken: execute::Taken) -> kube::Taken {
    kube::Taken { manager: taken.manager, fields: taken.fields }
}

fn skipped() -> Error {
    let message = "not tried: an object before it failed".to_owned();
    Error::Other(Status { code: 0, reason: "Skipped".to_owned(), message })
}
