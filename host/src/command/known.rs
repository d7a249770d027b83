//! What is known of a plugin's file, so that a file of megabytes is not read and hashed for every command.

use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::plugin::compiled::CompiledCache;
use crate::plugin::manifest::Manifest;
use crate::plugin::package::{Package, digest};

/// Digest and description of a file, and by what it is recognised as the same.
#[derive(Serialize, Deserialize)]
struct Known {
    stamp: Stamp,
    digest: String,
    manifest: Manifest,
}

/// By what a file is recognised. Changes with every change of a file: who writes into it cannot set back when its entry changed.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct Stamp {
    path: String,
    size: u64,
    modified: u128,
    changed: (i64, i64),
    file: (u64, u64),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let metadata = path.metadata().ok()?;
        #[cfg(unix)]
        let (changed, file) = {
            use std::os::unix::fs::MetadataExt as _;
            ((metadata.ctime(), metadata.ctime_nsec()), (metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let (changed, file) = ((0, 0), (0, 0));
        Some(Self {
            path: path.to_str()?.to_owned(),
            size: metadata.len(),
            modified: metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos(),
            changed,
            file,
        })
    }

    fn note(&self) -> String {
        format!("{}.known", digest(self.path.as_bytes()))
    }
}

/// The package of a file that is still the one that was read; without its bytes.
pub(super) fn package(cache: &CompiledCache, path: &Path) -> Option<Package> {
    let stamp = Stamp::of(path)?;
    let known: Known = serde_json::from_slice(&cache.noted(&stamp.note())?).ok()?;
    (known.stamp == stamp).then(|| Package {
        bytes: Vec::new(),
        digest: known.digest,
        manifest: known.manifest,
    })
}

/// Remembers what a file is.
pub(super) fn remember(cache: &CompiledCache, stamp: Stamp, package: &Package) {
    let note = stamp.note();
    let known = Known { stamp, digest: package.digest.clone(), manifest: package.manifest.clone() };
    if let Ok(text) = serde_json::to_vec(&known) {
        cache.note(&note, &text);
    }
}
