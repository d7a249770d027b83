//! Where a revision stands (Helm's `pkg/release/common/status.go`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The status of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Its manifest is what the cluster should look like.
    Deployed,
    /// Taken away, history kept.
    Uninstalled,
    /// A newer revision took its place.
    Superseded,
    /// It was not brought to an end.
    Failed,
    /// It is being taken away.
    Uninstalling,
    /// A first install is under way.
    PendingInstall,
    /// An upgrade is under way.
    PendingUpgrade,
    /// A rollback is under way.
    PendingRollback,
    /// Anything this version of Helm's words does not name.
    #[default]
    #[serde(other)]
    Unknown,
}

impl Status {
    /// The word in records and in the Secret's label `status`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Deployed => "deployed",
            Self::Uninstalled => "uninstalled",
            Self::Superseded => "superseded",
            Self::Failed => "failed",
            Self::Uninstalling => "uninstalling",
            Self::PendingInstall => "pending-install",
            Self::PendingUpgrade => "pending-upgrade",
            Self::PendingRollback => "pending-rollback",
        }
    }

    /// The status of a word.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        [
            Self::Deployed,
            Self::Uninstalled,
            Self::Superseded,
            Self::Failed,
            Self::Uninstalling,
            Self::PendingInstall,
            Self::PendingUpgrade,
            Self::PendingRollback,
        ]
        .into_iter()
        .find(|status| status.as_str() == word)
        .unwrap_or_default()
    }

    /// Helm's lock: while the newest revision is pending, the helm command line refuses to begin anything else.
    #[must_use]
    pub fn is_pending(self) -> bool {
        matches!(self, Self::PendingInstall | Self::PendingUpgrade | Self::PendingRollback)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
