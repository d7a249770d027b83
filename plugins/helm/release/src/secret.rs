//! Revisions as Secrets (Helm's `pkg/storage/driver/secrets.go`).

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::{Marks, PayloadError, Release, Status, payload};

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
    /// The object is not of a Secret's shape.
    #[error("a release Secret cannot be read: {0}")]
    Shape(#[from] serde_json::Error),
}

/// The name of the Secret of a revision.
#[must_use]
pub fn secret_name(release: &str, revision: u32) -> String {
    format!("sh.helm.release.v1.{release}.v{revision}")
}

/// The label selector of all revisions of a release.
#[must_use]
pub fn selector(release: &str) -> String {
    format!("name={release},owner=helm")
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
            controller: metadata.owner_references.into_iter().find(|owner| owner.controller),
            uid: metadata.uid,
            resource_version: metadata.resource_version,
        })
    }
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

    /// Reads a Secret.
    ///
    /// # Errors
    /// [`SecretError`] says what is wrong with it.
    pub fn read(secret: &Value) -> Result<Self, SecretError> {
        let Meta { metadata } = Meta::deserialize(secret)?;
        let name = metadata.name;
        let Some(payload) = secret.pointer("/data/release").and_then(Value::as_str) else {
            return Err(SecretError::NoPayload(name));
        };
        let decoded =
            STANDARD.decode(payload).map_err(PayloadError::from).and_then(|bytes| payload::decode(&bytes));
        let release = decoded.map_err(|source| SecretError::Payload { name, source })?;
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

    /// The Secret as it has to be written.
    ///
    /// # Errors
    /// [`PayloadError`] when the record cannot be packed.
    pub fn secret(&self, now: Timestamp) -> Result<Value, PayloadError> {
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
        Ok(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "type": SECRET_TYPE,
            "data": { "release": STANDARD.encode(payload::encode(&self.release)?) },
        }))
    }
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
mod tests {
    use super::*;
    use crate::{Progress, Stage};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn stored() -> Stored {
        let mut release =
            Release { name: "web".into(), namespace: "shop".into(), version: 2, ..Release::default() };
        release.set_status(Status::PendingUpgrade, "Preparing upgrade");
        let marks = Marks {
            inputs: Some("sha256:1".into()),
            progress: Some(Progress::start(Stage::Pre)),
            ..Marks::default()
        };
        Stored::new(release, marks, [("team".to_owned(), "a".to_owned())].into())
    }

    #[test]
    fn a_new_secret_has_the_name_type_and_labels_that_helm_looks_for() {
        let secret = stored().secret(at(1000)).unwrap();
        assert_eq!(secret["metadata"]["name"], "sh.helm.release.v1.web.v2");
        assert_eq!(secret["metadata"]["namespace"], "shop");
        assert_eq!(secret["type"], "helm.sh/release.v1");
        assert_eq!(
            secret["metadata"]["labels"],
            json!({"team": "a", "name": "web", "owner": "helm", "status": "pending-upgrade", "version": "2",
                   "createdAt": "1000"})
        );
        assert_eq!(
            secret["metadata"]["annotations"],
            json!({"helm.pilothouse.dev/inputs": "sha256:1", "helm.pilothouse.dev/progress": "pre/0/0"})
        );
    }

    #[test]
    fn a_secret_is_read_as_it_was_written_and_keeps_what_others_put_into_its_metadata() {
        let mut answer = stored().secret(at(1000)).unwrap();
        answer["metadata"]["resourceVersion"] = json!("17");
        answer["metadata"]["annotations"]["else/where"] = json!("x");
        let mut read = Stored::read(&answer).unwrap();
        assert!(!read.is_new());
        assert_eq!(read.release, stored().release);
        assert_eq!(read.labels(), stored().labels());
        read.release.set_status(Status::Deployed, "Upgrade complete");
        read.marks.progress = None;
        let again = read.secret(at(2000)).unwrap();
        assert_eq!(again["metadata"]["resourceVersion"], "17");
        assert_eq!(
            again["metadata"]["annotations"],
            json!({"helm.pilothouse.dev/inputs": "sha256:1", "else/where": "x"})
        );
        let entry = Entry::read(&again).unwrap();
        assert_eq!((entry.revision, entry.status), (2, Status::Deployed));
        assert_eq!(entry.touched, Some(at(2000)));
        assert_eq!(entry.marks, read.marks);
        assert_eq!(entry.resource_version, "17");
    }

    #[test]
    fn the_controller_of_a_secret_is_told_from_its_other_owners() {
        let mut secret = stored().secret(at(1)).unwrap();
        assert_eq!(Entry::read(&secret).unwrap().controller, None);
        let owner = |name: &str| json!({"apiVersion": "a/v1", "kind": "App", "name": name, "uid": "u"});
        let mut second = owner("second");
        second["controller"] = json!(true);
        secret["metadata"]["ownerReferences"] = json!([owner("first"), second]);
        assert_eq!(Entry::read(&secret).unwrap().controller.unwrap().name, "second");
    }

    #[test]
    fn what_is_no_release_secret_is_refused_by_name() {
        let secret = json!({"metadata": {"name": "x", "labels": {"version": "one"}}});
        assert_eq!(
            Entry::read(&secret).unwrap_err().to_string(),
            "Secret \"x\" has no label \"version\" with the number of a revision"
        );
        assert_eq!(Stored::read(&secret).unwrap_err().to_string(), "Secret \"x\" holds no release record");
        let secret = json!({"metadata": {"name": "x"}, "data": {"release": "JSU="}});
        assert!(
            Stored::read(&secret)
                .unwrap_err()
                .to_string()
                .starts_with("Secret \"x\": the release record is not")
        );
    }
}
