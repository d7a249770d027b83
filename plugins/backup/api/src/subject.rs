//! What is backed up.

use serde::{Deserialize, Serialize};

use crate::LabelSelector;

/// Objects of the policy's namespace: one by its name, those that a selector selects, or all of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [{
        "rule": "!has(self.name) || !has(self.selector)",
        "message": "set either name or selector",
    }]))
)]
#[serde(rename_all = "camelCase")]
pub struct SubjectRule {
    /// API group of the kind; empty is Kubernetes' core group.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = 253)))]
    pub api_group: String,
    /// Its kind.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 63)))]
    pub kind: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub name: Option<String>,
    /// Its labels. An empty selector selects all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// One object of the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SubjectReference {
    /// Group and version of its kind, such as `apps/v1`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 317)))]
    pub api_version: String,
    /// Its kind.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 63)))]
    pub kind: String,
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub name: String,
}

impl SubjectReference {
    /// The group of its kind; empty is Kubernetes' core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// `Kind name`, for people.
    pub fn words(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }
}
