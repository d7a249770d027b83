//! Machine code of components, kept on disk so that a restart compiles nothing.
//!
//! A compiled file is trusted code: the engine runs what it holds. There are two places it may come from.
//! - The host's **own** directory, which only its user may enter, with a random key inside. Each file carries a keyed hash
//!   over its name and content, so that nothing is run that this host did not write.
//! - A **prebuilt** directory that ships with the program (`pilothouse plugin compile`). It has a key too, but whoever
//!   reads the image knows it: it finds files that were damaged or mixed up, and proves nothing about who wrote them.
//!   So the directory is believed only where it could not be changed without being able to change the program itself
//!   ([`trust`]); anything else is refused, aloud, and compiled as if it were not there.
//!
//! Both are bound to the component's digest, and the engine checks its version and settings again when it loads.

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::Seek as _;
use std::path::{Path, PathBuf};

use wasmtime::component::Component;

use super::compiler::{CompileError, Compiler, Urgency};
use super::engine::Engine;

mod store;
mod trust;

use store::Store;
pub use trust::Distrust;

/// Where compiled plugins of an image lie.
pub const PREBUILT_DIR: &str = "/usr/lib/pilothouse/compiled";
/// Components below this size are compiled well in the time that a draft would save.
const DRAFT_FROM: usize = 256 << 10;

/// A component with machine code.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The component.
    pub component: Component,
    /// Where it runs: its code was made in a hurry, and for an engine of its own.
    pub draft: Option<Engine>,
}

/// Compiled components by digest.
#[derive(Clone, Debug)]
pub struct CompiledCache {
    prebuilt: Vec<Store>,
    own: Option<Store>,
    compiler: Compiler,
    drafts: bool,
}

impl CompiledCache {
    /// A cache below `directory`, in a place of its own that only this user may enter. Where that cannot be had, a cache
    /// that keeps nothing: it only costs time, so it is a warning. A directory that cannot be written but holds what
    /// [`compile_ahead`] made is read, if it can be trusted.
    pub fn open(directory: &Path, compiler: Compiler) -> Self {
        let mut cache = Self { prebuilt: Vec::new(), own: None, compiler, drafts: true };
        match Store::own(directory) {
            Ok(store) => cache.own = Some(store),
            Err(_) if Store::is_prebuilt(directory) => return cache.with_prebuilt(directory),
            Err(error) => {
                tracing::warn!(directory = %directory.display(), %error, "compiled plugins are not kept; starts are slower");
            }
        }
        cache
    }

    /// A cache that keeps nothing.
    pub fn none(compiler: Compiler) -> Self {
        Self { prebuilt: Vec::new(), own: None, compiler, drafts: true }
    }

    /// Compiles well at once: for a program that ends before good code would follow.
    #[must_use]
    pub fn without_drafts(self) -> Self {
        Self { drafts: false, ..self }
    }

    /// Whether nothing has to be compiled.
    pub fn has(&self, engine: &Engine, digest: &str) -> bool {
        let (prebuilt, own) = (prebuilt_name(digest), own_name(engine, digest));
        self.prebuilt.iter().any(|store| store.holds(&prebuilt))
            || self.own.iter().any(|store| store.holds(&own))
    }

    /// Keeps something small beside the code. What cannot be kept is found out again.
    pub fn note(&self, name: &str, content: &[u8]) {
        if let Some(store) = &self.own {
            let _ = store.note(name, content);
        }
    }

    /// What was kept by [`note`](Self::note).
    pub fn noted(&self, name: &str) -> Option<Vec<u8>> {
        self.own.as_ref()?.noted(name)
    }

    /// Looks first into a directory that ships with the program. One that is not there is none; one that cannot be trusted
    /// is refused, aloud.
    #[must_use]
    pub fn with_prebuilt(mut self, directory: &Path) -> Self {
        if !directory.exists() {
            return self;
        }
        match Store::prebuilt(directory) {
            Ok(store) => self.prebuilt.push(store),
            Err(reason) => {
                tracing::warn!(directory = %directory.display(), %reason, "compiled plugins are not trusted; they are compiled here");
            }
        }
        self
    }

    /// The component's machine code, from disk when it is there and untampered, else compiled (seconds of processor
    /// time: call it off the async workers). A large component that was never compiled before comes as a draft:
    /// [`finish`](Self::finish) makes it good.
    ///
    /// # Errors
    /// When the component does not compile, or there is not enough memory for it.
    pub fn load(&self, engine: &Engine, digest: &str, bytes: &[u8]) -> Result<Loaded, CompileError> {
        let good = |component| Loaded { component, draft: None };
        let prebuilt = prebuilt_name(digest);
        if let Some(component) = self.prebuilt.iter().find_map(|store| open(engine, store, &prebuilt)) {
            return Ok(good(component));
        }
        let name = own_name(engine, digest);
        if let Some(component) = self.own.as_ref().and_then(|store| open(engine, store, &name)) {
            return Ok(good(component));
        }
        tracing::info!(digest, "compiling a plugin that was not compiled before");
        if self.drafts && bytes.len() >= DRAFT_FROM && self.compiler.drafts() {
            match self.draft(bytes) {
                // Good code of some components takes less memory than their draft, and its compiler knows more instructions.
                Err(error @ (CompileError::Memory { .. } | CompileError::Compile(_))) => {
                    tracing::debug!(digest, %error, "no draft");
                }
                result => return result,
            }
        }
        self.compile(engine, digest, bytes, Urgency::Urgent).map(good)
    }

