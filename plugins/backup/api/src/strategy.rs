//! How data is read out and put back.

use serde::{Deserialize, Serialize};

use crate::{Fragment, LabelSelector, SecretKey};

/// Exactly one way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [{
        "rule": "[has(self.job), has(self.etcd), has(self.volumeSnapshot)].filter(set, set).size() == 1",
        "message": "set exactly one of job, etcd and volumeSnapshot",
    }]))
)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// A Job that writes the data out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobStrategy>,
    /// A snapshot of an `EtcdCluster`, taken by the etcd plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<EtcdStrategy>,
    /// VolumeSnapshots of claims, taken by their CSI driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_snapshot: Option<SnapshotStrategy>,
}

/// A Job whose container `dump` writes to `$PILOTHOUSE_OUTPUT`; another one beside it brings that to the storage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {"rule": "has(self.preset) || has(self.template)", "message": "set preset, template or both"},
        {
            "rule": "!has(self.preset) || self.preset != 'volume' || (has(self.parameters) && has(self.parameters.claim))",
            "message": "the preset volume needs parameters.claim",
        },
        {
            "rule": "!has(self.preset) || self.preset == 'volume' || (has(self.parameters) && has(self.parameters.host))",
            "message": "the presets of databases need parameters.host",
        },
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct JobStrategy {
    /// What is known of the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Image of the container `dump`, instead of the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub image: Option<String>,
    /// Given to the containers as environment.
    #[serde(default)]
    pub parameters: JobParameters,
    /// A pod template that is laid over the preset's: maps are merged, containers, volumes and variables by their name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "any_object"))]
    pub template: Option<Fragment>,
    /// What `$PILOTHOUSE_OUTPUT` is.
    #[serde(default)]
    pub output: Output,
    /// How the data is put back, where the preset's way does not do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<PodJob>,
}

/// Databases whose tools are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// `mysqldump` and `mysql`.
    MySql,
    /// `mariadb-dump` and `mariadb`.
    MariaDb,
    /// `pg_dump`, `pg_dumpall`, `pg_restore` and `psql`.
    PostgreSql,
    /// `mongodump` and `mongorestore`.
    MongoDb,
    /// `redis-cli --rdb`; the server takes it back as a replica does from its master.
    Redis,
    /// `tar` of a claim.
    Volume,
}

/// Where the data is. Everything becomes environment of the containers; nothing of it is put into a script.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobParameters {
    /// `PILOTHOUSE_HOST`: name of the Service.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = 253), regex(pattern = "^[A-Za-z0-9][-A-Za-z0-9.:]*$"))
    )]
    pub host: Option<String>,
    /// `PILOTHOUSE_PORT`; the database's own by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 65_535)))]
    pub port: Option<u16>,
    /// `PILOTHOUSE_DATABASE`; all of them by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128), regex(pattern = "^[^-].*$")))]
    pub database: Option<String>,
    /// `PILOTHOUSE_USER`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128), regex(pattern = "^[^-].*$")))]
    pub user: Option<String>,
    /// `PILOTHOUSE_PASSWORD`, which only the container of the database's tools is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_secret: Option<SecretKey>,
    /// The PersistentVolumeClaim with the data, mounted at `/data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub claim: Option<String>,
}

/// What `$PILOTHOUSE_OUTPUT` is for a container that dumps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Output {
    /// A pipe: what is written flows to the storage at once, and takes no room.
    #[default]
    Stream,
    /// A file in a scratch volume, for tools that write back and forth. It is sent when the container has ended.
    File,
}

/// A pod of one's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PodJob {
    /// Image of the container `restore`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub image: Option<String>,
    /// A pod template that is laid over what there would be without; its container `restore` reads `$PILOTHOUSE_INPUT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "any_object"))]
    pub template: Option<Fragment>,
}

/// The subject is an `EtcdCluster`; there is nothing to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EtcdStrategy {}

/// Claims whose volumes are snapshotted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [{
        "rule": "(has(self.claims) && size(self.claims) > 0) != has(self.selector)",
        "message": "set either claims or selector",
    }]))
)]
#[serde(rename_all = "camelCase", default)]
pub struct SnapshotStrategy {
    /// Names of PersistentVolumeClaims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64), inner(length(min = 1, max = 253))))]
    pub claims: Vec<String>,
    /// The same by their labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// VolumeSnapshotClass; the driver's default one by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub class: Option<String>,
}

/// Something that Kubernetes checks when it is used.
#[cfg(feature = "schema")]
pub(crate) fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
