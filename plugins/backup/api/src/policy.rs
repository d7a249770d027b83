//! `BackupPolicy`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Condition, Duration, Encryption, Quiesce, Storage, Strategy, SubjectReference, SubjectRule, Verification,
};

/// What is backed up, when, how and whither.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {
            "rule": "has(self.strategy.volumeSnapshot) != has(self.storage)",
            "message": "set storage; with strategy.volumeSnapshot leave it out, for the driver keeps the snapshots",
        },
        {
            "rule": "has(self.strategy.job) || !has(self.encryption)",
            "message": "encryption is for strategy.job",
        },
        {
            "rule": "!has(self.encryption) || (has(self.encryption.age.recipients) && size(self.encryption.age.recipients) > 0) || has(self.encryption.age.recipientsSecret)",
            "message": "encryption.age needs recipients or recipientsSecret",
        },
        {
            "rule": "!has(self.verification) || self.verification.level != 'Restore' || !has(self.strategy.volumeSnapshot)",
            "message": "verification.level Restore is for strategy.job and strategy.etcd",
        },
        {
            "rule": "has(self.schedule) || !has(self.phases) || size(self.phases) > 0",
            "message": "set phases or schedule: without both nothing is ever backed up",
        },
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct BackupPolicySpec {
    /// Objects of the namespace that it is about.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 32)))]
    pub subjects: Vec<SubjectRule>,
    /// Phases of their changes before or after which a backup is taken.
    #[serde(default = "pre_upgrade")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 16), inner(length(max = 63), regex(pattern = "^(pre|post)(-[a-z]+)+$")))
    )]
    pub phases: Vec<String>,
    /// What becomes of a change whose backup fails.
    #[serde(default)]
    pub on_failure: FailurePolicy,
    /// Among policies of one subject the lighter comes first.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = -1_000, max = 1_000)))]
    pub weight: i32,
    /// How long one backup may take, with all its attempts and its verification.
    #[serde(default = "an_hour")]
    pub timeout: Duration,
    /// How often it is tried again within that time.
    #[serde(default = "six")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 20)))]
    pub retries: u32,
    /// Somebody has to approve before a change's backup begins.
    #[serde(default)]
    pub approval: bool,
    /// Backups by the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleRule>,
    /// Which backups are kept; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    /// Where artefacts go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// How the data is read out.
    pub strategy: Strategy,
    /// Commands that bring the database to rest and release it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiesce: Option<Quiesce>,
    /// Encryption before anything leaves the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
    /// What has to be shown of a backup before it counts.
    #[serde(default)]
    pub verification: Verification,
    /// What a rollback does with the backup of the change that it undoes.
    #[serde(default)]
    pub restore: RestoreRule,
    /// What becomes of an artefact when its `Backup` is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

/// What becomes of a change whose backup fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FailurePolicy {
    /// It does not happen.
    #[default]
    Fail,
    /// It happens all the same.
    Ignore,
}

/// What becomes of an artefact when its `Backup` is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DeletionPolicy {
    /// It stays, with its entry in the catalogue.
    #[default]
    Retain,
    /// It goes, with its entry in the catalogue.
    Delete,
}

/// Backups by the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ScheduleRule {
    /// Five fields, or a word such as `@daily`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 100)))]
    pub cron: String,
    /// Name of the IANA time zone in which it is read; UTC by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 100)))]
    pub time_zone: Option<String>,
    /// Backups begin later by up to so long, each policy and subject always by the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
    /// One that could not begin for so long after it was due is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting_deadline: Option<Duration>,
    /// What becomes of one that is due while another of the same subject is being taken.
    #[serde(default)]
    pub concurrency_policy: ConcurrencyPolicy,
    /// No new ones are begun as long as this is true.
    #[serde(default)]
    pub suspend: bool,
}

/// What becomes of a backup that is due while another of the same subject is being taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ConcurrencyPolicy {
    /// It waits, and is left out if another one becomes due or its deadline passes meanwhile.
    #[default]
    Forbid,
    /// It begins.
    Allow,
    /// The other one is given up and deleted first.
    Replace,
}

/// Which backups of a subject are kept. Numbers add up: a backup stays that one of them keeps. Never expired are the last verified
/// one and those that may still be put back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [{
        "rule": "has(self.maxAge) || self.keepLast > 0 || self.hourly > 0 || self.daily > 0 || self.weekly > 0 || self.monthly > 0 || self.yearly > 0",
        "message": "say what is kept, or leave retention out to keep all",
    }]))
)]
#[serde(rename_all = "camelCase", default)]
pub struct Retention {
    /// The newest.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 100_000)))]
    pub keep_last: u32,
    /// Nothing older than this, whatever the numbers say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<Duration>,
    /// The last one of each of so many hours.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 100_000)))]
    pub hourly: u32,
    /// The last one of each of so many days.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 100_000)))]
    pub daily: u32,
    /// The last one of each of so many weeks, from Monday.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 100_000)))]
    pub weekly: u32,
    /// The last one of each of so many months.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 100_000)))]
    pub monthly: u32,
    /// The last one of each of so many years.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 100_000)))]
    pub yearly: u32,
}

/// What a rollback does with the backup of the change that it undoes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RestoreRule {
    /// When it is restored: by default after the rollback, since dumps need the old server; files (`volume`) not by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<RestorePhase>,
    /// The present data is backed up first.
    pub set_aside: bool,
}

impl Default for RestoreRule {
    fn default() -> Self {
        Self { phase: None, set_aside: true }
    }
}

/// When the backup of a change that is undone is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RestorePhase {
    /// Before the rollback.
    PreRollback,
    /// After the rollback.
    PostRollback,
    /// Not by itself.
    Never,
}

/// Where a policy stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct BackupPolicyStatus {
    /// What it is about, as far as it was seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<SubjectStatus>,
    /// The generation that this status is about.
    pub observed_generation: i64,
    /// When a backup of any subject last succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub last_success_time: Option<Timestamp>,
    /// When the next backup of any subject is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub next_schedule_time: Option<Timestamp>,
    /// What is going on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// How a policy stands with one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SubjectStatus {
    /// The subject.
    pub subject: SubjectReference,
    /// When the last backup that was begun or left out had been due; before the first: when the subject was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub last_schedule_time: Option<Timestamp>,
    /// When a backup last succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub last_success_time: Option<Timestamp>,
    /// How many backups failed since then.
    #[serde(default)]
    pub failures: u32,
}

fn pre_upgrade() -> Vec<String> {
    vec!["pre-upgrade".to_owned()]
}

fn an_hour() -> Duration {
    Duration::minutes(60)
}

/// With growing pauses these are some ten minutes: a server that was just rolled back may take as long to start.
fn six() -> u32 {
    6
}
