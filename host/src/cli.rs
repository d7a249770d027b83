//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use kube::config::{KubeConfigOptions, Kubeconfig};

#[cfg(test)]
mod documented;
pub mod helm;
pub mod operator_sdk;
pub mod plugin;
pub mod project;
pub mod release;
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
    #[arg(long, alias = "kube-context", env = "PILOTHOUSE_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,
}

impl ClusterArgs {
    /// The namespace of the kubeconfig's context; none where it names none.
    pub fn context_namespace(&self) -> Option<String> {
        let config = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let config = config.ok()?;
        let wanted = self.context.as_ref().or(config.current_context.as_ref())?;
        let context = config.contexts.iter().find(|context| context.name == *wanted)?;
        context.context.as_ref()?.namespace.clone().filter(|name| !name.is_empty())
    }

    /// A client of the cluster that the flags name, the kubeconfig's or the pod's own.
    ///
    /// # Errors
    /// When none of them leads to a cluster.
    pub async fn connect(&self) -> Result<kube::Client, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let mut config = match (&self.kubeconfig, &options.context) {
            (Some(path), _) => {
                let file = Kubeconfig::read_from(path).map_err(|error| text(&error))?;
                kube::Config::from_custom_kubeconfig(file, &options).await.map_err(|error| text(&error))?
            }
            (None, Some(_)) => kube::Config::from_kubeconfig(&options).await.map_err(|error| text(&error))?,
            (None, None) => kube::Config::infer().await.map_err(|error| text(&error))?,
        };
        // A write that timed out may have happened: who sent it decides what that means, not the transport.
        config.default_retry = false;
        kube::Client::try_from(config).map_err(|error| text(&error))
    }
}
