//! Which children a declarative plugin's object has. Kept in a ConfigMap beside the owner, so that it survives restarts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ownership::{self, OWNER_LABEL, PLUGIN_LABEL};
use crate::cluster::request::{Api, ApiError, Call};
use crate::object::Owner;
use crate::object::{Gvk, ObjectKey};

/// One child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its kind.
    #[serde(flatten)]
    pub gvk: Gvk,
    /// `None` for cluster scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Entry {
    /// The entry of an object.
    pub fn of(key: &ObjectKey) -> Self {
        Self {
            gvk: (*key.gvk).clone(),
            namespace: key.namespace.as_deref().map(ToOwned::to_owned),
            name: key.name.to_string(),
        }
    }

    /// The object of an entry.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(Arc::new(self.gvk.clone()), self.namespace.as_deref(), &self.name)
    }

    /// The same object, whatever the version it is written in.
    pub fn same_object(&self, other: &Self) -> bool {
        self.gvk.group == other.gvk.group
            && self.gvk.kind == other.gvk.kind
            && self.namespace == other.namespace
            && self.name == other.name
    }
}

/// Inventories of all owners: read once, written when they change.
#[derive(Debug)]
pub struct Inventories {
    api: Api,
    /// Where inventories of cluster-scoped owners live.
    namespace: String,
    known: Mutex<HashMap<Arc<str>, Vec<Entry>>>,
}

impl Inventories {
    /// Inventories through the host's own account.
    pub fn new(api: Api, namespace: &str) -> Self {
        Self { api, namespace: namespace.to_owned(), known: Mutex::new(HashMap::new()) }
    }

    /// The inventory of an owner; empty when there is none yet.
    ///
    /// # Errors
    /// When it cannot be read. It must not be taken for empty then: children would be forgotten.
    pub async fn read(&self, plugin: &str, owner: &Owner) -> Result<Vec<Entry>, ApiError> {
        if let Some(entries) = self.lock().get(&owner.uid) {
            return Ok(entries.clone());
        }
        let path = self.path(plugin, owner);
        let entries = match self.api.send_json(Call::new(Method::GET, path, None)).await {
            Ok((_, object)) => entries_of(&object)?,
            Err(error) if error.code == 404 => Vec::new(),
            Err(error) => return Err(error),
        };
        self.lock().insert(Arc::clone(&owner.uid), entries.clone());
        Ok(entries)
    }

    /// Records an inventory; nothing is sent when it is the one already recorded.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn write(&self, plugin: &str, owner: &Owner, entries: &[Entry]) -> Result<(), ApiError> {
        if self.lock().get(&owner.uid).is_some_and(|known| known == entries) {
            return Ok(());
        }
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": name_of(plugin, owner), "namespace": self.namespace_of(owner),
                "labels": {PLUGIN_LABEL: plugin, OWNER_LABEL: &*owner.uid, "pilothouse.dev/role": "inventory"},
            },
            "data": {"children": serde_json::to_string(entries).map_err(|e| ApiError::invalid(e.to_string()))?},
        });
        ownership::refer(&mut object, owner);
        let path = format!("{}?fieldManager=pilothouse&force=true", self.path(plugin, owner));
        let call = Call::new(Method::PATCH, path, None);
        let result =
            self.api.send(call.body("application/apply-patch+yaml", object.to_string().into_bytes())).await;
        // After a failed write the record may or may not have changed: read it again next time.
        match result {
            Ok(_) => {
                self.lock().insert(Arc::clone(&owner.uid), entries.to_vec());
                Ok(())
            }
            Err(error) => {
                self.lock().remove(&owner.uid);
                Err(error)
            }
        }
    }

    /// Removes the record of an owner that is gone. (In the owner's namespace the garbage collector would, too.)
    ///
    /// # Errors
    /// When it cannot be deleted.
    pub async fn remove(&self, plugin: &str, owner: &Owner) -> Result<(), ApiError> {
        let had = self.lock().remove(&owner.uid).is_some_and(|entries| !entries.is_empty());
        if !had {
            return Ok(());
        }
        match self.api.send(Call::new(Method::DELETE, self.path(plugin, owner), None)).await {
            Ok(_) => Ok(()),
            Err(error) if error.code == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn path(&self, plugin: &str, owner: &Owner) -> String {
        format!("/api/v1/namespaces/{}/configmaps/{}", self.namespace_of(owner), name_of(plugin, owner))
    }

    fn namespace_of<'a>(&'a self, owner: &'a Owner) -> &'a str {
        owner.key.namespace.as_deref().unwrap_or(&self.namespace)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, Vec<Entry>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names are bounded (253), owners' names are not short: the uid is.
fn name_of(plugin: &str, owner: &Owner) -> String {
    format!("pilothouse-{plugin}-{}", owner.uid)
}

fn entries_of(object: &Value) -> Result<Vec<Entry>, ApiError> {
    let text = object.pointer("/data/children").and_then(Value::as_str).unwrap_or("[]");
    serde_json::from_str(text)
        .map_err(|error| ApiError::invalid(format!("the inventory is damaged: {error}")))
}
