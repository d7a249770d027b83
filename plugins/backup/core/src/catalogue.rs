//! Entries of the catalogue: what stands beside an artefact, so that its `Backup` can be made again when the cluster is lost.

use std::fmt;

use backup_api::{
    Artefact, BackupPhase, BackupPlan, BackupSpec, BackupStatus, Origin, OriginKind, PolicyReference,
    Storage, SubjectReference, names,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::backup::Object;

/// The version that is written.
const VERSION: u32 = 1;

/// One entry. It names Secrets and has none of their content. Pod templates are left out, for people write passwords into them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Version of this form. Later ones are not read by guess.
    pub version: u32,
    /// Name of the `Backup`.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// What was backed up.
    pub subject: SubjectReference,
    /// Name of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Why it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How it was taken, and so how it is restored.
    pub plan: BackupPlan,
    /// A pod template of the plan was left out: a restore has to name it again.
    #[serde(default)]
    pub without_template: bool,
    /// What it is.
    pub artefact: Artefact,
}

/// Why an entry is of no use.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// It is no entry, or a damaged one.
    #[error("it is no entry of a catalogue: {0}")]
    Form(#[from] serde_json::Error),
    /// It was written by a later version.
    #[error("it has version {0}, and this program reads up to {VERSION}: use a later one")]
    Version(u32),
    /// It stands beside another artefact than it tells of.
    #[error("it tells of {told:?} and stands beside {found:?}")]
    Misplaced {
        /// The key in it.
        told: String,
        /// The key it was found beside.
        found: String,
    },
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

impl Entry {
    /// The entry of an artefact.
    pub(crate) fn of(object: &Object<'_>, plan: &BackupPlan, artefact: &Artefact) -> Self {
        let (plan, without_template) = without_templates(plan);
        Self {
            version: VERSION,
            name: object.name.to_owned(),
            namespace: object.namespace.to_owned(),
            subject: object.spec.subject.clone(),
            policy: object.spec.policy_ref.as_ref().map(|policy| policy.name.clone()),
            origin: object.spec.origin.clone(),
            plan,
            without_template,
            artefact: artefact.clone(),
        }
    }

    /// Reads an entry that was found beside the artefact of a key.
    ///
    /// # Errors
    /// [`EntryError`]: it is of no use.
    pub fn read(text: &str, key: &str) -> Result<Self, EntryError> {
        let Head { version } = serde_json::from_str(text)?;
        if version > VERSION {
            return Err(EntryError::Version(version));
        }
        let entry: Self = serde_json::from_str(text)?;
        if entry.artefact.key != key {
            return Err(EntryError::Misplaced { told: entry.artefact.key, found: key.to_owned() });
        }
        Ok(entry)
    }

    /// The `Backup` that it tells of, in a namespace, found in a storage: the object, and the status to be given to it. It counts as
    /// verified as it was then; a restore reads it again in any case.
    pub fn import(&self, namespace: &str, storage: &Storage) -> (Value, BackupStatus) {
        // Nobody wrote templates here: whoever can write to the storage would say with them what runs in the cluster.
        let (plan, _) = without_templates(&self.plan);
        let plan = BackupPlan { storage: Some(storage.clone()), ..plan };
        let spec = BackupSpec {
            subject: self.subject.clone(),
            policy_ref: self.policy.clone().map(|name| PolicyReference { name }),
            plan: Some(plan),
            origin: Some(Origin { kind: OriginKind::Import, ..self.origin.clone().unwrap_or_default() }),
            subject_version: self.artefact.subject_version.clone(),
            // Importing is looking: what is deleted by looking would be a surprise.
            deletion_policy: Some(backup_api::DeletionPolicy::Retain),
        };
        let artefact = Artefact { uri: storage.uri(&self.artefact.key), ..self.artefact.clone() };
        let status = BackupStatus {
            phase: BackupPhase::Completed,
            verified: true,
            completed_at: Some(artefact.taken_at),
            started_at: Some(artefact.taken_at),
            message: format!("{} was found in the storage", artefact.uri),
            artefact: Some(artefact),
            ..BackupStatus::default()
        };
        let object = json!({
            "apiVersion": names::API_VERSION,
            "kind": names::BACKUP,
            "metadata": {"namespace": namespace, "name": self.name},
            "spec": spec,
        });
        (object, status)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?)
    }
}

