//! Files that are there whole or as they were, whatever happens meanwhile: a crash, a full disk.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes a file in the place of the one that is there. `mode` holds on Unix.
///
/// # Errors
/// What the system says; then the old file stands.
pub fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    // The parent of a bare name is the empty path.
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    set_mode(file.path(), mode)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// The same for a file of the person at the command line: the mode of the one that is there stays.
///
/// # Errors
/// As [`write()`].
pub fn rewrite(path: &Path, content: &[u8]) -> io::Result<()> {
    write(path, content, mode_of(path).unwrap_or(0o644))
}

#[cfg(unix)]
fn mode_of(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).ok().map(|metadata| metadata.permissions().mode() & 0o7777)
}

#[cfg(not(unix))]
fn mode_of(_: &Path) -> Option<u32> {
    None
}

/// Who may do what with a file, on Unix.
#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(crate) fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_stands_as_it_was_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        write(&path, b"old", 0o644).unwrap();
        write(&path, b"new", 0o644).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        // A directory cannot be replaced by a file: the last step fails.
        let taken = directory.path().join("taken");
        fs::create_dir_all(taken.join("inner")).unwrap();
        assert!(write(&taken, b"x", 0o644).is_err());
        assert!(taken.join("inner").is_dir());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_written_again_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let path = directory.path().join("lock");
        rewrite(&path, b"old").unwrap();
        assert_eq!(mode(&path), 0o644);
        set_mode(&path, 0o600).unwrap();
        rewrite(&path, b"new").unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o600, b"new".to_vec()));
    }
}
