//! `import`: `Backup`s for the artefacts of a storage whose `Backup`s are lost. The storage is only read.

use std::{collections::BTreeSet, rc::Rc};

use backup_api::{Storage, names};
use backup_core::{catalogue::Entry, key::Key, place::Place};
use jiff::Timestamp;
use pilothouse_sdk::{Blob, CommandAnswer, Host, Kube, ObjectRef, Ownership, Patch, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::list::is_of;
use crate::{object::gvk, store};

/// Entries are some kilobytes.
const LARGEST: u32 = 1 << 20;
/// Objects in one page.
const PAGE: u32 = 1_000;

/// Options of `import`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ImportOptions {
    /// Where the `Backup`s are to be; Secrets are those of it.
    namespace: String,
    /// Where the artefacts are; none: where the policy says.
    storage: Option<Storage>,
    /// A policy of the namespace.
    policy: Option<String>,
    /// Only what was taken in this namespace; none: in the one where it is to be.
    from: Option<String>,
    /// Only what was taken of this subject, `Kind/name`.
    subject: Option<String>,
    /// Only look.
    dry_run: bool,
}

/// What became of one artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Outcome {
    /// Its `Backup` was made.
    Imported,
    /// It would be.
    Importable,
    /// It is there already.
    Present,
    /// It is not, and why.
    Refused,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    subject: String,
    change: Option<String>,
    size: Option<u64>,
    taken: Timestamp,
    uri: String,
    outcome: Outcome,
    message: String,
}

#[derive(Debug, Serialize)]
struct Found {
    rows: Vec<Row>,
    /// Other namespaces of the storage that have artefacts.
    others: BTreeSet<String>,
}

struct Import<'o> {
    kube: Kube,
    blob: Blob,
    storage: Storage,
    store: Store,
    options: &'o ImportOptions,
}

/// Tells what became of each artefact, as JSON, the newest first.
pub(super) fn import(
    host: &Rc<dyn Host>,
    options: &ImportOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let kube = Kube::new(Rc::clone(host)).live();
    let storage = storage(&kube, options)?;
    let store = store::store(&storage, &options.namespace);
    let import = Import { kube, blob: Blob::new(Rc::clone(host)), storage, store, options };
    let found = import.all()?;
    answer.output = super::written(&found)?;
    Ok(())
}

/// The storage that was named, or that of the policy.
fn storage(kube: &Kube, options: &ImportOptions) -> Result<Storage, String> {
    match (&options.storage, &options.policy) {
        (Some(storage), _) => Ok(storage.clone()),
        (None, Some(policy)) => {
            let reference = ObjectRef::new(gvk(names::POLICY), options.namespace.as_str(), policy.as_str());
            let found: Option<Value> = kube.get_ref(&reference).map_err(|error| error.to_string())?;
            let found = found.ok_or_else(|| {
                format!("there is no BackupPolicy {policy} in the namespace {}", options.namespace)
            })?;
            let storage = found.pointer("/spec/storage").cloned().unwrap_or_default();
            serde_json::from_value(storage)
                .map_err(|error| format!("BackupPolicy {policy}: spec.storage: {error}"))
        }
        (None, None) => Err("say where the backups are: a storage or a policy".to_owned()),
    }
}

