//! Secrets that a plugin names and the host uses: the plugin never sees what is in them.

use std::sync::Arc;

use serde_json::Value;

use super::errors::invalid;
use super::read::access;
use crate::capability::rule::USE;
use crate::cluster::request::Wanted;
use crate::plugin::bindings::kube::Error;
use crate::plugin::bindings::{ObjectRef, WitGvk};
use crate::plugin::instance::HookState;

/// More than the API server keeps in one.
const LARGEST: u64 = 4 * 1024 * 1024;

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
