//! Settings of the plugin, which whoever runs it gives.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Settings of the plugin.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// Only clusters that carry the annotation `etcd.database.coreos.com/scope: clusterwide` (true), or only those that do not
    /// (false), for two operators side by side. All of them when absent.
    pub(crate) cluster_wide: Option<bool>,
    /// Stores by the names under which backups may use them.
    pub(crate) stores: BTreeMap<String, NamedStore>,
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
