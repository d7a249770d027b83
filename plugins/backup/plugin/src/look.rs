//! What is seen of the plugin's own objects, and how others are looked at.

use backup_api::names;
use backup_core::lifecycle::{BackupSeen, RestoreSeen};
use pilothouse_sdk::{Context, Error, Gvk, Kube, KubeError, ObjectRef, Watch};
use serde_json::Value;

use crate::object::{Backup, Of, Restore, Unreadable};

/// An object, if it is there. That it is not is believed of the API server only: a cache may not have seen what was just created.
pub(crate) fn found(ctx: &Context, reference: &ObjectRef) -> Result<Option<Value>, String> {
    let kube = ctx.kube();
    let found = match kube.get_ref(reference) {
        Ok(None) => kube.live().get_ref(reference),
        found => found,
    };
    found.map_err(|error| error.to_string())
}

/// A `Backup` as the core sees it, from the API server: what it says decides on others' changes.
///
/// # Errors
/// As for any request.
pub(crate) fn backup(ctx: &Context, namespace: &str, name: &str) -> Result<Option<BackupSeen>, Error> {
    let Some(found) = Of::<Backup>::read_live(ctx, namespace, name)? else { return Ok(None) };
    Ok(Some(BackupSeen { deleting: found.is_deleting(), status: found.status()?, spec: found.spec }))
}

/// A `Restore` as the core sees it, from the API server.
///
/// # Errors
/// As for any request.
pub(crate) fn restore(ctx: &Context, namespace: &str, name: &str) -> Result<Option<RestoreSeen>, Error> {
    let Some(found) = Of::<Restore>::read_live(ctx, namespace, name)? else { return Ok(None) };
    Ok(Some(RestoreSeen { deleting: found.is_deleting(), status: found.status()?, spec: found.spec }))
}

/// All `Restore`s of a namespace with their names.
///
/// # Errors
/// As for any request; one that cannot be read, for it may be the one that matters.
pub(crate) fn restores(kube: &Kube, namespace: &str) -> Result<Vec<(String, RestoreSeen)>, Error> {
    let seen = |found: Result<Of<Restore>, Unreadable>| {
        let found = found?;
        let (deleting, status) = (found.is_deleting(), found.status()?);
        Ok((found.metadata.name, RestoreSeen { deleting, status, spec: found.spec }))
    };
    Of::<Restore>::list(kube, namespace)?.into_iter().map(seen).collect()
}

/// All `LifecycleRun`s of a namespace.
///
/// # Errors
/// As for any request.
pub(crate) fn runs(kube: &Kube, namespace: &str) -> Result<Vec<Value>, Error> {
    let kind = Gvk::new("lifecycle.pilothouse.dev", "v1alpha1", "LifecycleRun");
    match kube.list_ref::<Value>(kind, namespace).all() {
        Ok(runs) => Ok(runs),
        // Without the kind there are no changes.
        Err(KubeError::UnknownKind(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// What is watched of our own objects.
pub(crate) fn own(kind: &str, namespace: &str, name: &str) -> Watch {
    debug_assert!([names::BACKUP, names::RESTORE, names::POLICY].contains(&kind));
    Watch::object(ObjectRef::new(crate::object::gvk(kind), namespace, name))
}
