//! Commands in containers: a script says how they end, on virtual time.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt,
    rc::Rc,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::{
    asked::Request,
    calls::Verb,
    cluster::Cluster,
    object::{conflict, not_found, text},
    rights::{Access, denied},
    runner::Runner,
    session::Session,
};
use crate::{ExecCommand, ExecProgress, ExecState, Gvk, KubeError, ObjectRef};

/// Commands of one plugin that run at once.
const AT_ONCE: usize = 8;
/// Names one object may have.
const NAMES: usize = 16;
/// How much of the output is kept.
const KEPT: usize = 4 * 1024;

/// A command that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecCall {
    /// The object that gave it.
    pub object: ObjectRef,
    /// Its name.
    pub name: String,
    /// Which attempt it is.
    pub attempt: u32,
    /// What is run, and where.
    pub command: ExecCommand,
}

/// How a command ends; given by the script of [`Cluster::on_exec`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct ExecAnswer {
    end: Option<ExecState>,
    output: String,
    after: Duration,
}

impl ExecAnswer {
    /// It ends with this code, at once.
    pub fn exit(code: i32) -> Self {
        Self { end: Some(ExecState::Done(code)), output: String::new(), after: Duration::ZERO }
    }

    /// With which code it ends is not heard: `ConnectionLost`, `RuntimeFailed`, `Refused`, `Unreachable`.
    pub fn fails(reason: &str, message: &str) -> Self {
        let end = ExecState::Failed { reason: reason.to_owned(), message: message.to_owned() };
        Self { end: Some(end), ..Self::exit(0) }
    }

    /// It runs on until its time-out.
    pub fn never() -> Self {
        Self { end: None, ..Self::exit(0) }
    }

    /// What it writes, from its beginning on.
    pub fn output(self, output: impl Into<String>) -> Self {
        Self { output: output.into(), ..self }
    }

    /// How long it takes.
    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }
}

/// What answers commands.
type Script = Rc<dyn Fn(&ExecCall) -> ExecAnswer>;

#[derive(Debug)]
struct Entry {
    plugin: String,
    call: ExecCall,
    answer: ExecAnswer,
    began: SystemTime,
    /// Its object was called.
    told: bool,
}

impl Entry {
    fn ends(&self) -> SystemTime {
        let timeout = self.call.command.timeout;
        self.began + self.answer.end.as_ref().map_or(timeout, |_| self.answer.after.min(timeout))
    }

    fn progress(&self, now: SystemTime) -> ExecProgress {
        let timeout = self.call.command.timeout;
        let state = match &self.answer.end {
            _ if now < self.ends() || !self.told => ExecState::Running,
            Some(end) if self.answer.after < timeout => end.clone(),
            _ => ExecState::Failed {
                reason: "TimedOut".to_owned(),
                message: format!("it had not ended after {timeout:?}"),
            },
        };
        let output = &self.answer.output;
        let start = output.ceil_char_boundary(output.len().saturating_sub(KEPT));
        ExecProgress { state, output: output.get(start..).unwrap_or_default().to_owned() }
    }
}

/// The host's table, which does not survive it, and what was run, which does.
#[derive(Default)]
pub(super) struct Commands {
    known: BTreeMap<(ObjectRef, String), Entry>,
    begun: Vec<ExecCall>,
    script: Option<Script>,
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands")
            .field("known", &self.known)
            .field("begun", &self.begun)
            .finish_non_exhaustive()
    }
}

impl Commands {
    fn find(&self, call: &ExecCall, now: SystemTime) -> Option<ExecProgress> {
        let entry = self.known.get(&(call.object.clone(), call.name.clone()))?;
        (entry.call == *call).then(|| entry.progress(now))
    }

    fn look(&self, owner: &ObjectRef, name: &str, attempt: u32, now: SystemTime) -> Option<ExecProgress> {
        let entry = self.known.get(&(owner.clone(), name.to_owned()))?;
        (entry.call.attempt == attempt).then(|| entry.progress(now))
    }

    /// Whether there is room for one more.
    fn room(&self, call: &ExecCall, plugin: &str) -> Result<(), KubeError> {
        let others = || {
            let is_other = |key: &(ObjectRef, String)| (&key.0, &key.1) != (&call.object, &call.name);
            self.known.iter().filter(move |(key, _)| is_other(key))
        };
        if others().filter(|((owner, _), _)| *owner == call.object).count() >= NAMES {
            let message = format!("one object has at most {NAMES} commands; forget those that have ended");
            return Err(KubeError::Exhausted(message));
        }
        let runs = |entry: &Entry| !entry.told && entry.plugin == plugin;
        if others().filter(|(_, entry)| runs(entry)).count() >= AT_ONCE {
            return Err(KubeError::Throttled(Duration::from_secs(1)));
        }
        Ok(())
    }

    pub(super) fn forget(&mut self, owner: &ObjectRef, name: &str) {
        self.known.remove(&(owner.clone(), name.to_owned()));
    }

