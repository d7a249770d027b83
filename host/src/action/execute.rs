//! The only writer of objects.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use http::Method;
use serde_json::Value;

mod deletion;
mod fields;
mod let_go;
mod preview;
mod supersede;

pub use deletion::DeleteOptions;
use fields::{drop_server_fields, key_of, namespace_of};
pub use supersede::Manager;

use super::compare::holds;
use super::ownership;
use crate::capability::grants::Grants;
use crate::capability::rule::Access;
use crate::cluster::path::{Resource, escape};
use crate::cluster::request::{Api, ApiError, Call};
use crate::object::ObjectKey;
use crate::object::Owner;

/// Who writes: the plugin, its account and its field manager.
#[derive(Clone, Copy, Debug)]
pub struct Actor<'a> {
    /// The plugin's name.
    pub plugin: &'a str,
    /// Its field manager.
    pub manager: &'a Manager,
    /// What it may do.
    pub grants: &'a Grants,
    /// Whose object it is working for.
    pub owner: &'a Owner,
}

impl Actor<'_> {
    /// Whether the grants allow a write, without asking the API server.
    ///
    /// # Errors
    /// [`WriteError::NotGranted`].
    pub fn may(&self, verb: &str, resource: &Resource, key: &ObjectKey) -> Result<(), WriteError> {
        check(self, verb, resource, "", key)
    }
}

/// Why a write did not happen, or may not have.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The grants do not allow it; nothing was sent.
    #[error("{0}")]
    NotGranted(&'static str),
    /// The API server's answer.
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// How an object is tied to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// Not at all.
    None,
    /// By labels.
    Mark,
    /// By labels and, where Kubernetes allows it, an owner reference.
    Reference,
}

/// How to apply.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions {
    /// Take over fields of other managers.
    pub force: bool,
    /// Change nothing, ask only.
    pub dry_run: bool,
}

/// What an apply did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// No request, or one that changed nothing.
    Unchanged,
    /// The object is new.
    Created,
    /// The object is another than before.
    Configured,
}

