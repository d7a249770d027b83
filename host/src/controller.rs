//! From a change in the cluster to one call at a time for each object: watches, their caches and the work queue.

pub mod discovery;
pub mod leader;
pub mod metrics;
pub mod observe;
pub mod queue;
pub mod reconcile;
pub mod routes;
pub mod supervisor;
pub mod throttle;
pub mod watch;
