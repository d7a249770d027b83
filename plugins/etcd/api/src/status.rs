//! What the status of an `EtcdCluster` tells.

use serde::{Deserialize, Serialize};

use crate::Record;

/// Where an `EtcdCluster` stands. Everything in it was observed, nothing is copied from the spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// How far the cluster is.
    #[serde(skip_serializing_if = "Phase::is_none")]
    pub phase: Phase,
    /// Why it does not get further; empty when nothing is wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Whether the operator keeps its hands off.
    pub control_paused: bool,
    /// What is going on. A condition that is over is removed, except `Available`, which is false while clients are not
    /// served.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Members that vote.
    pub size: i32,
    /// The Service for clients.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_name: String,
    /// Its port.
    pub client_port: i32,
    /// Pods of members.
    pub members: MembersStatus,
    /// The lowest version that members run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub current_version: String,
    /// The version that members are being brought to; empty when none are.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target_version: String,
    /// The generation that this status is about. *(Pilothouse)*
    pub observed_generation: i64,
    /// Selector of the members' pods, for the scale subresource. *(Pilothouse)*
    #[serde(skip_serializing_if = "String::is_empty")]
    pub selector: String,
    /// The member that leads. *(Pilothouse)*
    #[serde(skip_serializing_if = "String::is_empty")]
    pub leader: String,
    /// What the operator has to remember from one act to the next. Not for people or scripts. *(Pilothouse)*
    #[serde(skip_serializing_if = "Record::is_empty")]
    pub record: Record,
}

/// How far a cluster is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Phase {
    /// Nothing was done yet.
    #[default]
    #[serde(rename = "")]
    None,
    /// The first member is being made.
    Creating,
    /// The cluster exists.
    Running,
    /// Only clusters that CoreOS's operator had given up have it.
    Failed,
}

impl Phase {
    fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// As the status has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Creating => "Creating",
            Self::Running => "Running",
            Self::Failed => "Failed",
        }
    }
}

/// The pods of members by what the kubelet says of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MembersStatus {
    /// Those that are ready, in order of age.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ready: Vec<String>,
    /// The others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unready: Vec<String>,
}

/// One thing that is going on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// `Available`, `Recovering`, `Scaling`, `Upgrading`; of the host: `Ready`, `Reconciling`, `Stalled`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// When anything that it says last changed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_update_time: String,
    /// When `status` last changed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_transition_time: String,
    /// Why, in a few words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The generation that it is about. *(Pilothouse)*
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
