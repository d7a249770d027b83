//! An operator made from a chart: its project, what deploys it, and who runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use pilothouse_testbed::binaries::KUBECTL;
use pilothouse_testbed::progress::ToStderr;
use serde_json::{Value, json};

use super::access::Access;
use super::stage::{Process, Stage as _};
use crate::build;
use crate::image;
use crate::steps::{output, run, say};

/// The image's name, as a user would choose it.
pub(super) const IMAGE: &str = "registry.example/hello-operator:v0.0.1";
/// Where `make deploy` puts the operator: the project's name is that of its directory.
pub(super) const NAMESPACE: &str = "hello-operator-system";
const ACCOUNT: &str = "hello-operator-controller-manager";
/// The account as the API server calls it.
pub(super) const USER: &str = "system:serviceaccount:hello-operator-system:hello-operator-controller-manager";
/// The role with the rights that the chart needs.
pub(super) const ROLE: &str = "clusterrole/hello-operator-manager-role";

/// A project, and the cluster it is for.
#[derive(Debug)]
pub(super) struct Made<'a> {
    access: &'a Access,
    directory: PathBuf,
    work: PathBuf,
    helm_plugin: PathBuf,
    /// Without a node nobody runs the operator's pod: then it runs here, as the same account.
    host: Option<Process>,
}

impl<'a> Made<'a> {
    /// `pilothouse init` in an empty directory.
    ///
    /// # Errors
    /// What it said.
    pub(super) fn init(access: &'a Access, chart: &Path, work: &Path) -> Result<Self> {
        let directory = work.join("hello-operator");
        fs::create_dir_all(&directory)?;
        let helm_plugin = build::plugins()?.into_iter().find(|file| file.ends_with("helm.wasm"));
        let helm_plugin = helm_plugin.context("there is no helm.wasm")?;
        let chart = chart.display().to_string();
        let arguments =
            ["init", "--plugins=helm", "--domain=example.com", "--kind=Hello", "--helm-chart", &chart];
        say(&format!("pilothouse {}", arguments.join(" ")));
        let mut command = Command::new(build::host()?);
        command.current_dir(&directory).args(arguments).env("PILOTHOUSE_HELM_PLUGIN", &helm_plugin);
        println!("{}", output(&mut command)?);
        Ok(Self { access, directory, work: work.to_owned(), helm_plugin, host: None })
    }

    /// A file of the project.
    pub(super) fn file(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    /// What `make docker-build` would make, for a machine without a container engine.
    ///
    /// # Errors
    /// When something of it cannot be built.
    pub(super) fn image(&self) -> Result<pilothouse_testbed::image::Archive> {
        say(&format!("the image {IMAGE}, of what the Dockerfile copies"));
        image::of_project(IMAGE, &self.directory)
    }

    /// Runs a target of the project's Makefile.
    ///
    /// # Errors
    /// When make fails.
    pub(super) fn make(&self, target: &str) -> Result<()> {
        say(&format!("make {target} IMG={IMAGE}"));
        let mut command = Command::new("make");
        command.current_dir(&self.directory).args(["--silent", target, &format!("IMG={IMAGE}")]);
        command.arg(format!("KUBECTL={}", KUBECTL.find(&ToStderr)?.display()));
        run(command.env("KUBECONFIG", self.access.kubeconfig()))
    }

    /// Deploys the operator and waits until it runs.
    ///
    /// # Errors
    /// What make or kubectl said.
    pub(super) fn deploy(&mut self, node: bool) -> Result<()> {
        self.make("deploy")?;
        if node {
            let deployment = format!("deployment/{ACCOUNT}");
            let wait = ["rollout", "status", &deployment, "--namespace", NAMESPACE, "--timeout=120s"];
            self.access.kubectl(&wait)?;
            println!("{}", self.access.kubectl(&["get", "pods", "--namespace", NAMESPACE])?);
            return Ok(());
        }
        say("no node runs the operator's pod: it runs here, as the pod's account");
        let kubeconfig = self.account()?;
        let account = Access::new(&kubeconfig, &self.work);
        let work = self.work.join("host");
        fs::create_dir_all(&work)?;
        let plugins = [self.helm_plugin.clone()];
        let mut host = Process::prepare(&account, &self.directory, &plugins, &work)?;
        host.start()?;
        self.host = Some(host);
        Ok(())
    }

    /// Stops what `deploy` started here.
    ///
    /// # Errors
    /// When it does not end.
    pub(super) fn stop(&mut self) -> Result<()> {
        self.host.as_mut().map_or(Ok(()), Process::stop)
    }

    /// What the operator logged.
    pub(super) fn log(&self) -> String {
        match &self.host {
            Some(host) => host.log(),
            None => {
                let deployment = format!("deployment/{ACCOUNT}");
                self.access.kubectl(&["logs", &deployment, "--namespace", NAMESPACE]).unwrap_or_default()
            }
        }
    }

    /// A kubeconfig of the operator's account.
    fn account(&self) -> Result<PathBuf> {
        let token = ["create", "token", ACCOUNT, "--namespace", NAMESPACE, "--duration=2h"];
        let token = self.access.kubectl(&token)?;
        let config = self.access.kubectl(&["config", "view", "--raw", "--minify", "--output=json"])?;
        let config: Value = serde_json::from_str(&config)?;
        let file = self.work.join("account.kubeconfig");
        fs::write(&file, as_account(config, token.trim()).to_string())?;
        Ok(file)
    }
}

fn as_account(mut config: Value, token: &str) -> Value {
    if let Some(users) = config.get_mut("users").and_then(Value::as_array_mut) {
        for user in users.iter_mut().filter_map(Value::as_object_mut) {
            user.insert("user".to_owned(), json!({ "token": token }));
        }
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accounts_kubeconfig_has_nothing_of_the_administrators() {
        let config = json!({"users": [{"name": "admin", "user": {"client-key-data": "secret"}}]});
        assert_eq!(as_account(config, "t"), json!({"users": [{"name": "admin", "user": {"token": "t"}}]}));
    }
}
