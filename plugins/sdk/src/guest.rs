//! The component side: bindings generated from the WIT package, and the way between them and the SDK's own types.
//! Only [`export!`](crate::export!) names it.

mod answers;
pub mod bindings;
pub(crate) mod blob;
pub(crate) mod certificates;
pub mod command;
mod exec;
pub mod hooks;
pub(crate) mod http;
mod imports;
pub(crate) mod lifecycle;
mod requests;

use std::rc::Rc;

pub use bindings::exports::pilothouse::operator::reconciler::{Failure, Finalized, Guest, Outcome, Request};

use crate::Plugin;

/// Answers the world's `reconcile`.
///
/// # Errors
/// What the plugin's reconciler returned.
pub fn reconcile(plugin: &Plugin, request: Request) -> Result<Outcome, Failure> {
    match plugin.reconcile(Rc::new(imports::Imports), request.into()) {
        Ok(outcome) => Ok(outcome.into()),
        Err(error) => Err(error.into()),
    }
}

/// Answers the world's `finalize`.
///
/// # Errors
/// What the plugin's reconciler returned.
pub fn finalize(plugin: &Plugin, request: Request) -> Result<Finalized, Failure> {
    match plugin.finalize(Rc::new(imports::Imports), request.into()) {
        Ok(crate::Finalized::Done) => Ok(Finalized::Done),
        Ok(crate::Finalized::Waiting(outcome)) => Ok(Finalized::Waiting((*outcome).into())),
        Err(error) => Err(error.into()),
    }
}
