//! Object storage as a component has it: plain functions, imported only by plugins that call them.

use super::bindings::pilothouse::operator::{
    blob,
    egress::{SecretKey, SecretRef},
};
use crate::{
    BlobError, BlobErrorKind, BlobObject, BlobPage, Download, Encoding, HttpRequest, Progress, Proof,
    PutCondition, Store, Transfer, TransferState, Upload,
};

pub(crate) fn list(
    store: &Store,
    prefix: &str,
    after: Option<&str>,
    limit: u32,
) -> Result<BlobPage, BlobError> {
    let page = blob::list(&store.into(), prefix, after, limit)?;
    Ok(BlobPage { objects: page.objects.into_iter().map(Into::into).collect(), next: page.next })
}

pub(crate) fn head(store: &Store, key: &str) -> Result<Option<BlobObject>, BlobError> {
    Ok(blob::head(&store.into(), key)?.map(Into::into))
}

pub(crate) fn get(store: &Store, key: &str, offset: u64, length: u32) -> Result<Vec<u8>, BlobError> {
    Ok(blob::get(&store.into(), key, offset, length)?)
}

pub(crate) fn put(
    store: &Store,
    key: &str,
    content: &[u8],
    condition: &PutCondition,
) -> Result<BlobObject, BlobError> {
    let condition = match condition {
        PutCondition::None => blob::Condition::None,
        PutCondition::Absent => blob::Condition::Absent,
        PutCondition::Etag(etag) => blob::Condition::Etag(etag.clone()),
    };
    Ok(blob::put(&store.into(), key, content, &condition)?.into())
}

pub(crate) fn delete(store: &Store, key: &str) -> Result<bool, BlobError> {
    Ok(blob::delete(&store.into(), key)?)
}

pub(crate) fn transfer(name: &str, attempt: u32, task: &Transfer) -> Result<Progress, BlobError> {
    Ok(blob::transfer(name, attempt, &task.into())?.into())
}

pub(crate) fn open_upload(name: &str, upload: &Upload) -> Result<Progress, BlobError> {
    let Upload { store, key, max_bytes, time } = upload;
    let upload = blob::Upload {
        store: store.into(),
        key: key.clone(),
        max_bytes: *max_bytes,
        seconds: time.as_secs(),
    };
    Ok(blob::open_upload(name, &upload)?.into())
}

pub(crate) fn open_download(name: &str, download: &Download) -> Result<Progress, BlobError> {
    let Download { store, key, time } = download;
    let download = blob::Download { store: store.into(), key: key.clone(), seconds: time.as_secs() };
    Ok(blob::open_download(name, &download)?.into())
}

pub(crate) fn opened(name: &str) -> Option<Progress> {
    blob::opened(name).map(Into::into)
}

pub(crate) fn close(name: &str) -> Result<(), BlobError> {
    Ok(blob::close(name)?)
}

pub(crate) fn forget(name: &str) {
    blob::forget(name);
}

impl From<&Store> for blob::Store {
    fn from(store: &Store) -> Self {
        let key = |key: &crate::SecretKey| SecretKey {
            secret: SecretRef { namespace: key.namespace.clone(), name: key.name.clone() },
            key: key.key.clone(),
        };
        let secret = |(namespace, name): &(String, String)| SecretRef {
            namespace: namespace.clone(),
            name: name.clone(),
        };
        Self {
            url: store.url.clone(),
            region: store.region.clone(),
            credentials: store.credentials.as_ref().map(secret),
            authorities: store.authorities.as_ref().map(key),
            virtual_hosted: store.virtual_hosted,
            checksums: store.checksums,
        }
    }
}

impl From<blob::Object> for BlobObject {
    fn from(blob::Object { key, size, etag, modified_ms }: blob::Object) -> Self {
        Self { key, size, etag, modified: crate::blob::at_millis(modified_ms) }
    }
}

impl From<&HttpRequest> for blob::Request {
    fn from(request: &HttpRequest) -> Self {
        let HttpRequest { method, url, headers, body, .. } = request.clone();
        Self { method, url, headers, body }
    }
}

impl From<&Proof> for blob::Proof {
    fn from(proof: &Proof) -> Self {
        Self { sha256: proof.sha256.clone(), sha256_trailer: proof.sha256_trailer }
    }
}

impl From<&Transfer> for blob::Task {
    fn from(task: &Transfer) -> Self {
        match task {
            Transfer::Fetch { request, encoding, proof, store, key, absent, max_bytes } => {
                Self::Fetch(blob::Fetch {
                    request: request.into(),
                    encoding: match encoding.clone() {
                        Encoding::Plain => blob::Encoding::Plain,
                        Encoding::JsonLines { content, error } => {
                            blob::Encoding::JsonLines(blob::JsonLines { content, error })
                        }
                    },
                    proof: proof.into(),
                    store: store.into(),
                    key: key.clone(),
                    absent: *absent,
                    max_bytes: *max_bytes,
                })
            }
            Transfer::Deliver { store, key, request, piece } => Self::Deliver(blob::Deliver {
                store: store.into(),
                key: key.clone(),
                request: request.into(),
                piece: *piece,
            }),
            Transfer::Check { store, key, proof } => {
                Self::Check(blob::Check { store: store.into(), key: key.clone(), proof: proof.into() })
            }
        }
    }
}

impl From<blob::Progress> for Progress {
    fn from(blob::Progress { state, bytes, sha256, etag, answer }: blob::Progress) -> Self {
        let state = match state {
            blob::State::Running => TransferState::Running,
            blob::State::Done => TransferState::Done,
            blob::State::Failed((reason, message)) => TransferState::Failed { reason, message },
        };
        Self { state, bytes, sha256, etag, answer }
    }
}

impl From<blob::Error> for BlobError {
    fn from(error: blob::Error) -> Self {
        let (kind, message) = match error {
            blob::Error::Denied(why) => (BlobErrorKind::Denied, why),
            blob::Error::NotFound(why) => (BlobErrorKind::NotFound, why),
            blob::Error::Conflict(why) => (BlobErrorKind::Conflict, why),
            blob::Error::Credentials(why) => (BlobErrorKind::Credentials, why),
            blob::Error::Invalid(why) => (BlobErrorKind::Invalid, why),
            blob::Error::Unavailable(why) => (BlobErrorKind::Unavailable, why),
            blob::Error::Exhausted(why) => (BlobErrorKind::Exhausted, why),
            blob::Error::Other(why) => (BlobErrorKind::Other, why),
        };
        Self { kind, message }
    }
}
