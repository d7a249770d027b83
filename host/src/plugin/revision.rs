//! One digest of a plugin, compiled and linked: everything a call needs that does not change.

use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::component::Component;

use super::bindings::{CommandsPre, LifecycleHooksPre, PluginPre};
use super::compiled::{CompiledCache, Loaded};
use super::compiler::CompileError;
use super::context::HookContext;
use super::engine::Engine;
use super::identity::Identity;
use super::instance::{HookState, Instance};
use super::limits::Limits;
use super::manifest::{Manifest, Model};
use super::package::{Package, PackageError};
use crate::capability::grants::{GrantError, GrantSpec, Grants};

/// Why a plugin file does not become a revision. The revision before it goes on working.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// The file is no plugin of this host.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// It does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// It needs something the host does not offer, or offers something of another type.
    #[error("it does not link: {0}")]
    Link(String),
    /// Its grant is malformed.
    #[error("its grant is refused: {0}")]
    Grant(#[from] GrantError),
    /// Another file carries the same plugin name.
    #[error("{other} carries a plugin of the same name {name:?}")]
    Duplicate {
        /// The name.
        name: String,
        /// The other file.
        other: String,
    },
    /// Another plugin or binding has one of its kinds.
    #[error("kind {kind} is already reconciled by {owner}")]
    KindTaken {
        /// The kind.
        kind: String,
        /// Plugin or binding that has it.
        owner: String,
    },
    /// The host is at fault.
    #[error("{0}")]
    Internal(String),
}

impl RevisionError {
    /// Whether the same file may do better at another try.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Compile(error) if error.may_pass())
    }

    /// A bounded word for metrics and events.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Read(_) => "Unreadable",
            Self::Package(error) => error.reason(),
            Self::Compile(error) => error.reason(),
            Self::Link(_) => "LinkFailed",
            Self::Grant(_) => "GrantInvalid",
            Self::Duplicate { .. } => "NameTaken",
            Self::KindTaken { .. } => "KindTaken",
            Self::Internal(_) => "Internal",
        }
    }
}

/// A prepared plugin.
pub struct Revision {
    /// Name, version, digest.
    pub identity: Arc<Identity>,
    /// What the plugin says about itself.
    pub manifest: Manifest,
    /// What it may do.
    pub grants: Arc<Grants>,
    /// What a call may use.
    pub limits: Limits,
    /// Its code was made in a hurry: better code is to come.
    pub draft: bool,
    engine: Engine,
    pre: PluginPre<HookState>,
    idle: Mutex<Vec<Instance>>,
}

impl std::fmt::Debug for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Revision").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Warm instances kept of one pooled plugin: as many calls as usually run at once.
const MAX_IDLE: usize = 4;

impl Revision {
    /// Compiles and links. Takes seconds of processor time for a large component that was never compiled before: call
    /// it off the async workers.
    ///
    /// # Errors
    /// When the component does not compile or does not fit the host's functions.
    pub fn prepare(
        engine: &Engine,
        cache: &CompiledCache,
        package: &Package,
        grant: Option<&GrantSpec>,
    ) -> Result<Self, RevisionError> {
        let grants = Arc::new(Grants::new(&package.manifest, grant)?);
        let Loaded { component, draft } = cache.load(engine, &package.digest, &package.bytes)?;
        let identity = Identity {
            name: Arc::from(package.manifest.name.as_str()),
            version: package.manifest.version.clone(),
            digest: package.digest.clone(),
        };
        Ok(Self {
            identity: Arc::new(identity),
            limits: Limits::effective(package.manifest.limits, grants.ceiling),
            manifest: package.manifest.clone(),
            grants,
            draft: draft.is_some(),
            pre: link(draft.as_ref().unwrap_or(engine), &component)?,
            engine: draft.unwrap_or_else(|| engine.clone()),
            idle: Mutex::new(Vec::new()),
        })
    }

    /// The same revision with good machine code.
    ///
    /// # Errors
    /// When the code does not fit the host's functions.
    pub fn with_code(&self, engine: &Engine, component: &Component) -> Result<Self, RevisionError> {
        Ok(Self {
            identity: Arc::clone(&self.identity),
            limits: self.limits,
            manifest: self.manifest.clone(),
            grants: Arc::clone(&self.grants),
            draft: false,
            engine: engine.clone(),
            pre: link(engine, component)?,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// An instance for one call: a warm one where the plugin keeps them, else a fresh one.
    ///
    /// # Errors
    /// When the guest's start code traps or no slot is free.
    pub async fn instance(&self, context: Arc<HookContext>) -> wasmtime::Result<Instance> {
        let warm = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut instance = match warm {
            Some(instance) => instance,
            None => Instance::new(&self.engine, &self.pre, &self.limits, Arc::clone(&context)).await?,
        };
        instance.prepare(&self.engine, &self.limits, context);
        Ok(instance)
    }

    /// The plugin's commands, if it exports any.
    pub(super) fn commands(&self) -> Option<(&Engine, CommandsPre<HookState>)> {
        let commands = CommandsPre::new(self.pre.instance_pre().clone()).ok()?;
        Some((&self.engine, commands))
    }

    /// The plugin's hooks of a lifecycle, if it exports any.
    pub(super) fn hooks(&self) -> Option<(&Engine, LifecycleHooksPre<HookState>)> {
        let hooks = LifecycleHooksPre::new(self.pre.instance_pre().clone()).ok()?;
        Some((&self.engine, hooks))
    }

    /// Takes an instance back after a call that ended well. Never give one back after a trap: its memory may be in
    /// any state.
    pub fn give_back(&self, mut instance: Instance) {
        instance.rest();
        let spec = self.manifest.instance;
        let worn = instance.calls() >= spec.max_calls.unwrap_or(1_000)
            || instance.memory() > spec.max_memory_mib.map_or(self.limits.memory / 2, mib);
        if spec.model == Model::Fresh || worn {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(instance);
        }
    }

    /// The addresses of its machine code, which are its own as long as it lives.
    pub fn code(&self) -> std::ops::Range<usize> {
        let image = self.pre.instance_pre().component().image_range();
        image.start.addr()..image.end.addr()
    }

    /// Bytes of linear memory that warm instances hold.
    pub fn idle_memory(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).iter().map(Instance::memory).sum()
    }
}

fn link(engine: &Engine, component: &Component) -> Result<PluginPre<HookState>, RevisionError> {
    let linked = engine.linker().instantiate_pre(component).and_then(PluginPre::new);
    linked.map_err(|error| RevisionError::Link(format!("{error:#}")))
}

fn mib(value: u64) -> usize {
    usize::try_from(value.saturating_mul(1024 * 1024)).unwrap_or(usize::MAX)
}
