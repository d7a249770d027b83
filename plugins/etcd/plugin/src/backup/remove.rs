//! The backups go with their object, where that is asked for.

use std::time::Duration;

use etcd_api::{Artefact, BackupStatus};
use pilothouse_sdk::{BlobError, BlobErrorKind, Error, Finalized, Outcome, info};

use super::{Backup, step::AT_ONCE};

/// So many are deleted in one call: it has a budget.
pub(super) const AT_A_TIME: usize = 50;
/// When to try again what people have to mend.
const RETRY: Duration = Duration::from_secs(300);

/// How a deletion stands that cannot go on.
pub(super) fn stuck(why: &str) -> Outcome {
    let message = format!(
        "the backups cannot be deleted: {why}; with backupPolicy.deleteWithObject false the object goes without them"
    );
    Outcome::stalled("DeletionFailed", message).requeue_after(RETRY)
}

impl Backup<'_> {
    /// Deletes what this object has put into its store; done when a look finds nothing of it any more.
    pub(super) fn remove(&self, known: &BackupStatus) -> Result<Finalized, Error> {
        self.forget();
        match self.remove_some(known) {
            Ok(0) => Ok(Finalized::Done),
            Ok(deleted) => {
                let message = format!("{deleted} backups were deleted just now");
                let outcome = Outcome::progressing("Deleting", message).requeue_after(AT_ONCE);
                Ok(Finalized::waiting(self.object.told(outcome, known)))
            }
            Err(error) if matches!(error.kind, BlobErrorKind::Unavailable | BlobErrorKind::Exhausted) => {
                Err(error.into())
            }
            // Without a bucket there is nothing in it.
            Err(error) if error.kind == BlobErrorKind::NotFound => Ok(Finalized::Done),
            Err(error) => Ok(Finalized::waiting(self.object.told(stuck(&error.message), known))),
        }
    }

    fn remove_some(&self, known: &BackupStatus) -> Result<usize, BlobError> {
        let (blob, store) = (self.ctx.blob(), &self.place.store);
        let mut own: Vec<String> =
            if self.repeats() { self.keys()?.into_iter().map(|key| key.text).collect() } else { Vec::new() };
        own.extend(self.remembered(known)?);
        own.sort_unstable();
        own.dedup();
        own.truncate(AT_A_TIME);
        for key in &own {
            blob.delete(store, key)?;
            info!(self.ctx, "{key} is deleted with the object");
        }
        Ok(own.len())
    }

    /// What the status tells of and is still there. Somebody else may have written under the key since: that is theirs.
    fn remembered(&self, known: &BackupStatus) -> Result<Vec<String>, BlobError> {
        let taken = known.artefact.as_ref();
        let begun = known.run.as_ref().and_then(|run| run.artefact.as_ref());
        let keys = [taken, begun].into_iter().flatten();
        let mut found: Vec<(String, Option<i64>)> =
            keys.filter_map(|artefact| Some((self.key_in(&artefact.uri)?, size(artefact)))).collect();
        found.extend(known.discarded.iter().filter(|key| self.is_ours(key)).map(|key| (key.clone(), None)));
        let mut there = Vec::new();
        for (key, size) in found {
            let object = self.ctx.blob().head(&self.place.store, &key)?;
            let same =
                |bytes: u64| size.is_none_or(|size| u64::try_from(size).is_ok_and(|size| size == bytes));
            if object.is_some_and(|object| same(object.size)) {
                there.push(key);
            }
        }
        Ok(there)
    }
}

fn size(artefact: &Artefact) -> Option<i64> {
    Some(artefact.size).filter(|size| *size > 0)
}
