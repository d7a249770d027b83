//! Where backups are.

use serde::{Deserialize, Serialize};

/// Kinds of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StorageType {
    /// Amazon S3 and what speaks its protocol.
    S3,
    /// Azure Blob Storage.
    #[serde(rename = "ABS")]
    Abs,
    /// Google Cloud Storage.
    #[serde(rename = "GCS")]
    Gcs,
    /// A store that the administrator gave to the plugin by name, such as a directory. *(Pilothouse)*
    Store,
}

/// An object, or the beginning of the names of objects, in S3.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct S3Source {
    /// `<bucket>/<key>`.
    #[cfg_attr(feature = "schema", schemars(length(min = 3, max = 1024), regex(pattern = "^[^/]+/.+$")))]
    pub path: String,
    /// Secret with `credentials` and `config`, as the AWS command line has them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = 253)))]
    pub aws_secret: String,
    /// Address of the service; Amazon's by default.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = 1024)))]
    pub endpoint: String,
    /// Put the bucket into the path instead of the host name.
    #[serde(default)]
    pub force_path_style: bool,
    /// Secret with `ca.crt`, the authority that signed the certificate of the service. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub ca_secret: Option<String>,
    /// Leave out checksums that some services refuse. *(Pilothouse)*
    #[serde(default)]
    pub without_checksums: bool,
}

/// An object, or the beginning of the names of objects, in Azure Blob Storage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AbsSource {
    /// `<container>/<key>`.
    #[cfg_attr(feature = "schema", schemars(length(min = 3, max = 1024), regex(pattern = "^[^/]+/.+$")))]
    pub path: String,
    /// Secret with `storage-account` and `storage-key`; `cloud`, where it is not `AzurePublicCloud`: `AzureChinaCloud` or
    /// `AzureUSGovernmentCloud`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = 253)))]
    pub abs_secret: String,
    /// Name of the storage account, instead of the Secret's `storage-account`. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 3, max = 24), regex(pattern = "^[a-z0-9]+$")))]
    pub storage_account: Option<String>,
    /// URL of a server of one's own, which has the account in its path. *(Pilothouse)*
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = 1024)))]
    pub endpoint: String,
}

/// An object, or the beginning of the names of objects, in Google Cloud Storage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GcsSource {
    /// `<bucket>/<key>`.
    #[cfg_attr(feature = "schema", schemars(length(min = 3, max = 1024), regex(pattern = "^[^/]+/.+$")))]
    pub path: String,
    /// Secret with `access-token` or `credentials.json`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = 253)))]
    pub gcp_secret: String,
}

/// An object, or the beginning of the names of objects, in a store of the administrator's. *(Pilothouse)*
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StoreSource {
    /// Name of the store.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 63)))]
    pub name: String,
    /// Key in it.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 1024)))]
    pub path: String,
}

/// A backup that was taken. *(Pilothouse)*
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Artefact {
    /// Where it is, such as `s3://bucket/key`.
    pub uri: String,
    /// Its size in bytes.
    pub size: i64,
    /// The revision of the data.
    pub revision: i64,
    /// SHA-256 over all of its bytes, in lower-case hexadecimal.
    pub sha256: String,
    /// The version of the member it was taken from.
    pub etcd_version: String,
    /// When it was taken, in RFC 3339.
    pub taken: String,
}
