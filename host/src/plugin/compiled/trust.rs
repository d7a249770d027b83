//! Whether a directory of compiled code may be believed: only if whoever can change it can change the program as well.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Why compiled code is not believed.
#[derive(Debug, thiserror::Error)]
pub enum Distrust {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It is mounted: a volume's content is not the image's.
    #[error("{0} does not lie on the same mount as the program: only what ships with it is believed")]
    Mounted(String),
    /// It belongs to somebody who could not change the program.
    #[error("{path} belongs to user {owner}, who is neither root nor the program's owner")]
    Owner {
        /// The file or directory.
        path: String,
        /// Its owner.
        owner: u32,
    },
    /// Others than its owner may write it.
    #[error("{path} may be written by others than its owner (mode {mode:o})")]
    Writable {
        /// The file or directory.
        path: String,
        /// Its mode.
        mode: u32,
    },
    /// It is no ordinary file or directory.
    #[error("{0} is neither a file nor a directory")]
    Kind(String),
    /// Its keyed hash does not fit.
    #[error("it was changed after it was written")]
    Changed,
    /// This system cannot tell.
    #[error("this system cannot tell what ships with the program")]
    Unknown,
}

/// Opens a file of a directory that nobody else may enter.
pub(super) fn open_plain(path: &Path) -> Result<File, Distrust> {
    Ok(File::open(path)?)
}

/// Where and whose trusted files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    mount: u64,
    owner: u32,
}

#[cfg(not(target_os = "linux"))]
impl Guard {
    pub(super) fn of_program(_: &Path) -> Result<(PathBuf, Self), Distrust> {
        Err(Distrust::Unknown)
    }

    pub(super) fn open(self, _: &Path) -> Result<File, Distrust> {
        Err(Distrust::Unknown)
    }
}

#[cfg(target_os = "linux")]
impl Guard {
    /// The program's mount and owner; and the directory's real path, when it and all above it fit.
    pub(super) fn of_program(directory: &Path) -> Result<(PathBuf, Self), Distrust> {
        let program = state(&File::open("/proc/self/exe")?)?;
        let guard = Self { mount: program.mount, owner: program.owner };
        let real = directory.canonicalize()?;
        guard.check_directory(&real)?;
        Ok((real, guard))
    }

    /// Opens a file that fits.
    pub(super) fn open(self, path: &Path) -> Result<File, Distrust> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?);
        let found = state(&file)?;
        if found.kind != Kind::File {
            return Err(Distrust::Kind(path.display().to_string()));
        }
        self.check(path, &found)?;
        Ok(file)
    }

    fn check_directory(self, real: &Path) -> Result<(), Distrust> {
        let found = state(&File::open(real)?)?;
        if found.kind != Kind::Directory {
            return Err(Distrust::Kind(real.display().to_string()));
        }
        self.check(real, &found)?;
        // Whoever may write a directory above can put another one in its place, unless it is sticky.
        for above in real.ancestors().skip(1) {
            let found = state(&File::open(above)?)?;
            self.check_owner(above, &found)?;
            if found.mode & STICKY == 0 {
                check_mode(above, &found)?;
            }
        }
        Ok(())
    }

    fn check(self, path: &Path, found: &State) -> Result<(), Distrust> {
        if found.mount != self.mount {
            return Err(Distrust::Mounted(path.display().to_string()));
        }
        self.check_owner(path, found)?;
        check_mode(path, found)
    }

    fn check_owner(self, path: &Path, found: &State) -> Result<(), Distrust> {
        if found.owner == 0 || found.owner == self.owner {
            return Ok(());
        }
        Err(Distrust::Owner { path: path.display().to_string(), owner: found.owner })
    }
}

#[cfg(target_os = "linux")]
const STICKY: u32 = 0o1000;

#[cfg(target_os = "linux")]
fn check_mode(path: &Path, found: &State) -> Result<(), Distrust> {
    if found.mode & 0o022 == 0 {
        return Ok(());
    }
    Err(Distrust::Writable { path: path.display().to_string(), mode: found.mode & 0o7777 })
}

#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
    Other,
}

/// What is known of an open file.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug)]
struct State {
    mount: u64,
    owner: u32,
    mode: u32,
    kind: Kind,
}

/// The mount's number needs Linux 5.8; on overlay file systems the device's number would not do: it is the layer's.
#[cfg(target_os = "linux")]
fn state(file: &File) -> Result<State, Distrust> {
    use rustix::fs::{AtFlags, FileType, StatxFlags, statx};
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let found = statx(file, "", AtFlags::EMPTY_PATH, wanted).map_err(io::Error::from)?;
    if found.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
        return Err(Distrust::Unknown);
    }
    let kind = match FileType::from_raw_mode(found.stx_mode.into()) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        _ => Kind::Other,
    };
    Ok(State { mount: found.stx_mnt_id, owner: found.stx_uid, mode: found.stx_mode.into(), kind })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A directory on the mount of the test program, as the image's would be.
    fn beside_the_program() -> tempfile::TempDir {
        let program = fs::read_link("/proc/self/exe").unwrap();
        let directory = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        directory
    }

    fn guard_of(directory: &Path) -> Result<Guard, Distrust> {
        Guard::of_program(directory).map(|(_, guard)| guard)
    }

    #[test]
    fn what_lies_beside_the_program_and_is_only_its_owners_is_believed() {
        let directory = beside_the_program();
        let guard = guard_of(directory.path()).unwrap();
        let file = directory.path().join("x");
        fs::write(&file, "code").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(guard.open(&file).is_ok());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
        assert!(matches!(guard.open(&file), Err(Distrust::Writable { .. })));
        symlink("/etc/passwd", directory.path().join("link")).unwrap();
        assert!(guard.open(&directory.path().join("link")).is_err());
    }

    #[test]
    fn a_directory_that_others_may_write_or_replace_is_not_believed() {
        let directory = beside_the_program();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(guard_of(directory.path()), Err(Distrust::Writable { .. })));
        let inner = directory.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(guard_of(&inner), Err(Distrust::Writable { .. })));
    }

    #[test]
    fn a_mounted_directory_is_not_believed() {
        // Always another mount than the program's.
        assert!(matches!(guard_of(Path::new("/proc/self")), Err(Distrust::Mounted(_))));
    }

    #[test]
    fn what_belongs_to_a_third_user_is_not_believed() {
        let guard = Guard { mount: 1, owner: 1000 };
        let found = State { mount: 1, owner: 65532, mode: 0o755, kind: Kind::Directory };
        assert!(matches!(guard.check(Path::new("/x"), &found), Err(Distrust::Owner { owner: 65532, .. })));
        assert!(guard.check(Path::new("/x"), &State { owner: 0, ..found }).is_ok());
        assert!(guard.check(Path::new("/x"), &State { owner: 1000, ..found }).is_ok());
    }
}
