//! A tree on disk: which files it has, and their bytes.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{AssetError, AssetFile, MAX_BYTES};

/// A link to a directory above would go round for ever.
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
    real: Result<PathBuf, AssetError>,
}

/// All files below a directory, or the one file, sorted by path.
pub(super) fn list(root: &Path, links: Links) -> Result<Vec<Entry>, AssetError> {
    let real_root = root.canonicalize().map_err(|error| unreadable(root, &error))?;
    if real_root.is_file() {
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(vec![entry(name, Ok(real_root))]);
    }
    let mut files = Vec::new();
    let mut pending = vec![(real_root.clone(), String::new(), 0_usize)];
    while let Some((directory, prefix, depth)) = pending.pop() {
        for found in fs::read_dir(&directory).map_err(|error| unreadable(&directory, &error))? {
            let found = found.map_err(|error| unreadable(&directory, &error))?;
            let name = found.file_name().to_string_lossy().into_owned();
            if name.starts_with("..") {
                // How kubelet keeps the versions of a mounted ConfigMap; its files are met through their own names.
                continue;
            }
            let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            // The directory itself says what most of its entries are.
            let kind = found.file_type().ok().filter(|kind| !kind.is_symlink());
            let real = match kind {
                Some(_) => Ok(found.path()),
                None => resolve(&found.path(), &real_root, links),
            };
            let is_dir = |real: &PathBuf| kind.map_or_else(|| real.is_dir(), |kind| kind.is_dir());
            if let Some(directory) = real.as_ref().ok().filter(|real| is_dir(real)) {
                if depth < MAX_DEPTH {
                    pending.push((directory.clone(), path, depth + 1));
                }
            } else if files.len() < MAX_FILES {
                files.push(entry(path, real));
            } else {
                return Err(AssetError::TooManyFiles { path: root.display().to_string(), most: MAX_FILES });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// What a link stands for.
fn resolve(link: &Path, root: &Path, links: Links) -> Result<PathBuf, AssetError> {
    let real = link.canonicalize().map_err(|error| unreadable(link, &error))?;
    if links == Links::Inside && !real.starts_with(root) {
        return Err(AssetError::Outside { path: link.display().to_string() });
    }
    Ok(real)
}

/// Pipes and devices have no end, or make whoever reads them wait for ever.
fn entry(path: String, real: Result<PathBuf, AssetError>) -> Entry {
    let sized = real.and_then(|real| {
        let metadata = real.metadata().map_err(|error| unreadable(&real, &error))?;
        let irregular = || AssetError::Unreadable {
            path: real.display().to_string(),
            message: "neither a file nor a directory".to_owned(),
        };
        metadata.is_file().then_some(metadata.len()).ok_or_else(irregular).map(|size| (size, real.clone()))
    });
    match sized {
        Ok((size, real)) => Entry { path, size, real: Ok(real) },
        Err(error) => Entry { path, size: 0, real: Err(error) },
    }
}

/// The bytes of files.
pub(super) fn read<'a>(
    root: &Path,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Vec<AssetFile>, AssetError> {
    let mut left = MAX_BYTES;
    let file = |entry: &Entry| {
        let too_large = || AssetError::TooLarge { path: root.display().to_string() };
        let real = entry.real.as_ref().map_err(Clone::clone)?;
        let file = fs::File::open(real).map_err(|error| unreadable(real, &error))?;
        let content = content(file, entry.size, left).map_err(|error| unreadable(real, &error))?;
        left = left.checked_sub(u64::try_from(content.len()).unwrap_or(u64::MAX)).ok_or_else(too_large)?;
        Ok(AssetFile { path: entry.path.clone(), content })
    };
    entries.into_iter().map(file).collect()
}

/// All of a file that had this size when it was listed, or one byte more than `most`.
fn content(mut file: fs::File, size: u64, most: u64) -> std::io::Result<Vec<u8>> {
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

fn unreadable(path: &Path, error: &std::io::Error) -> AssetError {
    AssetError::Unreadable { path: path.display().to_string(), message: error.to_string() }
}
