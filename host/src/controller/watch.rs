//! Shared watches: one for each kind, namespace and selector, however many ask for it; counted, started and stopped
//! live; with a cache that keeps text, not trees.
//!
//! A watch never gives up. What keeps it from running (the API server is away, a right is missing, the kind is not
//! served yet) is logged once, told by [`WatchHandle::trouble`] and the metrics, and over when it is over. After a break
//! it goes on where it stood, or lists again and reports what changed and what vanished meanwhile.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use kube::runtime::watcher;
use tokio::sync::watch;
use tokio::time::Instant;

use super::discovery::Discovery;
use crate::object::{Gvk, ObjectKey};

mod backoff;
mod cached;
mod driver;
mod failure;
#[cfg(test)]
pub(super) mod fake;
mod store;
#[cfg(test)]
mod tests;

pub use cached::Cached;
pub use failure::Trouble;

use cached::Arrival;
use driver::Driver;
use store::Store;

/// How long a watch that nobody holds goes on: who asks again soon, as after a swap, finds the cache warm.
const LINGER: Duration = Duration::from_secs(30);

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

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All watches of the host.
pub struct Watches {
    client: kube::Client,
    discovery: Arc<Discovery>,
    running: Mutex<HashMap<WatchSpec, Weak<Shared>>>,
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watches").finish_non_exhaustive()
    }
}

/// One watch, as metrics show it.
#[derive(Clone, Debug)]
pub struct Usage {
    /// What it watches.
    pub spec: WatchSpec,
    /// Objects in its cache.
    pub objects: usize,
    /// Bytes these take, about.
    pub bytes: usize,
    /// Whether it has listed once.
    pub synced: bool,
    /// What keeps it from running.
    pub trouble: Option<Trouble>,
}

/// A watch in use. Some time after the last one is dropped it stops.
pub struct WatchHandle {
    shared: Arc<Shared>,
}

impl fmt::Debug for WatchHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchHandle").field("spec", &self.shared.spec).finish_non_exhaustive()
    }
}

struct Shared {
    spec: WatchSpec,
    store: Store,
    synced: watch::Sender<bool>,
    /// Whether the first list is complete, or refused.
    answered: watch::Sender<bool>,
    /// Whether the cluster said that it does not serve the kind.
    not_served: watch::Sender<bool>,
    audience: RwLock<Audience>,
    /// The object that changed last, and when it was told.
    last_change: Mutex<Option<(Instant, ObjectKey)>>,
    /// What keeps it from running, in the server's words.
    trouble: Mutex<Option<(Trouble, String)>>,
    task: Mutex<Option<tokio::task::AbortHandle>>,
}

#[derive(Default)]
struct Audience {
    handles: usize,
    subscribers: Vec<Subscriber>,
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

    /// Joins the watch of this kind and selector, or starts it. A subscriber that joins later hears first of what is
    /// there.
    pub fn acquire(&self, spec: &WatchSpec, subscriber: Subscriber) -> WatchHandle {
        let mut running = self.running();
        running.retain(|_, shared| shared.strong_count() > 0);
        let joined = running.get(spec).and_then(Weak::upgrade);
        let shared = joined.unwrap_or_else(|| {
            let shared = self.start(spec);
            running.insert(spec.clone(), Arc::downgrade(&shared));
            shared
        });
        drop(running);
        shared.join(subscriber);
        WatchHandle { shared }
    }

    /// Watches under way, those that linger included.
    pub fn usage(&self) -> Vec<Usage> {
        let live: Vec<_> = self.running().values().filter_map(Weak::upgrade).collect();
        live.iter().map(|shared| shared.usage()).collect()
    }

    fn start(&self, spec: &WatchSpec) -> Arc<Shared> {
        let shared = Arc::new(Shared {
            spec: spec.clone(),
            store: Store::new(Arc::clone(&spec.gvk)),
            synced: watch::Sender::new(false),
            answered: watch::Sender::new(false),
            not_served: watch::Sender::new(false),
            audience: RwLock::default(),
            last_change: Mutex::default(),
            trouble: Mutex::default(),
            task: Mutex::default(),
        });
        let discovery = Arc::clone(&self.discovery);
        let driver = Driver::new(Arc::downgrade(&shared), spec.clone(), self.client.clone(), discovery);
        let task = tokio::spawn(driver.run()).abort_handle();
        *shared.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        shared
    }

