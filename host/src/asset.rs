//! Trees of files that plugins read: charts named in `watches.yaml`, for one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

mod tree;

pub use tree::{Entry, Links};

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
    /// More files than allowed.
    #[error("{path}: more than {most} files")]
    TooManyFiles {
        /// The tree.
        path: String,
        /// How many a tree may have.
        most: usize,
    },
    /// Directories in directories without an end.
    #[error("{path}: more than {most} directories within each other; does a link lead back?")]
    TooDeep {
        /// The directory that is one too many.
        path: String,
        /// How many there may be.
        most: usize,
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
    links: Links,
    state: Mutex<Option<Arc<AssetState>>>,
    /// The latest list. Whoever asks for files has just asked which there are. Only for trees of the person at the command
    /// line: in others a file may become a link that leads out after the list was made.
    listed: Mutex<Option<Arc<[Entry]>>>,
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
        let (state, listed) = (Mutex::new(None), Mutex::new(None));
        Self { name: name.to_owned(), path: path.to_owned(), links: Links::Inside, state, listed }
    }

    /// The same with another rule for links.
    #[must_use]
    pub fn with_links(self, links: Links) -> Self {
        Self { links, ..self }
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
        let files = tree::read(&self.path, tree::list(&self.path, self.links)?.iter())?;
        let state = Arc::new(state_of(&files));
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&state));
        Ok((state, files))
    }

    /// Paths and sizes of all files, sorted by path. Nothing is read.
    ///
    /// # Errors
    /// When a directory cannot be.
    pub fn list(&self) -> Result<Arc<[Entry]>, AssetError> {
        let entries: Arc<[Entry]> = tree::list(&self.path, self.links)?.into();
        if self.links == Links::Anywhere {
            *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&entries));
        }
        Ok(entries)
    }

    /// Some files, in the order asked for.
    ///
    /// # Errors
    /// When one is not there or cannot be read, or when they are too large together.
    pub fn read_files(&self, paths: &[String]) -> Result<Vec<AssetFile>, AssetError> {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let known = listed.filter(|entries| paths.iter().all(|path| named(entries, path).is_some()));
        let entries = match known {
            Some(entries) => entries,
            None => self.list()?,
        };
        let entry = |path: &String| {
            named(&entries, path).ok_or_else(|| AssetError::Unreadable {
                path: self.path.join(path).display().to_string(),
                message: "no such file in the tree".to_owned(),
            })
        };
        let wanted = paths.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        tree::read(&self.path, wanted)
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

/// The entry of a path, in a sorted list.
fn named<'a>(entries: &'a [Entry], path: &str) -> Option<&'a Entry> {
    entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok().and_then(|at| entries.get(at))
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

#[cfg(test)]
mod tests {
    use std::fs;

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
    fn what_cannot_be_read_is_refused_when_it_is_wanted_and_keeps_nobody_waiting() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Chart.yaml"), "name: x").unwrap();
        let done = std::process::Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap();
        assert!(done.success());
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("zero")).unwrap();
        std::os::unix::fs::symlink("/no/such/file", dir.path().join("lost")).unwrap();
        let asset = Asset::new("x", dir.path()).with_links(Links::Anywhere);
        let paths: Vec<_> = asset.list().unwrap().iter().map(|entry| entry.path.clone()).collect();
        assert_eq!(paths, ["Chart.yaml", "lost", "pipe", "zero"]);
        assert_eq!(asset.read_files(&["Chart.yaml".to_owned()]).unwrap().len(), 1);
        for (name, said) in [("pipe", "neither a file"), ("zero", "neither a file"), ("lost", "No such file")]
        {
            let error = asset.read_files(&[name.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(asset.read().is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_became_a_link_out_of_the_tree_after_it_was_listed_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("users");
        fs::write(&path, "nobody").unwrap();
        let asset = Asset::new("x", dir.path());
        asset.list().unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(matches!(asset.read_files(&["users".to_owned()]), Err(AssetError::Outside { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_back_are_refused_and_keep_nobody_waiting() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::os::unix::fs::symlink(".", dir.path().join(name)).unwrap();
        }
        for links in [Links::Inside, Links::Anywhere] {
            let error = Asset::new("x", dir.path()).with_links(links).list().unwrap_err();
            assert!(matches!(error, AssetError::TooDeep { .. }), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_tree_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("users")).unwrap();
        assert!(matches!(Asset::new("x", dir.path()).stat(), Err(AssetError::Outside { .. })));
    }
}
