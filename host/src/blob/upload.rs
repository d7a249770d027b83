//! Writes an object whole or not at all, in bounded memory.
//!
//! What fits into one part is one request. What does not is written in parts that become an object with the last request only. Parts
//! that a host left behind when it was killed are found by a note beside the object, written before the first of them.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::TryStreamExt as _;
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{
    MultipartUpload, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, PutResult, UpdateVersion,
};

use super::BlobError;
use super::store::{Backend, Parts, Store};

/// Bytes of a part, all of which are in memory.
pub const PART: usize = 8 * 1024 * 1024;
/// After the key of an object, the name of the note about its parts.
pub const NOTE: &str = ".parts-of-pilothouse";

/// What has to be so for an object to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Nothing.
    #[default]
    None,
    /// There is none.
    Absent,
    /// It is this one.
    Etag(String),
}

/// Writes a small object.
///
/// # Errors
/// [`BlobError::Conflict`] where the condition does not hold, and whatever the store says.
pub async fn put(
    store: &Store,
    path: &Path,
    content: Bytes,
    condition: Condition,
) -> Result<PutResult, BlobError> {
    let mode = match condition {
        Condition::None => PutMode::Overwrite,
        Condition::Absent => PutMode::Create,
        Condition::Etag(etag) => PutMode::Update(UpdateVersion { e_tag: Some(etag), version: None }),
    };
    Ok(store.objects().put_opts(path, content.into(), PutOptions::from(mode)).await?)
}

/// An object that is being written.
pub struct Upload {
    store: Store,
    path: Path,
    absent: bool,
    buffer: BytesMut,
    parts: Option<Started>,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Parts that are under way.
enum Started {
    Remote { store: Arc<dyn Parts>, id: String, done: Vec<PartId> },
    Directory(Box<dyn MultipartUpload>),
}

impl Upload {
    /// Begins. Parts that were left behind for the same object go first.
    ///
    /// # Errors
    /// [`BlobError::Conflict`] where there is an object that must not be written over.
    pub async fn begin(store: Store, path: Path, absent: bool) -> Result<Self, BlobError> {
        if absent {
            must_be_absent(&store, &path).await?;
        }
        clean_up(&store, &path).await?;
        Ok(Self { store, path, absent, buffer: BytesMut::new(), parts: None })
    }

    /// Takes content. Returns once it is within the memory of one part.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn write(&mut self, mut content: &[u8]) -> Result<(), BlobError> {
        while !content.is_empty() {
            // A full part is sent when more comes: the last one is sent by the end.
            if self.buffer.len() == PART {
                self.send_part().await?;
            }
            let room = PART - self.buffer.len();
            let (now, later) = content.split_at(room.min(content.len()));
            self.buffer.extend_from_slice(now);
            content = later;
        }
        Ok(())
    }

    async fn send_part(&mut self) -> Result<(), BlobError> {
        if self.parts.is_none() {
            self.parts = Some(start(&self.store.backend, &self.path).await?);
        }
        let part = PutPayload::from(self.buffer.split().freeze());
        match &mut self.parts {
            Some(Started::Remote { store, id, done }) => {
                let sent = store.put_part(&self.path, id, done.len(), part).await?;
                done.push(sent);
            }
            Some(Started::Directory(upload)) => upload.put_part(part).await?,
            None => {}
        }
        Ok(())
    }

    /// Makes an object of what was written.
    ///
    /// # Errors
    /// Whatever the store says; then there is none.
    pub async fn end(mut self) -> Result<PutResult, BlobError> {
        if self.parts.is_none() {
            let condition = if self.absent { Condition::Absent } else { Condition::None };
            return put(&self.store, &self.path, self.buffer.split().freeze(), condition).await;
        }
        let ended = self.end_parts().await;
        if ended.is_err() {
            self.abandon().await;
        }
        ended
    }

    async fn end_parts(&mut self) -> Result<PutResult, BlobError> {
        self.send_part().await?;
        if self.absent {
            must_be_absent(&self.store, &self.path).await?;
        }
        match &mut self.parts {
            Some(Started::Remote { store, id, done }) => {
                let written = store.complete_multipart(&self.path, id, std::mem::take(done)).await?;
                // The object is there; a note without parts does no harm.
                let _ = store.delete(&note_of(&self.path)).await;
                Ok(written)
            }
            Some(Started::Directory(upload)) => Ok(upload.complete().await?),
            None => Err(BlobError::Other("nothing was written".to_owned())),
        }
    }

