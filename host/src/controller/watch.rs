//! Shared watches: one for each kind, namespace and selector, however many ask for it; counted, started and stopped
//! live; with a cache that keeps text, not trees.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::runtime::utils::StreamBackoff;
use kube::runtime::watcher::{self, watcher};
use tokio::sync::watch;

use super::discovery::Discovery;
use crate::object::{Gvk, ObjectKey};

mod backoff;
mod cached;
mod store;

pub use cached::Cached;
use store::Store;

/// How long a kind that is not served is waited for before it is looked up again without a sign.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchSpec {
    /// The kind.
    pub gvk: Arc<Gvk>,
    /// `None`: all namespaces, or cluster scope.
    pub namespace: Option<Arc<str>>,
    /// Label selector; empty: all.
    pub labels: String,
    /// Field selector; empty: all.
    pub fields: String,
}

/// A change of one object.
#[derive(Clone, Debug)]
pub struct ObjectEvent {
    /// Which object.
    pub key: ObjectKey,
    /// As it was in the cache.
    pub before: Option<Arc<Cached>>,
    /// As it is; `None`: gone, or no longer selected.
    pub after: Option<Arc<Cached>>,
    /// Found by a list (at the start, or after a break), not by an event.
    pub relisted: bool,
}

/// Hears of every change, in order.
#[derive(Clone)]
pub struct Subscriber {
    /// A watch has at most one subscriber of each name: joining again changes nothing.
    pub name: String,
    /// Must not block.
    pub hear: Arc<dyn Fn(ObjectEvent) + Send + Sync>,
}

impl std::fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscriber").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All watches of the host.
pub struct Watches {
    client: kube::Client,
    discovery: Arc<Discovery>,
    running: Mutex<HashMap<WatchSpec, Weak<Shared>>>,
}

impl std::fmt::Debug for Watches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watches").finish_non_exhaustive()
    }
}

/// A watch in use. The last one that is dropped stops it.
#[derive(Clone)]
pub struct WatchHandle {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for WatchHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchHandle").field("spec", &self.shared.spec).finish_non_exhaustive()
    }
}

struct Shared {
    spec: WatchSpec,
    store: Store,
    synced: watch::Sender<bool>,
    subscribers: RwLock<Vec<Subscriber>>,
    task: Mutex<Option<tokio::task::AbortHandle>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Watches {
    /// No watch yet.
    pub fn new(client: kube::Client, discovery: Arc<Discovery>) -> Self {
        Self { client, discovery, running: Mutex::default() }
    }

    /// Joins the watch of this kind and selector, or starts it. A subscriber that joins later hears first of what is there.
    pub fn acquire(&self, spec: &WatchSpec, subscriber: Subscriber) -> WatchHandle {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, shared| shared.strong_count() > 0);
        let joined = running.get(spec).and_then(Weak::upgrade);
        let shared = match joined {
            Some(shared) => shared,
            None => {
                let shared = self.start(spec);
                running.insert(spec.clone(), Arc::downgrade(&shared));
                shared
            }
        };
        drop(running);
        shared.join(subscriber);
        WatchHandle { shared }
    }

    /// Watches under way, with the objects and bytes their caches hold.
    pub fn usage(&self) -> Vec<(WatchSpec, usize, usize)> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let live = running.values().filter_map(Weak::upgrade);
        live.map(|shared| {
            let (objects, bytes) = shared.store.usage();
            (shared.spec.clone(), objects, bytes)
        })
        .collect()
    }

    fn start(&self, spec: &WatchSpec) -> Arc<Shared> {
        let shared = Arc::new(Shared {
            spec: spec.clone(),
            store: Store::default(),
            synced: watch::Sender::new(false),
            subscribers: RwLock::default(),
            task: Mutex::default(),
        });
        let run =
            run(Arc::downgrade(&shared), spec.clone(), self.client.clone(), Arc::clone(&self.discovery));
        let task = tokio::spawn(run).abort_handle();
        *shared.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        shared
    }
}

