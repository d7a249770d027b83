//! What a backup leaves.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::SubjectReference;

/// A whole backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Artefact {
    /// Where it is, such as `s3://bucket/key`.
    pub uri: String,
    /// The same below the storage's own address.
    pub key: String,
    /// Bytes in the storage.
    #[cfg_attr(feature = "schema", schemars(range(min = 0), extend("format" = "int64")))]
    pub size: u64,
    /// SHA-256 over the bytes in the storage, in lower-case hexadecimal; empty for snapshots of volumes.
    #[serde(default)]
    pub sha256: String,
    /// Can it be read with a key only?
    #[serde(default)]
    pub encrypted: bool,
    /// What it is.
    pub format: Format,
    /// What it was taken of.
    pub subject: SubjectReference,
    /// The version of that, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_version: Option<String>,
    /// The change it was taken for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// When its reading was begun.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub taken_at: Timestamp,
    /// Names of VolumeSnapshots, by the names of their claims.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub snapshots: std::collections::BTreeMap<String, String>,
}

/// What an artefact is, and so what can read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Statements of MySQL.
    MysqlSql,
    /// Statements of MariaDB.
    MariadbSql,
    /// `pg_dump --format=custom` of one database.
    PostgresqlCustom,
    /// Statements of a whole PostgreSQL server.
    PostgresqlSql,
    /// `mongodump --archive`.
    MongodbArchive,
    /// A file of Redis.
    RedisRdb,
    /// A tar archive.
    Tar,
    /// A snapshot of etcd with its hash at the end.
    EtcdSnapshot,
    /// VolumeSnapshots of the same cluster.
    VolumeSnapshot,
    /// What a template of the policy writes.
    Custom,
}
