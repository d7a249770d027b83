//! Which hooks a change has.

use std::{collections::BTreeMap, time::Duration};

use backup_api::{
    Artefact, BackupPlan, BackupPolicySpec, FailurePolicy, RestorePhase, SubjectReference, SubjectRule,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::announcement::Announcement;
use crate::plan::{of_policy, restore_phase};

/// A hook ends its backup by itself; the host's own limit is so much later.
const MARGIN: Duration = Duration::from_secs(600);
/// Restores come after all backups of their phase.
const RESTORES: i32 = 10_000;
/// What names of restoring hooks begin with. Names of policies have no colon.
const RESTORE: &str = "restore:";

/// A policy as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it says.
    pub spec: &'a BackupPolicySpec,
}

/// One hook of a phase of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// Name of the policy, or `restore:` and that.
    pub name: String,
    /// The lighter comes first; among equals, by name.
    pub weight: i32,
    /// When the host gives it up.
    pub timeout: Duration,
    /// How often the host begins it anew. Never: backups and restores try again themselves, with the database released in between.
    pub retries: u32,
    /// What becomes of the change when it fails.
    pub on_failure: FailurePolicy,
    /// Somebody has to approve first.
    pub approval: bool,
    /// Nothing has to be done after the change whatever happens: databases are released before the hook is done.
    pub needs_post: bool,
    /// All that it needs: [`Parameters`] as JSON.
    pub parameters: Value,
}

/// What a hook needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "action")]
pub enum Parameters {
    /// Take a backup.
    Backup {
        /// Name of the policy.
        policy: String,
        /// All that the backup needs.
        plan: Box<BackupPlan>,
        /// When it is put back if the change is undone.
        restore: RestorePhase,
        /// The data that is written over then is backed up first.
        #[serde(rename = "setAside")]
        set_aside: bool,
        /// The policy's weight and its word on failures, for the restore.
        weight: i32,
        /// The same.
        #[serde(rename = "onFailure")]
        on_failure: FailurePolicy,
    },
    /// Put a backup back.
    Restore(Box<Record>),
}

/// What a backup leaves for the undoing of its change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Name of the `Backup`.
    pub backup: String,
    /// Name of the policy.
    pub policy: String,
    /// The artefact.
    pub artefact: Artefact,
    /// How it was taken, and so how it is put back.
    pub plan: BackupPlan,
    /// When it is put back.
    pub restore: RestorePhase,
    /// The data that is written over is backed up first.
    pub set_aside: bool,
    /// Weight of the policy.
    pub weight: i32,
    /// The policy's word on failures.
    pub on_failure: FailurePolicy,
}

/// Is a policy about an object with these labels?
pub fn is_about(
    policy: &BackupPolicySpec,
    subject: &SubjectReference,
    labels: &BTreeMap<String, String>,
) -> bool {
    policy.subjects.iter().any(|rule| selects(rule, subject, labels))
}

fn selects(rule: &SubjectRule, subject: &SubjectReference, labels: &BTreeMap<String, String>) -> bool {
    rule.api_group == subject.group()
        && rule.kind == subject.kind
        && rule.name.as_ref().is_none_or(|name| *name == subject.name)
        && rule.selector.as_ref().is_none_or(|selector| selector.selects(labels))
}

/// The hooks of a phase, in their order. `policies` are those of the subject's namespace.
pub fn plan(announcement: &Announcement, policies: &[Policy<'_>]) -> Vec<Hook> {
    let matching = policies.iter().filter(|policy| guards(policy.spec, announcement));
    let backups = matching.filter_map(|policy| backup_hook(*policy));
    let mut hooks: Vec<Hook> = backups.chain(restore_hooks(announcement)).collect();
    hooks.sort_by(|a, b| (a.weight, &a.name).cmp(&(b.weight, &b.name)));
    hooks
}

/// Takes part in this phase by taking a backup: a policy for which that is so and which cannot be followed must not let it pass.
pub fn guards(policy: &BackupPolicySpec, announcement: &Announcement) -> bool {
    policy.phases.contains(&announcement.phase)
        && is_about(policy, &announcement.reference(), &announcement.subject.labels)
}

/// Whether a policy that cannot be read may take part in this phase: by what can be read of it.
pub fn may_guard(policy: &Value, announcement: &Announcement) -> bool {
    let part = |name: &str| policy.get(name).filter(|part| !part.is_null()).cloned();
    // The definition has this default, and so has the type.
    let phases = part("phases").map_or_else(|| Ok(vec!["pre-upgrade".to_owned()]), serde_json::from_value);
    let subjects = part("subjects").and_then(|subjects| subjects.as_array().cloned());
    let subject = announcement.reference();
    phases.map_or(true, |phases: Vec<String>| phases.contains(&announcement.phase))
        && subjects.is_none_or(|rules| {
            rules.into_iter().any(|rule| {
                let rule = serde_json::from_value::<SubjectRule>(rule);
                rule.map_or(true, |rule| selects(&rule, &subject, &announcement.subject.labels))
            })
        })
}

fn backup_hook(policy: Policy<'_>) -> Option<Hook> {
    let spec = policy.spec;
    let parameters = Parameters::Backup {
        policy: policy.name.to_owned(),
        plan: Box::new(of_policy(spec)),
        restore: restore_phase(spec),
        set_aside: spec.restore.set_aside,
        weight: spec.weight,
        on_failure: spec.on_failure,
    };
    Some(Hook {
        name: policy.name.to_owned(),
        weight: spec.weight,
        timeout: Duration::from(spec.timeout).saturating_add(MARGIN),
        retries: 0,
        on_failure: spec.on_failure,
        approval: spec.approval,
        needs_post: false,
        parameters: serde_json::to_value(parameters).ok()?,
    })
}

/// Every artefact of the undone change that is to be put back in this phase. What another plugin's hook left is not ours to read.
fn restore_hooks(announcement: &Announcement) -> impl Iterator<Item = Hook> {
    let phase = match announcement.phase.as_str() {
        "pre-rollback" => Some(RestorePhase::PreRollback),
        "post-rollback" => Some(RestorePhase::PostRollback),
        _ => None,
    };
    let records = announcement
        .artefacts
        .iter()
        .filter_map(|recorded| serde_json::from_value::<Record>(recorded.artefact.clone()).ok());
    records.filter(move |record| phase == Some(record.restore)).filter_map(restore_hook)
}

fn restore_hook(record: Record) -> Option<Hook> {
    // The artefact is read, the present data set aside, the artefact put back: each has so long, and is cleaned up after.
    let timeout = Duration::from(record.plan.timeout).saturating_add(MARGIN).saturating_mul(3);
    Some(Hook {
        name: format!("{RESTORE}{}", record.policy),
        weight: record.weight.saturating_add(RESTORES),
        timeout,
        retries: 0,
        on_failure: record.on_failure,
        approval: false,
        needs_post: false,
        parameters: serde_json::to_value(Parameters::Restore(Box::new(record))).ok()?,
    })
}
