//! What a project generator must know of a chart: the CRD of the kind that stands for it, a sample, and the rights its
//! operator needs.
//!
//! Everything is found out without a cluster: the schema from `values.schema.json` or else from the values themselves, the
//! rights from renderings that take every branch of the templates ([`Survey::of`]).

mod crd;
mod discovery;
mod explore;
mod names;
mod objects;
mod plural;
mod rights;
mod sample;
mod schema;
mod starter;
mod template;
#[cfg(test)]
mod testing;

use helm_chart::Chart;
use serde::Serialize;
use serde_json::Value;

pub use crate::names::{DEFAULT_GROUP, DEFAULT_VERSION, NameError, Names, Wishes, camel};
pub use crate::plural::plural;
pub use crate::starter::{ChartNameError, starter};

/// What a chart says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// Name.
    pub name: String,
    /// Version of the chart.
    pub version: String,
    /// Version of what it installs.
    pub app_version: String,
    /// One sentence.
    pub description: String,
    /// Range of Kubernetes versions.
    pub kube_version: String,
    /// Where the icon is.
    pub icon: String,
    /// Home page.
    pub home: String,
    /// `application` or `library`.
    #[serde(rename = "type")]
    pub chart_type: String,
    /// Nobody cares for it any more.
    pub deprecated: bool,
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Found {
    /// Every operator needs it.
    Base,
    /// A rendering has such an object.
    Rendered,
    /// The text of a template speaks of such an object, but no rendering had one.
    Text,
    /// A role of the chart grants it, and who creates a role must hold what it grants.
    Granted,
}

/// How far a rule has to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The namespace of the custom resource.
    Namespace,
    /// All of the cluster: the objects live in no namespace, or in another one.
    Cluster,
}

/// A right, and why it is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Groups; the core has the empty name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Resources and subresources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Only objects of these names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Paths that are no resources.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
    /// Verbs.
    pub verbs: Vec<String>,
    /// Templates, or a sentence.
    pub why: Vec<String>,
    /// Where it comes from.
    pub found: Found,
    /// How far it has to reach.
    pub scope: Scope,
}

/// A chart that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Survey {
    /// What the chart says of itself.
    pub chart: About,
    /// Names of the kind that stands for it.
    pub names: Names,
    /// The definition of that kind.
    pub crd: Value,
    /// The chart's values as text, to be indented below `spec:`.
    pub sample_spec: String,
    /// What its operator has to be allowed.
    pub rules: Vec<Rule>,
    /// What could not be told for sure, as sentences.
    pub notes: Vec<String>,
}

impl Survey {
    /// Looks at a chart.
    ///
    /// # Errors
    /// When the names that are wished for, or made of the chart's, are none.
    pub fn of(chart: &Chart, wishes: &Wishes) -> Result<Self, NameError> {
        let names = Names::new(chart.name(), wishes)?;
        let mut notes = Vec::new();
        let sample_spec = sample::sample(chart, &mut notes);
        let crd = crd::definition(chart, &names, &schema::spec(chart, &mut notes));
        let rules = rights::rules(chart, &names, &mut notes);
        Ok(Self { chart: About::of(chart), crd, sample_spec, rules, notes, names })
    }
}

impl About {
    fn of(chart: &Chart) -> Self {
        let metadata = &chart.metadata;
        Self {
            name: metadata.name.clone(),
            version: metadata.version.clone(),
            app_version: metadata.app_version.clone(),
            description: metadata.description.clone(),
            kube_version: metadata.kube_version.clone(),
            icon: metadata.icon.clone(),
            home: metadata.home.clone(),
            chart_type: if metadata.is_library() { "library" } else { "application" }.to_owned(),
            deprecated: metadata.deprecated,
        }
    }
}
