//! `lookup` through the host, with the plugin's own rights.

use std::{cell::RefCell, rc::Rc};

use helm_chart::Lookup;
use helm_template::{Map, Value as HelmValue};
use pilothouse_sdk::{Error, Gvk, Kube, ObjectRef};
use serde_json::{Value, json};

use crate::{
    call::Call,
    decorate::Owner,
    kinds::Kinds,
    looked_up::{self, LookedUp, Question},
    values::to_value,
};

/// Answers `lookup` from the cluster (Helm's `pkg/engine/lookup_func.go`), and notes what it answered.
#[derive(Debug)]
pub(crate) struct ClusterLookup {
    /// The cluster.
    kube: Kube,
    /// What it serves.
    kinds: Rc<Kinds>,
    /// The release that asks; none: nobody needs to know what was answered.
    owner: Option<Owner>,
    noted: RefCell<LookedUp>,
}

impl ClusterLookup {
    /// For the charts of a call.
    ///
    /// # Errors
    /// What the cluster serves cannot be found out.
    pub(crate) fn new(call: &Call<'_>) -> Result<Self, Error> {
        let lookup = Self::unnoted(call.kube().clone().live(), call.kinds()?);
        Ok(Self { owner: Some(call.owner().clone()), ..lookup })
    }

    /// For charts that are only shown.
    pub(crate) fn unnoted(kube: Kube, kinds: Rc<Kinds>) -> Self {
        Self { kube, kinds, owner: None, noted: RefCell::default() }
    }

    /// What was looked up.
    pub(crate) fn noted(&self) -> LookedUp {
        self.noted.borrow().clone()
    }

    /// An object, or a list where no name is asked for.
    ///
    /// # Errors
    /// What the cluster refuses, or does not serve.
    pub(crate) fn find(
        &self,
        (api_version, kind, namespace, name): &Question,
    ) -> Result<Option<Value>, String> {
        let gvk = Gvk::from_api_version(api_version, kind);
        let Some(namespaced) = self.kinds.is_namespaced(&gvk) else {
            return Err(format!(
                "unable to get apiresource from unstructured: {gvk} is not served by the cluster"
            ));
        };
        let namespace = Some(namespace.as_str()).filter(|namespace| namespaced && !namespace.is_empty());
        if name.is_empty() {
            let items =
                self.kube.list_ref::<Value>(gvk, namespace).all().map_err(|error| error.to_string())?;
            return Ok(Some(
                json!({"apiVersion": api_version, "kind": format!("{kind}List"), "metadata": {}, "items": items}),
            ));
        }
        if namespaced && namespace.is_none() {
            // There is nothing under the path that Helm asks for then.
            return Ok(None);
        }
        self.kube.get_ref(&ObjectRef::new(gvk, namespace, name)).map_err(|error| error.to_string())
    }
}

impl Lookup for ClusterLookup {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Map>, String> {
        let question = (api_version.into(), kind.into(), namespace.into(), name.into());
        let found = self.find(&question)?;
        let answer = found.as_ref().and_then(|found| match to_value(found) {
            HelmValue::Map(map) => Some(map),
            _ => None,
        });
        if let Some(owner) = &self.owner {
            self.noted.borrow_mut().note(question, looked_up::digest(found, owner));
        }
        Ok(answer)
    }
}
