//! A tree on disk: which files it has, and their bytes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use super::{AssetError, AssetFile, MAX_BYTES};

/// Directories within each other: a link to one above would go round for ever.
const MAX_DEPTH: usize = 32;
/// Files that a tree may have.
const MAX_FILES: usize = 100_000;

/// Which symbolic links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Those that stay in the tree; others are refused. For trees that somebody else wrote.
    Inside,
    /// All. For trees that the person at the command line named.
    Anywhere,
}

/// A file without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Relative, with `/`.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// Where it is, or why it cannot be read: nobody may ask for it.
    place: Result<Place, AssetError>,
}

/// A file or directory, not a link, by its directory: names in a directory are found faster than whole paths.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    directory: Arc<Path>,
    name: OsString,
}

impl Place {
    fn of(path: &Path) -> Self {
        let directory = path.parent().unwrap_or_else(|| Path::new("/"));
        Self { directory: Arc::from(directory), name: path.file_name().unwrap_or_default().to_owned() }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    fn unreadable(&self, error: impl Into<std::io::Error>) -> AssetError {
        unreadable(&self.path(), error)
    }
}

/// All files below a directory, or the one file, sorted by path.
pub(super) fn list(root: &Path, links: Links) -> Result<Vec<Entry>, AssetError> {
    let real_root = root.canonicalize().map_err(|error| unreadable(root, error))?;
    if real_root.is_file() {
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let place = Place::of(&real_root);
        let size = open_directory(&place.directory).and_then(|directory| size(&directory, &place));
        return Ok(vec![Entry::new(name, place, size)]);
    }
    let mut walk = Walk { root: &real_root, links, files: Vec::new(), pending: Vec::new() };
    walk.pending.push((Arc::from(real_root.as_path()), String::new(), 0));
    while let Some((directory, prefix, depth)) = walk.pending.pop() {
        walk.directory(&directory, &prefix, depth)?;
        if walk.files.len() > MAX_FILES {
            return Err(AssetError::TooManyFiles { path: root.display().to_string(), most: MAX_FILES });
        }
    }
    let mut files = walk.files;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// A tree on the way through its directories.
struct Walk<'a> {
    root: &'a Path,
    links: Links,
    files: Vec<Entry>,
    /// Directories with their paths in the tree and their depths.
    pending: Vec<(Arc<Path>, String, usize)>,
}

impl Walk<'_> {
    fn directory(&mut self, real: &Arc<Path>, prefix: &str, depth: usize) -> Result<(), AssetError> {
        let opened = open_directory(real)?;
        for found in Dir::read_from(&opened).map_err(|error| unreadable(real, error))? {
            let found = found.map_err(|error| unreadable(real, error))?;
            let name = OsStr::from_bytes(found.file_name().to_bytes());
            // How kubelet keeps the versions of a mounted ConfigMap; its files are met through their own names.
            if name == "." || name.as_bytes().starts_with(b"..") {
                continue;
            }
            let shown = name.to_string_lossy();
            let path = if prefix.is_empty() { shown.into_owned() } else { format!("{prefix}/{shown}") };
            let place = Place { directory: Arc::clone(real), name: name.to_owned() };
            // The directory itself says what most of its entries are.
            let kind = match found.file_type() {
                FileType::Unknown => kind(&opened, &place),
                kind => kind,
            };
            match kind {
                FileType::Directory => self.enter(place.path(), path, depth)?,
                FileType::Symlink => self.link(&place.path(), path, depth)?,
                _ => {
                    let size = size(&opened, &place);
                    self.files.push(Entry::new(path, place, size));
                }
            }
            if self.files.len() > MAX_FILES {
                break;
            }
        }
        Ok(())
    }

    fn enter(&mut self, real: PathBuf, path: String, depth: usize) -> Result<(), AssetError> {
        if depth == MAX_DEPTH {
            let path = self.root.join(path).display().to_string();
            return Err(AssetError::TooDeep { path, most: MAX_DEPTH });
        }
        self.pending.push((Arc::from(real), path, depth + 1));
        Ok(())
    }

