//! Fetched charts on disk, under the digest of their bytes, and what each wish came to. A restart finds both.
//!
//! The directory is the host's alone. Archives are held against their digests whenever they are read; notes carry a hash
//! under the directory's key. What is broken is as if it were not there.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::wish::{Key, Resolution, digest_of};
use crate::own_directory;
use crate::whole_file;

/// What the key is for.
const CONTEXT: &str = "pilothouse 2026-12-02 what wishes for charts came to";
/// Modes of files that are only the host's.
const PRIVATE: u32 = 0o600;
/// Notes that are kept, those written last.
const NOTES: usize = 4096;
/// Longer than this nobody writes.
const UNFINISHED: Duration = Duration::from_secs(3600);

/// Why a chart cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// There is no room for it beside those that are in use.
    #[error(
        "the chart has {bytes} bytes, and the cache of {most} is full of charts that are in use; give it more with --chart-cache-size"
    )]
    Full {
        /// Of the chart.
        bytes: u64,
        /// Of the cache.
        most: u64,
    },
    /// It is not there, or not as it was written.
    #[error("the cache has no whole copy of {0}; it is fetched again")]
    Broken(String),
    /// The disk.
    #[error(
        "{path}: {source}; charts are kept there, mount a volume such as an emptyDir or give another --cache-dir"
    )]
    Disk {
        /// The file or directory.
        path: String,
        /// The system's words.
        #[source]
        source: io::Error,
    },
}

/// The directory.
#[derive(Debug)]
pub(super) struct Cache {
    directory: PathBuf,
    key: own_directory::Key,
    most: u64,
    /// One writer at a time: room is made and taken together.
    writer: Mutex<()>,
}

impl Cache {
    /// A directory of its own below `base`.
    pub(super) fn open(base: &Path, most: u64) -> Result<Self, CacheError> {
        let failed = |source| CacheError::Disk { path: base.join("charts").display().to_string(), source };
        fs::create_dir_all(base).map_err(failed)?;
        let directory = own_directory::below(base, "charts").map_err(failed)?;
        let key = own_directory::key_in(&directory, PRIVATE).map_err(failed)?;
        Ok(Self { directory, key, most, writer: Mutex::default() })
    }

    /// Where an archive of this digest is.
    fn path(&self, digest: &str) -> PathBuf {
        self.directory.join(format!("{}.tgz", digest.trim_start_matches("sha256:")))
    }

    /// Whether there is one of this digest. Whether it is whole is seen when it is read.
    pub(super) fn holds(&self, digest: &str) -> bool {
        self.path(digest).is_file()
    }

    /// Its bytes, held against the digest. One that is broken goes.
    pub(super) fn read(&self, digest: &str) -> Result<Vec<u8>, CacheError> {
        let path = self.path(digest);
        let broken = || CacheError::Broken(digest.to_owned());
        let bytes = fs::read(&path).map_err(|_| broken())?;
        if digest_of(&bytes) != digest {
            tracing::warn!(path = %path.display(), "a chart in the cache is not what it was; it is fetched again");
            let _ = fs::remove_file(&path);
            return Err(broken());
        }
        // Says that it was used.
        let _ = fs::File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Ok(bytes)
    }

    /// Keeps an archive. Those that are not in use go first, the one used last at the end.
    pub(super) fn keep(
        &self,
        digest: &str,
        bytes: &[u8],
        in_use: &HashSet<String>,
    ) -> Result<(), CacheError> {
        let _alone = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.make_room(size, digest, in_use)?;
        let path = self.path(digest);
        whole_file::write(&path, bytes, PRIVATE)
            .map_err(|source| CacheError::Disk { path: path.display().to_string(), source })
    }

