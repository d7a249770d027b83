//! Gives an object out, as fast as it is taken and no faster.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::ObjectStoreExt as _;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::receive::IDLE;
use super::table::{Errand, Handover, Handovers};
use crate::blob::BlobError;
use crate::blob::content::{Proof, Scale};
use crate::blob::transfer::Outcome;

/// Pieces on their way: one is being written, one is ready.
const AHEAD: usize = 1;

/// An object on its way out.
#[derive(Debug)]
pub(super) struct Going {
    /// Its bytes.
    pub(super) size: u64,
    /// Its content; an error ends it.
    pub(super) pieces: mpsc::Receiver<Result<Bytes, BlobError>>,
}

/// Begins to read the object. One reader at a time. `cut` is told when nobody takes what was read.
///
/// # Errors
/// [`BlobError::Conflict`] while somebody else reads, and whatever the store says.
pub(super) async fn get(
    table: Arc<Handovers>,
    handover: Arc<Handover>,
    cut: Arc<Notify>,
) -> Result<Going, BlobError> {
    let Errand::Download { store, path } = &handover.errand else {
        return Err(BlobError::Invalid("this token is for writing".to_owned()));
    };
    let busy = |_| BlobError::Conflict("it is being read already".to_owned());
    let alone = Arc::clone(&handover.stage).try_lock_owned().map_err(busy)?;
    let turn = tokio::select! {
        turn = Arc::clone(&table.turns).acquire_owned() => turn,
        error = handover.stopped() => return Err(error),
    };
    let turn = turn.map_err(|error| BlobError::Other(error.to_string()))?;
    let found = store.objects().get(path).await.map_err(BlobError::from);
    let found = found.inspect_err(|error| table.end(&handover, &Err(error.clone())))?;
    let size = found.meta.size;
    let (sender, pieces) = mpsc::channel(AHEAD);
    let reading = Reading { handover, sender, cut };
    tokio::spawn(async move {
        let _held = (alone, turn);
        let result = reading.pump(found.into_stream()).await;
        table.end(&reading.handover, &result);
    });
    Ok(Going { size, pieces })
}

struct Reading {
    handover: Arc<Handover>,
    sender: mpsc::Sender<Result<Bytes, BlobError>>,
    cut: Arc<Notify>,
}

type Pieces = futures::stream::BoxStream<'static, object_store::Result<Bytes>>;

impl Reading {
    async fn pump(&self, pieces: Pieces) -> Result<Outcome, BlobError> {
        let result = tokio::select! {
            result = self.flow(pieces) => result,
            error = self.handover.stopped() => Err(error),
        };
        if let Err(error) = &result
            && self.sender.try_send(Err(error.clone())).is_err()
        {
            // Who does not take content does not take an error either.
            self.cut.notify_one();
        }
        result
    }

    async fn flow(&self, mut pieces: Pieces) -> Result<Outcome, BlobError> {
        let proof = Proof::default();
        let mut scale = Scale::new(&proof, u64::MAX);
        let idle = |who: &str| BlobError::Unavailable(format!("{who} for {IDLE:?}"));
        loop {
            let next = timeout(IDLE, pieces.try_next()).await.map_err(|_| idle("nothing came"))?;
            let Some(piece) = next? else { break };
            scale.add(&piece)?;
            let sent = timeout(IDLE, self.sender.send(Ok(piece))).await;
            let gone = |_| BlobError::Unavailable(format!("the reader left before byte {}", scale.bytes));
            sent.map_err(|_| idle("nothing was taken"))?.map_err(gone)?;
            self.handover.bytes.store(scale.bytes, Ordering::Relaxed);
        }
        Ok(Outcome { sha256: Some(scale.weigh(&proof)?), ..Outcome::default() })
    }
}
