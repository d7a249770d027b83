//! Settings of the plugin, which whoever runs it gives.

use std::collections::BTreeMap;

use etcd_api::names::SCOPE_ANNOTATION;
use etcd_core::scope;
use pilothouse_sdk::{Context, Error, ObjectRef};
use serde::Deserialize;

use crate::object::{self, Metadata};

/// Settings of the plugin.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// Only objects that carry the annotation `etcd.database.coreos.com/scope: clusterwide` (true), or only those that do not
    /// (false), for two operators side by side. All of them when absent.
    pub(crate) cluster_wide: Option<bool>,
    /// Stores by the names under which backups may use them.
    pub(crate) stores: BTreeMap<String, NamedStore>,
}

impl Settings {
    /// Is an object this operator's? Of two that run side by side, each one is exactly one's.
    pub(crate) fn is_responsible(&self, metadata: &Metadata) -> bool {
        self.cluster_wide.is_none_or(|wide| scope::is_responsible(wide, &metadata.annotations))
    }

    /// The same of an object that is about a cluster of its namespace: it goes with that, unless it says itself whose it is. None: the
    /// cluster is not there.
    ///
    /// # Errors
    /// The cluster cannot be read.
    pub(crate) fn is_responsible_with(
        &self,
        ctx: &Context,
        metadata: &Metadata,
        cluster: Option<&str>,
    ) -> Result<Option<bool>, Error> {
        let says = self.cluster_wide.is_none() || metadata.annotations.contains_key(SCOPE_ANNOTATION);
        let Some(name) = cluster.filter(|_| !says) else { return Ok(Some(self.is_responsible(metadata))) };
        let reference = ObjectRef::new(object::kind(), metadata.namespace.as_str(), name);
        let found: Option<Found> = ctx.kube().get_ref(&reference)?;
        Ok(found.map(|found| self.is_responsible(&found.metadata)))
    }
}

/// What is read of a cluster.
#[derive(Debug, Deserialize)]
struct Found {
    metadata: Metadata,
}

/// A store of the administrator's.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NamedStore {
    /// Such as `file:///var/backups/NAMESPACE`, where `NAMESPACE` stands for the namespace of the backup.
    pub(crate) url: String,
    /// Who one is there.
    pub(crate) credentials: Option<SecretName>,
}

/// A Secret.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretName {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
}
