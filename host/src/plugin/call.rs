//! One hook call, and every way it can go wrong.

use std::sync::Arc;
use std::time::{Duration, Instant as StdInstant};

use serde_json::Value;

use super::bindings::{Condition, Event, Failure, Finalized, HookError, Outcome, Request, State, Watch};
use super::instance::Exceeded;
use super::limits::Limits;
use super::revision::Revision;
use crate::cluster::request;
use crate::plugin::context::HookContext;

/// Which hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// The object is wanted.
    Reconcile,
    /// The object is being deleted.
    Finalize,
}

impl Hook {
    /// Its name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reconcile => "reconcile",
            Self::Finalize => "finalize",
        }
    }
}

/// A plugin's fault: its code misbehaved. The host and other plugins are not affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The guest trapped: a panic, an unreachable instruction, a stack overflow.
    #[error("trapped: {0}")]
    Trap(String),
    /// Too much processor time.
    #[error("used more than {0:?} of processor time in one call")]
    Cpu(Duration),
    /// Too long altogether.
    #[error("took longer than {0:?} for one call")]
    Wall(Duration),
    /// Too much memory.
    #[error("asked for {asked} bytes of memory; it may have {limit}")]
    Memory {
        /// Bytes it asked for.
        asked: usize,
        /// Bytes it may have.
        limit: usize,
    },
    /// An answer that breaks the interface's contract.
    #[error("gave a malformed answer: {0}")]
    Answer(String),
    /// No instance could be made.
    #[error("could not be instantiated: {0}")]
    Instantiate(String),
}

impl Fault {
    /// A bounded word for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Trap(_) => "PluginTrapped",
            Self::Cpu(_) => "PluginCpuExceeded",
            Self::Wall(_) => "PluginDeadlineExceeded",
            Self::Memory { .. } => "PluginMemoryExceeded",
            Self::Answer(_) => "PluginAnswerInvalid",
            Self::Instantiate(_) => "PluginNotInstantiated",
        }
    }
}

/// What a hook asked for, checked: every text that should be JSON is.
#[derive(Debug)]
pub struct Reply {
    /// Where the object stands.
    pub state: State,
    /// The complete desired set of declarative children.
    pub children: Option<Vec<Value>>,
    /// Merge patch for the status.
    pub status: Option<Value>,
    /// Conditions to set.
    pub conditions: Vec<Condition>,
    /// Types of conditions to remove.
    pub drop_conditions: Vec<String>,
    /// Events, those published during the call first.
    pub events: Vec<Event>,
    /// Call again after so long.
    pub requeue_after: Option<Duration>,
    /// Replaces the wishes of the call before.
    pub watches: Vec<Watch>,
}

/// A failure the hook reported itself, checked.
#[derive(Debug)]
pub struct Refusal {
    /// The plugin's error.
    pub error: HookError,
    /// UpperCamelCase.
    pub reason: String,
    /// What should be told all the same.
    pub told: Reply,
}

/// How a call ended.
#[derive(Debug)]
pub enum Answer {
    /// It went well.
    Done(Box<Reply>),
    /// The object's clean-up is finished.
    Finalized(Vec<Event>),
    /// The plugin reported an error.
    Failed(Box<Refusal>),
}

/// What one call cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Wall-clock time, instantiation included.
    pub elapsed: Duration,
    /// Log lines dropped over the budget.
    pub dropped_lines: u64,
}

