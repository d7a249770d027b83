//! The world `lifecycle-hooks`.

use std::rc::Rc;

use serde_json::Value;

use super::bindings::hooks::exports::pilothouse::operator::lifecycle_hook as wit;
pub use super::bindings::hooks::exports::pilothouse::operator::lifecycle_hook::{
    Announced, Guest, Hook, Step, Task,
};
pub use super::bindings::pilothouse::operator::types::HookError;
use super::{answers::millis, imports};
use crate::{
    Context, Earlier, Error, HookProgress, HookStep, LifecycleHook, ObjectRef, PlannedHook, Subject,
    blob::at_millis,
};

/// Answers the world's `plan`.
///
/// # Errors
/// What the hook returned.
pub fn plan(hooks: &impl LifecycleHook, announced: Announced) -> Result<Vec<Hook>, HookError> {
    let announced: crate::Announced = announced.try_into()?;
    let planned = hooks.plan(&context(&announced.run), &announced)?;
    Ok(planned.into_iter().map(Into::into).collect())
}

/// Answers the world's `run`.
///
/// # Errors
/// What the hook returned.
pub fn run(hooks: &impl LifecycleHook, task: Task) -> Result<Step, HookError> {
    let task: crate::Task = task.try_into()?;
    Ok(hooks.run(&context(&task.announced.run), &task)?.into())
}

/// Answers the world's `cancel`.
///
/// # Errors
/// What the hook returned.
pub fn cancel(hooks: &impl LifecycleHook, task: Task) -> Result<(), HookError> {
    let task: crate::Task = task.try_into()?;
    Ok(hooks.cancel(&context(&task.announced.run), &task)?)
}

fn context(run: &ObjectRef) -> Context {
    Context::of_lifecycle(Rc::new(imports::Imports), run)
}

fn json(text: &str) -> Result<Value, Error> {
    Ok(serde_json::from_str(text)?)
}

impl TryFrom<Announced> for crate::Announced {
    type Error = Error;

    fn try_from(announced: Announced) -> Result<Self, Error> {
        let earlier = |(plugin, hook, artefact): (String, String, _)| Earlier {
            plugin,
            hook,
            artefact: crate::Artefact::from(artefact),
        };
        Ok(Self {
            run: announced.run.into(),
            subject: Subject {
                object: announced.subject.object.into(),
                uid: announced.subject.uid,
                labels: announced.subject.labels,
            },
            phase: announced.phase,
            change: announced.change,
            undoes: announced.undoes,
            ending: announced.ending.map(Into::into),
            details: json(&announced.details)?,
            announced_at: at_millis(announced.announced_ms),
            artefacts: announced.artefacts.into_iter().map(earlier).collect(),
        })
    }
}

impl TryFrom<Task> for crate::Task {
    type Error = Error;

    fn try_from(task: Task) -> Result<Self, Error> {
        Ok(Self {
            announced: task.announced.try_into()?,
            name: task.name,
            parameters: json(&task.parameters)?,
            attempt: task.attempt,
            record: task.record.as_deref().map(json).transpose()?,
        })
    }
}

impl From<PlannedHook> for Hook {
    fn from(hook: PlannedHook) -> Self {
        let failure_policy =
            if hook.ignore_failure { wit::FailurePolicy::Ignore } else { wit::FailurePolicy::Fail };
        Self {
            name: hook.name,
            weight: hook.weight,
            timeout_ms: millis(hook.timeout),
            retries: hook.retries,
            failure_policy,
            approval: hook.approval,
            ensure_post: hook.ensure_post,
            parameters: hook.parameters.to_string(),
        }
    }
}

impl From<HookStep> for Step {
    fn from(step: HookStep) -> Self {
        let progress = match step.progress {
            HookProgress::Done(artefacts) => {
                wit::Progress::Done(artefacts.into_iter().map(Into::into).collect())
            }
            HookProgress::Pending(message) => wit::Progress::Pending(message),
            HookProgress::Failed { reason, message } => wit::Progress::Failed((reason, message)),
            HookProgress::Refused { reason, message } => wit::Progress::Refused((reason, message)),
        };
        Self {
            progress,
            record: step.record.as_ref().map(Value::to_string),
            watches: step.watches.into_iter().map(Into::into).collect(),
            requeue_after_ms: step.requeue_after.map(millis),
        }
    }
}
