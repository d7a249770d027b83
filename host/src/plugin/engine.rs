//! The WebAssembly engine: its linker and the clock that stops guests.

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};

use super::bindings::Plugin;
use super::clock::{Clock, Turn};
use super::instance::HookState;

mod settings;

pub(super) use settings::{compiling, portable};

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine refused its settings.
    #[error("the WebAssembly engine cannot start: {0}")]
    Start(#[source] wasmtime::Error),
    /// The host's functions could not be registered.
    #[error("the host's functions cannot be linked: {0}")]
    Link(#[source] wasmtime::Error),
    /// The thread that drives the clock could not be started.
    #[error("the engine's clock cannot start: {0}")]
    Clock(#[source] std::io::Error),
}

/// How much effort a compilation may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Effort {
    /// Code that is there in a fifth of the time, and slower and larger: somebody waits for it. It runs in an engine of its
    /// own.
    Draft,
    /// Good code.
    Full,
    /// Little memory for functions that are large: code that is some four times as large and half as fast.
    Frugal,
}

/// How much of the machine the engine may reserve.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Hook calls that may be under way at once, kept instances included. Each reserves address space, not memory.
    pub slots: u32,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { slots: 256 }
    }
}

/// The engine with the host's functions linked. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: wasmtime::Engine,
    linker: Arc<Linker<HookState>>,
    pooled: bool,
    clock: Arc<Clock>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("pooled", &self.pooled).finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine with a pool of prepared slots, or without one where the machine grants no such address space
    /// (small `vm.max_map_count`, limits on virtual memory).
    ///
    /// # Errors
    /// When the processor is not supported or the clock's thread cannot start.
    pub fn new(options: EngineOptions) -> Result<Self, EngineError> {
        let (inner, pooled) = match wasmtime::Engine::new(&settings::pooled(options)) {
            Ok(engine) => (engine, true),
            Err(error) => {
                tracing::warn!(%error, slots = options.slots, "no pool of instances on this machine; calls are slower");
                (wasmtime::Engine::new(&settings::base()).map_err(EngineError::Start)?, false)
            }
        };
        Self::with(inner, pooled)
    }

    /// An engine for one call: there is nothing to prepare for.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn single() -> Result<Self, EngineError> {
        Self::with(wasmtime::Engine::new(&settings::base()).map_err(EngineError::Start)?, false)
    }

    /// An engine that runs drafts. Without a pool: it lives for the seconds until good code is there.
    ///
    /// # Errors
    /// When nobody makes drafts for this processor, or the clock's thread cannot start.
    pub fn for_drafts() -> Result<Self, EngineError> {
        Self::with(wasmtime::Engine::new(&settings::drafts()).map_err(EngineError::Start)?, false)
    }

    fn with(inner: wasmtime::Engine, pooled: bool) -> Result<Self, EngineError> {
        let mut linker = Linker::new(&inner);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(EngineError::Link)?;
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker).map_err(EngineError::Link)?;
        Plugin::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state).map_err(EngineError::Link)?;
        let clock = Arc::new(Clock::start(&inner).map_err(EngineError::Clock)?);
        Ok(Self { inner, linker: Arc::new(linker), pooled, clock })
    }

    /// The engine itself.
    pub fn wasmtime(&self) -> &wasmtime::Engine {
        &self.inner
    }

    /// The host's functions and WASI without any right.
    pub fn linker(&self) -> &Linker<HookState> {
        &self.linker
    }

    /// A guest begins to run: from now on its time is counted, until what is returned is dropped.
    pub(super) fn turn(&self) -> Turn {
        self.clock.turn()
    }

    /// Whether any guest runs, and the clock that may stop it.
    pub fn runs(&self) -> bool {
        self.clock.ticks()
    }

    /// Whether instances come from the pool.
    pub fn pooled(&self) -> bool {
        self.pooled
    }
}
