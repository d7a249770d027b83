//! `Restore`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Artefact, BackupPlan, Condition, Duration, Encryption, Format, JobStrategy, Origin, Storage, Strategy,
    SubjectReference,
};

/// One restore. It is carried out once; nothing of it can be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {"rule": "has(self.backupRef) != has(self.artifact)", "message": "set either backupRef or artifact"},
        {
            "rule": "has(self.backupRef) || has(self.target)",
            "message": "an artifact does not say what it is for: set target",
        },
        {"rule": "self == oldSelf", "message": "a restore is carried out once: delete it and create another"},
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct RestoreSpec {
    /// The `Backup` that is restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_ref: Option<BackupReference>,
    /// An object of a storage, where there is no `Backup` of it in this namespace.
    #[serde(rename = "artifact", default, skip_serializing_if = "Option::is_none")]
    pub artefact: Option<ArtefactSource>,
    /// What is to hold the data; the subject of the backup by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<SubjectReference>,
    /// The version of that, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 128)))]
    pub target_version: Option<String>,
    /// How the data is put back, instead of the backup's own way: another host, another claim, another template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobStrategy>,
    /// Names of the claims that VolumeSnapshots are restored into, by the names of those that they are of. They are new ones; by default
    /// a claim is called as the old one with the restore's name behind it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(extend(
            "maxProperties" = 64,
            "additionalProperties" = {"type": "string", "minLength": 1, "maxLength": 253}
        ))
    )]
    pub claims: BTreeMap<String, String>,
    /// Keys to read the artefact with, instead of the backup's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
    /// The present data is backed up first.
    #[serde(default = "crate::storage::yes")]
    pub set_aside: bool,
    /// Restore what was not verified, and what is of another version. The hash has to be right all the same.
    #[serde(default)]
    pub force: bool,
    /// How long it may take, with all its attempts, not counting the backup of the present data.
    #[serde(default = "an_hour")]
    pub timeout: Duration,
    /// How often it is tried again within that time.
    #[serde(default = "six")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 20)))]
    pub retries: u32,
    /// Why it is done; by hand if that is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A `Backup` of the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackupReference {
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub name: String,
    /// SHA-256 that its artefact must have, in lower-case hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64), regex(pattern = "^[0-9a-f]{64}$")))]
    pub sha256: Option<String>,
}

/// An object of a storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArtefactSource {
    /// The storage.
    pub storage: Storage,
    /// The object's key below it.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 1024)))]
    pub key: String,
    /// SHA-256 that it must have, in lower-case hexadecimal.
    #[cfg_attr(feature = "schema", schemars(length(max = 64), regex(pattern = "^[0-9a-f]{64}$")))]
    pub sha256: String,
    /// What it is.
    pub format: Format,
    /// The version of what it was taken of, as far as it is known.
    #[serde(rename = "subjectVersion", default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 128)))]
    pub subject_version: Option<String>,
}

/// Where a restore stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RestoreStatus {
    /// How far it is.
    pub phase: RestoreState,
    /// What is restored.
    #[serde(rename = "artifact", skip_serializing_if = "Option::is_none")]
    pub artefact: Option<Artefact>,
    /// How: written down when it begins, so that nothing depends on the `Backup` from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<RestorePlan>,
    /// Name of the `Backup` of the data that is written over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<String>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub completed_at: Option<Timestamp>,
    /// How often it was tried.
    pub attempts: u32,
    /// What is waited for, or why it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What is remembered while it is carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RestoreRun>,
    /// The generation that this status is about.
    pub observed_generation: i64,
    /// What is going on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// All that one restore needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RestorePlan {
    /// How the data is put back.
    pub strategy: Strategy,
    /// Where the artefact is; none for VolumeSnapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// The keys to read it with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
    /// What is to hold the data.
    pub target: SubjectReference,
    /// How the present data is backed up first.
    pub aside: BackupPlan,
}

/// How far a restore is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RestoreState {
    /// Nothing was done yet.
    #[default]
    Pending,
    /// The artefact is being read and held against its hash.
    Checking,
    /// The present data is being backed up.
    SettingAside,
    /// The data is being put back.
    Restoring,
    /// The target holds the data.
    Completed,
    /// It does not; the message says what was touched.
    Failed,
}

/// What is remembered while a restore is carried out. It is written before the act that it announces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RestoreRun {
    /// What is done now.
    pub step: RestoreStep,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// When the step began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// When the first attempt began: from then on the target is touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub touched_at: Option<Timestamp>,
    /// Why the attempt fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What is done of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RestoreStep {
    /// The artefact is read.
    Check,
    /// The present data is backed up.
    SetAside,
    /// The data is put back.
    Restore,
    /// What an attempt left is taken away.
    Clean,
    /// The next attempt is waited for.
    Pause,
}

fn an_hour() -> Duration {
    Duration::minutes(60)
}

/// With growing pauses these are some ten minutes: a server that was just rolled back may take as long to start.
fn six() -> u32 {
    6
}
