//! Backups that are not kept any more are deleted, so many in one call: it has a budget.
//!
//! That some are left is written down with the backup that made them surplus. Whoever goes on looks anew and begins with the oldest, so
//! what is kept is the same wherever it was broken off.

use std::time::Duration;

use etcd_api::{Artefact, BackupStatus};
use etcd_core::backup::{Key, expired};
use pilothouse_sdk::{BlobError, BlobErrorKind, info};

use super::{Backup, discard, remove::AT_A_TIME, step::AT_ONCE};

impl Backup<'_> {
    /// Goes on with it between backups; when to come back, if there is more to do. A store that does not let them go holds up no backup.
    pub(super) fn go_on_pruning(&self, mut known: BackupStatus) -> (BackupStatus, Option<Duration>) {
        if !known.surplus || known.run.is_some() {
            return (known, None);
        }
        let left = known.artefact.as_ref().map(|newest| self.prune(newest, &known.discarded));
        let later = match left {
            Some(Ok(true)) => Some(AT_ONCE),
            Some(Ok(false)) | None => None,
            Some(Err(error)) => {
                info!(self.ctx, "older backups could not be deleted: {error}");
                Some(discard::RETRY)
            }
        };
        known.surplus = later.is_some();
        (known, later)
    }

    /// Deletes what is not kept any more since `newest` was taken; whether some is left. Only keys of this very backup are looked at, and
    /// only backups count: not what is no backup, and not what was begun after `newest`, which may not be whole yet.
    ///
    /// # Errors
    /// What the store answered.
    pub(super) fn prune(&self, newest: &Artefact, discarded: &[String]) -> Result<bool, BlobError> {
        let newest = self.key_in(&newest.uri).and_then(|key| Key::read(&self.place.path, &key));
        let Some(newest) = newest.filter(|_| self.repeats()) else { return Ok(false) };
        let mut keys = self.keys()?;
        keys.retain(|key| *key <= newest && !discarded.contains(&key.text));
        let mut surplus = expired(&self.policy(), keys);
        surplus.sort_unstable();
        let mut failed = None;
        for key in surplus.iter().take(AT_A_TIME) {
            info!(self.ctx, "{} is not kept any more", key.text);
            let Err(error) = self.ctx.blob().delete(&self.place.store, &key.text) else { continue };
            // One that is locked says nothing of the others; a store that does not answer does.
            if matches!(error.kind, BlobErrorKind::Unavailable | BlobErrorKind::Exhausted) {
                return Err(error);
            }
            failed.get_or_insert(error);
        }
        failed.map_or(Ok(surplus.len() > AT_A_TIME), Err)
    }

    /// Keys of this very backup, if it repeats.
    ///
    /// # Errors
    /// What the store answered.
    pub(super) fn keys(&self) -> Result<Vec<Key>, BlobError> {
        let (directory, _) = self.place.path.rsplit_once('/').unwrap_or_default();
        let (mut keys, mut after) = (Vec::new(), None);
        loop {
            let page = self.ctx.blob().list(&self.place.store, directory, after.as_deref(), 1_000)?;
            keys.extend(page.objects.iter().filter_map(|object| Key::read(&self.place.path, &object.key)));
            after = page.next;
            if after.is_none() {
                return Ok(keys);
            }
        }
    }
}
