//! Directories that only this user may enter, in places that may be anybody's, and the key that each of them has.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::whole_file;
#[cfg(unix)]
use crate::whole_file::set_mode;

/// The file that holds the key.
pub const KEY: &str = "key";

/// What files are signed with.
pub type Key = [u8; 64];

/// The key that is there, else a new one.
///
/// # Errors
/// When the directory cannot be written.
pub fn key_in(directory: &Path, mode: u32) -> io::Result<Key> {
    let path = directory.join(KEY);
    if let Ok(key) = fs::read(&path).map(Key::try_from)
        && let Ok(key) = key
    {
        // Proves that the directory can be written, too.
        NamedTempFile::new_in(directory)?;
        return Ok(key);
    }
    let mut key = [0; 64];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    whole_file::write(&path, &key, mode)?;
    Ok(key)
}

/// A directory of this name.
///
/// # Errors
/// When it cannot be made.
#[cfg(not(unix))]
pub fn below(base: &Path, name: &str) -> io::Result<PathBuf> {
    let directory = base.join(name);
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// A directory of this name. Two users may share `base`, as after a change of the pod's user: each has one.
///
/// # Errors
/// When it cannot be made, or somebody else made it.
#[cfg(unix)]
pub fn below(base: &Path, name: &str) -> io::Result<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
    let user = rustix::process::geteuid().as_raw();
    for name in [name.to_owned(), format!("{name}-{user}")] {
        let directory = base.join(name);
        match fs::DirBuilder::new().mode(0o700).create(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let found = fs::symlink_metadata(&directory)?;
        if !found.is_dir() || found.uid() != user {
            continue;
        }
        // A volume's driver may have opened it to a group.
        if found.mode() & 0o077 != 0 {
            set_mode(&directory, 0o700)?;
        }
        return Ok(directory);
    }
    Err(io::Error::other("another user made the directories of this name"))
}
