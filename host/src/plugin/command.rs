//! A plugin's command: one call in the sandbox, for a person who waits.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::Store;

use super::bindings::{CommandAnswer, Commands, CommandsPre, Invocation};
use super::call::{Fault, fault_of, first_line};
use super::context::HookContext;
use super::engine::Engine;
use super::instance::{HookState, store};
use super::limits::{Limits, MAX_MEMORY};
use super::revision::Revision;

const MIB: u64 = 1 << 20;

/// What a command may use: more than a hook, because nothing else waits for it.
pub const LIMITS: Limits = Limits {
    cpu: Duration::from_secs(120),
    wall: Duration::from_secs(600),
    memory: MAX_MEMORY,
    host_calls: 100_000,
    host_bytes: 1024 * MIB,
    answer_bytes: 256 * MIB,
    log_bytes: MIB,
};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The plugin has no commands.
    #[error("plugin {0} has no commands")]
    None(String),
    /// Its code misbehaved, or reached a limit.
    #[error("plugin {plugin} {fault}")]
    Fault {
        /// Name and version.
        plugin: String,
        /// What it did.
        #[source]
        fault: Fault,
    },
}

/// An instance that has run a command, and can run another.
pub struct CommandInstance {
    store: Store<HookState>,
    commands: Commands,
}

impl std::fmt::Debug for CommandInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandInstance").finish_non_exhaustive()
    }
}

impl CommandInstance {
    async fn fresh(
        engine: &Engine,
        commands: &CommandsPre<HookState>,
        context: Arc<HookContext>,
    ) -> Result<Self, Fault> {
        let mut store = store(engine, &LIMITS, context);
        let commands = commands.instantiate_async(&mut store).await;
        Ok(Self { store, commands: commands.map_err(|error| Fault::Instantiate(first_line(&error)))? })
    }

    /// The same with nothing used of its limits.
    fn renewed(mut self, engine: &Engine, context: Arc<HookContext>) -> Self {
        self.store.data_mut().renew(engine, &LIMITS, context);
        self.store.set_epoch_deadline(1);
        self
    }
}

/// Runs a command, in the warm instance or in one of its own. The instance it ran in comes back with the answer: after
/// a fault there is none, because its memory may be in any state.
///
/// # Errors
/// [`CommandError`]. What the command itself calls a failure is part of the answer.
pub async fn run(
    revision: &Revision,
    warm: Option<CommandInstance>,
    context: Arc<HookContext>,
    invocation: &Invocation,
) -> Result<(CommandAnswer, CommandInstance), CommandError> {
    let plugin = || revision.identity.to_string();
    let (engine, commands) = revision.commands().ok_or_else(|| CommandError::None(plugin()))?;
    let running = async {
        let mut instance = match warm {
            Some(instance) => instance.renewed(engine, context),
            None => CommandInstance::fresh(engine, &commands, context).await?,
        };
        let command = instance.commands.pilothouse_operator_command();
        match command.call_run(&mut instance.store, invocation).await {
            Ok(answer) => {
                instance.store.data_mut().rest();
                Ok((answer, instance))
            }
            Err(error) => Err(fault_of(instance.store.data().exceeded(), &LIMITS, &error)),
        }
    };
    let answer = tokio::time::timeout(LIMITS.wall, running).await;
    answer
        .unwrap_or(Err(Fault::Wall(LIMITS.wall)))
        .map_err(|fault| CommandError::Fault { plugin: plugin(), fault })
}
