//! The pipe between two containers of different users.

use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, chmod, lstat, mknodat};
use rustix::io::Errno;

use super::ClientError;

/// Everybody of the pod writes and reads it, whatever the mask of this process is.
const MODE: Mode = Mode::from_raw_mode(0o666);

/// Makes it, or finds it.
///
/// # Errors
/// [`ClientError::File`], also where something else is there.
pub fn make(path: &Path) -> Result<(), ClientError> {
    let failed = |errno: Errno| ClientError::file(path)(errno.into());
    match mknodat(CWD, path, FileType::Fifo, MODE, 0) {
        Ok(()) => {}
        Err(Errno::EXIST) => {
            let found = lstat(path).map_err(failed)?;
            if FileType::from_raw_mode(found.st_mode) != FileType::Fifo {
                return Err(failed(Errno::EXIST));
            }
        }
        Err(errno) => return Err(failed(errno)),
    }
    chmod(path, MODE).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn a_pipe_is_for_everybody_made_twice_and_never_in_place_of_something_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        for _ in 0..2 {
            make(&path).unwrap();
            let found = std::fs::metadata(&path).unwrap();
            assert!(found.file_type().is_fifo());
            assert_eq!(found.permissions().mode() & 0o777, 0o666);
        }
        let other = directory.path().join("other");
        std::fs::write(&other, "precious").unwrap();
        assert!(matches!(make(&other), Err(ClientError::File { .. })));
        std::os::unix::fs::symlink(&path, directory.path().join("link")).unwrap();
        assert!(make(&directory.path().join("link")).is_err());
        assert_eq!(std::fs::read(&other).unwrap(), b"precious");
        assert!(make(Path::new("/nowhere/data")).unwrap_err().to_string().starts_with("/nowhere/data: "));
    }
}
