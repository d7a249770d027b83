//! Machine code of components, kept on disk so that a restart compiles nothing.
//!
//! A compiled file is trusted code: the engine runs what it holds. So each file carries a keyed hash over its content,
//! made with a key that only this host's cache directory holds, and is bound to the component's digest and to the
//! engine's version and settings.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use wasmtime::component::Component;

use super::engine::Engine;

/// Why a component has no machine code.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The compiler refused it.
    #[error("it does not compile: {0}")]
    Compile(String),
}

/// Compiled components by digest.
#[derive(Clone, Debug)]
pub struct CompiledCache {
    directory: Option<PathBuf>,
    key: [u8; 64],
}

impl CompiledCache {
    /// A cache in a directory that only this user may enter. Where that cannot be had, a cache that keeps nothing: it
    /// only costs time, so it is a warning.
    pub fn open(directory: &Path) -> Self {
        match prepare(directory) {
            Ok(key) => Self { directory: Some(directory.to_owned()), key },
            Err(error) => {
                tracing::warn!(directory = %directory.display(), %error, "compiled plugins are not kept; starts are slower");
                Self::none()
            }
        }
    }

    /// A cache that keeps nothing.
    pub fn none() -> Self {
        Self { directory: None, key: [0; 64] }
    }

    /// The component's machine code, from disk when it is there and untampered, else compiled (seconds of processor
    /// time: call it off the async workers).
    ///
    /// # Errors
    /// When the component does not compile.
    pub fn load(&self, engine: &Engine, digest: &str, bytes: &[u8]) -> Result<Component, CompileError> {
        let path = self.path(engine, digest);
        if let Some(component) = path.as_deref().and_then(|path| self.read(engine, path)) {
            return Ok(component);
        }
        let compile = |e: wasmtime::Error| CompileError::Compile(format!("{e:#}"));
        let Some(path) = path else { return Component::new(engine.wasmtime(), bytes).map_err(compile) };
        let code = engine.wasmtime().precompile_component(bytes).map_err(compile)?;
        if let Err(error) = self.write(&path, &code) {
            tracing::warn!(path = %path.display(), %error, "compiled plugin not kept");
            return Component::new(engine.wasmtime(), bytes).map_err(compile);
        }
        // Mapped from the file, its pages are shared with the page cache and cost no anonymous memory.
        match self.read(engine, &path) {
            Some(component) => Ok(component),
            None => Component::new(engine.wasmtime(), bytes).map_err(compile),
        }
    }

    fn path(&self, engine: &Engine, digest: &str) -> Option<PathBuf> {
        let mut hasher = std::hash::DefaultHasher::new();
        engine.wasmtime().precompile_compatibility_hash().hash(&mut hasher);
        let directory = self.directory.as_deref()?;
        Some(directory.join(format!("{digest}-{:016x}.cwasm", hasher.finish())))
    }

    fn read(&self, engine: &Engine, path: &Path) -> Option<Component> {
        let code = fs::read(path).ok()?;
        let tag = fs::read(path.with_extension("mac")).ok()?;
        if self.mac(path, &code).verify_slice(&tag).is_err() {
            tracing::warn!(path = %path.display(), "a compiled plugin was changed on disk; it is compiled again");
            return None;
        }
        drop(code);
        #[expect(
            unsafe_code,
            reason = "the only way to load compiled code; its keyed hash was checked above"
        )]
        // SAFETY: the bytes were written by this host (checked with a key that lies in a directory only its user may
        // enter) from `precompile_component` of an engine with the same compatibility hash.
        let loaded = unsafe { Component::deserialize_file(engine.wasmtime(), path) };
        loaded
            .inspect_err(
                |error| tracing::debug!(path = %path.display(), %error, "compiled plugin not usable"),
            )
            .ok()
    }

    /// Both files appear under their names only when they are whole.
    fn write(&self, path: &Path, code: &[u8]) -> std::io::Result<()> {
        let tag = self.mac(path, code).finalize().into_bytes();
        write_whole(&path.with_extension("mac"), &tag)?;
        write_whole(path, code)
    }

    fn mac(&self, path: &Path, code: &[u8]) -> Hmac<Sha256> {
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&self.key.into());
        // The name holds the component's digest and the engine's hash: a valid file under another's name is refused.
        mac.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        mac.update(code);
        mac
    }
}

fn write_whole(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Makes the directory private and finds or makes its key.
fn prepare(directory: &Path) -> std::io::Result<[u8; 64]> {
    fs::create_dir_all(directory)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    }
    let path = directory.join("key");
    if let Ok(key) = fs::read(&path).map(<[u8; 64]>::try_from)
        && let Ok(key) = key
    {
        return Ok(key);
    }
    let mut key = [0; 64];
    getrandom::fill(&mut key).map_err(|error| std::io::Error::other(error.to_string()))?;
    write_whole(&path, &key)?;
    Ok(key)
}
