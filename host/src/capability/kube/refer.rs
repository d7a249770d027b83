//! Secrets that a plugin names and the host uses: the plugin never sees what is in them.

use std::sync::Arc;

use serde_json::Value;

use super::errors::invalid;
use super::read::access;
use crate::action::execute::{ApplyOptions, DeleteOptions, Seen, Tie};
use crate::capability::rule::USE;
use crate::cluster::request::Wanted;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::kube::Error;
use crate::plugin::bindings::{ObjectRef, WitGvk};
use crate::plugin::instance::HookState;

fn secrets() -> Gvk {
    Gvk::new("", "v1", "Secret")
}

fn key_of(object: &Value) -> Result<ObjectKey, Error> {
    ObjectKey::of(object).ok_or_else(|| invalid("the Secret has no name"))
}

/// More than the API server keeps in one.
const LARGEST: u64 = 4 * 1024 * 1024;

impl HookState {
    /// Creates a Secret that is collected with the object at hand. One that is there is an error, and stays as it is.
    pub(in crate::capability) async fn create_secret(&mut self, object: Value) -> Result<(), Error> {
        let cx = Arc::clone(&self.context);
        let resource = cx.resource(&secrets()).await?;
        cx.pace().await?;
        let key = key_of(&object)?;
        let created = cx.cluster.executor.create(&cx.actor(), &resource, object, Tie::Reference).await;
        created.map(drop).map_err(|error| cx.not_written(error, &access(&resource, "create", "", &key)))
    }

    /// Puts entries into a Secret, which is created if it is not there. Entries that somebody else put there are a conflict.
    pub(in crate::capability) async fn put_secret(&mut self, object: Value) -> Result<(), Error> {
        let cx = Arc::clone(&self.context);
        let resource = cx.resource(&secrets()).await?;
        cx.pace().await?;
        let key = key_of(&object)?;
        let how = ApplyOptions { force: false, dry_run: false, strict: None };
        let (actor, executor) = (cx.actor(), &cx.cluster.executor);
        let put = executor.apply(&actor, &resource, object, Tie::Reference, how, Seen::Unknown).await;
        put.map(drop).map_err(|error| cx.not_written(error, &access(&resource, "patch", "", &key)))
    }

    /// Deletes a Secret that such a call made. One that is not there is as good.
    pub(in crate::capability) async fn delete_secret(&mut self, secret: &ObjectRef) -> Result<(), Error> {
        let cx = Arc::clone(&self.context);
        let (resource, key) = cx.target(secret).await?;
        cx.pace().await?;
        let how = DeleteOptions {
            propagation: "Background",
            uid: None,
            resource_version: None,
            grace_period: None,
        };
        let deleted = cx.cluster.executor.delete(&cx.actor(), &resource, &key, &how).await;
        deleted.map(drop).map_err(|error| cx.not_written(error, &access(&resource, "delete", "", &key)))
    }

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
