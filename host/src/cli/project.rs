//! `pilothouse init`, `create api`, `adopt` and `bundle`: projects as operator-sdk lays them out.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::chart_source::LocateError;
use crate::chart_source::arguments::{ChartArgs, HelmFiles, SourceArgs};
use crate::command::{AskError, CommandArgs};
use crate::project::api::ApiError;
use crate::project::bundle::BundleError;
use crate::project::naming::NameError;
use crate::project::project_file::ProjectError;
use crate::project::yaml_text::YamlError;

pub mod adopt;
pub mod bundle;
mod chart;
pub mod create;
pub mod foreign;
pub mod init;
mod kustomize;
mod on_disk;
mod transaction;

/// The image that projects are built from, unless they name another.
pub const OPERATOR_IMAGE: &str = concat!("pilothouse.dev/helm-operator:v", env!("CARGO_PKG_VERSION"));

/// A kind and its chart, by operator-sdk's flags.
#[derive(Clone, Debug, Default, Args)]
pub struct ApiArgs {
    /// Group of the kind, without the domain. Default, with a chart: charts.
    #[arg(long, value_name = "GROUP", default_value = "", hide_default_value = true)]
    pub group: String,
    /// Version of the kind. Default, with a chart: v1alpha1.
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    pub version: String,
    /// The kind, in CamelCase. Default: the name of the chart.
    #[arg(long, value_name = "KIND", default_value = "", hide_default_value = true)]
    pub kind: String,
    /// The kind's plural. Default: made of the kind.
    #[arg(long, value_name = "PLURAL", default_value = "", hide_default_value = true)]
    pub plural: String,
    /// The chart: a directory, an archive, a URL, repo/name, oci://…, or a name with --helm-chart-repo. Default: a new one.
    #[arg(long, value_name = "CHART", default_value = "", hide_default_value = true)]
    pub helm_chart: String,
    /// URL of the repository that has the chart.
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    pub helm_chart_repo: String,
    /// Version of the chart, or a range. Default: the latest.
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    pub helm_chart_version: String,
    /// Version of CustomResourceDefinitions.
    #[arg(long, value_name = "VERSION", default_value = "v1", value_parser = crd_version, hide = true)]
    pub crd_version: String,
    /// Overwrite files that are there.
    #[arg(long)]
    pub force: bool,
    /// How charts are fetched.
    #[command(flatten)]
    pub access: AccessArgs,
}

/// How charts are fetched.
#[derive(Clone, Debug, Default, Args)]
pub struct AccessArgs {
    /// Chart repository username.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub username: String,
    /// Chart repository password.
    #[arg(long, value_name = "PASSWORD", default_value = "", hide_default_value = true)]
    pub password: String,
    /// Verify certificates of HTTPS-enabled servers using this CA bundle.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Skip TLS certificate checks for the chart download.
    #[arg(long)]
    pub insecure_skip_tls_verify: bool,
    /// Use insecure HTTP connections for the chart download.
    #[arg(long)]
    pub plain_http: bool,
    /// What the person's helm knows.
    #[command(flatten)]
    pub files: HelmFiles,
    /// Which plugin answers.
    #[command(flatten)]
    pub plugin: CommandArgs,
}

impl ApiArgs {
    /// Whether a kind is wanted at all.
    pub fn is_wanted(&self) -> bool {
        [&self.group, &self.version, &self.kind, &self.helm_chart].iter().any(|flag| !flag.is_empty())
    }

    fn chart_args(&self) -> ChartArgs {
        ChartArgs {
            repo: self.helm_chart_repo.trim().to_owned(),
            version: self.helm_chart_version.trim().to_owned(),
            username: self.access.username.clone(),
            password: self.access.password.clone(),
            ca_file: self.access.ca_file.clone(),
            insecure_skip_tls_verify: self.access.insecure_skip_tls_verify,
            plain_http: self.access.plain_http,
            ..ChartArgs::default()
        }
    }
}

impl AccessArgs {
    fn source(&self) -> SourceArgs {
        SourceArgs { files: self.files.clone(), plugin: self.plugin.clone(), ..SourceArgs::default() }
    }
}

fn crd_version(text: &str) -> Result<String, String> {
    match text {
        "v1" => Ok(text.to_owned()),
        "v1beta1" => Err("Kubernetes 1.22 and later serve CustomResourceDefinitions of v1 only".to_owned()),
        _ => Err("there is only v1".to_owned()),
    }
}

/// Why a command about a project failed.
#[derive(Debug, thiserror::Error)]
pub enum ProjectCommandError {
    /// The flags do not fit together.
    #[error("{0}")]
    Usage(String),
    /// A name that is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is a project.
    #[error("{0} is a project already: it has a PROJECT file. `pilothouse create api` adds a kind to it")]
    Exists(String),
    /// There is none.
    #[error(
        "{0} is no project: it has no PROJECT file. `pilothouse init` makes one, `pilothouse adopt` takes one of operator-sdk over"
    )]
    Missing(String),
    /// Files of somebody else are in the way.
    #[error("these files are there already: {}; nothing was written. --force overwrites them", .0.join(", "))]
    Clash(Vec<String>),
    /// Another chart has its name.
    #[error("{0} is there already, with another content; nothing was written. --force replaces it")]
    ChartClash(String),
    /// `PROJECT` says no.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// A kind cannot be added.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// No bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// YAML that is none.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// The chart is not to be had.
    #[error("chart {chart:?}: {source}")]
    Chart {
        /// As it was named.
        chart: String,
        /// Why.
        #[source]
        source: LocateError,
    },
    /// The plugin cannot be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The plugin says why.
    #[error("{0}")]
    Survey(String),
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// Nothing puts kustomizations together.
    #[error("{0}")]
    Kustomize(String),
    /// Files were left alone.
    #[error("{0} of the project's files could not be changed; they were left as they were")]
    LeftAlone(usize),
}

impl ProjectCommandError {
    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Name(_) => 2,
            _ => 1,
        }
    }

    fn file(path: &Path, source: std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }
}

/// Where the command was called.
fn here() -> Result<PathBuf, ProjectCommandError> {
    std::env::current_dir().map_err(|source| ProjectCommandError::file(Path::new("."), source))
}