    pub(super) fn forget_all(&mut self, owner: &ObjectRef) {
        self.known.retain(|(other, _), _| other != owner);
    }

    /// The host died.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// When the next one ends.
    fn next_end(&self) -> Option<SystemTime> {
        self.known.values().filter(|entry| !entry.told).map(Entry::ends).min()
    }

    /// Whom those concern that have ended by now.
    pub(super) fn ended(&mut self, now: SystemTime) -> Vec<ObjectRef> {
        let ended = self.known.values_mut().filter(|entry| !entry.told && entry.ends() <= now);
        ended
            .map(|entry| {
                entry.told = true;
                entry.call.object.clone()
            })
            .collect()
    }
}

impl Cluster {
    /// Says how commands in containers end. It is asked when one begins, and what it does to the test's world is done then: a crash
    /// of the host does not take it back. Without a script every command fails.
    pub fn on_exec(&self, script: impl Fn(&ExecCall) -> ExecAnswer + 'static) {
        self.state().commands.script = Some(Rc::new(script));
    }

    /// Commands that were begun, in order.
    pub fn commands(&self) -> Vec<ExecCall> {
        self.state().commands.begun.clone()
    }

    fn begin(&self, plugin: &str, call: ExecCall) {
        let script = self.state().commands.script.clone();
        let answer = script.map_or_else(
            || ExecAnswer::fails("RuntimeFailed", "the test has no script for commands (`Cluster::on_exec`)"),
            |script| script(&call),
        );
        let mut state = self.state();
        let began = state.store.now;
        state.commands.begun.push(call.clone());
        let key = (call.object.clone(), call.name.clone());
        let entry = Entry { plugin: plugin.to_owned(), call, answer, began, told: false };
        state.commands.known.insert(key, entry);
        if let Some(recorded) = state.calls.last_mut() {
            recorded.changed = true;
        }
        state.crash.after_call(true);
    }
}

impl Session {
    pub(super) fn begin_command(
        &self,
        name: &str,
        attempt: u32,
        command: &ExecCommand,
    ) -> Result<ExecProgress, KubeError> {
        let Some(owner) = self.owner.as_ref().filter(|_| !self.is_person()) else {
            return Err(nobodys(command));
        };
        let call = ExecCall {
            object: owner.reference.clone(),
            name: name.to_owned(),
            attempt,
            command: command.clone(),
        };
        let known = {
            let state = self.cluster.state();
            state.commands.find(&call, state.store.now)
        };
        if let Some(progress) = known {
            self.budget.borrow_mut().call(progress.output.len())?;
            return Ok(progress);
        }
        self.cluster.state().commands.room(&call, &self.plugin)?;
        let pod = ObjectRef::new(Gvk::new("", "v1", "Pod"), command.namespace.as_str(), command.pod.as_str());
        let body = json!({"name": name, "attempt": attempt, "container": command.container,
            "arguments": command.arguments});
        let request = Request::new(Verb::Exec, pod.clone()).subresource("exec").body(body);
        let begun = Cell::new(false);
        let answer = self.request(request, |store| {
            let found = store.find(&pod)?.ok_or_else(|| not_found("pods", &pod.name))?;
            fits(&found.object, command)?;
            begun.set(true);
            Ok(())
        });
        // An answer that got lost takes nothing back.
        if begun.get() {
            self.cluster.begin(&self.plugin, call);
        }
        answer.map(|()| ExecProgress { state: ExecState::Running, output: String::new() })
    }
}

impl Session {
    pub(super) fn look_at_command(
        &self,
        name: &str,
        attempt: u32,
    ) -> Result<Option<ExecProgress>, KubeError> {
        let known = {
            let state = self.cluster.state();
            let owner = self.owner.as_ref().map(|owner| &owner.reference);
            owner.and_then(|owner| state.commands.look(owner, name, attempt, state.store.now))
        };
        self.budget.borrow_mut().call(known.as_ref().map_or(0, |known| known.output.len()))?;
        Ok(known)
    }
}

impl Runner {
    /// When something is due: a call, or the end of a command.
    pub(super) fn next_event(&self) -> Option<SystemTime> {
        self.queue.next().into_iter().chain(self.cluster.state().commands.next_end()).min()
    }
}

/// Whether the pod is the one that is meant.
fn fits(pod: &Value, command: &ExecCommand) -> Result<(), KubeError> {
    let uid = text(pod, "/metadata/uid");
    if uid == command.uid {
        return Ok(());
    }
    let ExecCommand { namespace, pod, .. } = command;
    Err(conflict(format!("pod {namespace}/{pod} is another one: its uid is {uid}, not {}", command.uid)))
}

fn nobodys(command: &ExecCommand) -> KubeError {
    let access = Access {
        verb: "create",
        group: String::new(),
        resource: "pods/exec".to_owned(),
        namespace: Some(command.namespace.clone()),
        name: Some(command.pod.clone()),
    };
    denied(&access, "grants", "no command is run in a container from here")
}
