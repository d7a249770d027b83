//! Revisions as Secrets (Helm's `pkg/storage/driver/secrets.go`).

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::{
    Marks, PayloadError, Release, Status,
    chunks::{self, CHUNK_OWNER, CHUNKS, Chunks},
    fit::{Fitted, LARGEST_SECRET, LEFT_OUT, LeftOut, fit},
    payload,
};

/// `type` of a release Secret.
pub const SECRET_TYPE: &str = "helm.sh/release.v1";

/// A Secret that is no release record.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SecretError {
    /// Its labels do not say which revision it holds.
    #[error("Secret {0:?} has no label \"version\" with the number of a revision")]
    NoRevision(String),
    /// Its `data.release` is missing.
    #[error("Secret {0:?} holds no release record")]
    NoPayload(String),
    /// Its `data.release` cannot be read.
    #[error("Secret {name:?}: {source}")]
    Payload {
        /// Name of the Secret.
        name: String,
        /// What is wrong with it.
        source: PayloadError,
    },
    /// It is in chunks, and these are not all there, or not as they were stored.
    #[error(
        "Secret {0:?}: a chunk of the release record is missing or was changed; when the Secret is deleted, the release is \
         made anew"
    )]
    Chunk(String),
    /// The object is not of a Secret's shape.
    #[error("a release Secret cannot be read: {0}")]
    Shape(#[from] serde_json::Error),
}

/// The name of the Secret of a revision.
#[must_use]
pub fn secret_name(release: &str, revision: u32) -> String {
    format!("sh.helm.release.v1.{release}.v{revision}")
}

/// The most letters of a label's value.
const MOST_LETTERS: usize = 63;

/// Whether a release can have records of this name at all: it stands in a label of theirs, and the API server refuses to
/// look for more than a label holds.
#[must_use]
pub fn can_have_records(release: &str) -> bool {
    release.len() <= MOST_LETTERS
}

/// The label selector of all revisions of a release, with the chunks of those that are in chunks.
#[must_use]
pub fn selector(release: &str) -> String {
    format!("name={release},owner in (helm,{CHUNK_OWNER})")
}

/// The object that controls a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Controller {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    #[serde(default)]
    controller: bool,
}

impl Controller {
    /// Whether it is the object of a kind and name, whatever its version.
    #[must_use]
    pub fn is(&self, group: &str, kind: &str, name: &str) -> bool {
        let own_group = self.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        own_group == group && self.kind == kind && self.name == name
    }
}

/// What a Secret's metadata says about a revision: enough to decide, without the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The number of the revision.
    pub revision: u32,
    /// Where it stands.
    pub status: Status,
    /// Our notes.
    pub marks: Marks,
    /// `metadata.uid` of the Secret.
    pub uid: String,
    /// `metadata.resourceVersion` of the Secret.
    pub resource_version: String,
    /// When the record was written last; none when the labels do not say.
    pub touched: Option<Timestamp>,
    /// Who owns the Secret.
    pub controller: Option<Controller>,
    /// The chunks of its record; none: it is in one piece.
    pub chunks: Option<Chunks>,
}

/// The Secrets of a release, as their metadata tells them apart.
#[derive(Debug, Default)]
pub struct Listed {
    /// The revisions, in no order.
    pub entries: Vec<Entry>,
    /// What has the labels of a revision and is none.
    pub unreadable: Vec<SecretError>,
    /// Names of chunks that no record has, with their controllers: what a write that was broken off left.
    pub strays: Vec<(String, Option<Controller>)>,
}

impl Listed {
    /// Looks through what [`selector`] selects, of which only `metadata` has to be there.
    #[must_use]
    pub fn read(secrets: &[Value]) -> Self {
        let mut listed = Self::default();
        let is_chunk = |secret: &&Value| {
            secret.pointer("/metadata/labels/owner").and_then(Value::as_str) == Some(CHUNK_OWNER)
        };
        let (chunks, records): (Vec<&Value>, Vec<&Value>) = secrets.iter().partition(is_chunk);
        let mut needed = BTreeSet::new();
        for record in records {
            if let Some(metadata) = record.get("metadata").and_then(Value::as_object) {
                let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
                needed.extend(Chunks::read(metadata).iter().flat_map(|chunks| chunks.names(name)));
            }
            match Entry::read(record) {
                Ok(entry) => listed.entries.push(entry),
                Err(error) => listed.unreadable.push(error),
            }
        }
        for chunk in chunks {
            match Meta::deserialize(chunk) {
                Ok(Meta { metadata }) if !needed.contains(&metadata.name) => {
                    let controller = metadata.controller();
                    listed.strays.push((metadata.name, controller));
                }
                Ok(_) => {}
                Err(error) => listed.unreadable.push(error.into()),
            }
        }
        listed
    }
}