impl Import<'_> {
    fn all(&self) -> Result<Found, String> {
        let from = self.options.from.as_ref().unwrap_or(&self.options.namespace);
        let keys = self.keys()?;
        let others = keys.iter().map(|key| key.namespace.clone()).filter(|namespace| namespace != from);
        let others = others.collect();
        let mut wanted: Vec<&Key> = keys.iter().filter(|key| key.namespace == *from).collect();
        wanted.retain(|key| {
            let subject = format!("{}/{}", key.kind, key.name);
            self.options.subject.as_ref().is_none_or(|meant| is_of(&subject, meant))
        });
        wanted.sort_by_key(|key| std::cmp::Reverse(key.taken));
        Ok(Found { rows: wanted.into_iter().map(|key| self.one(key)).collect(), others })
    }

    /// The artefacts that have an entry beside them: others were never whole.
    fn keys(&self) -> Result<Vec<Key>, String> {
        let (mut keys, mut after) = (Vec::new(), None);
        loop {
            let page = self.blob.list(&self.store, "", after.as_deref(), PAGE);
            let page = page.map_err(|error| error.to_string())?;
            keys.extend(page.objects.iter().filter_map(|object| Key::of_entry(&object.key)));
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(keys),
            }
        }
    }

    fn one(&self, key: &Key) -> Row {
        let place = Place::new(&self.storage, &key.to_string());
        let row = Row {
            name: String::new(),
            subject: format!("{}/{}", key.kind, key.name),
            change: None,
            size: None,
            taken: key.taken,
            uri: place.uri(),
            outcome: Outcome::Refused,
            message: String::new(),
        };
        let entry = match self.entry(&place) {
            Ok(entry) => entry,
            Err(message) => return Row { message, ..row },
        };
        let row = Row {
            name: entry.name.clone(),
            change: entry.artefact.change.clone(),
            size: Some(entry.artefact.size),
            ..row
        };
        match self.make(&entry) {
            Ok(outcome) => Row { outcome, message: remark(&entry), ..row },
            Err(message) => Row { message, ..row },
        }
    }

    /// What stands beside an artefact that is there as it tells.
    fn entry(&self, place: &Place) -> Result<Entry, String> {
        let bytes = self.blob.get(&self.store, &place.entry().key, 0, LARGEST);
        let bytes = bytes.map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "its entry is no text".to_owned())?;
        let entry = Entry::read(&text, &place.key).map_err(|error| error.to_string())?;
        let there = self.blob.head(&self.store, &place.key).map_err(|error| error.to_string())?;
        match there {
            None => Err("its entry is there, and the artefact is not".to_owned()),
            Some(object) if object.size != entry.artefact.size => {
                Err(format!("it has {} bytes, and its entry tells of {}", object.size, entry.artefact.size))
            }
            Some(_) => Ok(entry),
        }
    }

    /// Makes the `Backup`. Made before and left without its status, it is given that.
    fn make(&self, entry: &Entry) -> Result<Outcome, String> {
        let (object, status) = entry.import(&self.options.namespace, &self.storage);
        let reference =
            ObjectRef::new(gvk(names::BACKUP), self.options.namespace.as_str(), entry.name.as_str());
        let found: Option<Value> = self.kube.get_ref(&reference).map_err(|error| error.to_string())?;
        if let Some(found) = &found {
            let key = found.pointer("/status/artifact/key").and_then(Value::as_str);
            if key == Some(entry.artefact.key.as_str()) {
                return Ok(Outcome::Present);
            }
            let half_made = key.is_none() && found.pointer("/spec/plan") == object.pointer("/spec/plan");
            if !half_made || found.pointer("/spec/origin/kind") != Some(&json!("Import")) {
                let name = &entry.name;
                return Err(format!(
                    "a Backup {name} is there that is of something else: delete it, or choose another namespace"
                ));
            }
        }
        if self.options.dry_run {
            return Ok(Outcome::Importable);
        }
        if found.is_none() {
            self.kube.create(&object, Ownership::None).map_err(|error| error.to_string())?;
        }
        let patch = Patch::merge(&json!({"status": status})).map_err(|error| error.to_string())?;
        let patched: Result<Value, _> = self.kube.patch_ref(&reference, &patch.subresource("status"));
        patched.map_err(|error| format!("the Backup was made, and its status not: {error}; do it again"))?;
        Ok(Outcome::Imported)
    }
}

/// What a person has to know before it is restored.
fn remark(entry: &Entry) -> String {
    if entry.without_template {
        "a pod template of its plan is not in the storage: a Restore has to name it".to_owned()
    } else {
        String::new()
    }
}
