//! The plan of a backup: its own, the one it began with, or its policy's.

use std::collections::BTreeMap;

use backup_api::{BackupPlan, BackupPolicySpec, BackupStatus};
use backup_core::plan::{self, PlanError};
use pilothouse_sdk::{Context, Error, Gvk};
use serde_json::Value;

use crate::object::{Backup, Of, Policy};

/// The plan, or why there is none.
///
/// # Errors
/// As for any request.
pub(super) fn of(
    ctx: &Context,
    found: &Of<Backup>,
    status: &BackupStatus,
) -> Result<Result<BackupPlan, PlanError>, Error> {
    let named = found.spec.policy_ref.as_ref().filter(|_| found.spec.plan.is_none() && status.plan.is_none());
    let Some(named) = named else { return Ok(plan::resolve(&found.spec, status, None, &BTreeMap::new())) };
    let policy = Of::<Policy>::read(ctx, &found.metadata.namespace, &named.name)?;
    let spec: Option<&BackupPolicySpec> = policy.as_ref().map(|policy| &policy.spec);
    let labels = labels_of_subject(ctx, found)?;
    Ok(plan::resolve(&found.spec, status, spec, &labels))
}

/// By a list of one: policies have the right to list what they are about, and no other.
fn labels_of_subject(ctx: &Context, found: &Of<Backup>) -> Result<BTreeMap<String, String>, Error> {
    let subject = &found.spec.subject;
    let (group, version) = subject.api_version.split_once('/').unwrap_or(("", &subject.api_version));
    let kind = Gvk::new(group, version, &subject.kind);
    let listed = ctx
        .kube()
        .only(["metadata.name", "metadata.labels"])
        .list_ref::<Value>(kind, found.metadata.namespace.as_str())
        .fields(format!("metadata.name={}", subject.name))
        .all()?;
    let labels = listed.first().and_then(|object| object.pointer("/metadata/labels")).cloned();
    Ok(labels.and_then(|labels| serde_json::from_value(labels).ok()).unwrap_or_default())
}
