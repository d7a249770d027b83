//! Backups that are not kept any more, and those that may not go.

use backup_api::{OriginKind, SubjectReference, names};
use backup_core::{
    guarded::Guarded,
    retention::{Candidate, expired_asides},
};
use pilothouse_sdk::{Context, Error, Gvk, KubeError, ObjectRef, Patch};
use serde_json::{Value, json};

use crate::object::{Backup, Of, Restore, gvk};

/// What may still be put back, by the changes and the restores of a namespace.
///
/// # Errors
/// As for any request: while it is not known, nothing is taken away.
pub(crate) fn guarded(ctx: &Context, namespace: &str) -> Result<Guarded, Error> {
    let kind = Gvk::new("lifecycle.pilothouse.dev", "v1alpha1", "LifecycleRun");
    let mut guarded = match ctx.kube().list_ref::<Value>(kind, namespace).all() {
        Ok(runs) => Guarded::by_runs(&runs),
        // Without the kind there are no changes.
        Err(KubeError::UnknownKind(_)) => Guarded::default(),
        Err(error) => return Err(error.into()),
    };
    for restore in Of::<Restore>::list(ctx, namespace)? {
        guarded.add_restore(&restore.spec, &restore.status()?);
    }
    Ok(guarded)
}

/// Takes away what restores after rollbacks have set aside of a subject, but for the last ones.
///
/// # Errors
/// As for any request.
pub(crate) fn asides(ctx: &Context, namespace: &str, subject: &SubjectReference) -> Result<(), Error> {
    let guarded = guarded(ctx, namespace)?;
    let is_aside = |backup: &Of<Backup>| {
        let origin = backup.spec.origin.as_ref();
        backup.spec.subject == *subject
            && origin.is_some_and(|origin| origin.kind == OriginKind::Restore && origin.change.is_some())
    };
    let mut candidates = Vec::new();
    for backup in Of::<Backup>::list(ctx, namespace)?.into_iter().filter(is_aside) {
        let known = (backup.is_deleting(), &guarded);
        candidates.push(Candidate::of_backup(&backup.metadata.name, &backup.spec, &backup.status()?, known));
    }
    all(ctx, namespace, &expired_asides(candidates))
}

/// Takes `Backup`s away, artefacts and all.
///
/// # Errors
/// As for any request.
pub(crate) fn all(ctx: &Context, namespace: &str, names: &[String]) -> Result<(), Error> {
    for name in names {
        let reference = ObjectRef::new(gvk(names::BACKUP), namespace, name.as_str());
        let word = Patch::merge(&json!({"spec": {"deletionPolicy": "Delete"}}))?;
        match ctx.kube().patch_ref::<Value>(&reference, &word) {
            Ok(_) => {}
            Err(KubeError::NotFound(_)) => continue,
            Err(error) => return Err(error.into()),
        }
        ctx.kube().delete_ref(&reference, &Default::default())?;
    }
    Ok(())
}
