//! Which cluster, and who this host is there.

use super::AppError;
use crate::cli::run::RunArgs;

/// A client of the cluster that the flags name, the kubeconfig's or the pod's own.
///
/// # Errors
/// When none of them leads to a cluster.
pub(super) async fn connect(args: &RunArgs) -> Result<kube::Client, AppError> {
    args.cluster.connect().await.map_err(AppError::Cluster)
}

/// The host's own namespace, for its Lease and what it keeps of cluster-scoped owners: the pod's, where the pod says so;
/// else what client-go takes for it, the service account's or the one of the kubeconfig's context.
pub(super) fn own_namespace(args: &RunArgs, client: &kube::Client) -> String {
    args.pod_namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned())
}

/// Who this instance is, in leases and events.
pub(super) fn identity(args: &RunArgs) -> String {
    args.pod_name.clone().unwrap_or_else(|| {
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        format!("{}-{}", hostname.trim(), std::process::id())
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    const KUBECONFIG: &str = r#"{apiVersion: v1, kind: Config, current-context: here,
        clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: u, user: {}}],
        contexts: [{name: here, context: {cluster: c, user: u, namespace: operators}},
                   {name: plain, context: {cluster: c, user: u}}]}"#;

    async fn namespace(arguments: &[&str]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), KUBECONFIG).unwrap();
        let kubeconfig = format!("--kubeconfig={}", file.path().display());
        let all = ["pilothouse", "run", &kubeconfig].into_iter().chain(arguments.iter().copied());
        let Command::Run(mut args) = Cli::try_parse_from(all).unwrap().command else { panic!("run") };
        args.pod_namespace =
            arguments.iter().find_map(|a| a.strip_prefix("--pod-namespace=")).map(Into::into);
        own_namespace(&args, &connect(&args).await.unwrap())
    }

    #[tokio::test]
    async fn without_a_pods_word_the_own_namespace_is_the_one_of_the_context() {
        assert_eq!(namespace(&[]).await, "operators");
        assert_eq!(namespace(&["--context=plain"]).await, "default");
        assert_eq!(namespace(&["--pod-namespace=pod"]).await, "pod");
    }
}
