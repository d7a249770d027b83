//! The API server, seen from the host: one place that sends requests, under the right account, within a deadline.
//!
//! [`request`] sends one request, [`fence`] says until when it may be a write; [`path`] names things; [`review`] asks what an account may do. Writes of objects go
//! through `action::execute` only, which is built on this.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::action::execute::Executor;
use crate::controller::discovery::Discovery;
use crate::controller::observe::{Observer, Tied};
use crate::object::ObjectKey;

pub mod fence;
pub mod kubeconfig;
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
    pub observer: Arc<Observer>,
    /// The only writer of objects.
    pub executor: Executor,
    /// What accounts may do, remembered for seconds.
    pub reviews: Reviews,
    waiting: Mutex<HashSet<ObjectKey>>,
}

impl Cluster {
    /// The cluster behind a client.
    pub fn new(api: Api, discovery: Arc<Discovery>, observer: Arc<Observer>) -> Self {
        let executor = Executor::new(api.clone());
        Self { api, discovery, observer, executor, reviews: Reviews::default(), waiting: Mutex::default() }
    }

    /// A tied object as the watch of the plugin's children has it.
    pub async fn tied(&self, plugin: &Arc<str>, key: &ObjectKey) -> Tied {
        self.observer.tied(plugin, key).await
    }

    /// The owner asked for a kind that is not served: it is queued again when definitions change.
    pub fn wait_for_kind(&self, owner: &ObjectKey) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(owner.clone());
    }

    /// The owners that wait for a kind; they have to ask again.
    pub fn take_waiting(&self) -> HashSet<ObjectKey> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