    /// Good code for a component that works with a draft, kept for the next start. Gives way to whoever is waited for.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`CompileError::Interrupted`].
    pub fn finish(&self, engine: &Engine, digest: &str, bytes: &[u8]) -> Result<Component, CompileError> {
        self.compile(engine, digest, bytes, Urgency::Patient)
    }

    fn draft(&self, bytes: &[u8]) -> Result<Loaded, CompileError> {
        let engine = Engine::for_drafts().map_err(|error| CompileError::Compile(error.to_string()))?;
        let mut file = match self.own.as_ref().map(Store::temporary) {
            Some(Ok(named)) => named.into_file(),
            _ => store::nameless()?,
        };
        self.compiler.draft(&engine, bytes, &mut file)?;
        Ok(Loaded { component: map(&engine, &file)?, draft: Some(engine) })
    }

    fn compile(
        &self,
        engine: &Engine,
        digest: &str,
        bytes: &[u8],
        urgency: Urgency,
    ) -> Result<Component, CompileError> {
        let Some(store) = &self.own else { return self.compile_unkept(engine, bytes, urgency) };
        let mut file = match store.temporary() {
            Ok(file) => file,
            Err(error) => {
                tracing::warn!(%error, "compiled plugin not kept");
                return self.compile_unkept(engine, bytes, urgency);
            }
        };
        self.compiler.compile(engine, bytes, file.as_file_mut(), urgency)?;
        let component = map(engine, file.as_file())?;
        if let Err(error) = store.keep(file, &own_name(engine, digest)) {
            tracing::warn!(%error, "compiled plugin not kept");
        }
        Ok(component)
    }

    fn compile_unkept(
        &self,
        engine: &Engine,
        bytes: &[u8],
        urgency: Urgency,
    ) -> Result<Component, CompileError> {
        let mut file = store::nameless()?;
        self.compiler.compile(engine, bytes, &mut file, urgency)?;
        map(engine, &file)
    }
}

/// Compiles for any processor of this architecture and keeps it in a directory that will ship with the program; the
/// answer is the file.
///
/// # Errors
/// When the component does not compile or the directory cannot be written.
pub fn compile_ahead(directory: &Path, digest: &str, bytes: &[u8]) -> Result<PathBuf, CompileError> {
    let store = Store::shipped(directory)?;
    let refused = |error: wasmtime::Error| CompileError::Compile(format!("{error:#}"));
    let code =
        super::engine::portable().and_then(|engine| engine.precompile_component(bytes)).map_err(refused)?;
    let mut file = store.temporary()?;
    std::io::Write::write_all(&mut file, &code)?;
    file.rewind()?;
    Ok(store.keep(file, &prebuilt_name(digest))?)
}

fn prebuilt_name(digest: &str) -> String {
    format!("{digest}.cwasm")
}

/// Machine code of another engine, or of another processor, has another name.
fn own_name(engine: &Engine, digest: &str) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    engine.wasmtime().precompile_compatibility_hash().hash(&mut hasher);
    format!("{digest}-{:016x}.cwasm", hasher.finish())
}

fn open(engine: &Engine, store: &Store, name: &str) -> Option<Component> {
    let file = store.open(name)?;
    let failed = |error: &CompileError| tracing::warn!(name, %error, "compiled plugin not usable; it is compiled here");
    map(engine, &file).inspect_err(failed).ok()
}

/// Mapped from the file, its pages are shared with the page cache and cost no anonymous memory.
fn map(engine: &Engine, file: &File) -> Result<Component, CompileError> {
    // The open file, not its name: nobody can put another one in its place.
    #[cfg(target_os = "linux")]
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
    #[cfg(all(unix, not(target_os = "linux")))]
    let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
    #[expect(
        unsafe_code,
        reason = "the only way to load compiled code; who wrote it is known to every caller"
    )]
    // SAFETY: the bytes come from `precompile_component` of this program's engine: this process or its child wrote them a
    // moment ago, or [`Store::open`] found them whole and from a place that only this host or the program's owner can
    // write. The engine refuses other versions and settings.
    let loaded = unsafe { Component::deserialize_file(engine.wasmtime(), path) };
    loaded.map_err(|error| CompileError::Compile(format!("{error:#}")))
}
