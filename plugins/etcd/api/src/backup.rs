//! `EtcdBackup`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    AbsSource, Artefact, ClusterReference, Condition, GcsSource, S3Source, StorageType, StoreSource,
};

/// What an `EtcdBackup` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {
            "rule": "has(self.s3) == (self.storageType == 'S3') && has(self.abs) == (self.storageType == 'ABS') && has(self.gcs) == (self.storageType == 'GCS') && has(self.store) == (self.storageType == 'Store')",
            "message": "set the one of s3, abs, gcs and store that storageType names",
        },
        {
            "rule": "(has(self.etcdEndpoints) && size(self.etcdEndpoints) > 0) != has(self.etcdCluster)",
            "message": "set either etcdEndpoints or etcdCluster",
        },
        {
            "rule": "!has(self.etcdCluster) || !has(self.clientTLSSecret)",
            "message": "clientTLSSecret is for etcdEndpoints: an etcdCluster brings its own",
        },
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupSpec {
    /// Addresses of members, with `http://` or `https://`. The snapshot is taken from the one with the highest revision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 20), inner(length(max = 1024), regex(pattern = "^https?://.+$")))
    )]
    pub etcd_endpoints: Vec<String>,
    /// Where the backup goes.
    pub storage_type: StorageType,
    /// When backups are taken, and how many are kept; without it, one is taken at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_policy: Option<BackupPolicy>,
    /// For `S3`.
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
    /// Secret with `etcd-client.crt`, `etcd-client.key` and `etcd-client-ca.crt` for the endpoints.
    #[serde(rename = "clientTLSSecret", default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub client_tls_secret: Option<String>,
    /// The `EtcdCluster` that is backed up, instead of endpoints. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_cluster: Option<ClusterReference>,
}

impl EtcdBackupSpec {
    /// The key under which backups are stored, without bucket or container; none when `storageType` names a source that
    /// is not there.
    pub fn key(&self) -> Option<&str> {
        match self.storage_type {
            StorageType::S3 => behind_bucket(&self.s3.as_ref()?.path),
            StorageType::Abs => behind_bucket(&self.abs.as_ref()?.path),
            StorageType::Gcs => behind_bucket(&self.gcs.as_ref()?.path),
            StorageType::Store => Some(&self.store.as_ref()?.path),
        }
    }
}

fn behind_bucket(path: &str) -> Option<&str> {
    path.split_once('/').map(|(_, key)| key)
}

/// When backups are taken, and how many are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {
            "rule": "self.backupIntervalInSecond == 0 || !has(self.schedule)",
            "message": "set either backupIntervalInSecond or schedule",
        },
        {
            "rule": "has(self.schedule) || !has(self.timeZone)",
            "message": "timeZone is for schedule",
        },
        {
            "rule": "(self.maxBackups == 0 && !has(self.retention)) || self.backupIntervalInSecond > 0 || has(self.schedule)",
            "message": "maxBackups and retention are for backups that repeat",
        },
    ]))
)]
#[serde(rename_all = "camelCase", default)]
pub struct BackupPolicy {
    /// How long one backup may take.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 86_400)))]
    pub timeout_in_second: i64,
    /// Seconds from one backup to the next; 0 takes one.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub backup_interval_in_second: i64,
    /// How many of the newest backups are kept; 0 keeps all.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub max_backups: i32,
    /// When backups are taken, as cron writes it. *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 100)))]
    pub schedule: Option<String>,
    /// Name of the IANA time zone in which the schedule is read; UTC by default. *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 100)))]
    pub time_zone: Option<String>,
    /// A backup that could not begin for so long after it was due is left out. *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub starting_deadline_second: Option<i64>,
    /// No new backups are begun as long as this is true. *(Pilothouse)*
    pub suspend: bool,
    /// Backups that are kept beside the newest `maxBackups`. *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    /// What has to be shown of a backup before it counts. *(Pilothouse)*
    pub verification: Verification,
    /// Delete the backups with the `EtcdBackup`: those of its path if it repeats, else the one that it took. *(Pilothouse)*
    pub delete_with_object: bool,
}

