//! Ways into a cluster: kubeconfigs, certificates, kubectl and helm.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::Cluster;
use crate::binaries::{HELM_CLI, KUBECTL};
use crate::error::{Error, Result};
use crate::pki::{Authority, kubeconfig};
use crate::process::run;
use crate::progress::{Quiet, ToStderr};

impl Cluster {
    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory().join("kubeconfig")
    }

    /// The text of the administrator's kubeconfig. It carries its certificates, so it can be taken elsewhere.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn kubeconfig_text(&self) -> Result<String> {
        let path = self.kubeconfig();
        fs::read_to_string(&path).map_err(Error::file(&path))
    }

    /// The authority that signed everything here, as PEM; clients trust it and it can sign more.
    pub fn authority(&self) -> Authority {
        Authority::open(&self.pki())
    }

    /// A kubeconfig for another user, in a file beside the administrator's. The same again replaces it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> Result<PathBuf> {
        let file = user.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let authority = self.authority();
        let pair = authority.client(&format!("user-{file}"), user, groups)?;
        let path = self.part_kubeconfig(&format!("user-{file}"));
        fs::write(&path, kubeconfig(&self.server(), &authority.certificate(), &pair)?)
            .map_err(Error::file(&path))?;
        Ok(path)
    }

    /// Runs kubectl as the administrator; its output.
    ///
    /// # Errors
    /// What kubectl said.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        run(self.kubectl_command()?.args(arguments))
    }

    /// kubectl as the administrator, for callers that want its standard input or its status.
    ///
    /// # Errors
    /// When kubectl is not to be had.
    pub fn kubectl_command(&self) -> Result<Command> {
        let mut command = Command::new(KUBECTL.find(&Quiet)?);
        command.env("KUBECONFIG", self.kubeconfig());
        Ok(command)
    }

    /// Runs the real helm as the administrator; its output. It keeps its files in the cluster's directory.
    ///
    /// # Errors
    /// What helm said.
    pub fn helm(&self, arguments: &[&str]) -> Result<String> {
        run(self.helm_command()?.args(arguments))
    }

    /// The real helm as the administrator.
    ///
    /// # Errors
    /// When helm is not to be had.
    pub fn helm_command(&self) -> Result<Command> {
        let home = self.directory().join("helm");
        let mut command = Command::new(HELM_CLI.find(&ToStderr)?);
        command.env("KUBECONFIG", self.kubeconfig());
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, &home);
        }
        Ok(command)
    }

    pub(crate) fn pki(&self) -> PathBuf {
        self.directory().join("pki")
    }

    pub(crate) fn part_kubeconfig(&self, part: &str) -> PathBuf {
        self.directory().join(format!("{part}.kubeconfig"))
    }
}