    fn link(&mut self, link: &Path, path: String, depth: usize) -> Result<(), AssetError> {
        let real = match resolve(link, self.root, self.links) {
            Ok(real) if real.is_dir() => return self.enter(real, path, depth),
            Ok(real) => real,
            Err(error) => {
                self.files.push(Entry { path, size: 0, place: Err(error) });
                return Ok(());
            }
        };
        let place = Place::of(&real);
        let size = open_directory(&place.directory).and_then(|directory| size(&directory, &place));
        self.files.push(Entry::new(path, place, size));
        Ok(())
    }
}

/// Opens what was a directory and no link when it was found.
fn open_directory(path: &Path) -> Result<OwnedFd, AssetError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|error| unreadable(path, error))
}

/// What a link stands for.
fn resolve(link: &Path, root: &Path, links: Links) -> Result<PathBuf, AssetError> {
    let real = link.canonicalize().map_err(|error| unreadable(link, error))?;
    if links == Links::Inside && !real.starts_with(root) {
        return Err(AssetError::Outside { path: link.display().to_string() });
    }
    Ok(real)
}

/// Not every file system says what a directory's entries are.
fn kind(directory: &OwnedFd, place: &Place) -> FileType {
    let found = statat(directory, &place.name, AtFlags::SYMLINK_NOFOLLOW);
    found.map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode))
}

/// The bytes of a file. Pipes and devices have no end, or make whoever reads them wait for ever.
fn size(directory: &OwnedFd, place: &Place) -> Result<u64, AssetError> {
    let found = statat(directory, &place.name, AtFlags::SYMLINK_NOFOLLOW);
    let found = found.map_err(|error| place.unreadable(error))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        let (path, message) =
            (place.path().display().to_string(), "neither a file nor a directory".to_owned());
        return Err(AssetError::Unreadable { path, message });
    }
    Ok(u64::try_from(found.st_size).unwrap_or(0))
}

impl Entry {
    fn new(path: String, place: Place, size: Result<u64, AssetError>) -> Self {
        match size {
            Ok(size) => Self { path, size, place: Ok(place) },
            Err(error) => Self { path, size: 0, place: Err(error) },
        }
    }
}

/// The bytes of files.
pub(super) fn read<'a>(
    root: &Path,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Vec<AssetFile>, AssetError> {
    let mut left = MAX_BYTES;
    let mut opened: Option<(Arc<Path>, OwnedFd)> = None;
    let file = |entry: &Entry| {
        let too_large = || AssetError::TooLarge { path: root.display().to_string() };
        let place = entry.place.as_ref().map_err(Clone::clone)?;
        // Files of one directory follow each other.
        let directory = match opened.take().filter(|(path, _)| Arc::ptr_eq(path, &place.directory)) {
            Some((_, directory)) => directory,
            None => open_directory(&place.directory)?,
        };
        let (_, directory) = opened.insert((Arc::clone(&place.directory), directory));
        // What was a file when it was listed may be a link or a pipe now.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&*directory, &place.name, flags, Mode::empty());
        let file = file.map_err(|error| place.unreadable(error))?;
        let content = content(file.into(), entry.size, left).map_err(|error| place.unreadable(error))?;
        left = left.checked_sub(u64::try_from(content.len()).unwrap_or(u64::MAX)).ok_or_else(too_large)?;
        Ok(AssetFile { path: entry.path.clone(), content })
    };
    entries.into_iter().map(file).collect()
}

/// All of a file that had this size when it was listed, or one byte more than `most`.
fn content(mut file: File, size: u64, most: u64) -> std::io::Result<Vec<u8>> {
    let size = usize::try_from(size.min(most)).unwrap_or(0);
    // Room for one byte more: a read that leaves it empty has seen the end.
    let mut content = vec![0; size + 1];
    let read = file.read(&mut content)?;
    content.truncate(read);
    if read != size {
        // It has grown or shrunk, or the system gives it in pieces.
        file.take((most + 1).saturating_sub(read as u64)).read_to_end(&mut content)?;
    }
    Ok(content)
}

fn unreadable(path: &Path, error: impl Into<std::io::Error>) -> AssetError {
    AssetError::Unreadable { path: path.display().to_string(), message: error.into().to_string() }
}