/// Runs one hook in the sandbox.
///
/// # Guarantees
/// - returns within the revision's wall-clock limit plus one tick, whatever the guest does;
/// - an instance that trapped, was stopped or answered badly is never used again;
/// - the answer's texts are valid JSON of the right shape and within the size limit.
///
/// # Errors
/// A [`Fault`] when the guest misbehaved. An error that the guest *reports* is an [`Answer`].
pub async fn call(
    revision: &Revision,
    hook: Hook,
    asked: &Request,
    context: Arc<HookContext>,
) -> (Result<Answer, Fault>, Cost) {
    let started = StdInstant::now();
    let mut cost = Cost::default();
    let limit = revision.limits.wall;
    // Requests end a little earlier: an API server that does not answer is no fault of the plugin, which is told of it.
    let requests_end = tokio::time::Instant::now() + limit.mul_f64(0.9);
    let running = request::until(requests_end, run(revision, hook, asked, context, &mut cost));
    let result = match tokio::time::timeout(limit, running).await {
        Ok(result) => result,
        Err(_) => Err(Fault::Wall(limit)),
    };
    cost.elapsed = started.elapsed();
    (result, cost)
}

async fn run(
    revision: &Revision,
    hook: Hook,
    request: &Request,
    context: Arc<HookContext>,
    cost: &mut Cost,
) -> Result<Answer, Fault> {
    let mut instance = match revision.instance(context).await {
        Ok(instance) => instance,
        Err(error) => return Err(Fault::Instantiate(first_line(&error))),
    };
    let (store, plugin) = instance.parts();
    let reconciler = plugin.pilothouse_operator_reconciler();
    let raw = match hook {
        Hook::Reconcile => reconciler.call_reconcile(store, request).await.map(Raw::Reconcile),
        Hook::Finalize => reconciler.call_finalize(store, request).await.map(Raw::Finalize),
    };
    let raw = raw.map_err(|error| fault_of(instance.exceeded(), &revision.limits, &error))?;
    let (events, dropped_lines) = instance.take_events();
    cost.dropped_lines = dropped_lines;
    let limit = revision.limits.answer_bytes;
    if raw.bytes() > limit {
        return Err(Fault::Answer(format!("{} bytes; it may have {limit}", raw.bytes())));
    }
    let answer = raw.check(events).map_err(Fault::Answer)?;
    revision.give_back(instance);
    Ok(answer)
}

/// What it means that the engine gave up on a guest.
pub(super) fn fault_of(exceeded: Option<Exceeded>, limits: &Limits, error: &wasmtime::Error) -> Fault {
    match exceeded {
        Some(Exceeded::Memory(asked)) => Fault::Memory { asked, limit: limits.memory },
        Some(Exceeded::Cpu) => Fault::Cpu(limits.cpu),
        None if is_of_the_guest(error) => Fault::Trap(first_line(error)),
        None => Fault::Answer(unreadable(error, limits)),
    }
}

/// Whether the guest's own code stopped. What else ends a call is what it handed over: too large, or not what its type
/// says (text that is no UTF-8, a case that does not exist, a list that lies outside its memory).
fn is_of_the_guest(error: &wasmtime::Error) -> bool {
    error.is::<wasmtime::Trap>() || error.is::<wasmtime_wasi::I32Exit>()
}

/// The engine counts the bytes of each crossing ([`Instance::new`] sets how many) and says so without a figure.
fn unreadable(error: &wasmtime::Error, limits: &Limits) -> String {
    let text = first_line(error);
    if text.contains("too much data") {
        return format!(
            "more than {} bytes at once; an answer may have {}, host calls of one reconcile together {}",
            limits.crossing(),
            limits.answer_bytes,
            limits.host_bytes
        );
    }
    text
}

/// The cause in one line: the innermost error says what happened, the outer ones where the stack stood.
pub(super) fn first_line(error: &wasmtime::Error) -> String {
    let cause = error.root_cause().to_string();
    cause.lines().next().unwrap_or_default().chars().take(512).collect()
}

/// An answer as it came over the border.
enum Raw {
    Reconcile(Result<Outcome, Failure>),
    Finalize(Result<Finalized, Failure>),
}

