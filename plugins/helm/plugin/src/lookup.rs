//! `lookup` through the host, with the plugin's own rights.

use helm_chart::Lookup;
use helm_template::{Map, Value as HelmValue};
use pilothouse_sdk::{Gvk, Kube, ObjectRef};
use serde_json::{Value, json};
use std::rc::Rc;

use crate::{kinds::Kinds, values::to_value};

/// Answers `lookup` from the cluster (Helm's `pkg/engine/lookup_func.go`).
#[derive(Debug)]
pub(crate) struct ClusterLookup {
    /// The cluster.
    pub(crate) kube: Kube,
    /// What it serves.
    pub(crate) kinds: Rc<Kinds>,
}

impl Lookup for ClusterLookup {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Map>, String> {
        let gvk = Gvk::from_api_version(api_version, kind);
        let Some(namespaced) = self.kinds.is_namespaced(&gvk) else {
            return Err(format!(
                "unable to get apiresource from unstructured: {gvk} is not served by the cluster"
            ));
        };
        let namespace = Some(namespace).filter(|namespace| namespaced && !namespace.is_empty());
        let found: Option<Value> = if name.is_empty() {
            let items =
                self.kube.list_ref::<Value>(gvk, namespace).all().map_err(|error| error.to_string())?;
            Some(
                json!({"apiVersion": api_version, "kind": format!("{kind}List"), "metadata": {}, "items": items}),
            )
        } else if namespaced && namespace.is_none() {
            // There is nothing under the path that Helm asks for then.
            None
        } else {
            self.kube.get_ref(&ObjectRef::new(gvk, namespace, name)).map_err(|error| error.to_string())?
        };
        Ok(found.and_then(|found| match to_value(&found) {
            HelmValue::Map(map) => Some(map),
            _ => None,
        }))
    }
}
