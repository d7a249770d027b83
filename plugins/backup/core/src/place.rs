//! Objects in storages.

use backup_api::Storage;

/// An object in a storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The storage.
    pub storage: Storage,
    /// The object's key below it.
    pub key: String,
}

impl Place {
    /// The object of this key.
    pub fn new(storage: &Storage, key: &str) -> Self {
        Self { storage: storage.clone(), key: key.to_owned() }
    }

    /// Its address.
    pub fn uri(&self) -> String {
        self.storage.uri(&self.key)
    }

    /// The entry of the catalogue that stands beside it.
    pub fn entry(&self) -> Self {
        Self { storage: self.storage.clone(), key: format!("{}{}", self.key, crate::key::ENTRY) }
    }
}
