//! The only writer of objects.

use http::Method;
use serde_json::Value;

mod apply;
mod deletion;
mod eviction;
mod fields;
mod let_go;
mod memory;
mod preview;
mod strict;
mod supersede;

pub use apply::{Applied, ApplyOptions, Change, Live, Seen, Taken};
pub use deletion::DeleteOptions;
pub use eviction::EvictOptions;
use fields::{key_of, namespace_of};
use memory::{LastApply, Memory};
pub use supersede::Manager;

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

/// Applies, patches and deletes objects. Remembers what it last applied, so that the same again costs nothing.
#[derive(Debug)]
pub struct Executor {
    api: Api,
    memory: Memory,
}

impl Executor {
    /// An executor without memories.
    pub fn new(api: Api) -> Self {
        Self { api, memory: Memory::default() }
    }

    /// Whether this resource version is the one our own last apply of the object returned: then the change was ours.
    pub fn is_own_write(&self, key: &ObjectKey, resource_version: &str) -> bool {
        self.memory.wrote(key, resource_version)
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.memory.forget(key);
    }

    /// Remembers a write that was no apply, so that it is known as ours when it is seen. What the next apply says is new.
    fn wrote(&self, key: ObjectKey, answer: &Value) {
        let label = |name: &str| answer.pointer("/metadata/labels")?.get(name)?.as_str();
        let version = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        // Of others it is not heard when they go, so they would be remembered for ever.
        match version.filter(|_| ownership::owner_of(label).is_some()) {
            Some(version) => {
                let earlier = self.memory.last(&key).map(LastApply::versions).unwrap_or_default();
                let last =
                    LastApply { resource_version: version.to_owned(), earlier, ..LastApply::default() };
                self.memory.remember(key, last);
            }
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