impl BackupPolicy {
    /// Are backups taken again and again?
    pub fn repeats(&self) -> bool {
        self.backup_interval_in_second > 0 || self.schedule.is_some()
    }
}

impl Default for BackupPolicy {
    fn default() -> Self {
        Self {
            timeout_in_second: 60,
            backup_interval_in_second: 0,
            max_backups: 0,
            schedule: None,
            time_zone: None,
            starting_deadline_second: None,
            suspend: false,
            retention: None,
            verification: Verification::default(),
            delete_with_object: false,
        }
    }
}

/// Backups that are kept beside the newest: the last one of each of so many hours, days, weeks (from Monday) and months, in
/// UTC. *(Pilothouse)*
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Retention {
    /// Hours.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub hourly: i32,
    /// Days.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub daily: i32,
    /// Weeks.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub weekly: i32,
    /// Months.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub monthly: i32,
}

/// What has to be shown of a backup before it counts. *(Pilothouse)*
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Verification {
    /// The hash at the end of the snapshot, and that the store has as many bytes.
    #[default]
    Hash,
    /// The same, and that a member can be started from it and has its revision: in a pod of its own that is deleted afterwards.
    Restore,
}

/// Where an `EtcdBackup` stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct BackupStatus {
    /// Did the last backup succeed?
    pub succeeded: bool,
    /// Why it did not.
    #[serde(rename = "Reason", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Version of etcd in the last backup.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub etcd_version: String,
    /// Revision of the last backup.
    pub etcd_revision: i64,
    /// When the last backup succeeded, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_success_date: Option<String>,
    /// The generation that this status is about. *(Pilothouse)*
    pub observed_generation: i64,
    /// The last backup that succeeded. *(Pilothouse)*
    #[serde(rename = "artifact", skip_serializing_if = "Option::is_none")]
    pub artefact: Option<Artefact>,
    /// What was shown of it. *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verification>,
    /// What the last backup that ended was begun for, whether it succeeded or not. *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<BackupRequest>,
    /// The backup that is being taken. *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<BackupRun>,
    /// Keys under which something may stand that did not turn out to be a backup, until it is deleted. *(Pilothouse)*
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<String>,
    /// Are there backups left that are not kept any more? *(Pilothouse)*
    #[serde(skip_serializing_if = "is_false")]
    pub surplus: bool,
    /// When the last backup that was begun had been due; for one that repeats, before the first: when it was first seen.
    /// *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub last_schedule_time: Option<Timestamp>,
    /// When the next one is due. *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub next_schedule_time: Option<Timestamp>,
    /// What is going on. *(Pilothouse)*
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// What a backup is begun for. *(Pilothouse)*
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct BackupRequest {
    /// The generation of the object.
    pub generation: i64,
    /// Digest of what is backed up and of where it goes: another one asks for another backup.
    pub digest: String,
}

/// A backup that is being taken. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BackupRun {
    /// How far it is.
    pub state: BackupState,
    /// When it had been due.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub due: Timestamp,
    /// When this attempt began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started: Timestamp,
    /// How many attempts there were, this one included.
    pub attempt: u32,
    /// What this attempt was begun for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<BackupRequest>,
    /// The member it is taken from, by its address.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    /// Since when a member is being started from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub tried: Option<Timestamp>,
    /// What was uploaded, as soon as it is complete.
    #[serde(rename = "artifact", default, skip_serializing_if = "Option::is_none")]
    pub artefact: Option<Artefact>,
}

/// How far a backup is. *(Pilothouse)*
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BackupState {
    /// Other plugins are preparing for it.
    Preparing,
    /// The snapshot is being streamed to the store.
    Streaming,
    /// It is in the store and being verified.
    Verifying,
    /// A member is being started from it.
    Trying,
    /// It failed and is tried again.
    Waiting,
}
