//! The resource `LifecycleRun`: one phase of one change of one object, and the hooks that take part.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::object::{Gvk, ObjectKey};

pub mod hook;

pub use hook::{Artefact, FailurePolicy, Hook, HookState, Reference};

/// Label with the subject's uid: all runs of an object are found by it.
pub const SUBJECT_LABEL: &str = "lifecycle.pilothouse.dev/subject-uid";
/// Label with the phase.
pub const PHASE_LABEL: &str = "lifecycle.pilothouse.dev/phase";

/// In the place of the change that takes another one's place: a person gave it up.
pub const ABANDONED: &str = "(abandoned by hand)";
/// The same: it is not wanted any more.
pub const WITHDRAWN: &str = "(withdrawn)";

/// The object that something is done to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// `group/version` or `version`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// None: it is in no namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its uid: another object of the name is another subject.
    pub uid: String,
    /// Its labels when it was announced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl Subject {
    /// The kind.
    pub fn gvk(&self) -> Gvk {
        let (group, version) = self.api_version.split_once('/').unwrap_or(("", &self.api_version));
        Gvk::new(group, version, &self.kind)
    }

    /// The object.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(std::sync::Arc::new(self.gvk()), self.namespace.as_deref(), &self.name)
    }
}

/// How a change ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It was carried out.
    Succeeded,
    /// It was not, or not whole.
    Failed,
    /// It will not come to an end.
    Abandoned,
}

/// What was announced. Never changes, but for `supersededBy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// The object.
    pub subject: Subject,
    /// `pre-upgrade` and the like.
    pub phase: String,
    /// Names the change.
    pub change: String,
    /// Of a rollback: the change that is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// Of `post-` phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// The plugin, or `pilothouse`.
    pub announced_by: String,
    /// What the announcer tells.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// The change that has taken this one's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

impl Spec {
    /// Whether it is of the time before the change.
    pub fn is_before(&self) -> bool {
        self.phase.starts_with("pre-")
    }

    /// What has become of a change that is not to be begun; none: it is.
    pub fn made_way(&self) -> Option<String> {
        Some(match self.superseded_by.as_deref()? {
            ABANDONED => "it was given up by hand".to_owned(),
            WITHDRAWN => "it is not wanted any more".to_owned(),
            by => format!("the change {by} has taken the place of this one"),
        })
    }

    /// The phase on the other side of the change.
    pub fn counterpart(&self) -> Option<String> {
        counterpart_of(&self.phase)
    }

    /// The name of its resource: the same for the same subject, phase and change, and for no other.
    pub fn resource_name(&self) -> String {
        let subject = &self.subject;
        let gvk = subject.gvk();
        let identity = [
            gvk.group.as_str(),
            &gvk.kind,
            subject.namespace.as_deref().unwrap_or_default(),
            &subject.name,
            &subject.uid,
            &self.phase,
            &self.change,
        ];
        let digest = Sha256::digest(identity.join("\n").as_bytes());
        let short: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        // 253 is the API's limit; what people read is shorter.
        let name: String = subject.name.chars().take(150).collect();
        let phase: String = self.phase.chars().take(40).collect();
        format!("{}-{phase}-{short}", name.trim_end_matches(['-', '.']))
    }
}

/// The phase on the other side of a change.
pub fn counterpart_of(phase: &str) -> Option<String> {
    match (phase.strip_prefix("pre-"), phase.strip_prefix("post-")) {
        (Some(rest), _) => Some(format!("post-{rest}")),
        (_, Some(rest)) => Some(format!("pre-{rest}")),
        _ => None,
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// Plugins are asked what is to be done.
    #[default]
    Planning,
    /// Hooks are at work.
    Running,
    /// A person has to say yes.
    AwaitingApproval,
    /// Every hook has done its part, or was passed over.
    Succeeded,
    /// A hook failed that must not.
    Failed,
}

/// What a person has done to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// When it was seen.
    pub time: Timestamp,
    /// `Approve`, `Skip`, `Retry` or `Abandon`.
    pub action: String,
    /// The hooks it concerns; `*`: all.
    pub hooks: String,
    /// In the person's words.
    pub reason: String,
    /// The field manager that wrote it, such as `kubectl-annotate`. Who that was stands in the API server's audit log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub manager: String,
}

/// An annotation of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Without its prefix.
    pub name: String,
    /// Its text.
    pub value: String,
}

/// How a run stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// In a word.
    #[serde(default)]
    pub state: RunState,
    /// In a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When it was known what is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_at: Option<Timestamp>,
    /// When everything was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// In the order in which they run.
    #[serde(default)]
    pub hooks: Vec<Hook>,
    /// What people have done, the last of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<AuditEntry>,
    /// Annotations that were followed and are to be taken off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<Said>,
}

/// A run as it is in the cluster.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: String,
    /// When it was announced.
    pub created: Timestamp,
    /// What was announced.
    pub spec: Spec,
    /// How it stands.
    pub status: Status,
    /// Annotations of the lifecycle, without their prefix.
    pub said: BTreeMap<String, String>,
    /// Field managers of them.
    pub managers: BTreeMap<String, String>,
    /// The object itself.
    pub object: Value,
}

/// What is wrong with a resource that somebody else wrote.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(String);

/// Before the names of annotations by which people speak.
pub const SPOKEN: &str = "lifecycle.pilothouse.dev/";

