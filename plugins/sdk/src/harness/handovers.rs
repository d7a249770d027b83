//! Handovers of objects to Jobs: the Secret is a real one of the cluster, and a test plays the Job that has it.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    cluster::Cluster,
    session::Session,
    stores::{hex, place_of},
};
use crate::{
    ApplyItem, ApplyOptions, BlobError, BlobErrorKind, DeleteOptions, Download, Gvk, Host as _, KubeError,
    ObjectRef, Ownership, Progress, PutCondition, TransferState, Upload,
};

/// What whoever has the token may do.
#[derive(Debug, Clone, PartialEq)]
enum Task {
    Upload(Upload),
    Download(Download),
}

impl Task {
    fn time(&self) -> Duration {
        match self {
            Self::Upload(upload) => upload.time,
            Self::Download(download) => download.time,
        }
    }
}

#[derive(Debug, Clone)]
struct Entry {
    task: Task,
    token: String,
    until: SystemTime,
    progress: Progress,
}

/// The host's table. Does not survive it.
#[derive(Debug, Default)]
pub(super) struct Handovers {
    known: BTreeMap<(ObjectRef, String), Entry>,
    given: u64,
    ended: Vec<ObjectRef>,
}

fn running() -> Progress {
    Progress { state: TransferState::Running, bytes: 0, sha256: None, etag: None, answer: None }
}

fn error(kind: BlobErrorKind, message: impl Into<String>) -> BlobError {
    BlobError::new(kind, message)
}

impl Handovers {
    fn open(&mut self, owner: &ObjectRef, name: &str, task: Task, now: SystemTime) -> String {
        let key = (owner.clone(), name.to_owned());
        if let Some(same) = self.known.get(&key).filter(|entry| entry.task == task && now < entry.until) {
            return same.token.clone();
        }
        self.given += 1;
        let token = format!("token-{}", self.given);
        let until = now + task.time();
        self.known.insert(key, Entry { task, token: token.clone(), until, progress: running() });
        token
    }

    fn standing(&self, owner: &ObjectRef, name: &str, now: SystemTime) -> Option<Progress> {
        let entry = self.known.get(&(owner.clone(), name.to_owned()))?;
        let late = now >= entry.until && entry.progress.state == TransferState::Running;
        let state = TransferState::Failed {
            reason: "Unavailable".to_owned(),
            message: "the time of the handover was up".to_owned(),
        };
        let progress = entry.progress.clone();
        Some(if late { Progress { state, ..progress } } else { progress })
    }

    pub(super) fn forget_all(&mut self, owner: &ObjectRef) {
        self.known.retain(|(other, _), _| other != owner);
    }

    /// The host died.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// Whom it concerns that something was handed over.
    pub(super) fn take_ended(&mut self) -> Vec<ObjectRef> {
        std::mem::take(&mut self.ended)
    }

    /// The entry that a token is for.
    fn admit(&mut self, token: &str, now: SystemTime) -> Result<(ObjectRef, &mut Entry), BlobError> {
        let found = self.known.iter_mut().find(|(_, entry)| entry.token == token && now < entry.until);
        let denied = || error(BlobErrorKind::Denied, "no open handover has this address and token");
        found.map(|((owner, _), entry)| (owner.clone(), entry)).ok_or_else(denied)
    }
}

/// Of this type are the Secrets of handovers: nobody else's of the name becomes one.
const TYPE: &str = "pilothouse.dev/handover";

