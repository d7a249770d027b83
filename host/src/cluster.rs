//! The API server, seen from the host: one place that sends requests, under the right account, within a deadline.
//!
//! [`request`] sends one request; [`path`] names things; [`review`] asks what an account may do. Writes of objects go
//! through `action::execute` only, which is built on this.

use std::sync::Arc;

use crate::action::execute::Executor;
use crate::controller::discovery::Discovery;
use crate::controller::watch::Watches;

pub mod path;
pub mod request;
pub mod review;

use request::Api;
use review::Reviews;

/// Everything that talks to the API server on behalf of hooks. Shared by all calls.
#[derive(Debug)]
pub struct Cluster {
    /// Sends requests.
    pub api: Api,
    /// Kinds and resources.
    pub discovery: Arc<Discovery>,
    /// Shared watches and their caches.
    pub watches: Arc<Watches>,
    /// The only writer of objects.
    pub executor: Executor,
    /// What accounts may do, remembered for seconds.
    pub reviews: Reviews,
    /// Watches of children are held in these namespaces; empty: in all.
    pub namespaces: Vec<String>,
}

impl Cluster {
    pub fn cached(&self, _plugin: &str, _key: &crate::object::ObjectKey) -> Option<Option<std::sync::Arc<[u8]>>> { None }
    pub async fn child(&self, _plugin: &str, _r: &path::Resource, _key: &crate::object::ObjectKey) -> Option<crate::controller::watch::Cached> { None }
}