#[derive(Deserialize)]
struct Meta {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Metadata {
    name: String,
    uid: String,
    resource_version: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    owner_references: Vec<Controller>,
}

impl Metadata {
    fn controller(&self) -> Option<Controller> {
        self.owner_references.iter().find(|owner| owner.controller).cloned()
    }
}

impl Entry {
    /// Reads a Secret, of which only `metadata` has to be there.
    ///
    /// # Errors
    /// [`SecretError::Shape`] or [`SecretError::NoRevision`].
    pub fn read(secret: &Value) -> Result<Self, SecretError> {
        let Meta { metadata } = Meta::deserialize(secret)?;
        let label = |key: &str| metadata.labels.get(key).map(String::as_str);
        let Some(revision) = label("version").and_then(|word| word.parse().ok()) else {
            return Err(SecretError::NoRevision(metadata.name));
        };
        let time = |key| Timestamp::from_second(label(key)?.parse().ok()?).ok();
        Ok(Self {
            revision,
            status: Status::parse(label("status").unwrap_or_default()),
            marks: Marks::read(&metadata.annotations),
            touched: time("modifiedAt").or_else(|| time("createdAt")),
            controller: metadata.controller(),
            chunks: metadata.annotations.get(CHUNKS).and_then(|chunks| chunks.parse().ok()),
            uid: metadata.uid,
            resource_version: metadata.resource_version,
        })
    }
}

/// Where a Secret keeps what changes of a record whose rest is in chunks. Not where Helm would look for a release: what is
/// here alone would be one without objects.
const HEAD: &str = "head";

/// What has to be written for a revision.
#[derive(Debug)]
pub struct Secrets {
    /// Before anything else: chunks that are new.
    pub chunks: Vec<Value>,
    /// The Secret that Helm looks for.
    pub record: Value,
}

/// A revision with the Secret it is stored in.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The record.
    pub release: Release,
    /// Our notes.
    pub marks: Marks,
    /// The Secret's metadata as it was read or answered; none while it has not been created.
    metadata: Option<Map<String, Value>>,
    /// Labels that the user gave to the release.
    labels: BTreeMap<String, String>,
}

/// Labels that Helm sets itself; a user's label of such a name is not carried on.
const SYSTEM_LABELS: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];

impl Stored {
    /// A revision that is not stored yet. `labels` are carried on from the revision before.
    #[must_use]
    pub fn new(release: Release, marks: Marks, labels: BTreeMap<String, String>) -> Self {
        Self { release, marks, metadata: None, labels }
    }

    /// Reads a Secret whose record is in one piece.
    ///
    /// # Errors
    /// [`SecretError`] says what is wrong with it.
    pub fn read(secret: &Value) -> Result<Self, SecretError> {
        Self::read_with(secret, &[])
    }

    /// Reads a Secret together with the chunks of its record ([`chunks_of`]), in their order.
    ///
    /// # Errors
    /// [`SecretError`] says what is wrong with it.
    pub fn read_with(secret: &Value, chunks: &[Value]) -> Result<Self, SecretError> {
        let Meta { metadata } = Meta::deserialize(secret)?;
        let name = metadata.name;
        let body = chunks_of(secret).map(|known| known.join(chunks));
        let key = if body.is_some() { HEAD } else { "release" };
        let Some(payload) = secret.pointer("/data").and_then(|data| data.get(key)).and_then(Value::as_str)
        else {
            return Err(SecretError::NoPayload(name));
        };
        let decoded =
            STANDARD.decode(payload).map_err(PayloadError::from).and_then(|bytes| payload::decode(&bytes));
        let explain = |source| SecretError::Payload { name: name.clone(), source };
        let mut release = decoded.map_err(explain)?;
        if let Some(body) = body {
            let body = body.ok_or_else(|| SecretError::Chunk(name.clone()))?;
            release = release.with_body(payload::unpack(&body).map_err(explain)?);
        }
        let stored = Self {
            release,
            marks: Marks::read(&metadata.annotations),
            metadata: None,
            labels: BTreeMap::new(),
        };
        let labels =
            metadata.labels.into_iter().filter(|(key, _)| !SYSTEM_LABELS.contains(&key.as_str())).collect();
        Ok(Self { labels, metadata: secret.get("metadata").and_then(Value::as_object).cloned(), ..stored })
    }

