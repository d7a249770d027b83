//! What the Helm plugin finds out about a chart: the answer of its command `survey`.

use serde::Deserialize;
use serde_json::Value;

/// The answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Survey {
    /// The chart.
    pub chart: ChartName,
    /// Names of the kind.
    pub names: Names,
    /// The CustomResourceDefinition.
    pub crd: Value,
    /// What stands below `spec` in a sample: YAML with the chart's comments.
    #[serde(default)]
    pub sample_spec: String,
    /// The rights that the chart's objects take.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What a person should know.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A chart.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ChartName {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
}

/// Names of a kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Names {
    /// Without the domain; may be empty.
    pub group: String,
    /// With the domain.
    pub qualified_group: String,
    /// Such as `v1alpha1`.
    pub version: String,
    /// Such as `AppService`.
    pub kind: String,
    /// The resource.
    pub plural: String,
}

/// A right that a chart takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// API groups.
    #[serde(default)]
    pub api_groups: Vec<String>,
    /// Resources.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Names of objects; empty: all.
    #[serde(default)]
    pub resource_names: Vec<String>,
    /// Paths that are no resources.
    #[serde(default, rename = "nonResourceURLs")]
    pub non_resource_urls: Vec<String>,
    /// Verbs.
    #[serde(default)]
    pub verbs: Vec<String>,
    /// Why: the templates that make such objects.
    #[serde(default)]
    pub why: Vec<String>,
    /// How it was found: `rendered`, `text`, `base` or `granted`.
    #[serde(default)]
    pub found: String,
    /// `namespace` or `cluster`.
    #[serde(default)]
    pub scope: String,
}

impl Rule {
    /// Whether objects of this sort are in no namespace.
    pub fn is_cluster_scoped(&self) -> bool {
        self.scope == "cluster"
    }

    /// Whether the host needs it for every chart.
    pub fn is_base(&self) -> bool {
        self.found == "base"
    }
}
