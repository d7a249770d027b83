//! Takes content in: counted and hashed while it flows to the store, and an object only once the sender has said what it sent.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use tokio::time::timeout;

use super::Stored;
use super::table::{Errand, Handover, Handovers, Stage};
use crate::blob::BlobError;
use crate::blob::content::{Proof, Scale};
use crate::blob::transfer::Outcome;
use crate::blob::upload::Upload;
use crate::egress::exchange::BoxError;

/// Nothing came for so long. A dump may well be silent while its database reads.
pub const IDLE: Duration = Duration::from_mins(15);
/// The commit comes right after the content.
const COMMIT: Duration = Duration::from_mins(5);

/// Takes the content of a `PUT`, of which there is one for each token.
///
/// # Errors
/// [`BlobError::Conflict`] for a second one. After any other error nothing is left of what was sent.
pub(super) async fn put<B>(
    table: Arc<Handovers>,
    handover: Arc<Handover>,
    declared: Option<u64>,
    body: &mut B,
) -> Result<Stored, BlobError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    if !matches!(handover.errand, Errand::Upload { .. }) {
        return Err(BlobError::Invalid("this token is for reading".to_owned()));
    }
    let used = || BlobError::Conflict("the token's one PUT was used: nothing is sent twice".to_owned());
    let mut stage = handover.stage.try_lock().map_err(|_| used())?;
    if !matches!(*stage, Stage::Waiting) {
        return Err(used());
    }
    *stage = Stage::Spent;
    match take(&table, &handover, declared, body).await {
        Ok((sent, stored)) => {
            *stage = sent;
            tokio::spawn(Arc::clone(&table).give_up(Arc::clone(&handover), COMMIT));
            Ok(stored)
        }
        Err(error) => {
            table.end(&handover, &Err(error.clone()));
            Err(error)
        }
    }
}

async fn take<B>(
    table: &Handovers,
    handover: &Handover,
    declared: Option<u64>,
    body: &mut B,
) -> Result<(Stage, Stored), BlobError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let Errand::Upload { store, path, most } = &handover.errand else {
        return Err(BlobError::Invalid("this token is for reading".to_owned()));
    };
    if declared.is_some_and(|size| size > *most) {
        return Err(BlobError::TooLarge(format!("the content has more than {most} bytes")));
    }
    let turn = tokio::select! {
        turn = Arc::clone(&table.turns).acquire_owned() => turn,
        error = handover.stopped() => return Err(error),
    };
    let turn = turn.map_err(|error| BlobError::Other(error.to_string()))?;
    let mut upload = Upload::begin(store.clone(), path.clone(), true).await?;
    let flowed = tokio::select! {
        flowed = flow(handover, *most, body, &mut upload) => flowed,
        error = handover.stopped() => Err(error),
    };
    match flowed {
        Ok(stored) => {
            Ok((Stage::Sent { upload: Box::new(upload), stored: stored.clone(), _turn: turn }, stored))
        }
        Err(error) => {
            upload.abandon().await;
            Err(error)
        }
    }
}

async fn flow<B>(
    handover: &Handover,
    most: u64,
    body: &mut B,
    upload: &mut Upload,
) -> Result<Stored, BlobError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let proof = Proof::default();
    let mut scale = Scale::new(&proof, most);
    loop {
        let next = timeout(IDLE, body.frame()).await;
        let next = next.map_err(|_| BlobError::Unavailable(format!("nothing came for {IDLE:?}")))?;
        let Some(frame) = next else { break };
        let frame = frame.map_err(|error| cut(scale.bytes, &error.into()))?;
        let Ok(piece) = frame.into_data() else { continue };
        scale.add(&piece)?;
        upload.write(&piece).await?;
        handover.bytes.store(scale.bytes, Ordering::Relaxed);
    }
    let size = scale.bytes;
    Ok(Stored { size, sha256: scale.weigh(&proof)? })
}

fn cut(bytes: u64, error: &BoxError) -> BlobError {
    BlobError::Unavailable(format!("the sender was cut off after {bytes} bytes: {error}"))
}

/// Makes an object of what was sent, if that is what the sender says it sent. Said again it is done already.
///
/// # Errors
/// [`BlobError::Corrupt`] where it is not, [`BlobError::Conflict`] where nothing was sent, and whatever the store says.
pub(super) async fn commit(
    table: Arc<Handovers>,
    handover: Arc<Handover>,
    claimed: Stored,
) -> Result<Stored, BlobError> {
    let mut stage = handover.stage.lock().await;
    if let Some(error) = handover.over() {
        return Err(error);
    }
    if !table.may_write() {
        // It stays as it is, in case the lease is renewed.
        let message = "the leader lease was not renewed in time: another replica may be at work";
        return Err(BlobError::Unavailable(message.to_owned()));
    }
    let (upload, stored) = match std::mem::replace(&mut *stage, Stage::Spent) {
        Stage::Sent { upload, stored, .. } => (upload, stored),
        Stage::Waiting => {
            *stage = Stage::Waiting;
            return Err(BlobError::Conflict("nothing was sent yet".to_owned()));
        }
        Stage::Spent => return committed(&handover, claimed),
    };
    let result = finish(*upload, &stored, &claimed).await;
    table.end(&handover, &result);
    result.map(|_| stored)
}

fn committed(handover: &Handover, claimed: Stored) -> Result<Stored, BlobError> {
    let size = handover.bytes.load(Ordering::Relaxed);
    match handover.ended() {
        Some(Ok(outcome)) if outcome.sha256.as_ref() == Some(&claimed.sha256) && size == claimed.size => {
            Ok(claimed)
        }
        Some(Err(error)) => Err(error),
        _ => Err(BlobError::Conflict("something else was committed".to_owned())),
    }
}

async fn finish(mut upload: Upload, stored: &Stored, claimed: &Stored) -> Result<Outcome, BlobError> {
    if stored != claimed {
        upload.abandon().await;
        let Stored { size, sha256 } = stored;
        let message = format!(
            "{size} bytes of sha256 {sha256} arrived, not {} of {}: nothing is written",
            claimed.size, claimed.sha256
        );
        return Err(BlobError::Corrupt(message));
    }
    let written = upload.end().await?;
    Ok(Outcome { sha256: Some(stored.sha256.clone()), etag: written.e_tag, answer: None })
}
