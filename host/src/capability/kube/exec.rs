//! Commands in containers: admitted here, run behind the call by [`crate::exec`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::errors::{self, invalid};
use crate::capability::rule::Access;
use crate::cluster::path::escape;
use crate::cluster::request::Wanted;
use crate::exec::Command;
use crate::exec::table::{Full, Given, Standing};
use crate::plugin::bindings::Status;
use crate::plugin::bindings::kube::{self, Error};
use crate::plugin::context::HookContext;
use crate::plugin::instance::HookState;

/// The longest time-out.
const LONGEST: Duration = Duration::from_secs(3_600);
/// Bytes of all arguments: they go into a URL.
const MAX_ARGUMENTS: usize = 64 * 1024;
/// Bytes of standard input.
const MAX_INPUT: usize = 64 * 1024;
/// When a plugin with too many commands may come back.
const FULL_MS: u64 = 1_000;
/// A pod's metadata, its managers included.
const POD_BYTES: u64 = 4 * 1024 * 1024;
/// A sentence is cut to so many characters.
const WORDS: usize = 1_024;

impl HookState {
    pub(super) async fn exec_named(
        &mut self,
        name: &str,
        attempt: u32,
        command: kube::Command,
    ) -> Result<kube::CommandProgress, Error> {
        self.admit(name.len() + length(&command) + command.stdin.as_ref().map_or(0, Vec::len))?;
        let standing = Arc::clone(&self.context).exec(name, attempt, command).await?;
        self.settle(standing.output.len())?;
        Ok(wit_progress(standing))
    }

    pub(super) fn look_at_command(
        &mut self,
        name: &str,
        attempt: u32,
    ) -> Result<Option<kube::CommandProgress>, Error> {
        self.admit(name.len())?;
        let cx = Arc::clone(&self.context);
        let standing = cx.commands.as_ref().and_then(|known| known.look(&cx.owner.key, name, attempt));
        self.settle(standing.as_ref().map_or(0, |standing| standing.output.len()))?;
        Ok(standing.map(wit_progress))
    }

    pub(super) fn forget_command(&mut self, name: &str) {
        if self.budget.take(name.len()).is_ok()
            && let Some(commands) = &self.context.commands
        {
            commands.forget(&self.context.owner.key, name);
        }
    }
}

impl HookContext {
    async fn exec(&self, name: &str, attempt: u32, command: kube::Command) -> Result<Standing, Error> {
        check(name, &command)?;
        let owner = &self.owner.key;
        let create = of_pod("create", "pods/exec", &command);
        let Some(commands) = &self.commands else {
            return Err(errors::not_granted(&create, "no command is run in a container from here"));
        };
        let known_by = fingerprint(attempt, &command);
        if let Some(standing) = commands.find(owner, name, &known_by) {
            return Ok(standing);
        }
        self.granted(&create)?;
        // Not every API server asks for more than `get`, with which a WebSocket begins.
        self.reviewed(&create).await?;
        self.is_pod_of(&command).await?;
        self.pace().await?;
        let (plugin, api) = (&self.plugin.name, self.cluster.api.clone());
        let command = of_wit(command, self.grants.account.clone());
        commands.start(owner, name, Given { attempt, known_by, command }, plugin, api).map_err(full)?;
        Ok(Standing { ended: None, output: String::new() })
    }

    /// The API server runs a command in whatever pod has the name: whether it is the one that is meant is asked before.
    async fn is_pod_of(&self, command: &kube::Command) -> Result<(), Error> {
        let (namespace, pod) = (&command.namespace, &command.pod);
        self.pace().await?;
        let path = format!("/api/v1/namespaces/{}/pods/{}", escape(namespace), escape(pod));
        let body = self.fetch(path, &of_pod("get", "pods", command), POD_BYTES, Wanted::Metadata).await?;
        let found: Value = serde_json::from_slice(&body)
            .map_err(|_| invalid(format!("pod {namespace}/{pod} is not JSON")))?;
        let uid = found.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        if uid == command.uid {
            return Ok(());
        }
        let message = format!("pod {namespace}/{pod} is another one: its uid is {uid}, not {}", command.uid);
        Err(Error::Conflict(Status { code: 409, reason: "Conflict".to_owned(), message }))
    }
}

fn of_pod<'a>(verb: &'a str, resource: &'a str, command: &'a kube::Command) -> Access<'a> {
    Access { verb, group: "", resource, namespace: Some(&command.namespace), name: Some(&command.pod) }
}

fn length(command: &kube::Command) -> usize {
    command.arguments.iter().map(String::len).sum()
}

fn check(name: &str, command: &kube::Command) -> Result<(), Error> {
    let said = [&command.namespace, &command.pod, &command.uid, &command.container];
    let wrong = if name.is_empty() || name.len() > 253 {
        "a command needs a name of at most 253 bytes"
    } else if said.iter().any(|text| text.is_empty()) {
        "a command needs a namespace, a pod, its uid and a container"
    } else if command.arguments.is_empty() || length(command) > MAX_ARGUMENTS {
        "a command needs arguments, of at most 64 KiB"
    } else if command.stdin.as_ref().is_some_and(|stdin| stdin.len() > MAX_INPUT) {
        "a command's input may have 64 KiB"
    } else if command.timeout_ms == 0 || Duration::from_millis(command.timeout_ms) > LONGEST {
        "a command needs a time-out of at most an hour"
    } else {
        return Ok(());
    };
    Err(invalid(wrong))
}

fn full(full: Full) -> Error {
    match full {
        Full::Running => Error::Throttled(FULL_MS),
        Full::Names => Error::Exhausted(full.to_string()),
    }
}

fn of_wit(command: kube::Command, account: Option<String>) -> Command {
    let kube::Command { namespace, pod, container, arguments, timeout_ms, stdin, uid: _ } = command;
    let timeout = Duration::from_millis(timeout_ms);
    Command { namespace, pod, container, arguments, stdin, timeout, account }
}

/// Equal commands, equal fingerprints.
fn fingerprint(attempt: u32, command: &kube::Command) -> String {
    let digest = Sha256::digest(format!("{attempt} {command:?}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn wit_progress(standing: Standing) -> kube::CommandProgress {
    let state = match standing.ended {
        None => kube::CommandState::Running,
        Some(Ok(code)) => kube::CommandState::Done(code),
        Some(Err(error)) => {
            let said = error.to_string().chars().take(WORDS).collect();
            kube::CommandState::Failed((error.reason().to_owned(), said))
        }
    };
    kube::CommandProgress { state, output: standing.output }
}

#[cfg(test)]
mod tests;
