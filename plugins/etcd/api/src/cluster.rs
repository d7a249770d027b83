//! `EtcdCluster`.

use serde::{Deserialize, Serialize};

use crate::{PodPolicy, TlsPolicy, names};

/// What an `EtcdCluster` asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdClusterSpec {
    /// How many members, 1 to 7. An even number bears no more failures than the odd one below it.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 7)))]
    pub size: i32,
    /// The image without its tag, which is `v` and the version.
    #[serde(default = "repository")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 500)))]
    pub repository: String,
    /// The version of etcd, with or without `v`. It moves by one minor at a time; down only by etcd's downgrade procedure.
    #[serde(default = "version")]
    #[cfg_attr(feature = "schema", schemars(length(max = 20), extend(
        "x-kubernetes-validations" = [{
            "rule": "self.matches('^v?3[.][4-7][.](0|[1-9][0-9]{0,3})$')",
            "message": "must be a released version of etcd from 3.4 to 3.7, such as 3.6.16",
        }],
    )))]
    pub version: String,
    /// Nothing is changed as long as this is true; the status goes on telling how the members are.
    #[serde(default)]
    pub paused: bool,
    /// The pods of the members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodPolicy>,
    /// Transport security.
    #[serde(rename = "TLS", default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsPolicy>,
    /// Options of etcd itself. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<EtcdOptions>,
    /// When free pages of the databases are given back to the file system. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defragmentation: Option<Defragmentation>,
    /// When a member that does not come up is replaced. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
    /// What happens when too few members are left to agree. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum_recovery: Option<QuorumRecovery>,
}

fn repository() -> String {
    names::REPOSITORY.to_owned()
}

fn version() -> String {
    names::DEFAULT_VERSION.to_owned()
}

/// Options of etcd. *(Pilothouse)*
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {
            "rule": "has(self.autoCompactionMode) == has(self.autoCompactionRetention)",
            "message": "autoCompactionMode and autoCompactionRetention need each other",
        },
        {
            "rule": "!has(self.electionTimeoutMs) || self.electionTimeoutMs >= 5 * (has(self.heartbeatIntervalMs) ? self.heartbeatIntervalMs : 100)",
            "message": "electionTimeoutMs must be at least five heartbeat intervals (100 ms each by default)",
        },
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct EtcdOptions {
    /// By what old revisions are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction_mode: Option<CompactionMode>,
    /// How much of the history is kept: a duration such as `8h` for `periodic`, a number of revisions for `revision`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 20), regex(pattern = "^([0-9]+|([0-9]+(ms|s|m|h))+)$"))
    )]
    pub auto_compaction_retention: Option<String>,
    /// How large the database may grow, in bytes, before the alarm `NOSPACE` is raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 16_777_216)))]
    pub quota_backend_bytes: Option<i64>,
    /// Entries of the log between two snapshots of the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 100)))]
    pub snapshot_count: Option<i64>,
    /// Milliseconds between heartbeats of the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 10, max = 10_000)))]
    pub heartbeat_interval_ms: Option<i64>,
    /// Milliseconds without a heartbeat after which another leader is elected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 50, max = 50_000)))]
    pub election_timeout_ms: Option<i64>,
    /// The largest request of a client in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1024)))]
    pub max_request_bytes: Option<i64>,
}

/// By what old revisions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CompactionMode {
    /// By age.
    Periodic,
    /// By number.
    Revision,
}

impl CompactionMode {
    /// As etcd's option has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Periodic => "periodic",
            Self::Revision => "revision",
        }
    }
}

/// When databases are defragmented: one member at a time, the leader last, only while all of them are well. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Defragmentation {
    /// When it is due: minute, hour, day of month, month, day of week, as cron reads them; also `@daily`, `@weekly`, …
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 100)))]
    pub schedule: String,
    /// Name of the IANA time zone in which the schedule is read, such as `Europe/Berlin`; UTC by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 100)))]
    pub time_zone: Option<String>,
    /// Members with fewer free bytes in their database are left out.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub minimum_free_bytes: i64,
}

/// When a member that does not come up is replaced. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Repair {
    /// Seconds that a member with data may be unready before it is removed and another one is added. A member whose data
    /// is gone is replaced at once.
    #[serde(default = "five_minutes")]
    #[cfg_attr(feature = "schema", schemars(range(min = 30)))]
    pub replace_after_second: i64,
}

fn five_minutes() -> i64 {
    300
}

impl Default for Repair {
    fn default() -> Self {
        Self { replace_after_second: five_minutes() }
    }
}

/// What happens when the data of too many members is gone for the rest to agree. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct QuorumRecovery {
    /// What to do.
    #[serde(default)]
    pub policy: RecoveryPolicy,
    /// Seconds without a quorum after which it is done.
    #[serde(default = "five_minutes")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub after_second: i64,
}

impl Default for QuorumRecovery {
    fn default() -> Self {
        Self { policy: RecoveryPolicy::default(), after_second: five_minutes() }
    }
}

/// What to do when the data of too many members is gone. *(Pilothouse)*
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RecoveryPolicy {
    /// Tell it, and wait for people.
    #[default]
    Never,
    /// Begin a new cluster with the data of the member that has most of it. What only the lost members knew is lost.
    FromSurvivor,
}
