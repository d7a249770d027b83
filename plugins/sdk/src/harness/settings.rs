//! What the operator of the cluster gave the plugin.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::{AssetEntry, AssetError, AssetFile, AssetTree};

/// Settings as JSON text, and trees of files, sorted by path.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) plugin: Option<String>,
    pub(super) binding: Option<String>,
    pub(super) assets: BTreeMap<String, Vec<AssetFile>>,
}

impl Settings {
    /// Digest and size of a tree.
    pub(super) fn stat(&self, name: &str) -> Result<AssetTree, AssetError> {
        let files = self.assets.get(name).ok_or(AssetError::Unknown)?;
        let mut hash = Sha256::new();
        for file in files {
            for part in [file.path.as_bytes(), &file.content] {
                hash.update(part.len().to_le_bytes());
                hash.update(part);
            }
        }
        let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let size = files.iter().map(|file| u64::try_from(file.content.len()).unwrap_or(u64::MAX)).sum();
        Ok(AssetTree { name: name.to_owned(), digest, size })
    }

    /// Paths and sizes.
    pub(super) fn list(&self, name: &str) -> Result<Vec<AssetEntry>, AssetError> {
        let files = self.assets.get(name).ok_or(AssetError::Unknown)?;
        let entry = |file: &AssetFile| AssetEntry {
            path: file.path.clone(),
            size: u64::try_from(file.content.len()).unwrap_or(u64::MAX),
        };
        Ok(files.iter().map(entry).collect())
    }

    /// Some files.
    pub(super) fn read(&self, name: &str, paths: &[String]) -> Result<Vec<AssetFile>, AssetError> {
        let files = self.assets.get(name).ok_or(AssetError::Unknown)?;
        let file = |path: &String| {
            let file = files.iter().find(|file| file.path == *path).cloned();
            file.ok_or_else(|| AssetError::Unreadable(format!("{path}: no such file")))
        };
        paths.iter().map(file).collect()
    }
}
