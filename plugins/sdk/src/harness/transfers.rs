//! Transfers behind a call: they run when the call is over, and their objects are called when they have ended.

use std::{collections::BTreeMap, rc::Rc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    cluster::Cluster,
    stores::{hex, place_of},
};
use crate::{
    BlobError, BlobErrorKind, Encoding, HttpError, HttpRequest, HttpResponse, Identity, ObjectRef, Progress,
    Proof, PutCondition, Transfer, TransferState,
};

/// What was asked for.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) attempt: u32,
    pub(super) transfer: Transfer,
    /// In force when it began; a new key is no new task.
    pub(super) identity: Option<Identity>,
}

impl Task {
    fn is(&self, other: &Self) -> bool {
        (self.attempt, &self.transfer) == (other.attempt, &other.transfer)
    }
}

/// The host's table. Does not survive it.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    known: BTreeMap<(ObjectRef, String), (Task, Option<Progress>)>,
    held: bool,
}

fn running() -> Progress {
    Progress { state: TransferState::Running, bytes: 0, sha256: None, etag: None, answer: None }
}

impl Transfers {
    pub(super) fn find(&self, owner: &ObjectRef, name: &str, task: &Task) -> Option<Progress> {
        let (known, progress) = self.known.get(&(owner.clone(), name.to_owned()))?;
        known.is(task).then(|| progress.clone().unwrap_or_else(running))
    }

    pub(super) fn start(&mut self, owner: ObjectRef, name: &str, task: Task) {
        self.known.insert((owner, name.to_owned()), (task, None));
    }

    pub(super) fn forget(&mut self, owner: &ObjectRef, name: &str) {
        self.known.remove(&(owner.clone(), name.to_owned()));
    }

    pub(super) fn forget_all(&mut self, owner: &ObjectRef) {
        self.known.retain(|(other, _), _| other != owner);
    }

    /// The host died.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }
}

impl Cluster {
    /// Transfers that begin from now on run on and on, until they are let go.
    pub fn hold_transfers(&self, hold: bool) {
        self.state().transfers.held = hold;
    }

    /// Carries out what was begun; whom it concerns.
    pub(super) fn run_transfers(&self) -> Vec<ObjectRef> {
        let mut ended = Vec::new();
        loop {
            let next = {
                let state = self.state();
                let transfers = &state.transfers;
                let mut begun =
                    transfers.known.iter().filter(|(_, (_, progress))| progress.is_none() && !transfers.held);
                begun.next().map(|(key, (task, _))| (key.clone(), task.clone()))
            };
            let Some((key, task)) = next else { return ended };
            let progress = self.carry(&task).unwrap_or_else(|error| {
                let state =
                    TransferState::Failed { reason: error.reason().to_owned(), message: error.message };
                Progress { state, ..running() }
            });
            let mut state = self.state();
            if let Some((_, known)) = state.transfers.known.get_mut(&key) {
                *known = Some(progress);
                ended.push(key.0);
            }
        }
    }

    fn carry(&self, task: &Task) -> Result<Progress, BlobError> {
        match &task.transfer {
            Transfer::Fetch { request, encoding, proof, store, key, absent, max_bytes } => {
                let answer = self.asked(request, task.identity.as_ref())?;
                if !answer.is_success() {
                    let message = format!("{} answered {}", request.url, answer.status);
                    return Err(BlobError::new(BlobErrorKind::Unavailable, message));
                }
                let limit = usize::try_from(*max_bytes).unwrap_or(usize::MAX);
                let content = decoded(encoding, &answer.bytes(usize::MAX).map_err(unreachable)?)?;
                if content.len() > limit {
                    let message = format!("the content has more than {max_bytes} bytes");
                    return Err(BlobError::new(BlobErrorKind::Exhausted, message));
                }
                let sha256 = proven(proof, &content)?;
                let size = content.len();
                let condition = if *absent { PutCondition::Absent } else { PutCondition::None };
                let mut state = self.state();
                let now = state.store.now;
                let place = place_of(store);
                let written = state
                    .shelf
                    .operate("put", |shelf| shelf.write((&place, key), content, &condition, now))?;
                drop(state);
                Ok(Progress { etag: written.etag, ..done(size, Some(sha256)) })
            }
            Transfer::Deliver { store, key, request, piece } => {
                let content = self.content(&place_of(store), key)?;
                let answer = self.delivered(request, task.identity.as_ref(), &content, *piece)?;
                let status = answer.status;
                let body = answer.bytes(64 * 1024).map_err(unreachable)?;
                Ok(Progress { answer: Some((status, body)), ..done(content.len(), None) })
            }
            Transfer::Check { store, key, proof } => {
                let content = self.content(&place_of(store), key)?;
                Ok(done(content.len(), Some(proven(proof, &content)?)))
            }
        }
    }

