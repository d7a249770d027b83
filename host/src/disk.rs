//! Changes of files and directories, as the system tells them, gathered until they settle.
//!
//! The system watches what a name stood for when it was asked, and names are given to other things: kubelet renews a
//! ConfigMap by turning the link `..data` to a new directory and removing the old one, editors write a new file and rename
//! it, build tools remove whole directories. So every place on the way to a path is watched where something of another
//! name could be put in, and all of it is looked up again after every change.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

/// Quiet time after the last change: an editor or a build tool writes in several steps.
const SETTLE: Duration = Duration::from_millis(50);
/// A file that never rests is looked at all the same.
const AT_MOST: Duration = Duration::from_secs(2);
/// How often names are looked up without a sign: a directory far above may have been renamed, and some file systems tell
/// nothing.
const SAFETY_NET: Duration = Duration::from_secs(60);
/// Links followed on the way to a path, as the kernel has it.
const MAX_LINKS: usize = 40;
/// Directories watched below a path.
const MAX_DIRECTORIES: usize = 4_096;

/// The changes of one path.
#[derive(Debug)]
pub struct Changes {
    path: PathBuf,
    mode: RecursiveMode,
    marks: mpsc::Receiver<()>,
    changed: mpsc::Sender<()>,
    seen: Places,
    /// `None` when the system granted no watch: then the safety net is all there is.
    watcher: Option<RecommendedWatcher>,
}

impl Changes {
    /// Starts watching. A directory is watched with what is directly in it, or all below it.
    ///
    /// # Errors
    /// When the path is not there or the system grants no more watches.
    pub fn watch(path: &Path, mode: RecursiveMode) -> notify::Result<Self> {
        let path = std::path::absolute(path)?;
        path.metadata()?;
        // One waiting mark is enough: who reads it looks at everything.
        let (changed, marks) = mpsc::channel::<()>(1);
        let (seen, watcher) = arm(&path, mode, &changed)?;
        Ok(Self { path, mode, marks, changed, seen, watcher: Some(watcher) })
    }

    /// Resolves when something changed and it is quiet again. Cancel safe but for a change that was just told.
    pub async fn settled(&mut self) -> bool {
        loop {
            let told = tokio::time::timeout(SAFETY_NET, self.marks.recv()).await.is_ok();
            if told {
                let quiet = async {
                    while tokio::time::timeout(SETTLE, self.marks.recv())
                        .await
                        .is_ok_and(|mark| mark.is_some())
                    {}
                };
                let _ = tokio::time::timeout(AT_MOST, quiet).await;
            }
            // Before the caller looks: what changes from now on is told again.
            let blind = self.watcher.is_none();
            if self.look_up() || told || blind {
                return true;
            }
        }
    }

    /// Watches what the names stand for now; whether that is something else than before.
    fn look_up(&mut self) -> bool {
        let moved = Places::of(&self.path, self.mode) != self.seen;
        if !moved && self.watcher.is_some() {
            return false;
        }
        match arm(&self.path, self.mode, &self.changed) {
            Ok((seen, watcher)) => (self.seen, self.watcher) = (seen, Some(watcher)),
            Err(error) => {
                self.watcher = None;
                tracing::warn!(path = %self.path.display(), %error, "not told of changes; looked at every {SAFETY_NET:?}");
            }
        }
        moved
    }
}

/// Watches what a path stands for. What changes while that is being done has no watch yet, so it is looked up once more;
/// who changes faster than that is met by the next change.
fn arm(
    path: &Path,
    mode: RecursiveMode,
    changed: &mpsc::Sender<()>,
) -> notify::Result<(Places, RecommendedWatcher)> {
    let mut places = Places::of(path, mode);
    let mut watcher = watch(&places, changed)?;
    for _ in 0..3 {
        let now = Places::of(path, mode);
        if now == places {
            break;
        }
        places = now;
        watcher = watch(&places, changed)?;
    }
    Ok((places, watcher))
}

fn watch(places: &Places, changed: &mpsc::Sender<()>) -> notify::Result<RecommendedWatcher> {
    let (changed, concerns) = (changed.clone(), Arc::new(places.clone()));
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let concerns_us = event.map_or(true, |event| {
            let somewhere = event.paths.is_empty() || event.paths.iter().any(|path| concerns.concern(path));
            somewhere && !event.kind.is_access()
        });
        if concerns_us {
            let _ = changed.try_send(());
        }
    })?;
    let above: HashSet<&Path> = places.names.iter().filter_map(|place| place.path.parent()).collect();
    let below = places.directories.iter().map(|place| place.path.as_path());
    for directory in below.chain(above).collect::<HashSet<_>>() {
        match watcher.watch(directory, RecursiveMode::NonRecursive) {
            // Gone since it was listed; its parent tells.
            Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
            result => result?,
        }
    }
    Ok(watcher)
}

/// What a path stands for at the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Places {
    /// Names on the way, each in a directory that is watched for this name alone: links, the last name, or the first that
    /// is missing.
    names: Vec<Place>,
    /// The path itself when it is a directory, and those below it where these count.
    directories: Vec<Place>,
}

/// A name, and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    path: PathBuf,
    /// Device, inode and time of the last change: numbers of inodes are given again.
    identity: Option<(u64, u64, i64, i64)>,
}

impl Place {
    fn of(path: PathBuf) -> Self {
        let identity = identity(&path);
        Self { path, identity }
    }
}

impl Places {
    fn of(path: &Path, mode: RecursiveMode) -> Self {
        let mut places = Self::default();
        let Some(real) = places.follow(path) else { return places };
        if !real.is_dir() {
            return places;
        }
        let mut pending = vec![real];
        while let Some(directory) = pending.pop() {
            if mode == RecursiveMode::Recursive && places.directories.len() < MAX_DIRECTORIES {
                let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
                // Not through links: what they lead to is not of this tree, or is met on its own way.
                let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                pending.extend(inner.map(|entry| entry.path()));
            }
            places.directories.push(Place::of(directory));
        }
        places.directories.sort_by(|a, b| a.path.cmp(&b.path));
        places
    }

    /// Goes the way of an absolute path, through its links; the real path, if there is one.
    fn follow(&mut self, path: &Path) -> Option<PathBuf> {
        let mut pending: VecDeque<OsString> = parts(path);
        let (mut at, mut links) = (PathBuf::from("/"), 0);
        while let Some(part) = pending.pop_front() {
            if part == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&part);
            let Ok(found) = fs::symlink_metadata(&next) else {
                self.names.push(Place::of(next));
                return None;
            };
            if found.is_symlink() {
                self.names.push(Place::of(next.clone()));
                links += 1;
                let target = fs::read_link(&next).ok().filter(|_| links <= MAX_LINKS)?;
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                for part in parts(&target).into_iter().rev() {
                    pending.push_front(part);
                }
                continue;
            }
            if pending.is_empty() {
                self.names.push(Place { path: next.clone(), identity: None });
            }
            at = next;
        }
        Some(at)
    }

    fn concern(&self, path: &Path) -> bool {
        let is = |place: &Place| place.path == path;
        let holds = |place: &Place| place.path == path || path.parent() == Some(&*place.path);
        self.names.iter().any(is) || self.directories.iter().any(holds)
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let named = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    });
    named.collect()
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64, i64, i64)> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let found = fs::symlink_metadata(path).ok()?;
    let modified = found.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((found.len(), 0, i64::try_from(modified.as_nanos()).ok()?, 0))
}

#[cfg(all(test, unix))]
mod tests;
