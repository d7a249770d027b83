//! One release: what its object and its records say, side by side.

use helm_release::Entry;
use jiff::Timestamp;
use pilothouse_sdk::Gvk;
use serde::Serialize;
use serde_json::Value;

use crate::command::standing::{Standing, remarks};

/// One release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    namespace: String,
    name: String,
    api_version: String,
    kind: String,
    /// Name of the release.
    release: String,
    /// The newest revision; none: there is none.
    revision: Option<u32>,
    /// Where that stands; `not installed` when there is none.
    status: String,
    /// The deployed revision.
    deployed_revision: Option<u32>,
    /// `True`, `False` or `Unknown`.
    ready: String,
    reason: String,
    /// Why it is not ready.
    message: String,
    chart: String,
    app_version: String,
    /// When its newest record was written last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<Timestamp>,
    /// When the object was created.
    created: String,
    remarks: Vec<String>,
}

impl Row {
    /// What can be told without a record's content. `entries`: the release's revisions, oldest first.
    pub(super) fn of(object: &Value, kind: &Gvk, release: &str, entries: &[Entry]) -> Self {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let latest = entries.last();
        let deployed = entries.iter().rev().find(|entry| entry.status == helm_release::Status::Deployed);
        let standing = Standing::of(object);
        let (reason, message) =
            if standing.is_ready() { Default::default() } else { (standing.reason, standing.message) };
        let told = object.pointer("/status/release/revision").and_then(Value::as_u64);
        let told = told.and_then(|told| u32::try_from(told).ok());
        // Where no record may be read, what the object says of itself is all there is.
        let is_told = told.is_some() && latest.is_none_or(|latest| Some(latest.revision) == told);
        let of_status = |pointer: &str| if is_told { text(pointer) } else { String::new() };
        Self {
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
            release: release.to_owned(),
            revision: latest.map(|latest| latest.revision).or(told),
            status: match latest {
                Some(latest) => latest.status.to_string(),
                None if told.is_some() => "unknown".to_owned(),
                None => "not installed".to_owned(),
            },
            deployed_revision: deployed.map(|deployed| deployed.revision),
            ready: standing.ready,
            reason,
            message,
            chart: of_status("/status/release/chart"),
            app_version: of_status("/status/release/appVersion"),
            updated: latest.and_then(|latest| latest.touched),
            created: text("/metadata/creationTimestamp"),
            remarks: remarks(object),
        }
    }

    /// Whether its chart is known, or there is none.
    pub(super) fn is_whole(&self) -> bool {
        !self.chart.is_empty() || self.revision.is_none()
    }

    /// The same with the chart of its newest record.
    pub(super) fn with_chart(self, name: &str, version: &str, app_version: &str) -> Self {
        Self { chart: format!("{name}-{version}"), app_version: app_version.to_owned(), ..self }
    }

    /// By what rows are sorted.
    pub(super) fn place(&self) -> (&str, &str, &str) {
        (&self.namespace, &self.name, &self.kind)
    }
}
