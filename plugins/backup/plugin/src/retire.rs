//! Backups that are not kept any more, and those that may not go.

use backup_api::{BackupSpec, BackupStatus, SubjectReference, names};
use backup_core::{
    guarded::Guarded,
    retention::{Aside, expired_asides},
};
use pilothouse_sdk::{Context, DeleteOptions, Error, KubeError, ObjectRef, Patch};
use serde_json::{Value, json};

use crate::{
    look,
    object::{Backup, Of, delete, gvk},
};

/// So many at once: what a call may ask for is bounded. The rest goes when these have gone.
const AT_ONCE: usize = 50;

/// One that is not kept any more: its name, and what it says.
pub(crate) type Old<'a> = (&'a str, &'a BackupSpec, &'a BackupStatus);

/// Takes away what restores after rollbacks have set aside of a subject, but for the last ones.
///
/// # Errors
/// As for any request.
pub(crate) fn asides(ctx: &Context, namespace: &str, subject: &SubjectReference) -> Result<(), Error> {
    let (mut backups, mut asides) = (Vec::new(), Vec::new());
    for backup in Of::<Backup>::list(&ctx.kube(), namespace)?.into_iter().flatten() {
        if backup.spec.subject == *subject {
            let (status, deleting) = (backup.status()?, backup.is_deleting());
            asides.extend(Aside::of_backup(&backup.metadata.name, &backup.spec, &status, deleting));
            backups.push((backup.metadata.name, backup.spec, status));
        }
    }
    let expired = expired_asides(asides);
    let old = backups.iter().filter(|(name, ..)| expired.contains(name));
    all(ctx, namespace, old.map(|(name, spec, status)| (name.as_str(), spec, status)).collect())
}

/// Takes `Backup`s away, artefacts and all, but for those that somebody may still need.
///
/// # Errors
/// As for any request. While it is not known what is needed, nothing is taken away.
pub(crate) fn all(ctx: &Context, namespace: &str, mut old: Vec<Old<'_>>) -> Result<(), Error> {
    // That one is needed is believed of the caches; that it is not, of the API server only: a rollback may just have begun.
    for kube in [ctx.kube(), ctx.kube().live()] {
        if old.is_empty() {
            return Ok(());
        }
        let guarded = Guarded::new(&look::runs(&kube, namespace)?, &look::restores(&kube, namespace)?);
        old.retain(|(name, spec, status)| !guarded.has(name, spec, status));
    }
    for (name, ..) in old.into_iter().take(AT_ONCE) {
        let reference = ObjectRef::new(gvk(names::BACKUP), namespace, name);
        let word = Patch::merge(&json!({"spec": {"deletionPolicy": "Delete"}}))?;
        match ctx.kube().patch_ref::<Value>(&reference, &word) {
            Ok(_) => delete(ctx, names::BACKUP, (namespace, name), &DeleteOptions::default())?,
            Err(KubeError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
