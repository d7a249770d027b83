//! A plugin's command: one call in the sandbox, for a person who waits.

use std::sync::Arc;
use std::time::Duration;

use super::bindings::{CommandAnswer, Invocation};
use super::call::{Fault, fault_of, first_line};
use super::context::HookContext;
use super::instance::store;
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

/// Runs a command in an instance of its own.
///
/// # Errors
/// [`CommandError`]. What the command itself calls a failure is part of the answer.
pub async fn run(
    revision: &Revision,
    context: Arc<HookContext>,
    invocation: &Invocation,
) -> Result<CommandAnswer, CommandError> {
    let plugin = || revision.identity.to_string();
    let (engine, commands) = revision.commands().ok_or_else(|| CommandError::None(plugin()))?;
    let mut store = store(engine, &LIMITS, context);
    let running = async {
        let commands = commands
            .instantiate_async(&mut store)
            .await
            .map_err(|error| Fault::Instantiate(first_line(&error)))?;
        let command = commands.pilothouse_operator_command();
        match command.call_run(&mut store, invocation).await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(fault_of(store.data().exceeded(), &LIMITS, &error)),
        }
    };
    let answer = tokio::time::timeout(LIMITS.wall, running).await;
    answer
        .unwrap_or(Err(Fault::Wall(LIMITS.wall)))
        .map_err(|fault| CommandError::Fault { plugin: plugin(), fault })
}