    /// Whether it has to be created; else it has to be replaced, with the version that was read as precondition.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.metadata.is_none()
    }

    /// Labels that the user gave to the release; the next revision carries them on.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// When the record was written last; none while it is new.
    #[must_use]
    pub fn touched(&self) -> Option<Timestamp> {
        let labels = self.metadata.as_ref()?.get("labels")?;
        let at = |label: &str| labels.get(label)?.as_str()?.parse().ok();
        Timestamp::from_second(at("modifiedAt").or_else(|| at("createdAt"))?).ok()
    }

    /// Takes over the metadata of the Secret as the cluster answered it.
    pub fn written(&mut self, secret: &Value) {
        self.metadata = secret.get("metadata").and_then(Value::as_object).cloned();
    }

    /// The chunks its record is stored in; none: it is in one piece, or not stored.
    #[must_use]
    pub fn chunks(&self) -> Option<Chunks> {
        Chunks::read(self.metadata.as_ref()?)
    }

    /// The Secrets as they have to be written. What is in chunks never changes, so they are there already when the record
    /// was read from some.
    ///
    /// # Errors
    /// [`PayloadError`] when the record cannot be packed.
    pub fn secrets(&self, now: Timestamp) -> Result<Secrets, PayloadError> {
        self.secrets_within(LARGEST_SECRET, now)
    }

    /// The same where Secrets have another size than Kubernetes lets them have.
    ///
    /// # Errors
    /// [`PayloadError`] when the record cannot be packed.
    pub fn secrets_within(&self, largest: usize, now: Timestamp) -> Result<Secrets, PayloadError> {
        let (known, mut record) = (self.chunks(), self.frame(now));
        let left_out = self.metadata.as_ref().map(LeftOut::read).unwrap_or_default();
        let head = || payload::encode(&self.release.head());
        let (key, text, left_out, body) = match known {
            Some(_) => (HEAD, head()?, left_out, Vec::new()),
            None => match fit(&self.release, left_out, largest)? {
                Fitted::Whole(text, left_out) => ("release", text, left_out, Vec::new()),
                Fitted::Chunked(body) => (HEAD, head()?, LeftOut::Templates, body),
            },
        };
        let chunks = known.or_else(|| (!body.is_empty()).then(|| Chunks::of(&body, chunks::size(largest))));
        if let Some(metadata) = record.get_mut("metadata").and_then(Value::as_object_mut) {
            let annotations = section(metadata, "annotations");
            let note = |name: &str, note: Option<String>| note.map(|note| (name.to_owned(), note.into()));
            let left_out = note(LEFT_OUT, left_out.words().map(str::to_owned));
            annotations
                .extend(left_out.into_iter().chain(note(CHUNKS, chunks.as_ref().map(Chunks::to_string))));
        }
        if let Value::Object(fields) = &mut record {
            fields.insert("data".to_owned(), json!({ key: STANDARD.encode(text) }));
        }
        let chunks =
            chunks.map_or_else(Vec::new, |chunks| chunks.secrets(&record, &body, chunks::size(largest)));
        Ok(Secrets { chunks, record })
    }

    /// The Secret without the record.
    fn frame(&self, now: Timestamp) -> Value {
        let mut metadata = self.metadata.clone().unwrap_or_default();
        let name = secret_name(&self.release.name, self.release.version);
        metadata.insert("name".into(), name.into());
        metadata.insert("namespace".into(), self.release.namespace.clone().into());
        let stamp = if self.is_new() { "createdAt" } else { "modifiedAt" };
        let labels = section(&mut metadata, "labels");
        labels.extend(self.labels.iter().map(|(key, value)| (key.clone(), value.clone().into())));
        for (key, value) in [
            ("name", self.release.name.clone()),
            ("owner", "helm".to_owned()),
            ("status", self.release.info.status.to_string()),
            ("version", self.release.version.to_string()),
            (stamp, now.as_second().to_string()),
        ] {
            labels.insert(key.into(), value.into());
        }
        let annotations = section(&mut metadata, "annotations");
        for (key, value) in self.marks.annotations() {
            match value {
                Some(value) => annotations.insert(key.into(), value.into()),
                None => annotations.remove(key),
            };
        }
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": SECRET_TYPE})
    }
}

/// The chunks of the record in a Secret; none: it is in one piece.
#[must_use]
pub fn chunks_of(secret: &Value) -> Option<Chunks> {
    Chunks::read(secret.get("metadata")?.as_object()?)
}

fn section<'a>(metadata: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let section = metadata.entry(name).or_insert_with(|| json!({}));
    if !section.is_object() {
        *section = json!({});
    }
    match section {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

#[cfg(test)]
mod tests;