    fn running(&self) -> MutexGuard<'_, HashMap<WatchSpec, Weak<Shared>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Resolves when nothing more is to be waited for: the first list is complete (true), or the cluster does not serve the
    /// kind (false). Then the watch goes on waiting by itself.
    pub fn settled(&self) -> impl Future<Output = bool> + Send + 'static {
        let mut synced = self.shared.synced.subscribe();
        let mut not_served = self.shared.not_served.subscribe();
        async move {
            tokio::select! {
                biased;
                _ = synced.wait_for(|synced| *synced) => true,
                _ = not_served.wait_for(|not_served| *not_served) => false,
            }
        }
    }

    /// What it watches.
    pub fn spec(&self) -> &WatchSpec {
        &self.shared.spec
    }

    /// Resolves when the first list is complete, or refused.
    pub fn answered(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut answered = self.shared.answered.subscribe();
        async move {
            let _ = answered.wait_for(|answered| *answered).await;
        }
    }

    /// Whether the cache says what there is: the list is complete, and nothing keeps the watch from going on.
    pub fn is_current(&self) -> bool {
        let trouble = self.shared.trouble();
        self.is_synced() && trouble.as_ref().is_none_or(|(trouble, _)| *trouble == Trouble::Expired)
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

    /// Whether the cache has seen this version of the object, which a write returned, or a later one. Where resource
    /// versions are no numbers it may never say so: bound the wait for it.
    pub fn is_fresh_enough(&self, key: &ObjectKey, resource_version: &str) -> bool {
        self.shared.store.is_fresh_enough(key, resource_version)
    }

    /// The object of the last change, if that was not told before this moment.
    pub fn changed_since(&self, moment: Instant) -> Option<ObjectKey> {
        let last = self.shared.last_change.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(told, _)| *told >= moment).map(|(_, key)| key.clone())
    }

    /// What keeps the watch from running, with the server's words; `None` when it runs or has not tried yet.
    pub fn trouble(&self) -> Option<(Trouble, String)> {
        self.shared.trouble().clone()
    }
}

impl Clone for WatchHandle {
    fn clone(&self) -> Self {
        self.shared.audience.write().unwrap_or_else(PoisonError::into_inner).handles += 1;
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        {
            let mut audience = self.shared.audience.write().unwrap_or_else(PoisonError::into_inner);
            audience.handles -= 1;
            if audience.handles > 0 {
                return;
            }
            audience.subscribers.clear();
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let shared = Arc::clone(&self.shared);
            runtime.spawn(async move {
                tokio::time::sleep(LINGER).await;
                drop(shared);
            });
        }
    }
}

impl Shared {
    fn join(&self, subscriber: Subscriber) {
        let mut audience = self.audience.write().unwrap_or_else(PoisonError::into_inner);
        audience.handles += 1;
        if audience.subscribers.iter().any(|other| other.name == subscriber.name) {
            return;
        }
        for (key, cached) in self.store.all() {
            (subscriber.hear)(ObjectEvent { key, before: None, after: Some(cached), relisted: true });
        }
        audience.subscribers.push(subscriber);
    }

    fn tell(&self, events: impl IntoIterator<Item = ObjectEvent>) {
        for event in events {
            // First this, then those who listen: who begins to listen in between finds it here.
            let last = (Instant::now(), event.key.clone());
            *self.last_change.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
            let audience = self.audience.read().unwrap_or_else(PoisonError::into_inner);
            for subscriber in &audience.subscribers {
                (subscriber.hear)(event.clone());
            }
        }
    }

    fn on_event(&self, event: watcher::Event<Arrival>) {
        match event {
            watcher::Event::Init => self.store.begin_list(),
            watcher::Event::InitApply(object) => self.tell(self.store.put(object, true)),
            watcher::Event::InitDone => {
                self.tell(self.store.end_list());
                self.runs();
                self.synced.send_replace(true);
                self.answered.send_replace(true);
            }
            watcher::Event::Apply(object) => {
                self.runs();
                self.tell(self.store.put(object, false));
            }
            watcher::Event::Delete(object) => {
                self.runs();
                self.tell(self.store.remove(&object));
            }
        }
    }

    /// The kind is gone.
    fn clear(&self) {
        self.tell(self.store.clear());
    }

    fn runs(&self) {
        if self.trouble().take().is_some() {
            self.not_served.send_replace(false);
            tracing::info!(kind = %self.spec.gvk, labels = self.spec.labels, "watch goes on");
        }
    }

    /// Says it once, and again when it is another trouble.
    fn interrupted(&self, trouble: Trouble, message: &str) {
        self.not_served.send_replace(trouble == Trouble::NotServed);
        let before = self.trouble().replace((trouble, message.to_owned()));
        // What passes is waited for, and what does not is an answer.
        if matches!(trouble, Trouble::NotServed | Trouble::Forbidden | Trouble::Refused) {
            self.answered.send_replace(true);
        }
        if before.is_some_and(|(before, _)| before == trouble) {
            return;
        }
        let (kind, labels, why) = (&self.spec.gvk, &self.spec.labels, trouble.label());
        match trouble {
            // Everyday: versions expire, servers restart, definitions come later.
            Trouble::Expired => tracing::debug!(%kind, labels, why, error = message, "watch lists again"),
            Trouble::NotServed | Trouble::Unavailable | Trouble::Throttled => {
                tracing::info!(%kind, labels, why, error = message, "watch waits");
            }
            Trouble::Forbidden | Trouble::Refused => {
                tracing::warn!(%kind, labels, why, error = message, "watch is refused; it is tried again by itself");
            }
        }
    }

    fn usage(&self) -> Usage {
        let (objects, bytes) = self.store.usage();
        Usage {
            spec: self.spec.clone(),
            objects,
            bytes,
            synced: *self.synced.borrow(),
            trouble: self.trouble().as_ref().map(|(trouble, _)| *trouble),
        }
    }

    fn trouble(&self) -> MutexGuard<'_, Option<(Trouble, String)>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