/// The answer of an apply.
#[derive(Clone, Debug)]
pub struct Applied {
    /// What it did.
    pub change: Change,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.generation`, 0 where there is none.
    pub generation: u64,
}

/// The live object as a cache holds it, for the comparison before a write.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// `metadata.resourceVersion`.
    pub resource_version: &'a str,
    /// The object's JSON text.
    pub json: &'a [u8],
}

/// What our last apply of an object said and returned.
#[derive(Clone, Debug)]
struct LastApply {
    /// Hash of manager and applied text.
    said: u64,
    resource_version: String,
}

/// Applies, patches and deletes objects. Remembers what it last applied, so that the same again costs nothing.
#[derive(Debug)]
pub struct Executor {
    api: Api,
    last: Mutex<HashMap<ObjectKey, LastApply>>,
}

impl Executor {
    /// An executor without memories.
    pub fn new(api: Api) -> Self {
        Self { api, last: Mutex::new(HashMap::new()) }
    }

    /// Whether this resource version is the one our own last apply of the object returned: then the change was ours.
    pub fn is_own_write(&self, key: &ObjectKey, resource_version: &str) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.get(key).is_some_and(|last| last.resource_version == resource_version)
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Server-side apply of one object. Sends nothing when `live` already holds it and the last apply said the same.
    ///
    /// # Errors
    /// Refusals of the grants and of the API server.
    pub async fn apply(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        mut object: Value,
        tie: Tie,
        options: ApplyOptions,
        live: Option<Live<'_>>,
    ) -> Result<Applied, WriteError> {
        let key = key_of(resource, &object)?;
        check(actor, "patch", resource, "", &key)?;
        drop_server_fields(&mut object);
        tie_to_owner(&mut object, actor, tie);
        let body = object.to_string();
        let said = hash(&actor.manager.name, &body);
        if let Some(applied) = live.and_then(|live| self.unchanged(&key, said, &object, live)) {
            return Ok(applied);
        }
        let path = apply_path(actor, resource, &key, options);
        let send = || {
            let call = Call::new(Method::PATCH, path.clone(), actor.grants.account.as_deref());
            self.api.send_json(call.body("application/apply-patch+yaml", body.clone().into_bytes()))
        };
        let (code, mut answer) = send().await?;
        let mut said = said;
        if !options.dry_run
            && let Some(patch) = actor.manager.patch_for(&answer)
        {
            // Should it be broken off, the same text is sent again all the same.
            self.remember(key.clone(), 0, "");
            if self.take_over(actor, resource, &key, patch).await? {
                // Only now those fields go that are not wanted any more.
                (_, answer) = send().await?;
            } else {
                said = 0;
            }
        }
        let before = live.map(|live| live.resource_version);
        let mut applied = applied(&answer, code == 201, before);
        if !options.dry_run {
            self.remember(key, said, &applied.resource_version);
        } else if applied.change == Change::Unchanged {
            // A rehearsal leaves the resource version as it is, whatever it would change.
            applied.change = Change::Configured;
        }
        Ok(applied)
    }

    /// The answer without a request, when nothing differs.
    fn unchanged(&self, key: &ObjectKey, said: u64, desired: &Value, live: Live<'_>) -> Option<Applied> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        // Another text than last time may have dropped a field that still stands there under our name.
        let same_text = last.as_ref().is_none_or(|last| last.said == said);
        if !same_text {
            return None;
        }
        let untouched = last.is_some_and(|last| last.resource_version == live.resource_version);
        let object: Value = serde_json::from_slice(live.json).ok()?;
        if object.pointer("/metadata/deletionTimestamp").is_some() || !(untouched || holds(&object, desired))
        {
            return None;
        }
        self.remember(key.clone(), said, live.resource_version);
        Some(applied(&object, false, Some(live.resource_version)))
    }

    fn remember(&self, key: ObjectKey, said: u64, resource_version: &str) {
        let last = LastApply { said, resource_version: resource_version.to_owned() };
        self.last.lock().unwrap_or_else(PoisonError::into_inner).insert(key, last);
    }

    /// Remembers a write that was no apply, so that it is known as ours when it is seen. What the next apply says is new.
    fn wrote(&self, key: ObjectKey, answer: &Value) {
        let label = |name: &str| answer.pointer("/metadata/labels")?.get(name)?.as_str();
        let version = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        // Of others it is not heard when they go, so they would be remembered for ever.
        match version.filter(|_| ownership::owner_of(label).is_some()) {
            Some(version) => self.remember(key, 0, version),
            None => self.forget(&key),
        }
    }

    /// Creates an object.
    ///
    /// # Errors
    /// Refusals of the grants and of the API server; `AlreadyExists` also when our own earlier try did arrive.
    pub async fn create(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        mut object: Value,
        tie: Tie,
    ) -> Result<Value, WriteError> {
        let namespace = namespace_of(resource, &object)?;
        let name = object.pointer("/metadata/name").and_then(Value::as_str).map(ToOwned::to_owned);
        check_access(actor, "create", resource, "", namespace.as_deref(), name.as_deref())?;
        tie_to_owner(&mut object, actor, tie);
        let path = format!(
            "{}?fieldManager={}",
            resource.collection(namespace.as_deref()),
            escape(&actor.manager.name)
        );
        let call = Call::new(Method::POST, path, actor.grants.account.as_deref());
        let (_, answer) =
            self.api.send_json(call.body("application/json", object.to_string().into_bytes())).await?;
        if let Ok(key) = key_of(resource, &answer) {
            self.wrote(key, &answer);
        }
        Ok(answer)
    }

    /// Replaces an object; its resource version is the precondition.
    ///
    /// # Errors
    /// Also when the object names no resource version.
    pub async fn replace(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        object: &Value,
    ) -> Result<Value, WriteError> {
        let key = key_of(resource, object)?;
        if object.pointer("/metadata/resourceVersion").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(ApiError::invalid(
                "a replaced object must carry the metadata.resourceVersion it was read with",
            )
            .into());
        }
        check(actor, "update", resource, "", &key)?;
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        let call = Call::new(
            Method::PUT,
            format!("{path}?fieldManager={}", escape(&actor.manager.name)),
            actor.grants.account.as_deref(),
        );
        let (_, answer) =
            self.api.send_json(call.body("application/json", object.to_string().into_bytes())).await?;
        self.wrote(key, &answer);
        Ok(answer)
    }

    /// Patches an object or a subresource of it. `content_type` is one of the API's patch formats.
    ///
    /// # Errors
    /// Refusals of the grants and of the API server.
    pub async fn patch(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        key: &ObjectKey,
        content_type: &'static str,
        patch: String,
        subresource: &str,
    ) -> Result<Value, WriteError> {
        check(actor, "patch", resource, subresource, key)?;
        let path = resource.object(key.namespace.as_deref(), &key.name, subresource);
        let call = Call::new(
            Method::PATCH,
            format!("{path}?fieldManager={}", escape(&actor.manager.name)),
            actor.grants.account.as_deref(),
        );
        let (_, answer) = self.api.send_json(call.body(content_type, patch.into_bytes())).await?;
        self.forget(key);
        Ok(answer)
    }

    /// Asks for deletion. False when there was no such object.
    ///
    /// # Errors
    /// Refusals of the grants and of the API server; a failed precondition is a conflict.
    pub async fn delete(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        key: &ObjectKey,
        options: &DeleteOptions,
    ) -> Result<bool, WriteError> {
        check(actor, "delete", resource, "", key)?;
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        let call = Call::new(Method::DELETE, path, actor.grants.account.as_deref());
        let sent = self.api.send(call.body("application/json", options.body().into_bytes())).await;
        self.forget(key);
        match sent {
            Ok(_) => Ok(true),
            Err(error) if error.code == 404 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn apply_path(actor: &Actor<'_>, resource: &Resource, key: &ObjectKey, options: ApplyOptions) -> String {
    let path = resource.object(key.namespace.as_deref(), &key.name, "");
    let manager = escape(&actor.manager.name);
    let force = if options.force { "&force=true" } else { "" };
    let dry_run = if options.dry_run { "&dryRun=All" } else { "" };
    format!("{path}?fieldManager={manager}&fieldValidation=Ignore{force}{dry_run}")
}

fn tie_to_owner(object: &mut Value, actor: &Actor<'_>, tie: Tie) {
    if tie != Tie::None {
        ownership::mark(object, actor.plugin, actor.owner);
    }
    if tie == Tie::Reference {
        ownership::refer(object, actor.owner);
    }
}

fn check(
    actor: &Actor<'_>,
    verb: &str,
    resource: &Resource,
    subresource: &str,
    key: &ObjectKey,
) -> Result<(), WriteError> {
    check_access(actor, verb, resource, subresource, key.namespace.as_deref(), Some(&key.name))
}

fn check_access(
    actor: &Actor<'_>,
    verb: &str,
    resource: &Resource,
    subresource: &str,
    namespace: Option<&str>,
    name: Option<&str>,
) -> Result<(), WriteError> {
    let rbac_name = resource.rbac_name(subresource);
    let access = Access { verb, group: &resource.gvk.group, resource: &rbac_name, namespace, name };
    actor.grants.check(&access).map_err(WriteError::NotGranted)
}

fn hash(manager: &str, body: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (manager, body).hash(&mut hasher);
    hasher.finish()
}

fn applied(object: &Value, created: bool, before: Option<&str>) -> Applied {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let resource_version = text("/metadata/resourceVersion");
    let change = match (created, before) {
        (true, _) => Change::Created,
        (false, Some(before)) if before == resource_version => Change::Unchanged,
        (false, _) => Change::Configured,
    };
    let generation = object.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or(0);
    Applied { change, uid: text("/metadata/uid"), resource_version, generation }
}
