//! The command line.

use clap::{Parser, Subcommand};

pub mod asking;
pub mod backups;
#[cfg(test)]
mod documented;
pub mod handover;
pub mod helm;
pub mod operator_sdk;
pub mod plugin;
pub mod project;
pub mod release;
pub mod run;
mod table;
mod time;

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
  Render a chart as helm does:
      pilothouse template web ./chart --values prod.yaml
  Make an operator of a chart, and deploy it:
      pilothouse init --domain example.com --helm-chart ./chart && make docker-build docker-push deploy IMG=…
  See how releases stand, and what an upgrade would change:
      pilothouse releases -A && pilothouse diff web/shop
  See what a plugin says about itself:
      pilothouse plugin inspect helm.wasm

EXIT CODES:
  0  ended as asked   1  could not do its work   2  wrong usage   3  lost the leader lease (start it again)
  Those of `diff` are kubectl's: 0  nothing would be changed   1  something would be   2  it cannot be told"
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
    /// Render chart templates locally and display the output, as `helm template` does.
    Template(Box<helm::template::TemplateArgs>),
    /// Examine a chart for possible issues, as `helm lint` does.
    Lint(Box<helm::lint::LintArgs>),
    /// Show information of a chart, as `helm show` does.
    #[command(subcommand, alias = "inspect")]
    Show(Box<helm::show::ShowCommand>),
    /// Make a project that reconciles Helm charts, as `operator-sdk init --plugins helm` does.
    Init(Box<project::init::InitArgs>),
    /// Add a kind to a project, as `operator-sdk create` does.
    #[command(subcommand)]
    Create(project::create::CreateCommand),
    /// Take a project of operator-sdk over, in place.
    Adopt(Box<project::adopt::AdoptArgs>),
    /// Write the bundle of a project for OLM, as `operator-sdk generate bundle` does.
    Bundle(Box<project::bundle::BundleArgs>),
    /// List the custom resources that are releases, and how they stand.
    Releases(Box<release::list::ListArgs>),
    /// Tell the revisions of a release, as `helm history` does.
    History(Box<release::history::HistoryArgs>),
    /// Show what an upgrade to the present spec would change.
    Diff(Box<release::diff::DiffArgs>),
    /// Ask the operator to take a release back to a revision, and follow it.
    Rollback(Box<release::rollback::RollbackArgs>),
    /// List backups, or find those again whose cluster is lost.
    Backups(Box<backups::BackupsArgs>),
    /// Make the pipe between the containers of a backup's pod.
    Pipe(handover::PipeArgs),
    /// Hand what a backup's pod writes to the host, which stores it.
    Upload(Box<handover::UploadArgs>),
    /// Take what is stored from the host, and put it into a pipe.
    Download(Box<handover::DownloadArgs>),
    /// Standard input to standard output; how the host compiles.
    #[command(name = crate::plugin::compiler::SUBCOMMAND, hide = true)]
    CompilePlugin(crate::plugin::compiler::ChildArgs),
    /// Print the version, the plugin interface and the engine.
    Version,
}
