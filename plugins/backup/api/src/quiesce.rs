//! Commands that bring a database to rest and release it.

use serde::{Deserialize, Serialize};

use crate::{Duration, LabelSelector};

/// Commands before and after the data is read. Those after are run whatever happens to the backup.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [{
        "rule": "!has(self.pre) || size(self.pre) == 0 || (has(self.post) && size(self.post) > 0)",
        "message": "what pre brings to rest has to be released: name post commands",
    }]))
)]
#[serde(default)]
pub struct Quiesce {
    /// In their order, before the data is read. One that fails ends the attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 16)))]
    pub pre: Vec<ExecHook>,
    /// In their order, after the data was read, or not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 16)))]
    pub post: Vec<ExecHook>,
}

/// One command, in every running pod that is selected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExecHook {
    /// The pods. It may not be empty.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("x-kubernetes-validations" = [{
            "rule": "(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
            "message": "say which pods: an empty selector would be all of the namespace",
        }]))
    )]
    pub selector: LabelSelector,
    /// The container; the pod's first by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 63)))]
    pub container: Option<String>,
    /// Program and arguments; no shell unless it is named.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 64), inner(length(max = 4096))))]
    pub command: Vec<String>,
    /// How long it may take.
    #[serde(default = "half_a_minute")]
    pub timeout: Duration,
    /// What becomes of the backup when it fails.
    #[serde(default)]
    pub on_error: OnError,
}

/// What becomes of a backup when a command fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OnError {
    /// It fails too.
    #[default]
    Fail,
    /// It goes on.
    Continue,
}

fn half_a_minute() -> Duration {
    Duration(30)
}
