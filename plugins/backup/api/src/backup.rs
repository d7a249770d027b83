//! `Backup`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Artefact, Condition, DeletionPolicy, Duration, Encryption, Quiesce, Storage, Strategy, SubjectReference,
    Verification,
};

/// One backup. It is taken once; all but `deletionPolicy` stays as it was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {
            "rule": "has(self.plan) || has(self.policyRef)",
            "message": "set policyRef, or plan with all that is needed",
        },
        {
            "rule": "self.subject == oldSelf.subject && has(self.policyRef) == has(oldSelf.policyRef) && (!has(self.policyRef) || self.policyRef == oldSelf.policyRef) && has(self.plan) == has(oldSelf.plan) && (!has(self.plan) || self.plan == oldSelf.plan) && has(self.origin) == has(oldSelf.origin) && (!has(self.origin) || self.origin == oldSelf.origin) && has(self.subjectVersion) == has(oldSelf.subjectVersion) && (!has(self.subjectVersion) || self.subjectVersion == oldSelf.subjectVersion)",
            "message": "a backup is taken once: only deletionPolicy can be changed",
        },
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct BackupSpec {
    /// What is backed up.
    pub subject: SubjectReference,
    /// The policy it comes of. With a `plan` it only tells; without, the plan is taken from it when the backup begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_ref: Option<PolicyReference>,
    /// All that is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<BackupPlan>,
    /// Why it is taken; by hand if that is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The version of the subject, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 128)))]
    pub subject_version: Option<String>,
    /// What becomes of the artefact when this object is deleted; the policy's word if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
}

/// A `BackupPolicy` of the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyReference {
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub name: String,
}

/// All that one backup needs to know.
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
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct BackupPlan {
    /// How the data is read out.
    pub strategy: Strategy,
    /// Where the artefact goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// Commands that bring the database to rest and release it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiesce: Option<Quiesce>,
    /// Encryption before anything leaves the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
    /// What has to be shown before it counts.
    #[serde(default)]
    pub verification: Verification,
    /// What becomes of the artefact when the `Backup` is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// How long it may take, with all its attempts and its verification.
    #[serde(default = "an_hour")]
    pub timeout: Duration,
    /// How often it is tried again within that time.
    #[serde(default = "six")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 20)))]
    pub retries: u32,
}

/// Why a backup is taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// By whom.
    pub kind: OriginKind,
    /// When it had been due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub scheduled_at: Option<Timestamp>,
    /// Name of the `LifecycleRun`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 253)))]
    pub run: Option<String>,
    /// The change it is taken for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 253)))]
    pub change: Option<String>,
    /// The phase of that change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 63)))]
    pub phase: Option<String>,
}

/// By whom a backup is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OriginKind {
    /// By the clock.
    Schedule,
    /// By a person.
    #[default]
    Manual,
    /// By a change of the subject.
    Lifecycle,
    /// By a restore, of the data that it writes over.
    Restore,
    /// Found in the storage.
    Import,
}

/// Where a backup stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct BackupStatus {
    /// How far it is.
    pub phase: BackupPhase,
    /// Was shown of the artefact what the plan asks for?
    pub verified: bool,
    /// The plan, where the spec has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<BackupPlan>,
    /// What it left.
    #[serde(rename = "artifact", skip_serializing_if = "Option::is_none")]
    pub artefact: Option<Artefact>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub completed_at: Option<Timestamp>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// How often it was tried.
    pub attempts: u32,
    /// What is waited for, or why it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Commands of `quiesce`.
    pub hooks: HookCount,
    /// What is remembered while it is being taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// The generation that this status is about.
    pub observed_generation: i64,
    /// What is going on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// How far a backup is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BackupPhase {
    /// Nothing was done yet.
    #[default]
    Pending,
    /// The database is brought to rest, or released.
    Quiescing,
    /// The data is read out.
    Running,
    /// What was written is being shown to be whole.
    Verifying,
    /// The artefact is whole.
    Completed,
    /// There is no artefact.
    Failed,
    /// The object is being deleted.
    Deleting,
}

/// Commands of `quiesce`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HookCount {
    /// How many were begun.
    pub attempted: u32,
    /// How many failed.
    pub failed: u32,
}

/// What is remembered while a backup is being taken. It is written before the act that it announces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// What is done now.
    pub step: Step,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The key of this attempt's object.
    pub key: String,
    /// When the step began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// Commands of this attempt, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRun>,
    /// What was read, as its reader tells it.
    #[serde(rename = "artifact", default, skip_serializing_if = "Option::is_none")]
    pub artefact: Option<Artefact>,
    /// When the data was begun to be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub taken_at: Option<Timestamp>,
    /// Why the attempt fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// It is not tried again.
    #[serde(default)]
    pub last: bool,
}

/// What is done of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Step {
    /// The database is brought to rest.
    Quiesce,
    /// The data is read out.
    Data,
    /// The database is released.
    Release,
    /// The object is looked for, and read back.
    Reread,
    /// A scratch database is made from it.
    Trial,
    /// Its entry in the catalogue is written.
    Catalogue,
    /// What is not needed any more is taken away.
    Tidy,
    /// What a failed attempt left is taken away.
    Clean,
    /// The next attempt is waited for.
    Pause,
    /// Artefact and entry are deleted with the object.
    Remove,
}

/// One command in one pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookRun {
    /// Does it release?
    pub post: bool,
    /// Its place among the plan's commands of that sort.
    pub index: u32,
    /// Name of the pod.
    pub pod: String,
    /// Its uid.
    pub uid: String,
    /// Name of the container.
    pub container: String,
    /// How often it was begun.
    #[serde(default)]
    pub tries: u32,
    /// When it was last begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub since: Option<Timestamp>,
    /// How it stands.
    pub state: HookState,
}

/// How a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HookState {
    /// It was not begun.
    Waiting,
    /// It was, or is about to be: nobody knows until its end is seen.
    Begun,
    /// It ended well.
    Succeeded,
    /// It did not.
    Failed,
    /// Its pod is gone.
    Gone,
}

fn an_hour() -> Duration {
    Duration::minutes(60)
}

/// With growing pauses these are some ten minutes: a server that was just rolled back may take as long to start.
fn six() -> u32 {
    6
}

impl HookRun {
    /// May it have been carried out?
    pub fn was_begun(&self) -> bool {
        self.state != HookState::Waiting
    }

    /// Is nothing left to be done for it?
    pub fn is_over(&self) -> bool {
        matches!(self.state, HookState::Succeeded | HookState::Failed | HookState::Gone)
    }
}
