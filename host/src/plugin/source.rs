//! Plugins from a directory: every `*.wasm` in it, watched, compiled off the hot path and swapped when it is whole.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::RecursiveMode;
use tokio::time::Instant;

use super::compiled::CompiledCache;
use super::compiler::CompileError;
use super::engine::Engine;
use super::package::{Package, PackageError, digest};
use super::registry::Registry;
use super::revision::{Revision, RevisionError};
use crate::capability::grants::{GrantSpec, GrantsFile};
use crate::disk::Changes;

/// How long a file may be missing before its plugin is retired: a build tool removes and writes again.
const GRACE: Duration = Duration::from_secs(3);

/// Somebody who edits a plugin saves it again soon.
const AFTER_INTERRUPTION: Duration = Duration::from_secs(2);

/// Between two tries of a file that cannot be compiled now, for want of memory for one: doubles.
const FIRST_RETRY: Duration = Duration::from_secs(60);
const LAST_RETRY: Duration = Duration::from_secs(30 * 60);

/// What a directory needs to become plugins.
#[derive(Clone, Debug)]
pub struct Loader {
    /// The engine.
    pub engine: Engine,
    /// Compiled code.
    pub cache: CompiledCache,
    /// What the administrator granted.
    pub grants: Arc<GrantsFile>,
    /// Give plugins that no grant names what they ask for.
    pub grant_requested: bool,
    /// Where revisions go to work.
    pub registry: Arc<Registry>,
}

impl Loader {
    /// One file: read, described, compiled, linked, put to work. What goes wrong is told to the registry; the answer is
    /// whether the same file may do better at another try.
    pub async fn load(&self, path: &Path, bytes: Vec<u8>) -> bool {
        let origin = path.display().to_string();
        let package = match Package::read(bytes) {
            Ok(package) => package,
            Err(error) => {
                self.registry.refuse(&origin, None, &error.into());
                return false;
            }
        };
        let name = package.manifest.name.clone();
        let package = Arc::new(package);
        let activated = match self.prepare(&package).await {
            Ok(revision) => {
                let (draft, digest) = (revision.draft, revision.identity.digest.clone());
                let activated = self.registry.activate(revision, &origin);
                if draft && activated.is_ok() {
                    tokio::spawn(self.clone().improve(package, digest));
                }
                activated
            }
            Err(error) => Err(error),
        };
        match activated {
            Ok(()) => false,
            Err(error) => {
                self.registry.refuse(&origin, Some(&name), &error);
                error.may_pass()
            }
        }
    }

    /// Good code for a plugin that was put to work with a draft, unless another revision of it is at work by then.
    async fn improve(self, package: Arc<Package>, digest: String) {
        let at_work = || {
            let active = self.registry.active(&package.manifest.name);
            active.filter(|revision| revision.draft && revision.identity.digest == digest)
        };
        while at_work().is_some() {
            let (loader, compiled) = (self.clone(), Arc::clone(&package));
            let finish = move || loader.cache.finish(&loader.engine, &compiled.digest, &compiled.bytes);
            let component = match tokio::task::spawn_blocking(finish).await {
                Ok(Ok(component)) => component,
                Ok(Err(CompileError::Interrupted)) => {
                    tokio::time::sleep(AFTER_INTERRUPTION).await;
                    continue;
                }
                Ok(Err(error)) => {
                    return tracing::warn!(plugin = package.manifest.name, %error, "goes on with code made in a hurry: it is slower");
                }
                Err(_) => return,
            };
            let Some(revision) = at_work() else { return };
            match revision.with_code(&self.engine, &component) {
                Ok(better) => {
                    self.registry.improve(better);
                    tracing::info!(plugin = %revision.identity, "better code at work");
                }
                Err(error) => {
                    tracing::warn!(plugin = %revision.identity, %error, "goes on with code made in a hurry");
                }
            }
            return;
        }
    }

    async fn prepare(&self, package: &Arc<Package>) -> Result<Revision, RevisionError> {
        let (loader, package) = (self.clone(), Arc::clone(package));
        let prepare = move || {
            let all = GrantSpec::of_all_requested(&package.manifest);
            let named = loader.grants.plugins.get(&package.manifest.name);
            let grant = named.or_else(|| loader.grant_requested.then_some(&all));
            Revision::prepare(&loader.engine, &loader.cache, &package, grant)
        };
        tokio::task::spawn_blocking(prepare)
            .await
            .unwrap_or_else(|e| Err(RevisionError::Internal(e.to_string())))
    }
}

