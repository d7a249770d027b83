//! Which cluster is meant, and a client of it.

use std::path::PathBuf;

use kube::config::{KubeConfigOptions, Kubeconfig};

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
