//! The part of `plugin.yaml` that says how a plugin runs.

use serde::Deserialize;

use super::{budget::Limits, rights::Rule};
use crate::Gvk;

/// Fields the harness goes by; the host's parser is the one that knows all of them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) kinds: Vec<ManifestKind>,
    pub(super) finalizer: Option<String>,
    pub(super) legacy_finalizers: Vec<String>,
    pub(super) field_manager: Option<String>,
    pub(super) rights: ManifestRights,
    pub(super) instance: ManifestInstance,
    limits: ManifestLimits,
}

#[derive(Debug, Deserialize)]
pub(super) struct ManifestKind {
    #[serde(flatten)]
    pub(super) gvk: Gvk,
    pub(super) finalizer: Option<String>,
    #[serde(rename = "finalizerBy", default)]
    pub(super) finalizer_by: FinalizerBy,
}

/// Who puts a kind's finalizer on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum FinalizerBy {
    #[default]
    Host,
    Plugin,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ManifestRights {
    pub(super) kube: Vec<Rule>,
    pub(super) egress: Vec<String>,
    pub(super) stores: Vec<String>,
    pub(super) announces: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ManifestInstance {
    pub(super) model: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ManifestLimits {
    #[serde(rename = "hostCalls")]
    host_calls: Option<u64>,
    #[serde(rename = "hostMiB")]
    host_mib: Option<u64>,
    #[serde(rename = "answerMiB")]
    answer_mib: Option<u64>,
    #[serde(rename = "logKiB")]
    log_kib: Option<u64>,
}

impl Manifest {
    /// Reads `plugin.yaml`.
    ///
    /// # Errors
    /// With line and column.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }

    pub(super) fn limits(&self) -> Limits {
        let (wanted, default) = (&self.limits, Limits::default());
        let mib = |wanted: Option<u64>| wanted.map(|mib| mib.saturating_mul(1024 * 1024));
        Limits {
            host_calls: wanted.host_calls.unwrap_or(default.host_calls),
            host_bytes: mib(wanted.host_mib).unwrap_or(default.host_bytes),
            answer_bytes: mib(wanted.answer_mib).unwrap_or(default.answer_bytes),
            log_bytes: wanted.log_kib.map_or(default.log_bytes, |kib| kib.saturating_mul(1024)),
        }
    }
}
