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
}
