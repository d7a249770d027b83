//! One hook of a run: what it is asked, and where it stands.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What becomes of the change when a hook fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailurePolicy {
    /// It is not begun.
    #[default]
    Fail,
    /// It goes on.
    Ignore,
}

/// Where a hook stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HookState {
    /// Its turn has not come, or its next attempt.
    #[default]
    Waiting,
    /// At work.
    Running,
    /// It is told to end before its time.
    Cancelling,
    /// Done.
    Succeeded,
    /// Not done, for good.
    Failed,
    /// Not done, and that is taken.
    Ignored,
    /// It was passed over.
    Skipped,
}

impl HookState {
    /// Whether nothing more happens.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Ignored | Self::Skipped)
    }
}

/// What a hook made or found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artefact {
    /// Within its hook.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Where it is.
    pub uri: String,
    /// Lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The object that describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Reference>,
    /// What its maker has to know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// `group/version` or `version`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// None: it is in no namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// One hook of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    /// Whose it is.
    pub plugin: String,
    /// Unique within the plugin.
    pub name: String,
    /// Lighter ones first.
    pub weight: i32,
    /// For all attempts together.
    pub timeout_seconds: u64,
    /// After a failure, this often again.
    pub retries: u32,
    /// What a failure means.
    pub failure_policy: FailurePolicy,
    /// A person has to say yes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
    /// Its counterpart after the change is run whatever happens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ensure_post: bool,
    /// As the plan had them.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub parameters: Value,
    /// Where it stands.
    pub state: HookState,
    /// Somebody said yes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// Begun up to now.
    #[serde(default)]
    pub attempts: u32,
    /// When the first attempt began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When the next one does, after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// A word for what went wrong, or why it is cancelled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence: what is waited for, or what went wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What the plugin left for its next call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Value>,
    /// What it made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artefacts: Vec<Artefact>,
}

impl Hook {
    /// Whether it has done anything that its counterpart may have to undo.
    pub fn has_begun(&self) -> bool {
        self.started_at.is_some()
    }

    /// The same hook before anything of it was done.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self {
            plugin: self.plugin.clone(),
            name: self.name.clone(),
            weight: self.weight,
            timeout_seconds: self.timeout_seconds,
            retries: self.retries,
            failure_policy: self.failure_policy,
            approval: self.approval,
            ensure_post: self.ensure_post,
            parameters: self.parameters.clone(),
            ..Self::default()
        }
    }

    /// `plugin/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.plugin, self.name)
    }

    /// Whether a person means it by this: its name, `plugin/name`, or `*`.
    pub fn is_called(&self, named: &str) -> bool {
        named == "*" || self.name == named || self.full_name() == named
    }
}
