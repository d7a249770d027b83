//! Release records in the cluster. Every write has a precondition, so of two writers one learns that it came second.
//!
//! A record that no Secret can hold is in chunks: they are written before the Secret that names them and deleted after it,
//! so whatever is broken off leaves chunks that nobody names, and the next listing takes those away.

use helm_release::{
    Chunks, Entry, History, LARGEST_SECRET, Limit, Listed, Marks, SecretError, Stored, can_have_records,
    chunks_of, secret_name, selector,
};
use jiff::Timestamp;
use pilothouse_sdk::{Context, DeleteOptions, Error, Gvk, KubeError, Level, ObjectRef, Ownership, Patch};
use serde_json::{Value, json};

use crate::decorate::Owner;

/// The records of one release.
#[derive(Debug, Clone)]
pub(crate) struct Store<'a> {
    ctx: &'a Context,
    owner: &'a Owner,
    release: &'a str,
    namespace: &'a str,
    now: Timestamp,
    /// Bytes that a Secret may have.
    largest: usize,
}

/// The kind that records are kept in.
pub(crate) fn secret_kind() -> Gvk {
    Gvk::new("", "v1", "Secret")
}

/// What of a record's Secret tells where it stands.
const NOTES: [&str; 3] = ["metadata.labels", "metadata.annotations", "metadata.ownerReferences"];

/// How long to wait when somebody else wrote at the same time.
const AFTER_CONFLICT: std::time::Duration = std::time::Duration::from_secs(1);

impl<'a> Store<'a> {
    pub(crate) fn new(ctx: &'a Context, owner: &'a Owner, now: Timestamp) -> Self {
        let largest = LARGEST_SECRET;
        Self { ctx, owner, release: &owner.release, namespace: &owner.namespace, now, largest }
    }

    /// The same with Secrets of another size.
    pub(crate) fn within(self, largest: usize) -> Self {
        Self { largest, ..self }
    }

    /// What the API server knows about all revisions. A Secret with the release's labels that is no record is logged and left
    /// out.
    pub(crate) fn history(&self) -> Result<History, Error> {
        Ok(self.listed()?.0)
    }

    /// The same, for who may change something: chunks that no record has are deleted.
    pub(crate) fn tidied_history(&self) -> Result<History, Error> {
        let (history, strays) = self.listed()?;
        for name in strays {
            if let Err(error) = self.delete_secret(&name) {
                self.ctx.log(Level::Warn, format_args!("left over: {}", error.message()), &[]);
            }
        }
        Ok(history)
    }

    /// The records, and the names of chunks that are the owner's and that no record has.
    fn listed(&self) -> Result<(History, Vec<String>), Error> {
        if !can_have_records(self.release) {
            return Ok((History::default(), Vec::new()));
        }
        let kube = self.ctx.kube().live().only(NOTES);
        let secrets = kube.list_ref::<Value>(secret_kind(), self.namespace).labels(selector(self.release));
        let secrets =
            secrets.all().map_err(|error| self.explain("failed to retrieve release history", error))?;
        let Listed { entries, unreadable, strays } = Listed::read(&secrets);
        for error in unreadable {
            self.ctx.log(Level::Warn, format_args!("left out of the history: {error}"), &[]);
        }
        // Another owner of the release's name may be about to write the record of its own.
        let ours = strays
            .into_iter()
            .filter(|(_, controller)| controller.as_ref().is_none_or(|controller| self.owner.is(controller)));
        Ok((entries.into_iter().collect(), ours.map(|(name, _)| name).collect()))
    }

    /// What the host's cache knows about a revision; of one that is not ours the API server is asked. None: not there, or it
    /// cannot be told.
    pub(crate) fn known(&self, revision: u32) -> Option<Entry> {
        let secret: Value = self.ctx.kube().only(NOTES).get_ref(&self.reference(revision)).ok()??;
        Entry::read(&secret).ok()
    }

