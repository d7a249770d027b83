//! What did not turn out to be a backup is deleted, and never counts as one.
//!
//! Its key is written down before it is deleted, and taken off the list after: whoever comes after a crash does it again.

use std::time::Duration;

use etcd_api::{BackupRun, BackupState, BackupStatus};
use etcd_core::backup::Key;
use pilothouse_sdk::{Error, ObjectRef, Resource as _, info};
use serde_json::Value;

use super::{Backup, BackupObject};

/// When to try again to delete what could not be deleted.
pub(super) const RETRY: Duration = Duration::from_secs(60);

impl Backup<'_> {
    /// Deletes what is on the list. What cannot be deleted now stays on it.
    ///
    /// # Errors
    /// What the API server answered: only the list as it is there counts, for a key may have been written anew since.
    pub(super) fn discard(&self, known: BackupStatus) -> Result<BackupStatus, Error> {
        if known.discarded.is_empty() {
            return Ok(known);
        }
        let still = self.listed()?;
        let (blob, store) = (self.ctx.blob(), &self.place.store);
        let mut left = Vec::new();
        for key in known.discarded.iter().filter(|key| still.contains(key) && self.is_ours(key)) {
            match blob.delete(store, key) {
                Ok(_) => info!(self.ctx, "{key} was no backup and is deleted"),
                Err(error) => {
                    info!(self.ctx, "{key} is no backup and cannot be deleted: {error}");
                    left.push(key.clone());
                }
            }
        }
        Ok(BackupStatus { discarded: left, ..known })
    }

    /// The list as the API server has it.
    fn listed(&self) -> Result<Vec<String>, Error> {
        let metadata = &self.object.metadata;
        let Some(kind) = BackupObject::gvk() else { return Ok(Vec::new()) };
        let reference = ObjectRef::new(kind, metadata.namespace.as_str(), metadata.name.as_str());
        let Some(found) = self.ctx.kube().live().get_ref::<Value>(&reference)? else { return Ok(Vec::new()) };
        let found = BackupObject::from_json(found.to_string())?;
        let same = found.metadata.uid == metadata.uid;
        Ok(if same { found.status()?.discarded } else { Vec::new() })
    }

    /// Can this key have been written by this object?
    pub(super) fn is_ours(&self, key: &str) -> bool {
        key == self.place.path || Key::read(&self.place.path, key).is_some()
    }

    /// The key in an address, if it is of this place.
    pub(super) fn key_in(&self, uri: &str) -> Option<String> {
        let key = uri.strip_prefix(&self.place.store.url)?.strip_prefix('/')?;
        self.is_ours(key).then(|| key.to_owned())
    }

    /// Puts what an attempt may have left on the list. Of one that does not repeat, only what was written and was not read back, or is
    /// `spoilt` although it was: before that, what stands under its key is an older backup.
    pub(super) fn condemn(&self, mut known: BackupStatus, run: &BackupRun, spoilt: bool) -> BackupStatus {
        let key = run.artefact.as_ref().and_then(|artefact| self.key_in(&artefact.uri));
        let written = run.state == BackupState::Verifying || (run.state == BackupState::Trying && spoilt);
        let key = key.filter(|key| written || *key != self.place.path);
        if let Some(key) = key.filter(|key| !known.discarded.contains(key)) {
            known.discarded.push(key);
        }
        known
    }
}
