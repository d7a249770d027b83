//! What has to be shown of a backup before it counts.

use serde::{Deserialize, Serialize};

use crate::PodJob;

/// What has to be shown of a backup before it counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [{
        "rule": "!has(self.trial) || self.level == 'Restore'",
        "message": "trial is for the level Restore",
    }]))
)]
#[serde(default)]
pub struct Verification {
    /// How much.
    pub level: Level,
    /// The trial restore, where the preset's way does not do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<PodJob>,
}

/// How much has to be shown. Snapshots of volumes have no bytes to be read: their driver says that they are ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Level {
    /// Sender and store agree on hash and size while it is streamed.
    Hash,
    /// The same, and it is read back from the store and has the hash.
    #[default]
    Reread,
    /// The same, and a scratch database is made from it.
    Restore,
}
