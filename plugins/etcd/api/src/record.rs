//! What has to be remembered from one act to the next.
//!
//! The record is written before the act that it announces, with the version of the object it was read with as
//! precondition. What an act did is never taken from the record: it is looked at.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Id;

/// The operator's memory of a cluster. *(Pilothouse)*
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// How often the cluster was begun anew from data it had before.
    pub incarnation: u32,
    /// Identifier of the cluster. Once it is known, no member is ever started as the first of a new cluster again.
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub cluster_id: Option<Id>,
    /// Number of the next member. Numbers, and so names, are never used twice.
    pub next_serial: u32,
    /// Members by age, from before they are added until what they had is deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberRecord>,
    /// The one change of the membership that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// Members that were to join and did not come up, since one last did or the spec last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_joins: Option<FailedJoins>,
    /// Members are being brought to another version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<UpgradeRecord>,
    /// Members are being taken away because fewer are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<ScaleDownRecord>,
    /// A change that is over, of which other plugins are still to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndedChange>,
    /// Databases are being defragmented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defragmentation: Option<DefragmentationRecord>,
    /// Space is being made after the alarm `NOSPACE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relief: Option<ReliefRecord>,
    /// When databases were last defragmented by schedule; before that, since when there has been a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub last_defragmentation: Option<Timestamp>,
    /// Whether the loss of the quorum was told as an event.
    #[serde(skip_serializing_if = "is_false")]
    pub quorum_loss_told: bool,
    /// Since when too few voters answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub quorum_lost_since: Option<Timestamp>,
    /// The last `EtcdRestore` that was carried out, by uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<String>,
    /// The last `EtcdRestore` that could not be carried out, by uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_restore: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Record {
    /// Is there nothing to remember?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A member by name.
    pub fn member(&self, name: &str) -> Option<&MemberRecord> {
        self.members.iter().find(|member| member.name == name)
    }
}

/// One member. *(Pilothouse)*
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct MemberRecord {
    /// Name of the member, its pod and its claim.
    pub name: String,
    /// Its number.
    pub serial: u32,
    /// The incarnation of the cluster that it belongs to.
    pub incarnation: u32,
    /// Its identifier, once etcd gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub id: Option<Id>,
    /// Does it vote?
    pub voter: bool,
    /// Is its data in a claim? Else it lives and dies with its pod.
    pub claim: bool,
    /// The version its pod is made for, without `v`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Uid of the object that holds its data, the claim or the pod. Another uid there means that the data is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// A change of the membership. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What kind of change.
    pub kind: ChangeKind,
    /// The member that it is about.
    pub member: String,
    /// Why a member leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<LeaveReason>,
    /// What a first member begins with.
    #[serde(default, skip_serializing_if = "SeedSource::is_empty")]
    pub source: SeedSource,
    /// When it began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
}

/// Kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChangeKind {
    /// The first member of a new cluster.
    Seed,
    /// A further member: added as learner, started, promoted.
    Join,
    /// A member is removed, then what it had is deleted.
    Leave,
}

/// Why a member leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LeaveReason {
    /// It does not come up any more.
    Dead,
    /// Its data is gone.
    DataLost,
    /// Its data is not what the others have.
    Corrupt,
    /// Fewer members are asked for.
    ScaleDown,
    /// Another member has taken its place.
    Outdated,
    /// It was to join and did not get ready, or is not needed any more.
    Abandoned,
}

/// Members that were to join and did not come up. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FailedJoins {
    /// How many there were, one after the other.
    pub times: u32,
    /// When the last one was given up.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub last: Timestamp,
    /// The generation that asked for it: the next one does not wait.
    pub generation: i64,
    /// Why it was given up.
    pub reason: String,
}

/// What the first member of a cluster begins with; nothing of it: with no data. *(Pilothouse)*
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SeedSource {
    /// A member of the cluster before, whose snapshot is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub survivor: Option<String>,
    /// Uid of the `EtcdRestore` whose artefact is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore: Option<String>,
    /// The revision that the data must at least have to be believed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
}

impl SeedSource {
    /// Does it begin with no data?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Members are being brought to another version. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UpgradeRecord {
    /// The version before.
    pub from: String,
    /// The version asked for. It is kept to until all members run it, or one that they may go to from here is asked for.
    pub to: String,
    /// Members that still have to be brought there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    /// When it began; also the name under which other plugins are asked to prepare for it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// How far the members' logs are freed of entries that the next version cannot read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<LogState>,
    /// The pod of a member was changed for it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub begun: bool,
}

/// How far the logs of members are freed of entries that the next version cannot read. *(Pilothouse)*
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LogState {
    /// A downgrade is enabled, so that each member begins its log anew with a snapshot.
    Beginning,
    /// They have, and the downgrade is taken back.
    TakingBack,
    /// That is over.
    Free,
}

/// Members are being taken away because fewer are asked for. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleDownRecord {
    /// How many members there were.
    pub from: u32,
    /// How many are asked for.
    pub to: u32,
    /// When it began; also the name under which other plugins are asked to prepare for it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// One has been taken away, or is being.
    #[serde(default, skip_serializing_if = "is_false")]
    pub begun: bool,
}

/// A change that is over. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndedChange {
    /// What was done.
    pub kind: EndedKind,
    /// The name that it was announced under.
    pub change: String,
    /// How it ended.
    pub ending: ChangeEnding,
}

/// Changes that other plugins prepare for. *(Pilothouse)*
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EndedKind {
    /// Members were brought to another version.
    Upgrade,
    /// Members were taken away.
    ScaleDown,
    /// The cluster is deleted: its members are gone.
    Delete,
}

/// How a change ended. *(Pilothouse)*
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChangeEnding {
    /// It was carried out.
    Succeeded,
    /// It was taken back half-way.
    Failed,
    /// It was taken back before it had begun.
    Withdrawn,
}

/// Databases are being defragmented. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DefragmentationRecord {
    /// Members that it is still due for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    /// When it began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
}

/// Space is being made after the alarm `NOSPACE`. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReliefRecord {
    /// The revision up to which history was, or is about to be, compacted.
    pub revision: i64,
    /// Members that are still to be defragmented.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    /// When it began, or was over in vain. Without a sign that it may help by now it is not tried again for ten minutes.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// Was history compacted?
    #[serde(default)]
    pub compacted: bool,
    /// Is it over, and did it not help?
    #[serde(default)]
    pub in_vain: bool,
}