fn secret_of(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef {
        kind: Gvk::new("", "v1", "Secret"),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

impl Cluster {
    /// The token in a Secret that a handover wrote, as a Job that mounts it reads it.
    pub fn handover_token(&self, namespace: &str, name: &str) -> Option<String> {
        let secret: Value = self.kubectl().get_ref(&secret_of(namespace, name)).ok()??;
        let token = secret.pointer("/data/token").and_then(Value::as_str)?;
        String::from_utf8(STANDARD.decode(token).ok()?).ok()
    }

    /// What `pilothouse upload` does with a token: all of the content is sent and committed. Whom it concerns is called.
    ///
    /// # Errors
    /// What the host says: a token it does not know, one that was used, content that is too large, an object that is there.
    pub fn hand_in(&self, token: &str, content: &[u8]) -> Result<(), BlobError> {
        let mut state = self.state();
        let now = state.store.now;
        let state = &mut *state;
        let (owner, entry) = state.handovers.admit(token, now)?;
        let Task::Upload(upload) = &entry.task else {
            return Err(error(BlobErrorKind::Invalid, "this token is for reading"));
        };
        if entry.progress.state != TransferState::Running {
            return Err(error(
                BlobErrorKind::Conflict,
                "the token's one PUT was used: nothing is sent twice",
            ));
        }
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        let (place, key) = (place_of(&upload.store), upload.key.clone());
        let written = if size > upload.max_bytes {
            let message = format!("the content has more than {} bytes", upload.max_bytes);
            Err(error(BlobErrorKind::Exhausted, message))
        } else {
            let write = |shelf: &mut super::stores::Shelf| {
                shelf.write((&place, &key), content.to_vec(), &PutCondition::Absent, now)
            };
            state.shelf.operate("put", write)
        };
        entry.progress.bytes = size;
        match &written {
            Ok(object) => {
                entry.progress.state = TransferState::Done;
                (entry.progress.sha256, entry.progress.etag) = (Some(hex(content)), object.etag.clone());
            }
            Err(error) => entry.progress.state = failed(error),
        }
        state.handovers.ended.push(owner);
        written.map(drop)
    }

    /// What a Job that is killed in the middle leaves: a token that was used, and nothing written.
    ///
    /// # Errors
    /// As [`hand_in`](Self::hand_in).
    pub fn cut_off(&self, token: &str, bytes: u64) -> Result<(), BlobError> {
        let mut state = self.state();
        let now = state.store.now;
        let (owner, entry) = state.handovers.admit(token, now)?;
        let cut = error(BlobErrorKind::Unavailable, format!("the sender was cut off after {bytes} bytes"));
        (entry.progress.bytes, entry.progress.state) = (bytes, failed(&cut));
        state.handovers.ended.push(owner);
        Ok(())
    }

    /// What `pilothouse download` does with a token.
    ///
    /// # Errors
    /// What the host says.
    pub fn hand_out(&self, token: &str) -> Result<Vec<u8>, BlobError> {
        let mut state = self.state();
        let now = state.store.now;
        let state = &mut *state;
        let (owner, entry) = state.handovers.admit(token, now)?;
        let Task::Download(download) = &entry.task else {
            return Err(error(BlobErrorKind::Invalid, "this token is for writing"));
        };
        let (place, key) = (place_of(&download.store), download.key.clone());
        let missing = || error(BlobErrorKind::NotFound, format!("there is no object {key}"));
        let read = |shelf: &mut super::stores::Shelf| {
            shelf.content(&place, &key).map(<[u8]>::to_vec).ok_or_else(missing)
        };
        let read = state.shelf.operate("get", read);
        match &read {
            Ok(content) => {
                entry.progress.bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
                (entry.progress.sha256, entry.progress.state) = (Some(hex(content)), TransferState::Done);
            }
            Err(error) => entry.progress.state = failed(error),
        }
        state.handovers.ended.push(owner);
        read
    }
}

fn failed(error: &BlobError) -> TransferState {
    TransferState::Failed { reason: error.reason().to_owned(), message: error.message.clone() }
}

impl Session {
    pub(super) fn open_handover_upload(&self, name: &str, upload: &Upload) -> Result<Progress, BlobError> {
        self.place(&upload.store, name.len())?;
        self.open_handover(name, Task::Upload(upload.clone()))
    }

    pub(super) fn open_handover_download(
        &self,
        name: &str,
        download: &Download,
    ) -> Result<Progress, BlobError> {
        self.place(&download.store, name.len())?;
        self.open_handover(name, Task::Download(download.clone()))
    }

    fn open_handover(&self, name: &str, task: Task) -> Result<Progress, BlobError> {
        let (owner, namespace) = self.handover_owner()?;
        let token = {
            let mut state = self.cluster.state();
            let now = state.store.now;
            state.handovers.open(&owner, name, task, now)
        };
        let data = json!({
            "url": STANDARD.encode("https://pilothouse.test/handover"),
            "token": STANDARD.encode(token),
            "ca.crt": STANDARD.encode("-----BEGIN CERTIFICATE-----"),
        });
        let metadata = json!({"name": name, "namespace": namespace});
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "type": TYPE, "metadata": metadata, "data": data});
        let item =
            ApplyItem { object: secret.to_string(), ownership: Ownership::Reference, keep: Vec::new() };
        let applied = self.apply(&[item], ApplyOptions::default());
        applied.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| refused(name, &error))?;
        Ok(self.handover_standing(name).unwrap_or_else(running))
    }

    pub(super) fn handover_standing(&self, name: &str) -> Option<Progress> {
        let owner = &self.owner.as_ref()?.reference;
        let state = self.cluster.state();
        state.handovers.standing(owner, name, state.store.now)
    }

    pub(super) fn close_handover(&self, name: &str) -> Result<(), BlobError> {
        let (owner, namespace) = self.handover_owner()?;
        self.cluster.state().handovers.known.remove(&(owner, name.to_owned()));
        let secret = secret_of(&namespace, name);
        let found: Option<Value> =
            self.cluster.kubectl().get_ref(&secret).map_err(|error| refused(name, &error))?;
        if found.is_none_or(|found| found.get("type").and_then(Value::as_str) != Some(TYPE)) {
            // Somebody else's of the name stays.
            return Ok(());
        }
        let deleted = self.delete(&secret, &DeleteOptions::default());
        deleted.map(drop).map_err(|error| refused(name, &error))
    }

    fn handover_owner(&self) -> Result<(ObjectRef, String), BlobError> {
        let denied = || error(BlobErrorKind::Denied, "nothing is handed over by commands");
        let owner = self.owner.as_ref().map(|owner| owner.reference.clone()).ok_or_else(denied)?;
        let nowhere = || error(BlobErrorKind::Invalid, "the object at hand is in no namespace");
        let namespace = owner.namespace.clone().ok_or_else(nowhere)?;
        Ok((owner, namespace))
    }
}

fn refused(name: &str, failure: &KubeError) -> BlobError {
    let kind = match failure {
        KubeError::Denied(_) => BlobErrorKind::Denied,
        KubeError::Exhausted(_) => BlobErrorKind::Exhausted,
        KubeError::Throttled(_) | KubeError::Unavailable(_) => BlobErrorKind::Unavailable,
        _ => BlobErrorKind::Credentials,
    };
    error(kind, format!("Secret {name}: {failure}"))
}