/// A watched directory of plugin files.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    loader: Loader,
    /// Digest of each file as it was last read, and since when it has been missing.
    seen: HashMap<PathBuf, Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    digest: String,
    missing_since: Option<Instant>,
    /// When a file that could not be compiled for a reason that may pass is tried again, and how long was waited.
    again: Option<(Instant, Duration)>,
}

impl Seen {
    /// Whether these bytes are to be loaded now.
    fn wants(&mut self, digest: String, now: Instant) -> bool {
        if self.digest != digest {
            *self = Self { digest, ..Self::default() };
            return true;
        }
        self.again.is_some_and(|(at, _)| at <= now)
    }

    fn loaded(&mut self, may_pass: bool, now: Instant) {
        let wait = self.again.map_or(FIRST_RETRY, |(_, waited)| (waited * 2).min(LAST_RETRY));
        self.again = may_pass.then_some((now + wait, wait));
    }

    /// When this file has to be looked at again without a sign.
    fn due(&self) -> Option<Instant> {
        let gone = self.missing_since.map(|since| since + GRACE);
        gone.into_iter().chain(self.again.map(|(at, _)| at)).min()
    }
}

impl Directory {
    /// A directory whose files will be loaded by `loader`.
    pub fn new(path: &Path, loader: Loader) -> Self {
        Self { path: path.to_owned(), loader, seen: HashMap::new() }
    }

    /// Loads what is new or changed, retires what is gone for longer than a moment.
    ///
    /// # Errors
    /// When the directory itself cannot be read.
    pub async fn scan(&mut self) -> std::io::Result<()> {
        let mut present = Vec::new();
        let mut entries = tokio::fs::read_dir(&self.path).await?;
        while let Some(entry) = entries.next_entry().await? {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "wasm") {
                present.push(path);
            }
        }
        present.sort();
        for path in &present {
            self.look_at(path).await;
        }
        self.retire_missing(&present);
        Ok(())
    }

    async fn look_at(&mut self, path: &Path) {
        let seen = self.seen.entry(path.to_owned()).or_default();
        seen.missing_since = None;
        let origin = path.display().to_string();
        let size =
            tokio::fs::metadata(path).await.map_or(0, |m| usize::try_from(m.len()).unwrap_or(usize::MAX));
        if size > super::package::MAX_BYTES {
            return self.loader.registry.refuse(&origin, None, &PackageError::TooLarge(size).into());
        }
        match tokio::fs::read(path).await {
            Ok(bytes) => {
                if seen.wants(digest(&bytes), Instant::now()) {
                    let may_pass = self.loader.load(path, bytes).await;
                    seen.loaded(may_pass, Instant::now());
                }
            }
            Err(error) => self.loader.registry.refuse(&origin, None, &error.into()),
        }
    }

    fn retire_missing(&mut self, present: &[PathBuf]) {
        let now = Instant::now();
        let registry = &self.loader.registry;
        self.seen.retain(|path, seen| {
            if present.contains(path) {
                return true;
            }
            let gone = now.duration_since(*seen.missing_since.get_or_insert(now)) >= GRACE;
            if gone {
                registry.retire(&path.display().to_string());
            }
            !gone
        });
    }

    /// Watches for ever: loads every change within a fraction of a second.
    ///
    /// # Errors
    /// When the system cannot watch the directory.
    pub async fn watch(mut self) -> notify::Result<()> {
        let mut changes = Changes::watch(&self.path, RecursiveMode::NonRecursive)?;
        // What changed between the first scan and the watch.
        let mut look_again = Some(Instant::now());
        loop {
            let going_on = match look_again {
                Some(at) => tokio::time::timeout_at(at, changes.settled()).await.unwrap_or(true),
                None => changes.settled().await,
            };
            if !going_on {
                return Ok(());
            }
            if let Err(error) = self.scan().await {
                tracing::warn!(directory = %self.path.display(), %error, "plugin directory cannot be read");
            }
            look_again = self.seen.values().filter_map(Seen::due).min();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_file_that_could_not_be_compiled_now_is_tried_again_ever_more_seldom_and_a_new_one_at_once() {
        let start = Instant::now();
        let mut seen = Seen::default();
        assert!(seen.wants("a".to_owned(), start));
        seen.loaded(true, start);
        assert!(!seen.wants("a".to_owned(), start));
        let mut waits = Vec::new();
        let mut now = start;
        for _ in 0..7 {
            let due = seen.due().unwrap();
            waits.push((due - now).as_secs());
            now = due;
            assert!(seen.wants("a".to_owned(), now));
            seen.loaded(true, now);
        }
        assert_eq!(waits, [60, 120, 240, 480, 960, 1800, 1800]);
        assert!(seen.wants("b".to_owned(), now));
        seen.loaded(false, now);
        assert_eq!(seen.due(), None);
    }
}
