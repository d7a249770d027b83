//! From the pipe to the host: encrypted, hashed, sent, and committed once whoever writes says that it is whole.

use std::pin::pin;

use age::x25519::Recipient;
use bytes::Bytes;
use hyper::body::Frame;
use tokio::sync::mpsc;

use super::ClientError;
use super::dump::Dump;
use super::link::Link;
use super::seal::Sealer;
use crate::blob::content::{Proof, Scale};
use crate::egress::exchange::BoxError;
use crate::handover::Stored;

/// Pieces between the pipe and the connection.
const AHEAD: usize = 4;

/// Stores all of it, or nothing. What is told is what is stored: the encrypted bytes.
///
/// # Errors
/// [`ClientError`]; then nothing is stored.
pub async fn upload(link: &Link, mut dump: Dump, recipients: &[Recipient]) -> Result<Stored, ClientError> {
    let mut sealer = Sealer::new(recipients)?;
    // A request without content for a long time would be given up.
    let first = dump.next().await?;
    let (sender, mut receiver) = mpsc::channel::<Result<Frame<Bytes>, BoxError>>(AHEAD);
    let content = futures::stream::poll_fn(move |cx| receiver.poll_recv(cx));
    let mut answer = pin!(link.put(content));
    let flowing = async move {
        let mut scale = Scale::new(&Proof::default(), u64::MAX);
        let mut next = first;
        while let Some(piece) = next {
            flow(&sender, &mut scale, sealer.piece(piece)?).await?;
            next = dump.next().await?;
        }
        flow(&sender, &mut scale, sealer.end()?).await?;
        let size = scale.bytes;
        let sha256 =
            scale.weigh(&Proof::default()).map_err(|error| ClientError::Corrupt(error.to_string()))?;
        // The sender is dropped here: this is the end of the content.
        Ok::<_, ClientError>(Stored { size, sha256 })
    };
    let sent = tokio::select! {
        // An answer before the end is a refusal.
        early = &mut answer => return Err(early.err().unwrap_or_else(too_early)),
        // What failed is not sent to its end: the connection is cut, and the host takes everything back.
        sent = flowing => sent?,
    };
    let arrived = answer.await?;
    if arrived != sent {
        let Stored { size, sha256 } = arrived;
        let message = format!(
            "{size} bytes of sha256 {sha256} arrived at the host, not {} of {}: nothing is stored",
            sent.size, sent.sha256
        );
        return Err(ClientError::Corrupt(message));
    }
    link.commit(&sent).await
}

fn too_early() -> ClientError {
    ClientError::Corrupt("the host took less than what was sent".to_owned())
}

async fn flow(
    sender: &mpsc::Sender<Result<Frame<Bytes>, BoxError>>,
    scale: &mut Scale,
    piece: Bytes,
) -> Result<(), ClientError> {
    if piece.is_empty() {
        return Ok(());
    }
    scale.add(&piece).map_err(|error| ClientError::Corrupt(error.to_string()))?;
    if sender.send(Ok(Frame::data(piece))).await.is_err() {
        // The connection is gone; the answer beside this one says why.
        std::future::pending::<()>().await;
    }
    Ok(())
}
