//! What people say of a chart's source: Helm's flags.

use std::path::PathBuf;

use clap::Args;

use crate::command::CommandArgs;

/// Flags that say where a chart is.
#[derive(Clone, Debug, Default, Args)]
pub struct ChartArgs {
    /// Chart repository URL where to locate the requested chart.
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    pub repo: String,
    /// Version constraint for the chart version to use: a tag (1.1.1) or a range (^2.0.0). Default: the latest.
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    pub version: String,
    /// Verify the chart's provenance file before using it.
    #[arg(long)]
    pub verify: bool,
    /// Public keys whose signatures count. Default: the keyring in ~/.gnupg, or in $GNUPGHOME.
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    /// Use development versions, too. Equivalent to version '>0.0.0-0'.
    #[arg(long)]
    pub devel: bool,
    /// Chart repository username.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub username: String,
    /// Chart repository password.
    #[arg(long, value_name = "PASSWORD", default_value = "", hide_default_value = true)]
    pub password: String,
    /// Pass credentials to all domains.
    #[arg(long)]
    pub pass_credentials: bool,
    /// Verify certificates of HTTPS-enabled servers using this CA bundle.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Identify HTTPS client using this SSL certificate file.
    #[arg(long, value_name = "FILE")]
    pub cert_file: Option<PathBuf>,
    /// Identify HTTPS client using this SSL key file.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Skip TLS certificate checks for the chart download.
    #[arg(long)]
    pub insecure_skip_tls_verify: bool,
    /// Use insecure HTTP connections for the chart download.
    #[arg(long)]
    pub plain_http: bool,
}

/// Where helm keeps what it knows of repositories and registries.
#[derive(Clone, Debug, Default, Args)]
pub struct HelmFiles {
    /// Path to the file containing repository names and URLs.
    #[arg(long, env = "HELM_REPOSITORY_CONFIG", value_name = "FILE")]
    pub repository_config: Option<PathBuf>,
    /// Path to the directory containing cached repository indexes.
    #[arg(long, env = "HELM_REPOSITORY_CACHE", value_name = "DIR")]
    pub repository_cache: Option<PathBuf>,
    /// Path to the registry config file.
    #[arg(long, env = "HELM_REGISTRY_CONFIG", value_name = "FILE")]
    pub registry_config: Option<PathBuf>,
}

/// Flags about files that charts elsewhere are found by, and who reads them.
#[derive(Clone, Debug, Default, Args)]
pub struct SourceArgs {
    /// Print also what helps to find an error, invalid YAML for one.
    #[arg(long)]
    pub debug: bool,
    /// What the person's helm knows.
    #[command(flatten)]
    pub files: HelmFiles,
    /// Which plugin answers.
    #[command(flatten)]
    pub plugin: CommandArgs,
}