    /// The record of a revision, from the host's cache while that has it as it was listed.
    pub(crate) fn load_listed(&self, entry: &Entry) -> Result<Stored, Error> {
        let known = self.ctx.kube().get_ref::<Value>(&self.reference(entry.revision)).ok().flatten();
        let version = |secret: &Value| {
            secret.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned)
        };
        let known = known.filter(|secret| version(secret).as_ref() == Some(&entry.resource_version));
        match known.map(|secret| self.read(&secret)) {
            Some(Ok(stored)) => Ok(stored),
            Some(Err(_)) | None => self.load(entry.revision),
        }
    }

    /// A record out of its Secret and its chunks.
    fn read(&self, secret: &Value) -> Result<Stored, Error> {
        self.try_read(secret)?.map_err(|error| Error::retry("InvalidRelease", error.to_string()))
    }

    /// The same, with what is wrong with the record apart from what the cluster refuses.
    fn try_read(&self, secret: &Value) -> Result<Result<Stored, SecretError>, Error> {
        let name = secret.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let mut chunks: Vec<Value> = Vec::new();
        for name in chunks_of(secret).iter().flat_map(|chunks| chunks.names(name)) {
            let chunk = self.ctx.kube().live().only(["data"]).get_ref(&self.secret(name));
            chunks.extend(chunk.map_err(|error| self.explain("failed to get release", error))?);
        }
        Ok(Stored::read_with(secret, &chunks))
    }

    /// A revision with its record, from the API server.
    pub(crate) fn load(&self, revision: u32) -> Result<Stored, Error> {
        self.read(&self.fetch(revision)?)
    }

    /// The same for who can do without it: the inner error is what is wrong with the record, and stays wrong.
    pub(crate) fn try_load(&self, revision: u32) -> Result<Result<Stored, SecretError>, Error> {
        self.try_read(&self.fetch(revision)?)
    }

    fn fetch(&self, revision: u32) -> Result<Value, Error> {
        let secret: Option<Value> = self
            .ctx
            .kube()
            .live()
            .get_ref(&self.reference(revision))
            .map_err(|error| self.explain("failed to get release", error))?;
        secret.ok_or_else(|| {
            Error::retry_after(
                AFTER_CONFLICT,
                "ReleaseMoved",
                format!("revision {revision} of release {} went away while it was looked at", self.release),
            )
        })
    }

    /// Writes a record and answers its Secret as it is stored now.
    pub(crate) fn write(&self, stored: &Stored) -> Result<Value, Error> {
        let secrets = stored
            .secrets_within(self.largest, self.now)
            .map_err(|error| Error::permanent("InvalidRelease", error.to_string()))?;
        let kube = self.ctx.kube();
        for mut chunk in secrets.chunks {
            // Not by the host's marks: nobody has to be woken by chunks, and no cache is to hold them.
            self.owner.refer(&mut chunk);
            match kube.create(&chunk, Ownership::None) {
                // Named by its content: it is the same.
                Ok(_) | Err(KubeError::AlreadyExists(_)) => {}
                Err(error) => return Err(self.explain("failed to store release", error)),
            }
        }
        let record = &secrets.record;
        let answer =
            if stored.is_new() { kube.create(record, Ownership::Reference) } else { kube.replace(record) };
        answer.map_err(|error| self.explain("failed to store release", error))
    }

    /// Makes room for one more revision.
    pub(crate) fn make_room(&self, history: &History, limit: Limit) -> Result<(), Error> {
        let chunks = |revision| history.get(revision).and_then(|entry| entry.chunks.as_ref());
        history.surplus(limit).into_iter().try_for_each(|revision| self.delete(revision, chunks(revision)))
    }

    /// Deletes a record with its chunks.
    pub(crate) fn delete(&self, revision: u32, chunks: Option<&Chunks>) -> Result<(), Error> {
        let name = secret_name(self.release, revision);
        self.delete_secret(&name)?;
        chunks
            .into_iter()
            .flat_map(|chunks| chunks.names(&name))
            .try_for_each(|name| self.delete_secret(&name))
    }

    fn delete_secret(&self, name: &str) -> Result<(), Error> {
        let deleted = self.ctx.kube().delete_ref(&self.secret(name), &DeleteOptions::default());
        deleted.map(drop).map_err(|error| self.explain("failed to delete release", error))
    }

    /// Changes our notes about a revision and nothing else.
    pub(crate) fn mark(&self, entry: &Entry, marks: &Marks) -> Result<(), Error> {
        let annotations: Value = marks
            .annotations()
            .map(|(key, value)| (key.to_owned(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let patch = Patch::merge(&json!({"metadata": {
            "resourceVersion": entry.resource_version,
            "annotations": annotations,
        }}))
        .map_err(Error::from)?;
        let patched = self.ctx.kube().patch_ref::<Value>(&self.reference(entry.revision), &patch);
        patched.map(drop).map_err(|error| self.explain("failed to mark release", error))
    }

    /// The Secret of a record.
    pub(crate) fn reference(&self, revision: u32) -> ObjectRef {
        self.secret(secret_name(self.release, revision))
    }

    fn secret(&self, name: impl Into<String>) -> ObjectRef {
        ObjectRef::new(secret_kind(), self.namespace, name)
    }

    fn explain(&self, doing: &str, error: KubeError) -> Error {
        if matches!(error, KubeError::Conflict(_) | KubeError::AlreadyExists(_)) {
            let message = format!("{doing} {}: somebody else wrote at the same time: {error}", self.release);
            return Error::retry_after(AFTER_CONFLICT, "Conflict", message);
        }
        Error::from(error).context(format_args!("{doing} {}", self.release))
    }
}
