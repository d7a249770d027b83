//! What is seen of the plugin's own objects, and how others are looked at.

use backup_api::names;
use backup_core::lifecycle::{BackupSeen, RestoreSeen};
use pilothouse_sdk::{Context, Error, ObjectRef, Watch};
use serde_json::Value;

use crate::object::{Backup, Of, Restore};

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

/// All `Restore`s of a namespace with their names, from the API server. One that cannot be read is left out.
///
/// # Errors
/// As for any request.
pub(crate) fn restores(ctx: &Context, namespace: &str) -> Result<Vec<(String, RestoreSeen)>, Error> {
    let found = Of::<Restore>::list_live(ctx, namespace)?;
    let seen = found.into_iter().filter_map(|found| {
        let (deleting, status) = (found.is_deleting(), found.status().ok()?);
        Some((found.metadata.name, RestoreSeen { deleting, status, spec: found.spec }))
    });
    Ok(seen.collect())
}

/// What is watched of our own objects.
pub(crate) fn own(kind: &str, namespace: &str, name: &str) -> Watch {
    debug_assert!([names::BACKUP, names::RESTORE, names::POLICY].contains(&kind));
    Watch::object(ObjectRef::new(crate::object::gvk(kind), namespace, name))
}
