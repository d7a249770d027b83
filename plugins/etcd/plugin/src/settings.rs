//! Settings of the plugin, which whoever runs it gives.

use std::collections::BTreeMap;

use etcd_core::scope;
use serde::Deserialize;

use crate::object::Metadata;

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
