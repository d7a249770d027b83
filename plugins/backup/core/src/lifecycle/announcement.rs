//! What is told of a change.

use std::collections::BTreeMap;

use backup_api::SubjectReference;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A phase of a change of a subject.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Announcement {
    /// What is changed.
    pub subject: Subject,
    /// Such as `pre-upgrade`.
    pub phase: String,
    /// Names the change: all its phases have the same.
    pub change: String,
    /// When it was announced: a change that is taken back and wanted again is announced anew.
    pub announced_at: Timestamp,
    /// Of a rollback: the change that is undone.
    pub undoes: Option<String>,
    /// Of a post phase: how the change went.
    pub outcome: Option<Outcome>,
    /// What the announcer adds. Of it, `/versions/from` and `/versions/to` are read.
    pub details: Value,
    /// Of a rollback: what the pre phase of the undone change left.
    pub artefacts: Vec<RecordedArtefact>,
}

/// What is changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Subject {
    /// Group and version of its kind.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// How a change went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It was carried out.
    Succeeded,
    /// It was not.
    Failed,
    /// Nobody wants it any more.
    Abandoned,
}

/// What a hook of an earlier phase left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedArtefact {
    /// Name of the hook.
    pub hook: String,
    /// As the hook gave it.
    pub artefact: Value,
}

impl Announcement {
    /// The subject, as backups name it.
    pub fn reference(&self) -> SubjectReference {
        SubjectReference {
            api_version: self.subject.api_version.clone(),
            kind: self.subject.kind.clone(),
            name: self.subject.name.clone(),
        }
    }

    /// The version that the data is of in this phase.
    pub(crate) fn version(&self) -> Option<String> {
        let side = if self.phase.starts_with("post-") { "to" } else { "from" };
        self.text(side)
    }

    /// The version that the subject has when the change is over.
    pub(crate) fn version_after(&self) -> Option<String> {
        self.text("to")
    }

    fn text(&self, side: &str) -> Option<String> {
        let found = self.details.get("versions")?.get(side)?.as_str()?;
        (!found.is_empty()).then(|| found.to_owned())
    }
}