fn without_templates(plan: &BackupPlan) -> (BackupPlan, bool) {
    let mut plan = plan.clone();
    let mut found = false;
    if let Some(job) = plan.strategy.job.as_mut() {
        found |= job.template.take().is_some();
        found |= job.restore.as_mut().and_then(|restore| restore.template.take()).is_some();
    }
    let trial = plan.verification.trial.as_mut();
    found |= trial.and_then(|trial| trial.template.take()).is_some();
    (plan, found)
}

#[cfg(test)]
mod tests {
    use backup_api::OriginKind;

    use super::*;

    fn entry(plan: Value) -> Entry {
        let spec: BackupSpec = serde_json::from_value(json!({
            "subject": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}, "policyRef": {"name": "nightly"},
            "origin": {"kind": "Lifecycle", "change": "c-1", "phase": "pre-upgrade"},
        }))
        .unwrap();
        let artefact = serde_json::from_value(json!({
            "uri": "s3://bucket/old/k", "key": "k", "size": 1000, "sha256": "0".repeat(64), "format": "mariadb-sql",
            "subject": spec.subject, "change": "c-1", "subjectVersion": "1.2", "takenAt": "2026-01-01T00:00:00Z",
        }));
        let object = Object { namespace: "shop", name: "b", uid: "u", deleting: false, spec: &spec };
        Entry::of(&object, &serde_json::from_value(plan).unwrap(), &artefact.unwrap())
    }

    fn plan() -> Value {
        json!({
            "strategy": {"job": {"preset": "mariadb", "parameters": {"host": "db", "passwordSecret": {"name": "s", "key": "k"}}}},
            "storage": {"url": "s3://bucket/old", "credentialsSecret": "login"},
        })
    }

    #[test]
    fn an_entry_is_read_back_and_makes_the_backup_again() {
        let entry = entry(plan());
        assert_eq!(Entry::read(&entry.to_string(), "k").unwrap(), entry);
        let storage = Storage { url: "s3://elsewhere".to_owned(), ..Storage::default() };
        let (object, status) = entry.import("other", &storage);
        assert_eq!(object["metadata"], json!({"namespace": "other", "name": "b"}));
        assert_eq!(object["spec"]["plan"]["storage"]["url"], "s3://elsewhere");
        let spec: BackupSpec = serde_json::from_value(object["spec"].clone()).unwrap();
        let origin = spec.origin.unwrap();
        assert_eq!((origin.kind, origin.change.as_deref()), (OriginKind::Import, Some("c-1")));
        let artefact = status.artefact.unwrap();
        assert_eq!((artefact.uri.as_str(), artefact.change.as_deref()), ("s3://elsewhere/k", Some("c-1")));
        assert!(status.verified && status.phase == BackupPhase::Completed);
    }

    #[test]
    fn what_people_write_into_templates_stays_out_of_the_catalogue() {
        let secret = json!({"spec": {"containers": [{"name": "dump", "env": [{"name": "TOKEN", "value": "hunter2"}]}]}});
        let mut plan = plan();
        assert!(!entry(plan.clone()).without_template);
        plan["strategy"]["job"]["template"] = secret.clone();
        plan["strategy"]["job"]["restore"] = json!({"template": secret});
        plan["verification"] = json!({"level": "Restore", "trial": {"template": secret}});
        let entry = entry(plan);
        assert!(entry.without_template && !entry.to_string().contains("hunter2"));
    }

    #[test]
    fn whoever_writes_to_the_storage_does_not_say_what_runs_in_the_cluster() {
        let evil = json!({"spec": {"hostPID": true, "containers": []}});
        let mut planted = entry(plan());
        let job = planted.plan.strategy.job.as_mut().unwrap();
        job.template = Some(serde_json::from_value(evil.clone()).unwrap());
        let text = planted.to_string();
        assert!(text.contains("hostPID"));
        let (object, _) = Entry::read(&text, "k").unwrap().import("other", &Storage::default());
        assert!(!object.to_string().contains("hostPID"), "{object}");
    }

    #[test]
    fn what_is_of_no_use_is_told() {
        let text = entry(plan()).to_string();
        assert!(matches!(Entry::read(&text, "other"), Err(EntryError::Misplaced { .. })));
        assert!(matches!(Entry::read(&text[..text.len() / 2], "k"), Err(EntryError::Form(_))));
        assert!(matches!(Entry::read("[]", "k"), Err(EntryError::Form(_))));
        let later = text.replacen("\"version\": 1", "\"version\": 2", 1);
        assert!(matches!(Entry::read(&later, "k"), Err(EntryError::Version(2))));
    }
}