impl Run {
    /// Reads an object.
    ///
    /// # Errors
    /// When it is not of the form that its definition asks for.
    pub fn read(object: &Value) -> Result<Self, Malformed> {
        let part = |name: &str| object.get(name).cloned().unwrap_or(Value::Null);
        let wrong = |part: &str| {
            let part = part.to_owned();
            move |error: serde_json::Error| Malformed(format!("{part}: {error}"))
        };
        let key = ObjectKey::of(object).ok_or_else(|| Malformed("it has no name".to_owned()))?;
        let status = match part("status") {
            Value::Null => Status::default(),
            status => serde_json::from_value(status).map_err(wrong("status"))?,
        };
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
        let said = annotations.into_iter().flatten().filter_map(|(name, value)| {
            Some((name.strip_prefix(SPOKEN)?.to_owned(), value.as_str()?.to_owned()))
        });
        Ok(Self {
            key,
            uid: text("/metadata/uid").to_owned(),
            created: text("/metadata/creationTimestamp").parse().unwrap_or(Timestamp::UNIX_EPOCH),
            spec: serde_json::from_value(part("spec")).map_err(wrong("spec"))?,
            status,
            said: said.collect(),
            managers: managers(object),
            object: object.clone(),
        })
    }

    /// Whether everything of it is over.
    pub fn is_over(&self) -> bool {
        self.status.finished_at.is_some()
    }

    /// Whether something has begun in it that has to be brought to its end after the change.
    pub fn needs_post(&self) -> bool {
        self.spec.is_before() && self.status.hooks.iter().any(|hook| hook.ensure_post && hook.has_begun())
    }

    /// Whether that is the host's to do, as its change will not be.
    pub fn needs_close(&self) -> bool {
        let is_lost = self.spec.superseded_by.is_some() || self.status.state == RunState::Failed;
        self.needs_post() && self.is_over() && is_lost
    }
}

impl Status {
    /// As a merge patch: what is not there any more is taken away.
    pub fn patch(&self) -> Value {
        let mut patch = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = patch.as_object_mut() {
            for name in ["message", "plannedAt", "finishedAt", "audit", "heard"] {
                fields.entry(name).or_insert(Value::Null);
            }
        }
        patch
    }
}

/// Who wrote each annotation of the lifecycle last, as far as the API server remembers.
fn managers(object: &Value) -> BTreeMap<String, String> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let mut found = BTreeMap::new();
    for entry in entries.into_iter().flatten() {
        let manager = entry.get("manager").and_then(Value::as_str).unwrap_or_default();
        let fields = entry.pointer("/fieldsV1/f:metadata/f:annotations").and_then(Value::as_object);
        for name in fields.into_iter().flat_map(serde_json::Map::keys) {
            if let Some(name) = name.strip_prefix("f:").and_then(|name| name.strip_prefix(SPOKEN)) {
                found.insert(name.to_owned(), manager.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(uid: &str, phase: &str, change: &str) -> Spec {
        let subject = json!({"apiVersion": "apps.example/v1", "kind": "Shop", "namespace": "demo", "name": "web", "uid": uid});
        serde_json::from_value(
            json!({"subject": subject, "phase": phase, "change": change, "announcedBy": "helm"}),
        )
        .unwrap()
    }

    #[test]
    fn one_name_is_one_subject_phase_and_change() {
        let name = |uid, phase, change| spec(uid, phase, change).resource_name();
        assert_eq!(name("u", "pre-upgrade", "v2"), name("u", "pre-upgrade", "v2"));
        assert!(name("u", "pre-upgrade", "v2").starts_with("web-pre-upgrade-"));
        for other in
            [name("x", "pre-upgrade", "v2"), name("u", "post-upgrade", "v2"), name("u", "pre-upgrade", "v3")]
        {
            assert_ne!(name("u", "pre-upgrade", "v2"), other);
        }
    }

    #[test]
    fn a_name_stays_within_what_the_api_takes() {
        let mut long = spec("u", "pre-upgrade", "v2");
        long.subject.name = "a".repeat(253);
        assert!(long.resource_name().len() <= 253);
    }

    #[test]
    fn a_run_is_read_with_what_people_have_said_and_by_what_means() {
        let object = json!({
            "apiVersion": "lifecycle.pilothouse.dev/v1alpha1", "kind": "LifecycleRun",
            "metadata": {
                "name": "r", "namespace": "demo", "uid": "1", "creationTimestamp": "2026-01-02T03:04:05Z",
                "annotations": {"lifecycle.pilothouse.dev/skip": "*: storage moves", "other": "x"},
                "managedFields": [{"manager": "kubectl-annotate", "fieldsV1": {"f:metadata": {"f:annotations": {
                    "f:lifecycle.pilothouse.dev/skip": {}}}}}],
            },
            "spec": spec("u", "pre-upgrade", "v2"),
        });
        let run = Run::read(&object).unwrap();
        assert_eq!(
            run.said.into_iter().collect::<Vec<_>>(),
            [("skip".to_owned(), "*: storage moves".to_owned())]
        );
        assert_eq!(run.managers.get("skip").map(String::as_str), Some("kubectl-annotate"));
        assert_eq!(run.status.state, RunState::Planning);
    }

    #[test]
    fn what_is_no_run_is_told_with_the_part_that_is_wrong() {
        let object = json!({"apiVersion": "a/v1", "kind": "LifecycleRun", "metadata": {"name": "r"}, "spec": {"phase": 1}});
        let error = Run::read(&object).unwrap_err().to_string();
        assert!(error.starts_with("spec: "), "{error}");
    }
}