impl WatchHandle {
    /// Resolves when the first list is complete.
    pub fn synced(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut synced = self.shared.synced.subscribe();
        async move {
            let _ = synced.wait_for(|synced| *synced).await;
        }
    }

    /// Whether the first list is complete.
    pub fn is_synced(&self) -> bool {
        *self.shared.synced.borrow()
    }

    /// One object, if the watch selects it.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Cached>> {
        self.shared.store.get(key)
    }

    /// Every object's key.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.shared.store.keys()
    }
}

impl Shared {
    fn join(&self, subscriber: Subscriber) {
        let mut subscribers = self.subscribers.write().unwrap_or_else(PoisonError::into_inner);
        if subscribers.iter().any(|other| other.name == subscriber.name) {
            return;
        }
        for (key, cached) in self.store.all() {
            (subscriber.hear)(ObjectEvent { key, before: None, after: Some(cached), relisted: true });
        }
        subscribers.push(subscriber);
    }

    fn tell(&self, event: Option<ObjectEvent>) {
        let Some(event) = event else { return };
        for subscriber in self.subscribers.read().unwrap_or_else(PoisonError::into_inner).iter() {
            (subscriber.hear)(event.clone());
        }
    }

    fn on_event(&self, event: watcher::Event<DynamicObject>) {
        match event {
            watcher::Event::Init => self.store.begin_list(),
            watcher::Event::InitApply(object) => self.tell(self.store.put(&self.spec.gvk, object, true)),
            watcher::Event::InitDone => {
                for event in self.store.end_list() {
                    self.tell(Some(event));
                }
                self.synced.send_replace(true);
            }
            watcher::Event::Apply(object) => self.tell(self.store.put(&self.spec.gvk, object, false)),
            watcher::Event::Delete(object) => self.tell(self.store.remove(&self.spec.gvk, &object)),
        }
    }
}

/// Watches until the last handle is gone. Breaks of any kind (API server away, 403, 410, a kind not served yet) are waited
/// out; they are said once and again when they change.
async fn run(shared: Weak<Shared>, spec: WatchSpec, client: kube::Client, discovery: Arc<Discovery>) {
    let mut changed = discovery.changed();
    let resource = loop {
        match discovery.resolve(&spec.gvk).await {
            Ok(resource) => break resource,
            Err(error) => tracing::info!(kind = %spec.gvk, %error, "watch waits"),
        }
        let _ = tokio::time::timeout(LOOK_AGAIN, changed.changed()).await;
        // A definition that was just established is served a moment later.
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let gvk = GroupVersionKind::gvk(&spec.gvk.group, &spec.gvk.version, &spec.gvk.kind);
    let api_resource = ApiResource::from_gvk_with_plural(&gvk, &resource.plural);
    let api: kube::Api<DynamicObject> = match spec.namespace.as_deref().filter(|_| resource.namespaced) {
        Some(namespace) => kube::Api::namespaced_with(client, namespace, &api_resource),
        None => kube::Api::all_with(client, &api_resource),
    };
    let mut config = watcher::Config::default();
    if !spec.labels.is_empty() {
        config = config.labels(&spec.labels);
    }
    if !spec.fields.is_empty() {
        config = config.fields(&spec.fields);
    }
    let mut events = StreamBackoff::new(watcher(api, config), backoff::WatchBackoff::default()).boxed();
    let mut last_error = String::new();
    while let Some(event) = events.next().await {
        let Some(shared) = shared.upgrade() else { return };
        match event {
            Ok(event) => {
                last_error.clear();
                shared.on_event(event);
            }
            Err(error) => {
                let text = error.to_string();
                if text != last_error {
                    tracing::warn!(kind = %spec.gvk, labels = spec.labels, error = text, "watch interrupted; it goes on by itself");
                    last_error = text;
                }
            }
        }
    }
}
