//! The real kubectl and helm on a cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use pilothouse_testbed::binaries::{HELM_CLI, KUBECTL};
use pilothouse_testbed::progress::ToStderr;

use crate::steps::output;

/// Where a cluster is, and how one speaks to it.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    kubeconfig: PathBuf,
    helm_home: PathBuf,
}

impl Access {
    /// helm keeps its files in `work`.
    pub(crate) fn new(kubeconfig: &Path, work: &Path) -> Self {
        Self { kubeconfig: kubeconfig.to_owned(), helm_home: work.join("helm") }
    }

    /// The administrator's.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// What kubectl prints.
    ///
    /// # Errors
    /// What kubectl said.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let program = KUBECTL.find(&ToStderr)?;
        output(Command::new(program).env("KUBECONFIG", &self.kubeconfig).args(arguments))
    }

    /// What helm prints.
    ///
    /// # Errors
    /// What helm said.
    pub(crate) fn helm(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(HELM_CLI.find(&ToStderr)?);
        command.env("KUBECONFIG", &self.kubeconfig).args(arguments);
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, &self.helm_home);
        }
        output(&mut command)
    }
}
