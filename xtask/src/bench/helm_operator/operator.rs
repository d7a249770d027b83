//! The two operators as processes, each a user of its own, so that the API server counts its requests.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use pilothouse_testbed::Cluster;
use pilothouse_testbed::binaries::HELM_OPERATOR;
use pilothouse_testbed::progress::ToStderr;

use crate::bench::figures::{Pss, processor_time, pss};
use crate::build;
use crate::demo::access::Access;
use crate::demo::stage::{Process, Stage as _};

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// We.
    Pilothouse,
    /// operator-sdk's.
    HelmOperator,
}

impl Who {
    /// Its name, as a user and in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pilothouse => "pilothouse",
            Self::HelmOperator => "helm-operator",
        }
    }

    fn user(self) -> String {
        format!("bench-{}", self.name())
    }
}

/// A running operator.
#[derive(Debug)]
pub(super) struct Operator {
    who: Who,
    process: Running,
}

#[derive(Debug)]
enum Running {
    Ours(Box<Process>),
    Theirs(Child),
}

impl Operator {
    /// Starts an operator of a project.
    pub(super) fn start(who: Who, cluster: &Cluster, project: &Path, work: &Path) -> Result<Self> {
        let kubeconfig = cluster.kubeconfig_for(&who.user(), &[])?;
        let process = match who {
            Who::Pilothouse => {
                let access = Access::new(&kubeconfig, work);
                let helm: Vec<_> =
                    build::plugins()?.into_iter().filter(|file| file.ends_with("helm.wasm")).collect();
                let work = tempfile::tempdir_in(work)?.keep();
                let mut process = Process::prepare(&access, project, &helm, &work)?;
                process.start()?;
                Running::Ours(Box::new(process))
            }
            Who::HelmOperator => {
                let log = File::create(work.join("helm-operator.log"))?;
                let child = Command::new(HELM_OPERATOR.find(&ToStderr)?)
                    .current_dir(project)
                    .args(["run", "--metrics-bind-address=0", "--health-probe-bind-address=0"])
                    .env("KUBECONFIG", &kubeconfig)
                    .env("WATCH_NAMESPACE", "")
                    .stdin(Stdio::null())
                    .stdout(log.try_clone()?)
                    .stderr(log)
                    .spawn()?;
                Running::Theirs(child)
            }
        };
        Ok(Self { who, process })
    }

    fn pid(&self) -> Result<u32> {
        match &self.process {
            Running::Ours(process) => process.pid().context("the host is not there"),
            Running::Theirs(child) => Ok(child.id()),
        }
    }

    /// Its memory.
    pub(super) fn pss(&self) -> Result<Pss> {
        pss(self.pid()?)
    }

    /// What it has taken so far: processor time, and requests that the API server counted.
    pub(super) fn taken(&self, access: &Access) -> Result<(Duration, u64)> {
        Ok((
            processor_time(self.pid()?)?,
            requests(&access.kubectl(&["get", "--raw", "/metrics"])?, self.who),
        ))
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        match &mut self.process {
            Running::Ours(process) => {
                let _ = process.stop();
            }
            Running::Theirs(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// Users with all rights, each with a flow of its own (API Priority and Fairness counts what it lets through).
pub(super) fn users() -> String {
    let user = |who: Who| {
        let (name, flow) = (who.user(), who.user());
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{ name: {name} }}\n\
             roleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin }}\n\
             subjects: [{{ apiGroup: rbac.authorization.k8s.io, kind: User, name: {name} }}]\n---\n\
             apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata: {{ name: {flow} }}\nspec:\n  \
             matchingPrecedence: 100\n  priorityLevelConfiguration: {{ name: workload-high }}\n  \
             distinguisherMethod: {{ type: ByUser }}\n  rules:\n    - subjects: [{{ kind: User, user: {{ name: {name} }} }}]\n      \
             resourceRules: [{{ verbs: [\"*\"], apiGroups: [\"*\"], resources: [\"*\"], clusterScope: true, namespaces: [\"*\"] }}]\n      \
             nonResourceRules: [{{ verbs: [\"*\"], nonResourceURLs: [\"*\"] }}]\n"
        )
    };
    [Who::Pilothouse, Who::HelmOperator].map(user).join("---\n")
}

fn requests(metrics: &str, who: Who) -> u64 {
    let label = format!("flow_schema=\"{}\"", who.user());
    let samples = metrics.lines().filter(|line| {
        line.starts_with("apiserver_flowcontrol_dispatched_requests_total{") && line.contains(&label)
    });
    samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_of_the_users_flow() {
        let metrics = "\
apiserver_flowcontrol_dispatched_requests_total{flow_schema=\"bench-pilothouse\",priority_level=\"workload-high\"} 12
apiserver_flowcontrol_dispatched_requests_total{flow_schema=\"bench-helm-operator\",priority_level=\"workload-high\"} 1e+02
apiserver_flowcontrol_rejected_requests_total{flow_schema=\"bench-pilothouse\"} 3
";
        assert_eq!(requests(metrics, Who::Pilothouse), 12);
        assert_eq!(requests(metrics, Who::HelmOperator), 100);
    }
}
