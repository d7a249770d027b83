//! The steps in which a release goes back: by itself after an upgrade that failed, and by somebody's hand.

use std::fs;

use anyhow::{Context as _, Result, bail};

use super::Scene;
use crate::demo::store::{ANY_IMAGE, WORD};

/// A template that a developer adds: an object more, and a Job that fails after everything was changed.
const MIGRATION: &str = r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-migration
data:
  schema: "2"
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migration
  annotations:
    "helm.sh/hook": post-upgrade
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: migration
          image: IMAGE
          command: ["sh", "-c", COMMAND]
"#;

impl Scene<'_> {
    /// A migration loses the data and fails: the upgrade is rolled back, and the data with it.
    pub(super) fn failed_upgrade(&self) -> Result<()> {
        let Some((good, _)) = self.latest() else { bail!("no release") };
        let store = self.project.store.as_ref().filter(|_| self.real_pods);
        if let Some(store) = store {
            self.in_store(store.put)?;
        }
        let template = self.project.templates.join("zz-migration.yaml");
        let spoil = store.map_or("echo no migration", |store| store.spoil.as_str());
        let text = MIGRATION
            .replace("IMAGE", store.map_or(ANY_IMAGE, |store| store.image))
            .replace("COMMAND", &serde_json::to_string(&format!("{spoil}; exit 1"))?);
        super::replace(&template, text.as_bytes())?;
        let history = [(good + 1, "failed".to_owned()), (good + 2, "deployed".to_owned())];
        self.seen_with_hooks(
            "a template saved whose migration fails: the upgrade is rolled back, the pre-rollback hook ran",
            || self.revisions().ends_with(&history),
        )?;
        let resource = self.custom_resource();
        let failure = r#"{.status.conditions[?(@.reason=="UpgradeError")].message}"#;
        self.look.seen("the resource says why", || !self.look.value(&resource, failure).is_empty())?;
        println!("  {}", self.look.value(&resource, failure).replace('\n', "\n  "));
        let left = format!("configmap/{}-migration", self.project.name);
        self.look.seen("what the failed upgrade brought is gone", || {
            self.look.value(&left, "{.metadata.name}").is_empty()
        })?;
        if store.is_some() {
            if !self.look.value(&resource, failure).contains("spoiled") {
                bail!("the migration did not lose the data: nothing was there to be restored");
            }
            self.precious("the data that the migration lost is back, from the backup before the upgrade")?;
        }
        self.show_history()?;
        fs::remove_file(&template).with_context(|| template.display().to_string())?;
        self.look
            .seen("the template taken away again: the resource is well, without another revision", || {
                self.look.value(&resource, failure).is_empty() && self.revisions().ends_with(&history)
            })
    }

    /// `helm rollback` is understood: its revision is kept, and kept repaired, until something new is asked for.
    pub(super) fn rollback_by_hand(&self) -> Result<()> {
        let Some((revision, _)) = self.latest().filter(|(revision, _)| *revision > 1) else { return Ok(()) };
        if self.real_pods {
            self.look.helm(&["rollback", &self.project.name, "1"])?;
        } else {
            self.look.helm(&["rollback", &self.project.name, "1", "--no-hooks"])?;
        }
        let resource = self.custom_resource();
        let by_hand = r#"{.status.conditions[?(@.type=="ManualRevision")].status}"#;
        self.look.seen(
            "helm rollback by hand is understood: its revision is the one that is kept",
            || {
                self.look.value(&resource, "{.status.release.revision}") == (revision + 1).to_string()
                    && self.look.value(&resource, by_hand) == "True"
            },
        )?;
        self.drift_of("of the revision that was rolled back to")?;
        if self.latest() != Some((revision + 1, "deployed".to_owned())) {
            bail!("the rollback by hand was fought: {:?}", self.latest());
        }
        self.show_history()?;
        if self.project.scales {
            self.look.patch(&resource, r#"{"spec":{"replicaCount":3}}"#)?;
            self.seen_with_hooks("the next change of the spec wins over what was done by hand", || {
                self.latest() == Some((revision + 2, "deployed".to_owned()))
                    && self.look.value(&resource, by_hand) != "True"
            })?;
        }
        Ok(())
    }

    fn precious(&self, what: &str) -> Result<()> {
        let Some(store) = &self.project.store else { return Ok(()) };
        self.look.seen(what, || self.in_store(store.read).is_ok_and(|text| text.contains(WORD)))
    }

    fn in_store(&self, command: &str) -> Result<String> {
        let Some(store) = &self.project.store else { return Ok(String::new()) };
        let deployment = format!("deployment/{}", store.deployment);
        // Behind the dashes everything is the command's.
        self.look.access.kubectl(&[
            "exec",
            "--namespace",
            super::NAMESPACE,
            &deployment,
            "--",
            "sh",
            "-c",
            command,
        ])
    }
}
