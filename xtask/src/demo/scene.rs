//! Scene S1: an operator-sdk Helm project, unchanged, through its life.

use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::access::Access;
use super::look::Look;
use super::project::Project;
use super::stage::{Stage, tail};
use super::{interrupt, manifest};
use crate::steps::say;

mod rollbacks;

/// The namespace of the scene.
const NAMESPACE: &str = "operators";

/// The scene on its stage.
pub(super) struct Scene<'a> {
    look: Look<'a>,
    stage: Box<dyn Stage>,
    project: Project,
    /// Whether somebody runs pods; else the scene stands in for the node.
    real_pods: bool,
    /// Whether the namespace is ours to take away.
    made_namespace: bool,
}

impl<'a> Scene<'a> {
    /// Nothing has happened yet.
    pub(super) fn new(access: &'a Access, stage: Box<dyn Stage>, project: Project, real_pods: bool) -> Self {
        Self { look: Look { access, namespace: NAMESPACE }, stage, project, real_pods, made_namespace: false }
    }

    /// All of it.
    ///
    /// # Errors
    /// The step that was not seen.
    pub(super) fn play(&mut self) -> Result<()> {
        self.begin()?;
        self.install()?;
        self.drift_of("of the release")?;
        self.upgrade()?;
        self.failed_upgrade()?;
        self.refusal()?;
        self.rollback_by_hand()?;
        self.edited_chart()?;
        self.swapped_plugin()?;
        self.deletion_while_away()
    }

    fn begin(&mut self) -> Result<()> {
        self.look.access.kubectl(&["create", "namespace", NAMESPACE]).with_context(|| {
            format!(
                "the scene needs the namespace {NAMESPACE} for itself; take it away, or use another cluster"
            )
        })?;
        self.made_namespace = true;
        let crds = self.project.crds.display().to_string();
        self.look.access.kubectl(&["apply", "--filename", &crds])?;
        self.stage.start()
    }

    fn install(&self) -> Result<()> {
        self.apply_sample()?;
        self.look.seen("the release is installed", || self.latest() == Some((1, "deployed".to_owned())))?;
        if self.real_pods {
            let wait = ["wait", "--for=condition=Available", "deployments", "--all", "--timeout=90s"];
            self.look.kubectl(&wait).context("the release's pods")?;
            say("its pods run");
        }
        println!("{}", self.look.kubectl(&["get", "deployments,services,persistentvolumeclaims"])?);
        println!("{}", self.look.helm(&["list"])?);
        Ok(())
    }

