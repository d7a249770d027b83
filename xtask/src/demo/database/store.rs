//! A real server that speaks like S3, and what is in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use pilothouse_testbed::object_store::{ACCESS_KEY, ObjectStore, SECRET_KEY};
use serde_json::{Value, json};

const BUCKET: &str = "backups";

/// The store, and where its objects lie as files.
pub(super) struct Store {
    server: ObjectStore,
    files: PathBuf,
}

impl Store {
    /// One that pods reach at this address of the machine.
    pub(super) fn open(work: &Path, address: &str) -> Result<Self> {
        let directory = work.join("store");
        let server = ObjectStore::at(&directory, BUCKET, address)?;
        Ok(Self { server, files: directory.join("data").join(BUCKET) })
    }

    /// As grants and policies name it.
    pub(super) fn place(&self) -> String {
        format!("s3+http://{}/{BUCKET}", self.server.address())
    }

    /// As policies name it.
    pub(super) fn storage(&self) -> Value {
        json!({"url": self.place(), "credentialsSecret": "store"})
    }

    /// What the Secret holds.
    pub(super) fn login(&self) -> Value {
        json!({"access-key-id": ACCESS_KEY, "secret-access-key": SECRET_KEY})
    }

    /// What the store refuses.
    pub(super) fn wrong_login(&self) -> Value {
        json!({"access-key-id": ACCESS_KEY, "secret-access-key": "expired"})
    }

    /// An object, as text.
    ///
    /// # Errors
    /// When it is not there.
    pub(super) fn read(&self, key: &str) -> Result<String> {
        let file = self.files.join(key);
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The newest entry of the catalogue for subjects of a kind: what is left when the cluster is lost.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn newest_entry(&self, kind: &str) -> Result<Value> {
        let mut entries = Vec::new();
        collect(&self.files, &mut entries)?;
        newest(entries, kind).with_context(|| format!("the store's catalogue knows of no {kind}"))
    }
}

fn collect(directory: &Path, entries: &mut Vec<Value>) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, entries)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            entries
                .push(serde_json::from_slice(&fs::read(&path)?).with_context(|| path.display().to_string())?);
        }
    }
    Ok(())
}

fn newest(entries: Vec<Value>, kind: &str) -> Option<Value> {
    let text =
        |entry: &Value, pointer: &str| entry.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let of_kind = entries.into_iter().filter(|entry| text(entry, "/subject/kind").as_deref() == Some(kind));
    of_kind.max_by_key(|entry| text(entry, "/artefact/takenAt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: &str, taken: &str) -> Value {
        json!({"subject": {"kind": kind}, "artefact": {"takenAt": taken}})
    }

    #[test]
    fn the_newest_entry_is_that_of_the_kind_that_is_asked_for() {
        let (first, second) =
            (entry("MariaDB", "2026-01-01T00:00:00Z"), entry("MariaDB", "2026-01-02T00:00:00Z"));
        let entries = vec![second.clone(), first, entry("StatefulSet", "2026-01-03T00:00:00Z")];
        assert_eq!(newest(entries.clone(), "MariaDB"), Some(second));
        assert_eq!(newest(entries, "EtcdCluster"), None);
    }
}
