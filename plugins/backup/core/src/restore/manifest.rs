//! Objects that put data back, and the backup of what they write over.

use backup_api::{BackupSpec, Origin, OriginKind, RestoreRun, RestoreStatus, names};
use serde_json::{Value, json};

use super::{observed::Object, source::Source};
use crate::{
    backup::Role,
    manifest::{self, JobOrder, ManifestError, ObjectName, etcd},
    naming,
    settings::Settings,
};

/// So many names are tried for the `Backup` of the present data.
const ASIDES: u32 = 100;

/// Name of the `Backup` of the present data: the one that was written down, else the first that comes into question.
pub fn aside_name(object: &Object<'_>, status: &RestoreStatus) -> String {
    status.set_aside.clone().unwrap_or_else(|| nth_aside(object, 1))
}

/// The name after this one, where an earlier `Restore` of the same name has left a `Backup`.
pub(super) fn next_aside(object: &Object<'_>, name: &str) -> Option<String> {
    (1..ASIDES)
        .find(|nth| nth_aside(object, *nth) == name)
        .map(|nth| nth_aside(object, nth.saturating_add(1)))
}

fn nth_aside(object: &Object<'_>, nth: u32) -> String {
    let first = format!("{}-before", naming::limited(object.name, 180));
    if nth == 1 { first } else { format!("{first}-{nth}") }
}

/// The `Backup` of the present data.
pub(super) fn aside(object: &Object<'_>, source: &Source, name: &str) -> Value {
    let spec = BackupSpec {
        subject: source.plan.target.clone(),
        policy_ref: None,
        plan: Some(source.plan.aside.clone()),
        origin: Some(Origin {
            kind: OriginKind::Restore,
            change: object.spec.origin.as_ref().and_then(|origin| origin.change.clone()),
            run: Some(object.name.to_owned()),
            ..Origin::default()
        }),
        subject_version: object.spec.target_version.clone(),
        deletion_policy: None,
    };
    json!({
        "apiVersion": names::API_VERSION,
        "kind": names::BACKUP,
        "metadata": {
            "namespace": object.namespace,
            "name": name,
            "labels": {names::label::RESTORE: naming::limited(object.name, 63)},
        },
        "spec": spec,
    })
}

/// Name of what is made for an attempt.
pub(super) fn task(object: &Object<'_>, attempt: u32) -> String {
    naming::task(object.name, Role::Restore.word(), attempt)
}

/// What puts the data back. `seconds` are left for it.
pub(super) fn restore(
    object: &Object<'_>,
    source: &Source,
    run: &RestoreRun,
    settings: &Settings,
    seconds: u64,
) -> Result<Value, ManifestError> {
    let name = task(object, run.attempt);
    let plan = &source.plan;
    let Some(job) = &plan.strategy.job else {
        let nowhere = || ManifestError::at("storage", "the backup does not tell where its artefact is");
        let storage = plan.storage.as_ref().ok_or_else(nowhere)?;
        return etcd::restore(object.namespace, &name, &plan.target, storage, &source.artefact);
    };
    manifest::host_image(&settings.image)?;
    let label = naming::limited(object.name, 63);
    manifest::restore_job(&JobOrder {
        namespace: object.namespace,
        restore: &label,
        name: &name,
        job,
        // One that is not encrypted is not to be decrypted, whatever keys there are.
        encryption: plan.encryption.as_ref().filter(|_| source.artefact.encrypted),
        sha256: &source.artefact.sha256,
        size: source.artefact.size,
        host_image: &settings.image,
        seconds: seconds.max(1),
    })
}

/// The name of the same.
pub(super) fn restore_name(object: &Object<'_>, source: &Source, run: &RestoreRun) -> ObjectName {
    let namespace = object.namespace.to_owned();
    match source.plan.strategy.job {
        Some(_) => {
            ObjectName { api_version: "batch/v1", kind: "Job", namespace, name: task(object, run.attempt) }
        }
        None => ObjectName {
            api_version: etcd::API_VERSION,
            kind: etcd::RESTORE,
            namespace,
            name: source.plan.target.name.clone(),
        },
    }
}
