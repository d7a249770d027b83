//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub mod operator_sdk;
pub mod plugin;
pub mod run;

/// A Kubernetes operator host: calls reconcile hooks in WebAssembly components.
#[derive(Debug, Parser)]
#[command(
    name = "pilothouse",
    version,
    about,
    propagate_version = true,
    after_help = "\
EXAMPLES:
  Run an operator-sdk Helm project, from its directory, against the cluster of your kubeconfig:
      pilothouse run --watches-file watches.yaml --plugin-dir /plugins
  Run plugins of your own with the rights a file grants them:
      pilothouse run --plugin-dir ./plugins --grants grants.yaml
  See what a plugin says about itself:
      pilothouse plugin inspect helm.wasm

EXIT CODES:
  0  ended as asked   1  could not do its work   2  wrong usage   3  lost the leader lease (start it again)"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch, reconcile, until told to stop.
    Run(Box<run::RunArgs>),
    /// Build, compile and look at plugin files.
    #[command(subcommand)]
    Plugin(plugin::PluginCommand),
    /// Standard input to standard output; how the host compiles.
    #[command(name = crate::plugin::compiler::SUBCOMMAND, hide = true)]
    CompilePlugin(crate::plugin::compiler::ChildArgs),
    /// Print the version, the plugin interface and the engine.
    Version,
}

/// Where the cluster is.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ClusterArgs {
    /// Kubeconfig file. Default: $KUBECONFIG, ~/.kube/config, or the pod's service account.
    #[arg(long, env = "PILOTHOUSE_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig.
    #[arg(long, env = "PILOTHOUSE_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,
}
