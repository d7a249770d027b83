//! The engine's settings, and engines that only compile.

use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, RegallocAlgorithm,
    Strategy,
};

use super::{Effort, EngineOptions};
use crate::plugin::limits::MAX_MEMORY;

/// Bytes of stack that a guest may use.
const STACK: usize = 1 << 20;
/// The same where its code is a draft.
const DRAFT_STACK: usize = 8 << 20;
/// Bytes of the fiber's stack beyond the guest's: for host functions it calls.
const STACK_OF_HOST: usize = 1 << 20;

/// What holds with and without a pool. Compiled files are bound to it.
pub(super) fn base() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.cranelift_opt_level(OptLevel::Speed);
    config.memory_init_cow(true);
    // A guest's stack lies inside the fiber's; the rest is for host functions it calls.
    config.max_wasm_stack(STACK);
    config.async_stack_size(STACK + STACK_OF_HOST);
    // Nobody reads where in a guest a trap was, and tables of places are a tenth of the machine code and of the memory that
    // compiling takes.
    config.wasm_backtrace_details(wasmtime::WasmBacktraceDetails::Disable);
    config.wasm_backtrace_max_frames(None);
    config.generate_address_map(false);
    config.native_unwind_info(false);
    config.debug_symbols(false);
    config
}

/// For code that is there soon: by the engine's baseline compiler where that is as well kept as the other one
/// (<https://docs.wasmtime.dev/stability-tiers.html>), else by the other one without optimisation.
pub(super) fn drafts() -> Config {
    let mut config = base();
    if cfg!(target_arch = "x86_64") {
        config.strategy(Strategy::Winch);
    } else {
        config.cranelift_opt_level(OptLevel::None);
        config.cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    // Every value has its place on the stack. What good code has room for, a draft must have room for too.
    config.max_wasm_stack(DRAFT_STACK);
    config.async_stack_size(DRAFT_STACK + STACK_OF_HOST);
    config
}

/// An engine that compiles for this machine and runs nothing.
///
/// # Errors
/// When the processor is not supported.
pub(crate) fn compiling(effort: Effort, parallel: bool) -> wasmtime::Result<wasmtime::Engine> {
    let mut config = if effort == Effort::Draft { drafts() } else { base() };
    config.parallel_compilation(parallel);
    if effort == Effort::Frugal {
        config.cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    wasmtime::Engine::new(&config)
}

/// An engine that compiles for any processor of this architecture: a named target stands for no more than all of its
/// processors can do.
///
/// # Errors
/// When the architecture is not supported.
pub(crate) fn portable() -> wasmtime::Result<wasmtime::Engine> {
    let mut config = base();
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
pub(super) fn pooled(options: EngineOptions) -> Config {
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
    let mut config = base();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}
