//! A directory of compiled files, each with a keyed hash beside it.

use crate::own_directory::{self, Key};
use crate::whole_file::{self, set_mode};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use blake3::{Hash, Hasher};
use tempfile::NamedTempFile;

use super::trust::{self, Distrust, Guard};

/// What the key is for.
const CONTEXT: &str = "pilothouse 2026-11-21 machine code of plugins";
/// Bytes of a note.
const MOST_NOTED: u64 = 1 << 20;
/// Files kept in a directory of its own, those used last: somebody who edits a plugin makes a new one with every save.
const KEPT: usize = 32;
/// Longer than this nobody compiles.
const UNFINISHED: std::time::Duration = std::time::Duration::from_secs(3600);
/// Mode of files that are only the host's.
const PRIVATE: u32 = 0o600;

/// A directory and its key.
#[derive(Clone, Debug)]
pub(super) struct Store {
    directory: PathBuf,
    key: Key,
    /// Whom files must belong to; none: the directory lets nobody else in.
    guard: Option<Guard>,
    mode: u32,
}

impl Store {
    /// A directory below `base` that this user made and nobody else may enter. `base` may be anybody's: a volume's root
    /// belongs to root, and with `fsGroup` may be written by a group.
    pub(super) fn own(base: &Path) -> io::Result<Self> {
        fs::create_dir_all(base)?;
        let directory = own_directory::below(base, "compiled")?;
        let key = own_directory::key_in(&directory, PRIVATE)?;
        Ok(Self { directory, key, guard: None, mode: PRIVATE })
    }

    /// A directory that will ship with the program: everybody may read it.
    pub(super) fn shipped(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let key = own_directory::key_in(directory, 0o644)?;
        Ok(Self { directory: directory.to_owned(), key, guard: None, mode: 0o644 })
    }

    /// Whether somebody compiled into it ahead.
    pub(super) fn is_prebuilt(directory: &Path) -> bool {
        directory.join(own_directory::KEY).is_file()
    }

    /// A directory that ships with the program, if it can be trusted.
    pub(super) fn prebuilt(directory: &Path) -> Result<Self, Distrust> {
        let (directory, guard) = Guard::of_program(directory)?;
        let mut text = Vec::new();
        guard.open(&directory.join(own_directory::KEY))?.read_to_end(&mut text)?;
        let key = text.try_into().map_err(|_| io::Error::other("its key is damaged"))?;
        Ok(Self { directory, key, guard: Some(guard), mode: 0o644 })
    }

    /// Whether there is a file of this name.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.directory.join(name).is_file()
    }

    /// A file that is whole and written by somebody who knows the key; where the key is no secret, by somebody trusted.
    pub(super) fn open(&self, name: &str) -> Option<File> {
        let path = self.directory.join(name);
        let checked = self.read(&path, name);
        match checked {
            Ok(file) => Some(file),
            Err(Distrust::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Err(reason) => {
                tracing::warn!(path = %path.display(), %reason, "a compiled plugin is not trusted; it is compiled again");
                None
            }
        }
    }

    fn read(&self, path: &Path, name: &str) -> Result<File, Distrust> {
        let open = |path: &Path| match &self.guard {
            Some(guard) => guard.open(path),
            None => trust::open_plain(path),
        };
        let mut file = open(path)?;
        if self.guard.is_none() {
            // Says that it was used; a directory that cannot be written says nothing.
            let _ = file.set_modified(std::time::SystemTime::now());
        }
        let mut tag = Vec::new();
        open(&tag_of(path))?.take(1024).read_to_end(&mut tag)?;
        self.verify(&mut file, name, &tag)?;
        file.rewind()?;
        Ok(file)
    }

    /// A file that has no name yet.
    pub(super) fn temporary(&self) -> io::Result<NamedTempFile> {
        NamedTempFile::new_in(&self.directory)
    }

    /// Gives it its name. Both files appear only when they are whole, the hash first.
    pub(super) fn keep(&self, mut file: NamedTempFile, name: &str) -> io::Result<PathBuf> {
        let path = self.directory.join(name);
        file.as_file_mut().rewind()?;
        let tag = self.mac(file.as_file_mut(), name)?;
        whole_file::write(&tag_of(&path), tag.as_bytes(), self.mode)?;
        set_mode(file.path(), self.mode)?;
        file.persist(&path).map_err(|error| error.error)?;
        if self.mode == PRIVATE {
            self.forget_oldest();
        }
        Ok(path)
    }

    /// Machine code that is at work stays mapped when its file is removed. What a host that was killed had not finished
    /// goes as well.
    fn forget_oldest(&self) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let dated = entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
        let (mut by_use, others): (Vec<_>, Vec<_>) =
            dated.partition(|(_, path)| path.extension().is_some_and(|kind| kind == "cwasm"));
        for (used, path) in others {
            let unfinished =
                path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".tmp"));
            if unfinished && used.elapsed().is_ok_and(|age| age > UNFINISHED) {
                let _ = fs::remove_file(path);
            }
        }
        by_use.sort();
        let surplus = by_use.len().saturating_sub(KEPT);
        for (_, path) in by_use.into_iter().take(surplus) {
            let _ = fs::remove_file(tag_of(&path));
            let _ = fs::remove_file(path);
        }
    }

    /// Over the name as well, which holds the component's digest: a valid file under another's name is refused.
    fn mac(&self, file: &mut File, name: &str) -> io::Result<Hash> {
        let mut mac = Hasher::new_keyed(&blake3::derive_key(CONTEXT, &self.key));
        mac.update(&name.len().to_le_bytes());
        mac.update(name.as_bytes());
        mac.update_reader(file)?;
        Ok(mac.finalize())
    }

    /// In constant time.
    fn verify(&self, file: &mut File, name: &str, tag: &[u8]) -> Result<(), Distrust> {
        let whole = <[u8; blake3::OUT_LEN]>::try_from(tag)
            .is_ok_and(|tag| self.mac(file, name).is_ok_and(|is| is == tag));
        if whole { Ok(()) } else { Err(Distrust::Changed) }
    }

    /// Keeps something small beside the code, under the same guard.
    pub(super) fn note(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut file = self.temporary()?;
        file.write_all(content)?;
        self.keep(file, name).map(drop)
    }

    /// What [`note`](Self::note) kept, unless somebody else changed it.
    pub(super) fn noted(&self, name: &str) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        self.open(name)?.take(MOST_NOTED).read_to_end(&mut content).ok()?;
        Some(content)
    }
}