    /// Lets everything go that was written.
    pub async fn abandon(&mut self) {
        match self.parts.take() {
            Some(Started::Remote { store, id, .. }) => {
                if let Err(error) = store.abort_multipart(&self.path, &id).await {
                    // The note stays, and the next writer of the object tries again.
                    tracing::warn!(object = %self.path, %error, "parts of an object could not be taken back");
                    return;
                }
                let _ = store.delete(&note_of(&self.path)).await;
            }
            Some(Started::Directory(mut upload)) => drop(upload.abort().await),
            None => {}
        }
    }
}

async fn start(backend: &Backend, path: &Path) -> Result<Started, BlobError> {
    match backend {
        Backend::Remote(store) => {
            let id = store.create_multipart(path).await?;
            store.put(&note_of(path), id.clone().into_bytes().into()).await?;
            Ok(Started::Remote { store: Arc::clone(store), id, done: Vec::new() })
        }
        Backend::Directory(store, _) => Ok(Started::Directory(store.put_multipart(path).await?)),
    }
}

async fn must_be_absent(store: &Store, path: &Path) -> Result<(), BlobError> {
    match store.objects().head(path).await {
        Ok(_) => Err(BlobError::Conflict(format!("there is an object {path} already"))),
        Err(object_store::Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn note_of(path: &Path) -> Path {
    Path::from(format!("{path}{NOTE}"))
}

/// Deletes an object, and what a host that was killed left of it.
///
/// # Errors
/// Whatever the store says; [`BlobError::NotFound`] where there is no object.
pub async fn delete(store: &Store, path: &Path) -> Result<(), BlobError> {
    clean_up(store, path).await?;
    Ok(store.objects().delete(path).await?)
}

/// Takes back what a host that was killed left of an object.
async fn clean_up(store: &Store, path: &Path) -> Result<(), BlobError> {
    match &store.backend {
        Backend::Remote(remote) => {
            let note = note_of(path);
            let found = match remote.get(&note).await {
                Ok(found) => found.bytes().await?,
                Err(object_store::Error::NotFound { .. }) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let id = String::from_utf8_lossy(&found).into_owned();
            tracing::info!(object = %path, "parts that were left behind are taken back");
            match remote.abort_multipart(path, &id).await {
                // It may have become an object, or be gone with the store's own rules.
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                // The note stays: without it nobody would know of them any more.
                Err(error) => return Err(error.into()),
            }
            remote.delete(&note).await?;
            Ok(())
        }
        Backend::Directory(_, root) => {
            let file = root.join(path.as_ref());
            let left = tokio::task::spawn_blocking(move || staged_files(&file)).await.unwrap_or_default();
            for file in left {
                let _ = tokio::fs::remove_file(file).await;
            }
            Ok(())
        }
    }
}

/// The library writes `NAME#1` before it is `NAME`.
fn staged_files(file: &std::path::Path) -> Vec<std::path::PathBuf> {
    let (Some(directory), Some(name)) = (file.parent(), file.file_name().and_then(|name| name.to_str()))
    else {
        return Vec::new();
    };
    let staged = |other: &str| {
        let rest = other.strip_prefix(name).and_then(|rest| rest.strip_prefix('#'));
        rest.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(staged)).map(|entry| entry.path()).collect()
}

/// Objects that are no notes, in order.
///
/// # Errors
/// Whatever the store says.
pub async fn list(
    store: &Store,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<(Vec<object_store::ObjectMeta>, bool), BlobError> {
    let below = store.below(prefix)?;
    let after = after.map(|after| store.path(after)).transpose()?;
    let found = match &after {
        Some(after) => store.objects().list_with_offset(below.as_ref(), after),
        None => store.objects().list(below.as_ref()),
    };
    // Servers that do not know where to begin begin at the beginning.
    let found = found.try_filter(|meta| {
        let further = after.as_ref().is_none_or(|after| meta.location > *after);
        std::future::ready(further && !meta.location.as_ref().ends_with(NOTE))
    });
    let mut page: Vec<_> = match &store.backend {
        Backend::Remote(_) => {
            use futures::StreamExt as _;
            found.take(limit + 1).try_collect().await?
        }
        // Directories are read in no order.
        Backend::Directory(..) => found.try_collect().await?,
    };
    page.sort_by(|one, other| one.location.cmp(&other.location));
    let more = page.len() > limit;
    page.truncate(limit);
    Ok((page, more))
}