impl Raw {
    fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Reconcile(Ok(outcome)) | Self::Finalize(Ok(Finalized::Waiting(outcome))) => {
                outcome_bytes(outcome)
            }
            Self::Finalize(Ok(Finalized::Done)) => 0,
            Self::Reconcile(Err(failure)) | Self::Finalize(Err(failure)) => {
                failure.status.as_ref().map_or(0, String::len)
                    + told_bytes(&failure.conditions, &failure.events)
            }
        };
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    fn check(self, published: Vec<Event>) -> Result<Answer, String> {
        match self {
            Self::Reconcile(Ok(outcome)) | Self::Finalize(Ok(Finalized::Waiting(outcome))) => {
                check_outcome(outcome, published).map(|reply| Answer::Done(Box::new(reply)))
            }
            Self::Finalize(Ok(Finalized::Done)) => Ok(Answer::Finalized(published)),
            Self::Reconcile(Err(failure)) | Self::Finalize(Err(failure)) => {
                check_failure(failure, published).map(|refusal| Answer::Failed(Box::new(refusal)))
            }
        }
    }
}

fn outcome_bytes(outcome: &Outcome) -> usize {
    outcome.children.iter().flatten().map(String::len).sum::<usize>()
        + outcome.status.as_ref().map_or(0, String::len)
        + told_bytes(&outcome.conditions, &outcome.events)
}

fn told_bytes(conditions: &[Condition], events: &[Event]) -> usize {
    conditions.iter().map(|c| c.message.len() + c.reason.len()).sum::<usize>()
        + events.iter().map(|e| e.message.len() + e.reason.len()).sum::<usize>()
}

fn check_outcome(outcome: Outcome, mut events: Vec<Event>) -> Result<Reply, String> {
    let parse_child = |(index, text): (usize, String)| -> Result<Value, String> {
        let child: Value =
            serde_json::from_str(&text).map_err(|e| format!("children[{index}] is not JSON: {e}"))?;
        if child.is_object() { Ok(child) } else { Err(format!("children[{index}] is not an object")) }
    };
    let children = outcome
        .children
        .map(|children| children.into_iter().enumerate().map(parse_child).collect::<Result<Vec<_>, _>>())
        .transpose()?;
    events.extend(outcome.events);
    Ok(Reply {
        state: outcome.state,
        children,
        status: check_status(outcome.status)?,
        conditions: check_conditions(outcome.conditions)?,
        drop_conditions: outcome.drop_conditions,
        events,
        requeue_after: outcome.requeue_after_ms.map(Duration::from_millis),
        watches: outcome.watches,
    })
}

fn check_failure(failure: Failure, mut events: Vec<Event>) -> Result<Refusal, String> {
    events.extend(failure.events);
    let sentence = match &failure.error {
        HookError::Retry(text) | HookError::RetryAfter((text, _)) | HookError::Permanent(text) => {
            text.clone()
        }
    };
    let reason = if failure.reason.is_empty() { "ReconcileError".to_owned() } else { failure.reason };
    let told = Reply {
        state: State::Progressing((reason.clone(), sentence)),
        children: None,
        status: check_status(failure.status)?,
        conditions: check_conditions(failure.conditions)?,
        drop_conditions: failure.drop_conditions,
        events,
        requeue_after: None,
        watches: failure.watches,
    };
    Ok(Refusal { error: failure.error, reason, told })
}

fn check_status(status: Option<String>) -> Result<Option<Value>, String> {
    let Some(text) = status else { return Ok(None) };
    let value: Value = serde_json::from_str(&text).map_err(|error| format!("status is not JSON: {error}"))?;
    if value.is_object() { Ok(Some(value)) } else { Err("status is not an object".to_owned()) }
}

/// A type that breaks the API's pattern would make every status write fail: better one clear answer here.
fn check_conditions(conditions: Vec<Condition>) -> Result<Vec<Condition>, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    for condition in &conditions {
        if condition.kind.is_empty() || condition.kind.len() > 316 || !condition.kind.chars().all(allowed) {
            return Err(format!("condition type {:?} is not allowed", condition.kind));
        }
    }
    Ok(conditions)
}