    /// `whose`: for what is said about it.
    fn drift_of(&self, whose: &str) -> Result<()> {
        let Some((name, replicas)) =
            manifest::scaled_deployment(&self.look.helm(&["get", "manifest", &self.project.name])?)
        else {
            say("no drift is played: the release has no Deployment with replicas");
            return Ok(());
        };
        let deployment = format!("deployment/{name}");
        self.look.patch(&deployment, &format!(r#"{{"spec":{{"replicas":{}}}}}"#, replicas + 2))?;
        let what = format!("{name} {whose}: replicas patched to {} are {replicas} again", replicas + 2);
        self.look.seen(&what, || self.look.value(&deployment, "{.spec.replicas}") == replicas.to_string())?;
        let before = self.look.value(&deployment, "{.metadata.uid}");
        self.look.kubectl(&["delete", &deployment, "--wait=false"])?;
        self.look.seen(&format!("{name}: deleted, it is back"), || {
            let uid = self.look.value(&deployment, "{.metadata.uid}");
            !uid.is_empty() && uid != before
        })
    }

    fn upgrade(&self) -> Result<()> {
        if !self.project.scales {
            say("no upgrade is played: the chart knows no replicaCount");
            return Ok(());
        }
        self.look.patch(&self.custom_resource(), r#"{"spec":{"replicaCount":2}}"#)?;
        self.seen_with_hooks("replicaCount 2: the pre-upgrade hooks ran, revision 2 is deployed", || {
            self.latest() == Some((2, "deployed".to_owned()))
        })?;
        self.show_history()
    }

    /// A change that cannot be: the release stays as it is, and the resource says why.
    fn refusal(&self) -> Result<()> {
        if !self.project.serves {
            return Ok(());
        }
        let (resource, before) = (self.custom_resource(), self.latest());
        let port = self.look.value(&resource, "{.spec.service.port}");
        self.look.patch(&resource, r#"{"spec":{"service":{"port":0}}}"#)?;
        let failure = r#"{.status.conditions[?(@.reason=="UpgradeError")].message}"#;
        self.look.seen("service.port 0 is refused, and the resource says so", || {
            !self.look.value(&resource, failure).is_empty()
        })?;
        println!("  {}", self.look.value(&resource, failure));
        let port = if port.is_empty() { "null" } else { &port };
        self.look.patch(&resource, &format!(r#"{{"spec":{{"service":{{"port":{port}}}}}}}"#))?;
        self.look.seen("mended, it is well again, and the release was not touched", || {
            self.look.value(&resource, failure).is_empty() && self.latest() == before
        })
    }

    /// Saving a template re-renders its release.
    fn edited_chart(&self) -> Result<()> {
        let template = &self.project.template;
        let text = fs::read_to_string(template)?;
        let note = "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-note\ndata:\n  revision: {{ .Release.Revision | quote }}\n";
        fs::write(template, text + note)?;
        let name = template.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let note = format!("configmap/{}-note", self.project.name);
        self.seen_with_hooks(&format!("{name} saved with a ConfigMap more: rolled out"), || {
            !self.look.value(&note, "{.data.revision}").is_empty()
        })?;
        self.look.seen("and deployed", || self.latest().is_some_and(|(_, status)| status == "deployed"))
    }

    /// A plugin's file is replaced while the host runs; then by something that is no plugin.
    fn swapped_plugin(&self) -> Result<()> {
        let file = self.stage.plugins().join("helm.wasm");
        let before = fs::read(&file)?;
        let after = manifest::with_version(&before, br#""version":"0.1.0""#, br#""version":"0.1.9""#)
            .context("helm.wasm does not say its version")?;
        replace(&file, &after)?;
        self.look.seen("helm.wasm replaced by another build: swapped while the host runs", || {
            self.stage.log().contains("plugin swapped")
        })?;
        replace(&file, b"not wasm at all")?;
        self.look.seen("helm.wasm replaced by nonsense: refused, the one before goes on", || {
            self.stage.log().contains("plugin refused")
        })?;
        replace(&file, &after)
    }

    /// The operator is gone first and the resource after it: nothing is stuck once it is back.
    fn deletion_while_away(&mut self) -> Result<()> {
        self.stage.remove()?;
        let resource = self.custom_resource();
        self.look.kubectl(&["delete", &resource, "--wait=false"])?;
        if self.look.value(&resource, "{.metadata.deletionTimestamp}").is_empty() {
            bail!("the resource did not wait for its finalizer");
        }
        say("the host is deleted and the resource after it: it waits for its finalizer");
        self.stage.start()?;
        let kinds = format!("deployments,services,secrets,{}", self.project.resource);
        let left = || self.look.kubectl(&["get", &kinds, "--output=name"]);
        let gone = self.seen_with_hooks("the host is back: resource and release are gone", || {
            left().is_ok_and(|names| names.trim().is_empty())
        });
        gone.with_context(|| format!("left are {}", left().unwrap_or_default().replace('\n', " ")))
    }

    /// Installs it once more and waits for Ctrl-C.
    ///
    /// # Errors
    /// When it cannot be installed again.
    pub(super) fn leave_to_user(&self) -> Result<()> {
        self.apply_sample()?;
        self.look.seen("the release is installed once more", || self.latest().is_some())?;
        say("the scene is yours now; try it in another terminal, Ctrl-C ends it:");
        let (resource, name) = (&self.project.resource, &self.project.name);
        println!("  export KUBECONFIG={}", self.look.access.kubeconfig().display());
        println!("  kubectl --namespace {NAMESPACE} get all,{resource}");
        println!("  kubectl --namespace {NAMESPACE} edit {resource} {name}");
        println!("  helm --namespace {NAMESPACE} history {name}");
        println!("  $EDITOR {}", self.project.template.display());
        println!("  {}", self.stage.how_to_see_the_log());
        interrupt::wait();
        Ok(())
    }

    /// Stops the host; on a cluster that stays, takes away what the scene made.
    ///
    /// # Errors
    /// What could not be taken away.
    pub(super) fn tidy(&mut self, cluster_stays: bool) -> Result<()> {
        if cluster_stays && self.made_namespace {
            say(&format!("taking away the namespace {NAMESPACE} and what is in it"));
            // While the host is there to let go of it.
            self.look.access.kubectl(&[
                "delete",
                &self.project.resource,
                "--namespace",
                NAMESPACE,
                "--all",
                "--timeout=60s",
            ])?;
            self.look.access.kubectl(&["delete", "namespace", NAMESPACE, "--timeout=60s"])?;
        }
        self.stage.stop()
    }

    /// The end of the host's log.
    pub(super) fn log_tail(&self) -> String {
        tail(&self.stage.log(), 40)
    }

    fn apply_sample(&self) -> Result<()> {
        self.look.kubectl(&["apply", "--filename", &self.project.sample.display().to_string()]).map(drop)
    }

    /// Waits until something is seen. A control plane runs no pods: there the scene lets the hooks' pods come to their end.
    fn seen_with_hooks(&self, what: &str, done: impl Fn() -> bool) -> Result<()> {
        self.look.seen(what, || {
            if !self.real_pods {
                self.end_jobs();
            }
            done()
        })
    }

    fn end_jobs(&self) {
        let pods =
            self.look.kubectl(&["get", "pods", "--selector=job-name", "--output=name"]).unwrap_or_default();
        for pod in pods.lines() {
            let phase = if pod.contains("-migration-") { "Failed" } else { "Succeeded" };
            let status = format!(r#"{{"status":{{"phase":"{phase}"}}}}"#);
            let _ = self.look.kubectl(&[
                "patch",
                pod,
                "--subresource=status",
                "--type=merge",
                "--patch",
                &status,
            ]);
        }
    }

    /// The release's last revision and its status.
    fn latest(&self) -> Option<(u64, String)> {
        self.revisions().pop()
    }

    /// The release's revisions and their statuses; none when there is no release.
    fn revisions(&self) -> Vec<(u64, String)> {
        let text = self.look.helm(&["history", &self.project.name, "--output=json"]).unwrap_or_default();
        let revisions: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        let read =
            |one: &Value| Some((one.get("revision")?.as_u64()?, one.get("status")?.as_str()?.to_owned()));
        revisions.iter().filter_map(read).collect()
    }

    fn show_history(&self) -> Result<()> {
        println!("{}", self.look.helm(&["history", &self.project.name])?);
        Ok(())
    }

    fn custom_resource(&self) -> String {
        format!("{}/{}", self.project.resource, self.project.name)
    }
}

/// As a careful deployment does it: written beside and renamed, so that nobody reads half a file.
fn replace(file: &std::path::Path, bytes: &[u8]) -> Result<()> {
    let beside = file.with_extension("new");
    fs::write(&beside, bytes)?;
    Ok(fs::rename(beside, file)?)
}
