//! Storages as stores of the host's.

use backup_api::Storage;
use backup_core::{
    backup::{
        Token,
        observed::{CheckSeen, Looked, TokenSeen},
    },
    place::Place,
};
use pilothouse_sdk::{
    Blob, BlobErrorKind, Context, Download, Error, Progress, Proof, PutCondition, SecretKey, Store, Transfer,
    TransferState, Upload,
};

/// The store of a storage; Secrets are those of the namespace.
pub(crate) fn store(storage: &Storage, namespace: &str) -> Store {
    Store {
        url: storage.url.clone(),
        region: storage.region.clone(),
        credentials: storage.credentials_secret.clone().map(|secret| (namespace.to_owned(), secret)),
        authorities: storage
            .authorities_secret
            .as_ref()
            .map(|secret| SecretKey::new(namespace, &secret.name, &secret.key)),
        virtual_hosted: storage.virtual_hosted,
        checksums: storage.checksums,
    }
}

/// Whether an object is there.
pub(crate) fn look(ctx: &Context, namespace: &str, place: &Place) -> Looked {
    match ctx.blob().head(&store(&place.storage, namespace), &place.key) {
        Ok(Some(object)) => Looked::Present(object.size),
        Ok(None) => Looked::Absent,
        Err(error) if error.kind == BlobErrorKind::Credentials => Looked::Lost(error.message),
        Err(error) => Looked::Unknown(error.message),
    }
}

/// Deletes an object.
///
/// # Errors
/// As for any request.
pub(crate) fn delete(ctx: &Context, namespace: &str, place: &Place) -> Result<(), Error> {
    Ok(ctx.blob().delete(&store(&place.storage, namespace), &place.key).map(drop)?)
}

/// Writes a small object.
///
/// # Errors
/// As for any request.
pub(crate) fn put(ctx: &Context, namespace: &str, place: &Place, text: &str) -> Result<(), Error> {
    let store = store(&place.storage, namespace);
    Ok(ctx.blob().put(&store, &place.key, text.as_bytes(), &PutCondition::None).map(drop)?)
}

/// Gives a token out, or finds it, and writes its Secret.
///
/// # Errors
/// As for any request. That the object is there already is none: a host that was begun anew is asked for a token of a Job that has
/// done its work.
pub(crate) fn open(ctx: &Context, namespace: &str, token: &Token) -> Result<(), Error> {
    let blob = ctx.blob();
    let opened = match token {
        Token::Upload(upload) => {
            let store = store(&upload.object.storage, namespace);
            let key = upload.object.key.clone();
            blob.open_upload(
                &upload.name,
                &Upload { store, key, max_bytes: upload.max_size, time: upload.time },
            )
        }
        Token::Download(download) => {
            let store = store(&download.object.storage, namespace);
            let key = download.object.key.clone();
            blob.open_download(&download.name, &Download { store, key, time: download.time })
        }
    };
    match opened {
        Err(error) if error.kind == BlobErrorKind::Conflict => Ok(()),
        opened => Ok(opened.map(drop)?),
    }
}

/// Whether the host knows a token. What was done with it does not matter.
pub(crate) fn token(ctx: &Context, name: &str) -> TokenSeen {
    if ctx.blob().opened(name).is_some() { TokenSeen::Open } else { TokenSeen::Closed }
}

/// Begins to read an object behind the call, or looks how far that is.
pub(crate) fn check(blob: &Blob, name: &str, (namespace, place): (&str, &Place), sha256: &str) -> CheckSeen {
    let proof = Proof { sha256: Some(sha256.to_owned()), sha256_trailer: false };
    let task = Transfer::Check { store: store(&place.storage, namespace), key: place.key.clone(), proof };
    match blob.transfer(name, 1, &task) {
        Ok(progress) => seen(progress),
        Err(error) => {
            let passing = matches!(error.kind, BlobErrorKind::Unavailable | BlobErrorKind::Exhausted);
            CheckSeen::Failed { why: error.message, passing }
        }
    }
}

fn seen(progress: Progress) -> CheckSeen {
    match progress.state {
        TransferState::Running => CheckSeen::Running(progress.bytes),
        TransferState::Done => {
            CheckSeen::Done { size: progress.bytes, sha256: progress.sha256.unwrap_or_default() }
        }
        TransferState::Failed { reason, message } => {
            let passing = ["Unavailable", "StoreUnavailable", "Exhausted"].contains(&reason.as_str());
            CheckSeen::Failed { passing, why: message }
        }
    }
}