    /// The answer to the last piece, or to the one that was refused.
    fn delivered(
        &self,
        request: &HttpRequest,
        identity: Option<&Identity>,
        content: &[u8],
        piece: Option<u64>,
    ) -> Result<HttpResponse, BlobError> {
        let size = content.len();
        let piece =
            piece.and_then(|piece| usize::try_from(piece).ok()).filter(|piece| (1..size).contains(piece));
        let Some(piece) = piece else {
            return self.asked(&request.clone().body(content.to_vec()), identity);
        };
        let mut pieces = content.chunks(piece).enumerate();
        loop {
            let Some((at, bytes)) = pieces.next() else {
                return Err(BlobError::new(BlobErrorKind::Other, "there was no piece to send".to_owned()));
            };
            let mut request = request.clone().body(bytes.to_vec());
            let sign = if request.url.contains('?') { '&' } else { '?' };
            request.url.push_str(&format!("{sign}offset={}&size={size}", at.saturating_mul(piece)));
            let answer = self.asked(&request, identity)?;
            if !answer.is_success() || pieces.len() == 0 {
                return Ok(answer);
            }
        }
    }

    fn content(&self, place: &str, key: &str) -> Result<Vec<u8>, BlobError> {
        let missing = || BlobError::new(BlobErrorKind::NotFound, format!("there is no object {key}"));
        let read = |shelf: &mut super::stores::Shelf| {
            shelf.content(place, key).map(<[u8]>::to_vec).ok_or_else(missing)
        };
        self.state().shelf.operate("get", read)
    }

    fn asked(&self, request: &HttpRequest, identity: Option<&Identity>) -> Result<HttpResponse, BlobError> {
        let server = self.server_of(&request.url, None);
        match server.map(|server| Rc::clone(&server)(request, identity)) {
            Some(answer) => answer.map(super::http::HttpAnswer::into_response).map_err(unreachable),
            None => {
                Err(BlobError::new(BlobErrorKind::Unavailable, format!("nobody answers at {}", request.url)))
            }
        }
    }
}

fn done(size: usize, sha256: Option<String>) -> Progress {
    let bytes = u64::try_from(size).unwrap_or(u64::MAX);
    Progress { state: TransferState::Done, bytes, sha256, ..running() }
}

fn unreachable(error: HttpError) -> BlobError {
    BlobError::new(BlobErrorKind::Unavailable, error.message)
}

fn corrupt(message: &str) -> BlobError {
    BlobError::new(BlobErrorKind::Other, message)
}

fn decoded(encoding: &Encoding, bytes: &[u8]) -> Result<Vec<u8>, BlobError> {
    let Encoding::JsonLines { content, error } = encoding else { return Ok(bytes.to_vec()) };
    let mut whole = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let value: Value = serde_json::from_slice(line)
            .map_err(|_| corrupt("a line of the answer is not JSON: it breaks off"))?;
        if let Some(said) = value.pointer(error).filter(|said| !said.is_null()) {
            return Err(corrupt(&format!("the server ended its answer with {said}")));
        }
        if let Some(text) = value.pointer(content).and_then(Value::as_str) {
            whole.extend(STANDARD.decode(text).map_err(|_| corrupt("a line of the answer holds no base64"))?);
        }
    }
    Ok(whole)
}

fn proven(proof: &Proof, content: &[u8]) -> Result<String, BlobError> {
    let digest = hex(content);
    if proof.sha256.as_ref().is_some_and(|wanted| *wanted != digest) {
        return Err(corrupt(&format!("the content's sha256 is {digest}")));
    }
    let split = content.len().checked_sub(32).and_then(|at| content.split_at_checked(at));
    if proof.sha256_trailer
        && split.is_none_or(|(front, trailer)| Sha256::digest(front).as_slice() != trailer)
    {
        return Err(corrupt("the content does not end in the sha256 of what is before"));
    }
    Ok(digest)
}
