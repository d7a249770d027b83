//! From the host to the pipe: hashed and decrypted on its way. Whoever reads the pipe gets content before all of it was seen, and may
//! believe it only once the status file is there.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};

use age::Identity;
use bytes::{Buf as _, Bytes};
use http::header;
use http_body_util::BodyExt as _;
use tokio::sync::{mpsc, oneshot};

use super::ClientError;
use super::link::Link;
use super::seal;
use crate::blob::content::{Proof, Scale};
use crate::handover::Stored;
use crate::whole_file;

/// Pieces between the connection and the pipe.
const AHEAD: usize = 4;
/// Bytes written at once.
const PIECE: usize = 64 * 1024;

/// What is fetched and where it goes.
pub struct Wanted {
    /// The pipe.
    pub pipe: PathBuf,
    /// The file that says that all of it was whole.
    pub status: PathBuf,
    /// What it has to be.
    pub stored: Stored,
    /// Keys that read it; none: it is not encrypted.
    pub keys: Option<Vec<Box<dyn Identity + Send + Sync>>>,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wanted")
            .field("pipe", &self.pipe)
            .field("stored", &self.stored)
            .finish_non_exhaustive()
    }
}

/// Brings the object into the pipe, and leaves a `0` in the status file when it was whole.
///
/// # Errors
/// [`ClientError`]; then there is no status file.
pub async fn download(link: &Link, wanted: Wanted) -> Result<Stored, ClientError> {
    let Wanted { pipe, status, stored, keys } = wanted;
    link.greet().await?;
    let answer = link.get().await?;
    let length = answer.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if let Some(other) = length.filter(|length| *length != stored.size.to_string()) {
        return Err(ClientError::Corrupt(format!("the artefact has {other} bytes, not {}", stored.size)));
    }
    let (sender, receiver) = mpsc::channel(AHEAD);
    let written = into_pipe(pipe, receiver, keys);
    let mut scale = Scale::new(&Proof::default(), stored.size);
    let corrupt = |error: crate::blob::BlobError| ClientError::Corrupt(error.to_string());
    let mut body = answer.into_body();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        scale.add(&piece).map_err(corrupt)?;
        // Whoever reads the pipe may have read enough; all of it is looked at all the same.
        let _ = sender.send(piece).await;
    }
    let size = scale.bytes;
    let proof = Proof { sha256: Some(stored.sha256.clone()), trailer: false };
    let sha256 = scale.weigh(&proof).map_err(corrupt)?;
    if size != stored.size {
        return Err(ClientError::Corrupt(format!("the artefact has {size} bytes, not {}", stored.size)));
    }
    drop(sender);
    written.await.unwrap_or_else(|_| Err(ClientError::Sealed("it broke off".to_owned())))?;
    tell(&status)?;
    Ok(Stored { size, sha256 })
}

fn tell(status: &Path) -> Result<(), ClientError> {
    whole_file::write(status, b"0", 0o644).map_err(ClientError::file(status))
}

/// A thread writes: opening a pipe waits for its reader, and the library decrypts what it reads.
fn into_pipe(
    path: PathBuf,
    pieces: mpsc::Receiver<Bytes>,
    keys: Option<Vec<Box<dyn Identity + Send + Sync>>>,
) -> oneshot::Receiver<Result<(), ClientError>> {
    let (tell, told) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = tell.send(write(&path, Pieces { pieces, piece: Bytes::new() }, keys.as_deref()));
    });
    told
}

fn write(
    path: &Path,
    pieces: Pieces,
    keys: Option<&[Box<dyn Identity + Send + Sync>]>,
) -> Result<(), ClientError> {
    let mut pipe = OpenOptions::new().write(true).open(path).map_err(ClientError::file(path))?;
    let mut content: Box<dyn Read> = match keys {
        None => Box::new(pieces),
        Some(keys) => Box::new(seal::open(pieces, keys)?),
    };
    let mut buffer = vec![0; PIECE];
    let mut listens = true;
    loop {
        let read = content.read(&mut buffer).map_err(|error| ClientError::Sealed(error.to_string()))?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { return Ok(()) };
        if !listens {
            continue;
        }
        match pipe.write_all(piece) {
            // Archives may have an end before the end. What was read is the reader's to judge.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => listens = false,
            other => other.map_err(ClientError::file(path))?,
        }
    }
}

/// Pieces of a channel as a file.
struct Pieces {
    pieces: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while !self.piece.has_remaining() {
            let Some(next) = self.pieces.blocking_recv() else { return Ok(0) };
            self.piece = next;
        }
        let take = self.piece.len().min(buffer.len());
        self.piece.split_to(take).copy_to_slice(buffer.get_mut(..take).unwrap_or_default());
        Ok(take)
    }
}
