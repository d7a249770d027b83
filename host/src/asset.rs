//! Trees of files that plugins read: charts named in `watches.yaml`, for one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

/// The largest tree that is read, in bytes. Helm's own limit for a chart's archive, once unpacked.
pub const MAX_BYTES: u64 = 100 * 1024 * 1024;

/// Why a tree cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssetError {
    /// A file or directory cannot be read.
    #[error("{path}: {message}")]
    Unreadable {
        /// The file or directory.
        path: String,
        /// What the system said.
        message: String,
    },
    /// A link leads out of the tree.
    #[error("{path}: the link leads out of the tree")]
    Outside {
        /// The link.
        path: String,
    },
    /// More bytes than allowed.
    #[error("{path}: more than {MAX_BYTES} bytes")]
    TooLarge {
        /// The tree.
        path: String,
    },
}

/// One file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetFile {
    /// Relative, with `/`.
    pub path: String,
    /// The bytes.
    pub content: Vec<u8>,
}

/// A tree on disk, read when asked. Its digest is computed again when the directory is said to have changed.
#[derive(Debug)]
pub struct Asset {
    /// The name settings use.
    pub name: String,
    /// A directory, or one file.
    pub path: PathBuf,
    state: Mutex<Option<Arc<AssetState>>>,
}

/// What is known about a tree without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetState {
    /// sha256 over paths and contents.
    pub digest: String,
    /// Sum of sizes.
    pub size: u64,
}

impl Asset {
    /// An asset at a path; nothing is read yet.
    pub fn new(name: &str, path: &Path) -> Self {
        Self { name: name.to_owned(), path: path.to_owned(), state: Mutex::new(None) }
    }

    /// Digest and size, from memory where known.
    ///
    /// # Errors
    /// When the tree cannot be read.
    pub fn stat(&self) -> Result<Arc<AssetState>, AssetError> {
        let known = self.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some(state) => Ok(state),
            None => self.read().map(|(state, _)| state),
        }
    }

    /// All files, sorted by path, and the state they amount to.
    ///
    /// # Errors
    /// When the tree cannot be read.
    pub fn read(&self) -> Result<(Arc<AssetState>, Vec<AssetFile>), AssetError> {
        let files = read_tree(&self.path)?;
        let state = Arc::new(state_of(&files));
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&state));
        Ok((state, files))
    }

    /// Looks at the disk again. True when the content is another one than before (or can no longer be read).
    pub fn refresh(&self) -> bool {
        let before = self.state.lock().unwrap_or_else(PoisonError::into_inner).take();
        match self.read() {
            Ok((now, _)) => before.as_ref() != Some(&now),
            Err(error) => {
                tracing::warn!(asset = %self.name, %error, "asset cannot be read");
                before.is_some()
            }
        }
    }
}

fn state_of(files: &[AssetFile]) -> AssetState {
    let mut hash = Sha256::new();
    for file in files {
        // Lengths first, so that no two trees give the same stream.
        hash.update(file.path.len().to_le_bytes());
        hash.update(&file.path);
        hash.update(file.content.len().to_le_bytes());
        hash.update(&file.content);
    }
    let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let size = files.iter().map(|file| u64::try_from(file.content.len()).unwrap_or(u64::MAX)).sum();
    AssetState { digest, size }
}

fn read_tree(root: &Path) -> Result<Vec<AssetFile>, AssetError> {
    let real_root = root.canonicalize().map_err(|error| unreadable(root, &error))?;
    let mut files = Vec::new();
    let mut left = MAX_BYTES;
    if real_root.is_file() {
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push(AssetFile { path: name, content: read_file(&real_root, root, &mut left)? });
        return Ok(files);
    }
    let mut pending = vec![(real_root.clone(), String::new(), 0_usize)];
    while let Some((directory, prefix, depth)) = pending.pop() {
        for entry in fs::read_dir(&directory).map_err(|error| unreadable(&directory, &error))? {
            let entry = entry.map_err(|error| unreadable(&directory, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("..") {
                // How kubelet keeps the versions of a mounted ConfigMap; its files are met through their own names.
                continue;
            }
            let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            let real = entry.path().canonicalize().map_err(|error| unreadable(&entry.path(), &error))?;
            if !real.starts_with(&real_root) {
                return Err(AssetError::Outside { path: entry.path().display().to_string() });
            }
            if real.is_dir() {
                // A link to a directory above would go round for ever.
                if depth < 32 {
                    pending.push((real, path, depth + 1));
                }
            } else {
                files.push(AssetFile { content: read_file(&real, root, &mut left)?, path });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn read_file(path: &Path, root: &Path, left: &mut u64) -> Result<Vec<u8>, AssetError> {
    let too_large = || AssetError::TooLarge { path: root.display().to_string() };
    let size = path.metadata().map_err(|error| unreadable(path, &error))?.len();
    *left = left.checked_sub(size).ok_or_else(too_large)?;
    fs::read(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> AssetError {
    AssetError::Unreadable { path: path.display().to_string(), message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_trees_have_equal_digests_and_a_changed_byte_another() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for dir in [&a, &b] {
            fs::create_dir(dir.path().join("templates")).unwrap();
            fs::write(dir.path().join("templates/x.yaml"), "a: 1").unwrap();
            fs::write(dir.path().join("Chart.yaml"), "name: x").unwrap();
        }
        let (one, two) = (Asset::new("x", a.path()), Asset::new("x", b.path()));
        assert_eq!(one.stat().unwrap(), two.stat().unwrap());
        assert_eq!(one.read().unwrap().1[1].path, "templates/x.yaml");
        assert!(!one.refresh());
        fs::write(a.path().join("templates/x.yaml"), "a: 2").unwrap();
        assert!(one.refresh());
        assert_ne!(one.stat().unwrap(), two.stat().unwrap());
    }

    #[test]
    fn a_missing_tree_is_named_with_the_systems_words() {
        let error = Asset::new("x", Path::new("/no/such/chart")).stat().unwrap_err().to_string();
        assert!(error.starts_with("/no/such/chart: No such file"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_mounted_config_map_holds_each_file_once_and_is_the_same_after_an_update_without_a_change() {
        let volume = tempfile::tempdir().unwrap();
        let at = |path: &str| volume.path().join(path);
        let update = |name: &str| {
            fs::create_dir_all(at(name).join("templates")).unwrap();
            fs::write(at(name).join("Chart.yaml"), "name: x").unwrap();
            fs::write(at(name).join("templates/x.yaml"), "a: 1").unwrap();
            std::os::unix::fs::symlink(name, at("..data_tmp")).unwrap();
            fs::rename(at("..data_tmp"), at("..data")).unwrap();
        };
        update("..1");
        std::os::unix::fs::symlink("..data/Chart.yaml", at("Chart.yaml")).unwrap();
        std::os::unix::fs::symlink("..data/templates", at("templates")).unwrap();
        let asset = Asset::new("x", volume.path());
        let files = asset.read().unwrap().1;
        let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["Chart.yaml", "templates/x.yaml"]);
        update("..2");
        assert!(!asset.refresh());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_tree_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("users")).unwrap();
        assert!(matches!(Asset::new("x", dir.path()).stat(), Err(AssetError::Outside { .. })));
    }
}
