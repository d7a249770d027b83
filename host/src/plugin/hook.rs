//! Hooks of a lifecycle: one call in the sandbox, in an instance of its own.

use std::sync::Arc;

use super::bindings::lifecycle_hook::{Announced, Hook, Step, Task};
use super::bindings::{Event, HookError};
use super::call::{Fault, fault_of, first_line};
use super::context::HookContext;
use super::instance::store;
use super::revision::Revision;
use crate::cluster::request;

/// What is asked.
#[derive(Debug)]
pub enum Ask<'a> {
    /// What is to be done.
    Plan(&'a Announced),
    /// Do it, or look how far it is.
    Run(&'a Task),
    /// End it.
    Cancel(&'a Task),
}

/// The answer to each.
#[derive(Debug)]
pub enum Reply {
    /// To [`Ask::Plan`].
    Planned(Vec<Hook>),
    /// To [`Ask::Run`].
    Stepped(Step),
    /// To [`Ask::Cancel`].
    Cancelled,
}

/// How a call ended.
#[derive(Debug)]
pub struct Called {
    /// What the plugin says.
    pub answer: Result<Reply, HookError>,
    /// Events that it published.
    pub events: Vec<Event>,
}

/// Asks the plugin. Returns within its wall-clock limit plus one tick.
///
/// # Errors
/// A [`Fault`] when the guest misbehaved.
pub async fn ask(revision: &Revision, ask: &Ask<'_>, context: Arc<HookContext>) -> Result<Called, Fault> {
    let limit = revision.limits.wall;
    let requests_end = tokio::time::Instant::now() + limit.mul_f64(0.9);
    let running = request::until(requests_end, call(revision, ask, context));
    tokio::time::timeout(limit, running).await.unwrap_or(Err(Fault::Wall(limit)))
}

async fn call(revision: &Revision, ask: &Ask<'_>, context: Arc<HookContext>) -> Result<Called, Fault> {
    let absent = || Fault::Instantiate("it exports no lifecycle-hook".to_owned());
    let (engine, hooks) = revision.hooks().ok_or_else(absent)?;
    let mut store = store(engine, &revision.limits, context);
    let hooks = hooks.instantiate_async(&mut store).await;
    let hooks = hooks.map_err(|error| Fault::Instantiate(first_line(&error)))?;
    let hook = hooks.pilothouse_operator_lifecycle_hook();
    let answer = match ask {
        Ask::Plan(announced) => {
            hook.call_plan(&mut store, announced).await.map(|answer| answer.map(Reply::Planned))
        }
        Ask::Run(task) => hook.call_run(&mut store, task).await.map(|answer| answer.map(Reply::Stepped)),
        Ask::Cancel(task) => {
            hook.call_cancel(&mut store, task).await.map(|answer| answer.map(|()| Reply::Cancelled))
        }
    };
    let answer = answer.map_err(|error| fault_of(store.data().exceeded(), &revision.limits, &error))?;
    Ok(Called { answer, events: std::mem::take(&mut store.data_mut().events) })
}
