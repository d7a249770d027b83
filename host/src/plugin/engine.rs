//! The WebAssembly engine: its settings, its linker and the clock that stops guests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, RegallocAlgorithm,
};

use super::bindings::Plugin;
use super::instance::HookState;
use super::limits::{MAX_MEMORY, TICK};

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
    /// Code that is there in half the time, and twice as slow and large: somebody waits for it.
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
    _clock: Arc<Clock>,
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
        let (inner, pooled) = match wasmtime::Engine::new(&pooled_config(options)) {
            Ok(engine) => (engine, true),
            Err(error) => {
                tracing::warn!(%error, slots = options.slots, "no pool of instances on this machine; calls are slower");
                (wasmtime::Engine::new(&base_config()).map_err(EngineError::Start)?, false)
            }
        };
        let mut linker = Linker::new(&inner);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(EngineError::Link)?;
        Plugin::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state).map_err(EngineError::Link)?;
        let clock = Arc::new(Clock::start(&inner).map_err(EngineError::Clock)?);
        Ok(Self { inner, linker: Arc::new(linker), pooled, _clock: clock })
    }

    /// The engine itself.
    pub fn wasmtime(&self) -> &wasmtime::Engine {
        &self.inner
    }

    /// The host's functions and WASI without any right.
    pub fn linker(&self) -> &Linker<HookState> {
        &self.linker
    }

    /// Whether instances come from the pool.
    pub fn pooled(&self) -> bool {
        self.pooled
    }
}

/// What holds with and without a pool. Compiled files are bound to it.
fn base_config() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.cranelift_opt_level(OptLevel::Speed);
    config.memory_init_cow(true);
    // A guest's stack lies inside the fiber's; the rest is for host functions it calls.
    config.max_wasm_stack(1 << 20);
    config.async_stack_size(2 << 20);
    // Nobody reads where in a guest a trap was, and tables of places are a tenth of the machine code and of the memory that
    // compiling takes.
    config.wasm_backtrace_details(wasmtime::WasmBacktraceDetails::Disable);
    config.wasm_backtrace_max_frames(None);
    config.generate_address_map(false);
    config.native_unwind_info(false);
    config.debug_symbols(false);
    config
}

/// An engine that compiles for this machine and runs nothing.
///
/// # Errors
/// When the processor is not supported.
pub(super) fn compiling(effort: Effort, parallel: bool) -> wasmtime::Result<wasmtime::Engine> {
    let mut config = base_config();
    config.parallel_compilation(parallel);
    if effort != Effort::Full {
        config.cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    if effort == Effort::Draft {
        config.cranelift_opt_level(OptLevel::None);
    }
    wasmtime::Engine::new(&config)
}

/// An engine that compiles for any processor of this architecture: a named target stands for no more than all of its
/// processors can do.
///
/// # Errors
/// When the architecture is not supported.
pub(super) fn portable() -> wasmtime::Result<wasmtime::Engine> {
    let mut config = base_config();
    config.target(target())?;
    wasmtime::Engine::new(&config)
}

/// Architecture and system are what the engine compares.
fn target() -> &'static str {
    match (std::env::consts::ARCH, std::env::consts::OS) {
        ("x86_64", "linux") => "x86_64-unknown-linux-gnu",
        ("aarch64", "linux") => "aarch64-unknown-linux-gnu",
        ("riscv64", "linux") => "riscv64gc-unknown-linux-gnu",
        ("s390x", "linux") => "s390x-unknown-linux-gnu",
        ("x86_64", "macos") => "x86_64-apple-darwin",
        ("aarch64", "macos") => "aarch64-apple-darwin",
        // The engine says which it knows.
        (other, _) => other,
    }
}

/// Figures behind these settings: `docs/benchmarks.md`.
fn pooled_config(options: EngineOptions) -> Config {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(options.slots)
        // A component of a Rust or C guest has one large core instance and a few shims.
        .total_core_instances(options.slots.saturating_mul(4))
        .total_memories(options.slots)
        .total_tables(options.slots.saturating_mul(2))
        .total_stacks(options.slots)
        .max_memory_size(MAX_MEMORY)
        .max_memories_per_component(1)
        .max_tables_per_component(4)
        .table_elements(20_000)
        .max_unused_warm_slots(16)
        .linear_memory_keep_resident(1 << 20)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(64 << 10)
        // Linux 6.7: resets only the pages a guest touched.
        .pagemap_scan(Enabled::Auto);
    let mut config = base_config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// Moves the engine's epoch on. Always on: a store without a running clock would never be stopped.
struct Clock {
    stop: Arc<AtomicBool>,
}

impl Clock {
    fn start(engine: &wasmtime::Engine) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (weak, stopped) = (engine.weak(), Arc::clone(&stop));
        // A thread of its own: tokio's timers stand still when every worker runs a guest.
        std::thread::Builder::new().name("epoch".to_owned()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                let Some(engine) = weak.upgrade() else { return };
                engine.increment_epoch();
            }
        })?;
        Ok(Self { stop })
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
