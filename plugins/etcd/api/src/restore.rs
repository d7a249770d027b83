//! `EtcdRestore`.

use serde::{Deserialize, Serialize};

use crate::{AbsSource, Artefact, Condition, GcsSource, S3Source, StorageType, StoreSource};

/// What an `EtcdRestore` asks for. Its name is the name of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {
            "rule": "has(self.s3) == (self.backupStorageType == 'S3') && has(self.abs) == (self.backupStorageType == 'ABS') && has(self.gcs) == (self.backupStorageType == 'GCS') && has(self.store) == (self.backupStorageType == 'Store')",
            "message": "set the one of s3, abs, gcs and store that backupStorageType names",
        },
        {"rule": "self == oldSelf", "message": "a restore is carried out once: delete it and create another"},
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRestoreSpec {
    /// Where the backup is.
    pub backup_storage_type: StorageType,
    /// For `S3`; `path` is the whole key of one backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Source>,
    /// For `ABS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abs: Option<AbsSource>,
    /// For `GCS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gcs: Option<GcsSource>,
    /// For `Store`. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreSource>,
    /// The `EtcdCluster` that is to hold the data. Its members go on until the first of the new ones is verified.
    pub etcd_cluster: ClusterReference,
    /// SHA-256 that the backup must have, in lower-case hexadecimal. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64), regex(pattern = "^[0-9a-f]{64}$")))]
    pub sha256: Option<String>,
    /// Revision that the backup must have. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub revision: Option<i64>,
}

/// An `EtcdCluster` of the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClusterReference {
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 52)))]
    pub name: String,
}

/// Where an `EtcdRestore` stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RestoreStatus {
    /// Does the cluster hold the data of the backup?
    pub succeeded: bool,
    /// Why it does not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How far it is. *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<RestoreState>,
    /// The backup, once it was looked at. *(Pilothouse)*
    #[serde(rename = "artifact", skip_serializing_if = "Option::is_none")]
    pub artefact: Option<Artefact>,
    /// The generation that this status is about. *(Pilothouse)*
    pub observed_generation: i64,
    /// What is going on. *(Pilothouse)*
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// How far a restore is. *(Pilothouse)*
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RestoreState {
    /// The backup is being looked at.
    Checking,
    /// The first new member is being made from it.
    Seeding,
    /// The cluster is on the new data.
    Succeeded,
    /// It was refused; the cluster was not touched.
    Failed,
}
