//! The shapes of the options. Fields are named after Helm's flags.

use helm_chart::Rules;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A file the person named, and the asset that holds it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedFile {
    /// As it stands on the command line.
    pub(super) name: String,
    /// The asset.
    pub(super) asset: String,
}

/// A chart the person named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedChart {
    /// Where it is.
    pub(super) name: String,
    /// The asset.
    pub(super) asset: String,
    /// A directory, or else an archive.
    pub(super) directory: bool,
    /// The version that was asked for.
    #[serde(default)]
    pub(super) version: String,
    /// Versions that are being developed count.
    #[serde(default)]
    pub(super) devel: bool,
}

/// Where values come from, in the order in which later ones win.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct ValuesOptions {
    /// `--values`.
    pub(super) files: Vec<NamedFile>,
    /// `--set-json`.
    pub(super) set_json: Vec<String>,
    /// `--set`.
    pub(super) set: Vec<String>,
    /// `--set-string`.
    pub(super) set_string: Vec<String>,
    /// `--set-file`: the files are assets under their names with `set-file:` in front.
    pub(super) set_file: Vec<String>,
    /// `--set-literal`.
    pub(super) set_literal: Vec<String>,
}

/// Options of `template`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TemplateOptions {
    /// The chart.
    pub(super) chart: NamedChart,
    /// Name of the release.
    pub(super) release_name: String,
    /// Template that gives the release its name.
    pub(super) name_template: String,
    /// Namespace of the release.
    pub(super) namespace: String,
    /// Version of Kubernetes; empty: the one this Helm was built for.
    pub(super) kube_version: String,
    /// Beside those known.
    pub(super) api_versions: Vec<String>,
    /// CRDs as well.
    pub(super) include_crds: bool,
    /// No hooks.
    pub(super) no_hooks: bool,
    /// No hooks that are tests.
    pub(super) skip_tests: bool,
    /// Patterns.
    pub(super) show_only: Vec<String>,
    /// `.Release.IsUpgrade`.
    pub(super) is_upgrade: bool,
    /// No look at `values.schema.json`.
    pub(super) skip_schema_validation: bool,
    /// Files instead of standard output; the directory as it stands on the command line.
    pub(super) output_dir: Option<String>,
    /// The release's name as a directory among the files.
    pub(super) release_name_dir: bool,
    /// Ask the cluster what it serves, answer `lookup` from it, and hold objects against it.
    pub(super) server: bool,
    /// No CRDs, with a cluster.
    #[serde(default)]
    pub(super) skip_crds: bool,
    /// Objects that belong to somebody else may be taken over.
    #[serde(default)]
    pub(super) take_ownership: bool,
    /// No look at whether documents are objects before they are read.
    #[serde(default, rename = "disableOpenapiValidation")]
    pub(super) skip_open_api_validation: bool,
    /// Invalid YAML as well.
    pub(super) debug: bool,
    /// The generation of Helm that renders.
    #[serde(default)]
    pub(super) compat: Compat,
    /// The manifests go through a program of the person's.
    #[serde(default)]
    pub(super) post_renderer: Option<PostRenderer>,
    /// Values.
    pub(super) values: ValuesOptions,
    /// Other values to render the same chart with afterwards, which is not read again. What that gives follows on standard
    /// output.
    #[serde(default)]
    pub(super) again: Vec<ValuesOptions>,
}

/// How far a post-renderer is. The host runs it between two calls.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum PostRenderer {
    /// The answer is what it shall read, and a file that has to be given back.
    Input,
    /// What it wrote is the asset `post-renderer:output`, and the file is `post-renderer:rest`.
    Output,
    /// It failed; the file is there as well.
    Failed(String),
}

/// A generation of Helm.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Compat {
    /// 3.19.
    #[serde(rename = "3")]
    Helm3,
    /// 4.3.
    #[default]
    #[serde(rename = "4")]
    Helm4,
}

impl From<Compat> for Rules {
    fn from(compat: Compat) -> Self {
        match compat {
            Compat::Helm3 => Self::Helm3,
            Compat::Helm4 => Self::Helm4,
        }
    }
}

/// Parts of a chart that `show` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Part {
    /// All of them.
    All,
    /// `Chart.yaml`.
    Chart,
    /// `values.yaml`.
    Values,
    /// The readme.
    Readme,
    /// The CRDs.
    Crds,
}

/// Options of `show`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ShowOptions {
    /// The chart.
    pub(super) chart: NamedChart,
    /// What of it.
    pub(super) part: Part,
    /// A template for the values.
    #[serde(default)]
    pub(super) json_path: Option<String>,
    /// Tell more.
    #[serde(default)]
    pub(super) debug: bool,
}

/// Options of `find-chart`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FindChartOptions {
    /// The asset that is the index.
    pub(super) index: String,
    /// Name of the chart.
    pub(super) name: String,
    /// A version or a range; empty: the newest.
    pub(super) version: String,
}

/// Options of `verify`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct VerifyOptions {
    /// The chart's archive; its name is the one that the provenance file lists it under.
    pub(super) archive: NamedFile,
    /// The asset that is the provenance file.
    pub(super) provenance: String,
    /// The keys whose signatures count.
    pub(super) keyring: NamedFile,
}

/// Options of `pick-tag`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PickTagOptions {
    /// All there are.
    pub(super) tags: Vec<String>,
    /// A version or a range; empty: the newest.
    pub(super) version: String,
}

/// A chart that is to be linted.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct LintChart {
    /// Where it is, as the person said it.
    pub(super) name: String,
    /// The asset.
    pub(super) asset: String,
    /// A directory, or else an archive, or nothing at all.
    pub(super) directory: bool,
    /// Where it is, from the root on.
    pub(super) path: String,
    /// Directories in it that have nothing in them: those are not in an asset.
    #[serde(default)]
    pub(super) empty_directories: Vec<String>,
}

/// Options of `lint`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct LintOptions {
    /// The charts.
    pub(super) charts: Vec<LintChart>,
    /// Namespace of the release.
    pub(super) namespace: String,
    /// Version of Kubernetes; empty: the one this Helm was built for.
    pub(super) kube_version: String,
    /// Warnings are failures.
    pub(super) strict: bool,
    /// Only warnings and errors.
    pub(super) quiet: bool,
    /// The charts in `charts/` as well.
    pub(super) with_subcharts: bool,
    /// No look at `values.schema.json`.
    pub(super) skip_schema_validation: bool,
    /// Tell more.
    #[serde(default)]
    pub(super) debug: bool,
    /// Values.
    pub(super) values: ValuesOptions,
}

/// Reads options.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("the host's options do not fit this plugin: {error}"))
}
