//! Phases of changes, across plugins: one announces what it is about to do, others do their part before and after it.
//!
//! [`announce`] is what the announcer asks, [`run`] the resource in which everything stands, [`progress`] what is next (pure),
//! [`people`] what a person says by annotations (pure), [`drive`] does it, [`listeners`] says whom a phase concerns, and [`store`] is the only
//! writer of the resources.

pub mod afterwards;
pub mod announce;
pub mod drive;
pub mod listeners;
pub mod metrics;
pub mod people;
pub mod progress;
pub mod run;
pub mod store;

use std::sync::Arc;
use std::time::Duration;

use crate::binding::Binding;
use crate::object::Gvk;

/// Group, version and kind of the resource (`deploy/crds`).
pub const RUN: (&str, &str, &str) = ("lifecycle.pilothouse.dev", "v1alpha1", "LifecycleRun");
/// Its plural.
pub const PLURAL: &str = "lifecycleruns";
/// Whose binding it is: the host's own. No plugin has a name with a slash.
pub const LANE: &str = "pilothouse/lifecycle";

/// The binding by which runs are watched and queued like any object.
pub fn binding(resync: Duration) -> Binding {
    let gvk = Arc::new(Gvk::new(RUN.0, RUN.1, RUN.2));
    Binding::new(&Arc::from(LANE), gvk, resync, "the lifecycle of changes")
}

/// Whether a binding is that one.
pub fn is_own(binding: &Binding) -> bool {
    &*binding.plugin == LANE
}
