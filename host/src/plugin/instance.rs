//! One instance of a plugin: its store, what the host remembers for the call that runs in it, and its memory limit.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, Store, StoreContextMut, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use super::bindings::{Event, Plugin};
use super::clock::Turn;
use super::engine::Engine;
use super::limits::{Budget, Limits};
use super::processor_time::ProcessorTime;
use crate::capability::http::Web;
use crate::plugin::context::HookContext;

/// What the engine keeps beside a guest: WASI without rights, the memory limit, and the call under way.
pub struct HookState {
    wasi: WasiCtx,
    table: ResourceTable,
    memory: MemoryLimit,
    cpu: ProcessorTime,
    /// Keeps the clock going during a call.
    turn: Option<Turn>,
    /// What is left for the call under way.
    pub(crate) budget: Budget,
    /// On whose behalf the call under way acts.
    pub(crate) context: Arc<HookContext>,
    /// Events published by the call under way.
    pub(crate) events: Vec<Event>,
    /// Its HTTP requests, once it sends one.
    pub(crate) web: Option<Box<Web>>,
}

impl std::fmt::Debug for HookState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookState").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl WasiView for HookState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for HookState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let web = self.web.get_or_insert_with(|| Web::new(&self.context, self.budget.purse()));
        let (ctx, hooks) = web.parts();
        WasiHttpCtxView { hooks, table: &mut self.table, ctx }
    }
}

impl super::bindings::types::Host for HookState {}

/// Which limit stopped a guest; read after a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// Linear memory, in bytes asked for.
    Memory(usize),
    /// Processor time.
    Cpu,
}

/// Traps when a guest asks for more linear memory than it may have.
#[derive(Debug)]
struct MemoryLimit {
    bytes: usize,
    used: usize,
    exceeded: Option<usize>,
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _max: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > self.bytes {
            self.exceeded = Some(desired);
            return Err(wasmtime::Error::msg(format!(
                "asked for {desired} bytes of memory, may have {}",
                self.bytes
            )));
        }
        self.used = self.used.max(desired);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _max: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= 100_000)
    }
}

/// A store with an instance in it, ready for one call at a time.
pub struct Instance {
    store: Store<HookState>,
    plugin: Plugin,
    calls: u64,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl Instance {
    /// A fresh instance of a prepared component.
    ///
    /// # Errors
    /// When the guest's start code traps, or no slot is free.
    pub async fn new(
        engine: &Engine,
        pre: &super::bindings::PluginPre<HookState>,
        limits: &Limits,
        context: Arc<HookContext>,
    ) -> wasmtime::Result<Self> {
        let mut store = store(engine, limits, context);
        let plugin = pre.instantiate_async(&mut store).await?;
        Ok(Self { store, plugin, calls: 0 })
    }

    /// Makes the instance ready for the next call: full budget, new owner.
    pub fn prepare(&mut self, engine: &Engine, limits: &Limits, context: Arc<HookContext>) {
        self.store.data_mut().renew(engine, limits, context);
        self.store.set_epoch_deadline(1);
        self.calls += 1;
    }

    /// The call is over, and the instance waits for the next.
    pub fn rest(&mut self) {
        self.store.data_mut().rest();
    }

    /// The parts a call needs.
    pub fn parts(&mut self) -> (&mut Store<HookState>, &Plugin) {
        (&mut self.store, &self.plugin)
    }

    /// Which limit the guest ran into, if any.
    pub fn exceeded(&self) -> Option<Exceeded> {
        self.store.data().exceeded()
    }

    /// Calls it has served.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The largest linear memory it has had, in bytes. Linear memory never shrinks.
    pub fn memory(&self) -> usize {
        self.store.data().memory.used
    }

    /// Events the last call published, and how many log lines it lost.
    pub fn take_events(&mut self) -> (Vec<Event>, u64) {
        let state = self.store.data_mut();
        (std::mem::take(&mut state.events), state.budget.dropped_lines)
    }
}

/// A store in which every limit holds.
pub(super) fn store(engine: &Engine, limits: &Limits, context: Arc<HookContext>) -> Store<HookState> {
    let mut store = Store::new(engine.wasmtime(), HookState::new(engine, limits, context));
    store.limiter(|state| &mut state.memory);
    store.set_hostcall_fuel(usize::try_from(limits.crossing()).unwrap_or(usize::MAX));
    store.epoch_deadline_callback(on_tick);
    store.set_epoch_deadline(1);
    store
}

impl HookState {
    /// What is kept for the HTTP requests of the call under way.
    pub(crate) fn web(&mut self) -> &mut Web {
        self.web.get_or_insert_with(|| Web::new(&self.context, self.budget.purse()))
    }

    /// A full budget, for a new owner.
    pub(super) fn renew(&mut self, engine: &Engine, limits: &Limits, context: Arc<HookContext>) {
        self.turn = Some(engine.turn());
        self.budget = Budget::new(limits);
        self.context = context;
        self.events = Vec::new();
        self.web = None;
        self.memory.exceeded = None;
        self.cpu = ProcessorTime::new(limits);
    }

    /// No call is under way: the clock need not tick for this guest.
    pub(super) fn rest(&mut self) {
        self.turn = None;
    }

    /// Which limit the guest ran into, if any.
    pub(super) fn exceeded(&self) -> Option<Exceeded> {
        match self.memory.exceeded {
            Some(bytes) => Some(Exceeded::Memory(bytes)),
            None => self.cpu.is_used_up().then_some(Exceeded::Cpu),
        }
    }

    fn new(engine: &Engine, limits: &Limits, context: Arc<HookContext>) -> Self {
        Self {
            // No directory, no environment, no socket, no standard stream that leads anywhere.
            wasi: WasiCtxBuilder::new().allow_tcp(false).allow_udp(false).build(),
            table: ResourceTable::new(),
            memory: MemoryLimit { bytes: limits.memory, used: 0, exceeded: None },
            cpu: ProcessorTime::new(limits),
            turn: Some(engine.turn()),
            budget: Budget::new(limits),
            context,
            events: Vec::new(),
            web: None,
        }
    }
}

/// Runs on every tick while guest code runs: counts processor time, and lets other tasks run.
fn on_tick(mut store: StoreContextMut<'_, HookState>) -> wasmtime::Result<UpdateDeadline> {
    if store.data_mut().cpu.tick() { Ok(UpdateDeadline::Yield(1)) } else { Ok(UpdateDeadline::Interrupt) }
}