/// A file without a name, gone with its last reader: in the directory for temporary files, else in memory.
pub(super) fn nameless() -> io::Result<File> {
    let on_disk = tempfile::tempfile();
    #[cfg(target_os = "linux")]
    if on_disk.is_err() {
        let memory = rustix::fs::memfd_create("compiled plugin", rustix::fs::MemfdFlags::CLOEXEC)?;
        return Ok(File::from(memory));
    }
    on_disk
}

fn tag_of(path: &Path) -> PathBuf {
    path.with_extension("tag")
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn store_with(name: &str, content: &[u8], base: &Path) -> Store {
        let store = Store::own(base).unwrap();
        let mut file = store.temporary().unwrap();
        file.write_all(content).unwrap();
        store.keep(file, name).unwrap();
        store
    }

    #[test]
    fn a_directory_of_its_own_is_made_where_the_one_given_belongs_to_all() {
        let base = tempfile::tempdir().unwrap();
        // As kubelet mounts an emptyDir with an fsGroup.
        set_mode(base.path(), 0o2777).unwrap();
        let store = Store::own(base.path()).unwrap();
        assert_eq!(mode(base.path()), 0o2777);
        assert_eq!(mode(&store.directory) & 0o777, 0o700);
        assert_eq!(mode(&store.directory.join(own_directory::KEY)), 0o600);
    }

    #[test]
    fn a_directory_that_was_opened_to_others_is_closed_again_and_a_link_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let own = Store::own(base.path()).unwrap().directory;
        set_mode(&own, 0o770).unwrap();
        assert_eq!(Store::own(base.path()).unwrap().directory, own);
        assert_eq!(mode(&own) & 0o777, 0o700);

        let elsewhere = tempfile::tempdir().unwrap();
        fs::remove_dir_all(&own).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &own).unwrap();
        let other = Store::own(base.path()).unwrap().directory;
        assert_ne!(other, own);
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_was_not_used_for_longest_is_forgotten_when_there_is_too_much() {
        let base = tempfile::tempdir().unwrap();
        for n in 0..KEPT {
            let store = store_with(&format!("{n:02}.cwasm"), b"x", base.path());
            let age = std::time::Duration::from_secs(3600 - n as u64);
            let file =
                File::options().write(true).open(store.directory.join(format!("{n:02}.cwasm"))).unwrap();
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
        }
        let store = Store::own(base.path()).unwrap();
        assert!(store.open("00.cwasm").is_some(), "used again");
        store_with("new.cwasm", b"x", base.path());
        let there = |name: &str| store.open(name).is_some();
        assert!(there("00.cwasm") && there("new.cwasm") && there("02.cwasm"));
        assert!(!there("01.cwasm"));
        assert!(!store.directory.join("01.tag").exists());
    }

    #[test]
    fn what_was_kept_is_found_by_the_next_host_and_a_changed_byte_or_another_name_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let store = store_with("a.cwasm", b"machine code", base.path());
        let again = Store::own(base.path()).unwrap();
        let mut text = String::new();
        again.open("a.cwasm").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "machine code");
        assert!(again.open("b.cwasm").is_none());

        let path = store.directory.join("a.cwasm");
        fs::copy(&path, store.directory.join("b.cwasm")).unwrap();
        fs::copy(tag_of(&path), store.directory.join("b.tag")).unwrap();
        assert!(again.open("b.cwasm").is_none(), "under another's name");
        fs::write(&path, b"machine mode").unwrap();
        assert!(again.open("a.cwasm").is_none(), "changed");
    }
}
