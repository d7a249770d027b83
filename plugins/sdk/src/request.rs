//! What a hook is called with.

use std::time::Duration;

use crate::{Gvk, ObjectRef};

/// Why an object was queued. A hint for logs and shortcuts: the hook must come to the same result without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The host or the plugin started, or the plugin was swapped.
    Start,
    /// The object was created, or its generation, labels, annotations or deletion time moved.
    Changed,
    /// An object the owner is tied to changed or went away.
    Child(ObjectRef),
    /// An object the last outcome asked to be told about.
    Related(ObjectRef),
    /// The last outcome's `requeue_after` has passed.
    Timer,
    /// The periodic safety net.
    Resync,
    /// The settings or an asset of the binding changed.
    Configuration,
    /// The hook failed before and is tried again.
    Retry,
    /// Somebody asked by the host's API or annotation.
    Manual,
}

/// The object as it is now and what the host knows about this call.
#[derive(Debug, Clone)]
pub struct Request {
    /// The exact kind of the object.
    pub kind: Gvk,
    /// The object as JSON text, without `metadata.managedFields`.
    pub object: String,
    /// Merged reasons since the last call, in order of arrival, at most 16.
    pub reasons: Vec<Reason>,
    /// Failed calls for this object in a row.
    pub failures: u32,
    /// Wall-clock time this call may take.
    pub deadline: Duration,
}