    fn make_room(&self, size: u64, digest: &str, in_use: &HashSet<String>) -> Result<(), CacheError> {
        let mut archives = self.files("tgz");
        archives.sort_by_key(|(used, ..)| *used);
        let kept = |path: &Path| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            in_use.contains(&format!("sha256:{stem}"))
        };
        let own = self.path(digest);
        let mut total: u64 =
            archives.iter().filter(|(_, _, path)| *path != own).map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in archives.iter().filter(|(_, _, path)| *path != own && !kept(path)) {
            if total.saturating_add(size) <= self.most {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total = total.saturating_sub(*bytes);
            }
        }
        if total.saturating_add(size) > self.most {
            return Err(CacheError::Full { bytes: size, most: self.most });
        }
        Ok(())
    }

    /// Files of a kind: when they were used last, their size, their path. What a host that was killed left unfinished goes.
    fn files(&self, extension: &str) -> Vec<(SystemTime, u64, PathBuf)> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut files = Vec::new();
        for entry in entries {
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if path.extension().is_some_and(|found| found == extension) {
                files.push((used, metadata.len(), path));
            } else if entry.file_name().as_encoded_bytes().starts_with(b".tmp")
                && used.elapsed().is_ok_and(|age| age > UNFINISHED)
            {
                let _ = fs::remove_file(path);
            }
        }
        files
    }

    fn note(&self, wish: &Key) -> PathBuf {
        self.directory.join(format!("{}.wish", wish.as_str()))
    }

    /// Notes what a wish came to.
    pub(super) fn remember(&self, wish: &Key, resolution: &Resolution) -> Result<(), CacheError> {
        let _alone = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.note(wish);
        let text = serde_json::to_vec(resolution).unwrap_or_default();
        let signed = [self.mac(wish, &text).as_bytes().as_slice(), &text].concat();
        whole_file::write(&path, &signed, PRIVATE)
            .map_err(|source| CacheError::Disk { path: path.display().to_string(), source })?;
        let mut notes = self.files("wish");
        notes.sort();
        let surplus = notes.len().saturating_sub(NOTES);
        for (_, _, path) in notes.into_iter().take(surplus) {
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    /// What a wish came to before, if the archive is still there.
    pub(super) fn recall(&self, wish: &Key) -> Option<Resolution> {
        let signed = fs::read(self.note(wish)).ok()?;
        let (mac, text) = signed.split_at_checked(blake3::OUT_LEN)?;
        // In constant time.
        if self.mac(wish, text) != <[u8; blake3::OUT_LEN]>::try_from(mac).ok()? {
            return None;
        }
        let resolution: Resolution = serde_json::from_slice(text).ok()?;
        self.holds(&resolution.digest).then_some(resolution)
    }

    /// Over the wish as well: a note under another's name is none.
    fn mac(&self, wish: &Key, text: &[u8]) -> blake3::Hash {
        let mut mac = blake3::Hasher::new_keyed(&blake3::derive_key(CONTEXT, &self.key));
        mac.update(wish.as_str().as_bytes());
        mac.update(text);
        mac.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::wish::Wish;

    fn key(version: &str) -> Key {
        let wish = Wish {
            plugin: "helm".to_owned(),
            repository: "https://c.example".to_owned(),
            name: "web".to_owned(),
            version: version.to_owned(),
            digest: None,
            plain_http: false,
            pass_credentials: false,
            secret: None,
            named: false,
        };
        wish.key()
    }

    fn cache(most: u64) -> (tempfile::TempDir, Cache) {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::open(base.path(), most).unwrap();
        (base, cache)
    }

    fn resolution(bytes: &[u8]) -> Resolution {
        Resolution { version: "1.0.0".to_owned(), digest: digest_of(bytes), location: "x".to_owned(), at: 7 }
    }

    fn kept(cache: &Cache, bytes: &[u8], in_use: &[&[u8]]) -> Result<String, CacheError> {
        let digest = digest_of(bytes);
        cache.keep(&digest, bytes, &in_use.iter().map(|bytes| digest_of(bytes)).collect())?;
        Ok(digest)
    }

    #[test]
    fn the_next_host_finds_what_was_kept_and_what_wishes_came_to() {
        let (base, cache) = cache(100);
        let digest = kept(&cache, b"archive", &[]).unwrap();
        cache.remember(&key("1"), &resolution(b"archive")).unwrap();
        let again = Cache::open(base.path(), 100).unwrap();
        assert_eq!(again.recall(&key("1")), Some(resolution(b"archive")));
        assert_eq!(again.read(&digest).unwrap(), b"archive");
        assert_eq!(again.recall(&key("2")), None);
    }

    #[test]
    fn a_broken_or_half_written_archive_is_as_if_it_were_not_there() {
        let (_base, cache) = cache(100);
        let digest = kept(&cache, b"archive", &[]).unwrap();
        cache.remember(&key("1"), &resolution(b"archive")).unwrap();
        fs::write(cache.path(&digest), b"arch").unwrap();
        assert!(matches!(cache.read(&digest), Err(CacheError::Broken(_))));
        assert!(!cache.holds(&digest));
        assert_eq!(cache.recall(&key("1")), None, "what was found is of no use without it");
        kept(&cache, b"archive", &[]).unwrap();
        assert_eq!(cache.read(&digest).unwrap(), b"archive");
    }

    #[test]
    fn a_note_that_somebody_wrote_or_moved_is_none() {
        let (_base, cache) = cache(100);
        kept(&cache, b"archive", &[]).unwrap();
        cache.remember(&key("1"), &resolution(b"archive")).unwrap();
        fs::copy(cache.note(&key("1")), cache.note(&key("2"))).unwrap();
        assert_eq!(cache.recall(&key("2")), None);
        let mut note = fs::read(cache.note(&key("1"))).unwrap();
        *note.last_mut().unwrap() = b' ';
        fs::write(cache.note(&key("1")), note).unwrap();
        assert_eq!(cache.recall(&key("1")), None);
    }

    #[test]
    fn what_was_not_used_for_longest_makes_room_and_what_is_in_use_stays() {
        let (_base, cache) = cache(10);
        let old = kept(&cache, b"aaaa", &[]).unwrap();
        let used = kept(&cache, b"bbbb", &[]).unwrap();
        let age = |digest: &str, seconds| {
            let file = fs::File::options().write(true).open(cache.path(digest)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
        };
        age(&old, 10);
        age(&used, 20);
        cache.read(&used).unwrap();
        kept(&cache, b"cccc", &[]).unwrap();
        assert!(!cache.holds(&old) && cache.holds(&used));
        let full = kept(&cache, b"dddddd", &[b"bbbb", b"cccc"]).unwrap_err();
        assert!(full.to_string().contains("--chart-cache-size"), "{full}");
        assert!(kept(&cache, b"eeeeeeeeeee", &[]).is_err(), "larger than all of it");
        kept(&cache, b"cccc", &[b"bbbb", b"cccc"]).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_place_that_cannot_be_written_is_told_with_what_to_do() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("file"), "").unwrap();
        let error = Cache::open(&base.path().join("file"), 1).unwrap_err().to_string();
        assert!(error.contains("file/charts") && error.contains("emptyDir"), "{error}");
    }
}
