//! `survey` and `starter`: what a project generator asks.
//!
//! `survey` takes
//! `{"chart": {"name", "asset", "directory", "version", "devel"}, "domain", "group", "version", "kind", "plural"}` — the chart
//! in the shape that `show` takes it, everything else optional and made up where it is missing or empty — and prints one JSON
//! object, the fields of [`helm_survey::Survey`]:
//!
//! ```json
//! {
//!   "chart": {"name", "version", "appVersion", "description", "kubeVersion", "icon", "home", "type", "deprecated"},
//!   "names": {"group", "domain", "qualifiedGroup", "version", "kind", "plural", "singular", "listKind"},
//!   "crd": {"apiVersion": "apiextensions.k8s.io/v1", …},
//!   "sampleSpec": "# the text of values.yaml, to be indented below `spec:`\n…",
//!   "rules": [{
//!     "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", …],
//!     "resourceNames": ["only there when names matter"], "nonResourceURLs": ["instead of groups and resources"],
//!     "why": ["site/templates/deployment.yaml"],
//!     "found": "rendered | text | base | granted", "scope": "namespace | cluster"
//!   }],
//!   "notes": ["what could not be told"]
//! }
//! ```
//!
//! `names.group` is the group without the domain, `names.qualifiedGroup` the one with it. A rule with the scope `namespace` is
//! enough in the namespaces of the custom resources, one with `cluster` needs a ClusterRole.
//!
//! `starter` takes `{"name": "nginx"}` and answers the files that `helm create` writes, by path below the chart's directory
//! (without the empty directory `charts`).

use helm_survey::{Survey, Wishes};
use pilothouse_sdk::{CommandAnswer, CommandFile, Host};
use serde::Deserialize;

use super::chart;
use super::options::NamedChart;

/// Options of `survey`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SurveyOptions {
    /// The chart.
    chart: NamedChart,
    /// Behind the group.
    #[serde(default)]
    domain: Option<String>,
    /// The group without the domain.
    #[serde(default)]
    group: Option<String>,
    /// The version.
    #[serde(default)]
    version: Option<String>,
    /// The kind.
    #[serde(default)]
    kind: Option<String>,
    /// The plural.
    #[serde(default)]
    plural: Option<String>,
}

/// Options of `starter`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StarterOptions {
    /// Name of the chart.
    name: String,
}

impl SurveyOptions {
    fn wishes(self) -> Wishes {
        Wishes {
            domain: self.domain.unwrap_or_default(),
            group: self.group.unwrap_or_default(),
            version: self.version.unwrap_or_default(),
            kind: self.kind.unwrap_or_default(),
            plural: self.plural.unwrap_or_default(),
        }
    }
}

/// Looks at a chart.
pub(super) fn survey(
    host: &dyn Host,
    options: SurveyOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let chart = chart::load(host, &options.chart, answer)?;
    let survey = Survey::of(&chart, &options.wishes()).map_err(|error| error.to_string())?;
    answer.output = serde_json::to_vec(&survey).map_err(|error| error.to_string())?;
    Ok(())
}

/// A new chart.
pub(super) fn starter(options: &StarterOptions, answer: &mut CommandAnswer) -> Result<(), String> {
    let files = helm_survey::starter(&options.name).map_err(|error| error.to_string())?;
    answer.files =
        files.into_iter().map(|file| CommandFile { path: file.name, content: file.data.to_vec() }).collect();
    Ok(())
}

#[cfg(test)]
mod tests;
