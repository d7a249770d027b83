//! Secrets that a plugin names and the host uses: the plugin never sees what is in them.

use std::sync::Arc;

use serde_json::Value;

use super::errors::invalid;
use super::read::access;
use crate::action::execute::{ApplyOptions, DeleteOptions, Seen, Tie};
use crate::action::ownership::OWNER_LABEL;
use crate::capability::rule::USE;
use crate::cluster::request::Wanted;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::kube::Error;
use crate::plugin::bindings::{ObjectRef, WitGvk};
use crate::plugin::context::HookContext;
use crate::plugin::instance::HookState;

fn secrets() -> Gvk {
    Gvk::new("", "v1", "Secret")
}

fn key_of(object: &Value) -> Result<ObjectKey, Error> {
    ObjectKey::of(object).ok_or_else(|| invalid("the Secret has no name"))
}

/// More than the API server keeps in one.
const LARGEST: u64 = 4 * 1024 * 1024;

impl HookContext {
    /// Creates a Secret that is collected with the object at hand. One that is there is an error, and stays as it is.
    pub(in crate::capability) async fn create_secret(&self, object: Value) -> Result<(), Error> {
        let resource = self.resource(&secrets()).await?;
        self.pace().await?;
        let key = key_of(&object)?;
        let created = self.cluster.executor.create(&self.actor(), &resource, object, Tie::Reference).await;
        created.map(drop).map_err(|error| self.not_written(error, &access(&resource, "create", "", &key)))
    }

    /// Puts entries into a Secret, which is created if it is not there. Entries that somebody else put there are a conflict.
    pub(in crate::capability) async fn put_secret(&self, object: Value) -> Result<(), Error> {
        let resource = self.resource(&secrets()).await?;
        self.pace().await?;
        let key = key_of(&object)?;
        let how = ApplyOptions { force: false, dry_run: false, strict: None };
        let (actor, executor) = (self.actor(), &self.cluster.executor);
        let put = executor.apply(&actor, &resource, object, Tie::Reference, how, Seen::Unknown).await;
        put.map(drop).map_err(|error| self.not_written(error, &access(&resource, "patch", "", &key)))
    }

    /// Deletes a Secret that such a call made for the object at hand. One that is not there is as good, and somebody else's of the
    /// name stays.
    pub(in crate::capability) async fn delete_secret(&self, secret: &ObjectRef) -> Result<(), Error> {
        let (resource, key) = self.target(secret).await?;
        let delete = access(&resource, "delete", "", &key);
        self.granted(&delete)?;
        self.pace().await?;
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        let found = self.fetch(path, &access(&resource, "get", "", &key), LARGEST, Wanted::Metadata).await;
        let found = match found {
            Err(Error::NotFound(_)) => return Ok(()),
            found => found?,
        };
        let Some(uid) = uid_of_own(&found, &self.owner.uid) else { return Ok(()) };
        self.pace().await?;
        let how = DeleteOptions {
            propagation: "Background",
            uid: Some(uid),
            resource_version: None,
            grace_period: None,
        };
        let deleted = self.cluster.executor.delete(&self.actor(), &resource, &key, &how).await;
        deleted.map(drop).map_err(|error| self.not_written(error, &delete))
    }
}

/// The uid of an object that is tied to an owner.
fn uid_of_own(object: &[u8], owner: &str) -> Option<String> {
    let object: Value = serde_json::from_slice(object).ok()?;
    let metadata = object.get("metadata")?;
    let tied = metadata.get("labels")?.get(OWNER_LABEL)?.as_str()? == owner;
    metadata.get("uid")?.as_str().filter(|_| tied).map(ToOwned::to_owned)
}

impl HookState {
    /// A Secret for the host's own use, if it is there. The plugin needs the right to `use` it, or to read it anyway; its account
    /// needs RBAC's `get`.
    pub(in crate::capability) async fn refer_to(
        &mut self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Error> {
        self.admit(name.len())?;
        let cx = Arc::clone(&self.context);
        let secret = ObjectRef {
            kind: WitGvk { group: String::new(), version: "v1".to_owned(), kind: "Secret".to_owned() },
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        };
        let (resource, key) = cx.target(&secret).await?;
        let get = access(&resource, "get", "", &key);
        cx.granted(&access(&resource, USE, "", &key))
            .or_else(|refused| cx.granted(&get).map_err(|_| refused))?;
        let parsed = |json: &[u8]| {
            serde_json::from_slice(json)
                .map_err(|_| invalid(format!("Secret {namespace}/{name} is not JSON")))
        };
        if let Some(cached) = cx.cluster.observer.known(&cx.plugin.name, &key) {
            cx.reviewed(&get).await?;
            return parsed(&cached.json).map(Some);
        }
        cx.pace().await?;
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        match cx.fetch(path, &get, LARGEST, Wanted::All).await {
            Ok(body) => parsed(&body).map(Some),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
