//! Keeps everything moving: watches feed the queue, workers take from it, and plugins, assets and definitions may change
//! at any time.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures::FutureExt as _;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::observe::Observer;
use super::queue::{Priority, Queue, Reason, Verdict, Work};
use super::reconcile::{Done, Reconciler};
use super::routes::Routes;
use super::throttle::Throttle;
use super::watch::{Cached, WatchHandle};
use crate::binding::Binding;
use crate::health::Readiness;
use crate::lifecycle;
use crate::memory::rest::Activity;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::manifest::Manifest;
use crate::plugin::registry::Change;
use crate::plugin::revision::Revision;

mod doubts;
mod routing;

use doubts::{Doubts, Seen};

/// Between the objects that are queued again after a swap: a bad revision shows before it has met all of them.
const STAGGER: Duration = Duration::from_millis(10);
/// The whole of it never takes longer than this.
const STAGGER_MAX: Duration = Duration::from_secs(10);

/// A kind in the hands of a plugin, with the watches that feed it.
struct Bound {
    binding: Arc<Binding>,
    watches: Vec<WatchHandle>,
}

/// The moving parts.
pub struct Supervisor {
    reconciler: Arc<Reconciler>,
    queue: Queue,
    observer: Arc<Observer>,
    routes: Mutex<Routes>,
    doubts: Doubts,
    bound: RwLock<HashMap<Arc<Gvk>, Bound>>,
    throttles: Mutex<HashMap<Arc<str>, Arc<Throttle>>>,
    readiness: Readiness,
    namespaces: Vec<String>,
    resync: Duration,
    plugin_qps: u32,
    activity: Activity,
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Supervisor").field("namespaces", &self.namespaces).finish_non_exhaustive()
    }
}

/// What a supervisor is made of.
#[derive(Debug)]
pub struct Parts {
    /// One object at a time.
    pub reconciler: Arc<Reconciler>,
    /// The work queue.
    pub queue: Queue,
    /// Where watches report.
    pub observer: Arc<Observer>,
    /// What the host waits for before it is ready.
    pub readiness: Readiness,
    /// Namespaces to watch; empty: all.
    pub namespaces: Vec<String>,
    /// The periodic safety net of kinds that plugins bring themselves.
    pub resync: Duration,
    /// Requests that each plugin may send in a second.
    pub plugin_qps: u32,
}

impl Supervisor {
    /// A supervisor that watches nothing yet.
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts { reconciler, queue, observer, readiness, namespaces, resync, plugin_qps } = parts;
        Arc::new(Self {
            reconciler,
            queue,
            observer,
            routes: Mutex::default(),
            doubts: Doubts::default(),
            bound: RwLock::default(),
            throttles: Mutex::default(),
            readiness,
            namespaces,
            resync,
            plugin_qps,
            activity: Activity::default(),
        })
    }

    /// Puts a kind into the hands of a plugin and starts watching it. A kind that is bound already keeps its binding.
    pub fn bind(self: &Arc<Self>, binding: Binding) {
        let mut bound = self.bound.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = bound.get(&binding.gvk) {
            if other.binding.origin != binding.origin {
                tracing::error!(kind = %binding.gvk, origin = binding.origin, other = other.binding.origin, "the kind is taken; this binding is left out");
            }
            return;
        }
        self.queue.set_kind_concurrency(&binding.gvk, binding.concurrency);
        let binding = Arc::new(binding);
        let scopes: Vec<Option<&str>> = if self.namespaces.is_empty() {
            vec![None]
        } else {
            self.namespaces.iter().map(|ns| Some(ns.as_str())).collect()
        };
        let watches: Vec<WatchHandle> =
            scopes.into_iter().map(|namespace| self.observer.watch_primary(&binding, namespace)).collect();
        for (index, watch) in watches.iter().enumerate() {
            self.await_sync(&binding, index, watch);
        }
        tracing::info!(kind = %binding.gvk, plugin = %binding.plugin, origin = binding.origin, "watching");
        bound.insert(Arc::clone(&binding.gvk), Bound { binding, watches });
    }

    fn await_sync(self: &Arc<Self>, binding: &Binding, index: usize, watch: &WatchHandle) {
        let name = format!("{}#{index}", binding.gvk);
        self.readiness.wait_for(&name, &format!("the first list of {}", binding.gvk));
        let (readiness, settled, gvk) = (self.readiness.clone(), watch.settled(), Arc::clone(&binding.gvk));
        tokio::spawn(async move {
            // A definition may come after the host, and with the objects that need the host to be ready.
            if !settled.await {
                tracing::warn!(kind = %gvk, "the cluster does not serve the kind yet; the host is ready without it and takes it up when it comes");
            }
            readiness.done(&name);
        });
    }

    /// What a plugin at work says about itself.
    pub fn manifest_of(&self, plugin: &str) -> Option<Manifest> {
        self.reconciler.registry.active(plugin).map(|revision| revision.manifest.clone())
    }

    /// Lets go of the kinds of a plugin (of those it brought itself, when `own_only`).
    fn unbind(&self, plugin: &str, keep: impl Fn(&Gvk) -> bool) {
        let mut bound = self.bound.write().unwrap_or_else(PoisonError::into_inner);
        bound.retain(|gvk, entry| {
            let stays = &*entry.binding.plugin != plugin
                || entry.binding.origin != plugin_origin(plugin)
                || keep(gvk);
            if !stays {
                tracing::info!(kind = %gvk, plugin, "no longer watched; its objects are left as they are");
            }
            stays
        });
        self.reconciler.plugin_metrics.keep_counted(|object| bound.contains_key(&object.gvk));
    }

    fn enqueue(&self, owner: &ObjectKey, reason: Reason, priority: Priority) {
        let bound = self.bound.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = bound.get(&owner.gvk) {
            self.queue.add(owner, &entry.binding.plugin, reason, priority);
        }
    }

    fn enqueue_if_running(&self, owner: &ObjectKey, reason: Reason) {
        let bound = self.bound.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = bound.get(&owner.gvk) {
            self.queue.add_if_running(owner, &entry.binding.plugin, reason, Priority::High);
        }
    }

    /// Gives memory back whenever no call was made for a while. Never ends.
    pub async fn give_back_at_rest(self: Arc<Self>) {
        self.activity.give_back_at_rest(&self.reconciler.registry).await;
    }

    /// Takes objects from the queue and reconciles them, until the queue drains. Run as many as calls may be at once.
    pub async fn work(self: Arc<Self>) {
        while let Some(work) = self.queue.next().await {
            self.work_on(work).await;
        }
    }

    async fn work_on(self: &Arc<Self>, work: Work) {
        let Some((binding, object)) = self.find(&work.key) else {
            self.finish(work, Verdict::Done);
            return;
        };
        let object: Value = match serde_json::from_slice(&object.json) {
            Ok(object) => object,
            Err(error) => {
                tracing::error!(object = %work.key, %error, "the cached object is not JSON");
                self.finish(work, Verdict::Retry);
                return;
            }
        };
        let throttle = self.throttle(&binding.plugin);
        let began = Instant::now();
        self.reconciler.metrics.active(&binding.plugin, 1);
        // A bug of the host in one object's reconcile must not take the others down.
        let reconcile = AssertUnwindSafe(self.reconciler.reconcile(&work, &binding, object, throttle));
        let done = reconcile.catch_unwind().in_current_span().await;
        self.reconciler.metrics.active(&binding.plugin, -1);
        match done {
            Ok(done) => self.after(work, &binding, done, began),
            Err(_) => {
                tracing::error!(object = %work.key, "the host panicked while reconciling; it goes on with other objects");
                self.finish(work, Verdict::Retry);
            }
        }
    }

    fn after(&self, work: Work, binding: &Arc<Binding>, done: Done, began: Instant) {
        let key = work.key.clone();
        if let Some(watches) = done.watches {
            // In this order: what is told after the first is routed, what was told before it is found by the second.
            self.routes().set(&key, watches.clone());
            self.observer.wish(&key, &binding.plugin, &watches, began);
        }
        if self.find(&key).is_none() {
            // It went away meanwhile, and what the call said of it came after that.
            self.reconciler.forget(&key);
        }
        self.finish(work, done.verdict);
        if matches!(done.verdict, Verdict::Done) && !binding.resync.is_zero() {
            self.queue.add_after(
                &key,
                &binding.plugin,
                Reason::Resync,
                Priority::Low,
                spread(&key, binding.resync),
            );
        }
    }

    /// Ends a call. What was told of children meanwhile is news if it was not this call's own doing.
    fn finish(&self, work: Work, verdict: Verdict) {
        let owner = work.key.clone();
        self.queue.finish(work, verdict);
        self.activity.happened();
        let executor = &self.reconciler.cluster.executor;
        for Seen { child, version, priority } in self.doubts.take(&owner) {
            if !executor.is_own_write(&child, &version) {
                self.enqueue(&owner, Reason::Child(child), priority);
            }
        }
    }

    fn find(&self, key: &ObjectKey) -> Option<(Arc<Binding>, Arc<Cached>)> {
        let bound = self.bound.read().unwrap_or_else(PoisonError::into_inner);
        let entry = bound.get(&key.gvk)?;
        let object = entry.watches.iter().find_map(|watch| watch.get(key))?;
        Some((Arc::clone(&entry.binding), object))
    }

    /// Takes changes of plugins to bindings and queue, until the stream ends.
    pub async fn follow_plugins(
        self: Arc<Self>,
        mut changes: mpsc::UnboundedReceiver<Change>,
        told: impl Fn(&Change) + Send,
    ) {
        while let Some(change) = changes.recv().await {
            told(&change);
            match &change {
                Change::Activated { revision, before } => {
                    if let Some(before) = before {
                        self.reconciler.metrics.loaded(before, false);
                    }
                    self.reconciler.metrics.loaded(&revision.identity, true);
                    self.bind_own_kinds(revision);
                    self.requeue_plugin(&revision.identity.name, &Reason::Start);
                    if revision.grants.has_hooks() {
                        self.bind(lifecycle::binding(self.resync));
                        self.requeue_plugin(lifecycle::LANE, &Reason::Configuration);
                    }
                }
                Change::Refused { name, reason, .. } => {
                    self.reconciler.metrics.refused(name.as_deref().unwrap_or("unknown"), reason);
                }
                Change::Retired(identity) => {
                    self.reconciler.metrics.loaded(identity, false);
                    self.unbind(&identity.name, |_| false);
                    self.queue.remove_lane(&identity.name);
                }
            }
        }
    }

    fn bind_own_kinds(self: &Arc<Self>, revision: &Revision) {
        let name = &revision.identity.name;
        let kinds = &revision.manifest.kinds;
        let legacy = &revision.manifest.legacy_finalizers;
        self.unbind(name, |gvk| kinds.iter().any(|kind| *kind.gvk() == *gvk));
        for kind in kinds {
            self.bind(Binding {
                finalizer: kind.finalizer.as_deref().map(Arc::from),
                finalizer_by: kind.finalizer_by,
                update_time: kind.condition_update_time,
                legacy_finalizers: kind.finalizer.iter().flat_map(|_| legacy.clone()).collect(),
                ..Binding::new(name, kind.gvk(), self.resync, &plugin_origin(name))
            });
        }
    }

    /// Queues every object of a plugin again, a few at a time.
    pub fn requeue_plugin(&self, plugin: &str, reason: &Reason) {
        self.requeue(|binding| &*binding.plugin == plugin, reason);
    }

    /// Queues every object of the kinds that use an asset again.
    pub fn requeue_asset(&self, asset: &Arc<crate::asset::Asset>) {
        self.requeue(
            |binding| binding.assets.iter().any(|other| Arc::ptr_eq(other, asset)),
            &Reason::Configuration,
        );
    }

    /// Takes changes elsewhere (charts, transfers, commands) to those whom they concern, until the stream ends.
    pub async fn follow_elsewhere(self: Arc<Self>, mut changed: mpsc::UnboundedReceiver<Vec<ObjectKey>>) {
        while let Some(owners) = changed.recv().await {
            let bound = self.bound.read().unwrap_or_else(PoisonError::into_inner);
            let step = stagger(owners.len());
            for (owner, delay) in owners.iter().zip((0..).map(|index| step.saturating_mul(index))) {
                if let Some(entry) = bound.get(&owner.gvk) {
                    let (plugin, reason) = (&entry.binding.plugin, Reason::Configuration);
                    self.queue.add_after(owner, plugin, reason, Priority::Low, delay);
                }
            }
        }
    }

    fn requeue(&self, concerns: impl Fn(&Binding) -> bool, reason: &Reason) {
        let bound = self.bound.read().unwrap_or_else(PoisonError::into_inner);
        for entry in bound.values().filter(|entry| concerns(&entry.binding)) {
            let keys: Vec<ObjectKey> = entry.watches.iter().flat_map(WatchHandle::keys).collect();
            let step = stagger(keys.len());
            for (key, delay) in keys.iter().zip((0..).map(|index| step.saturating_mul(index))) {
                self.queue.add_after(key, &entry.binding.plugin, reason.clone(), Priority::Low, delay);
            }
        }
    }

    /// A definition changed: objects that waited for a kind look again.
    pub fn requeue_waiting(&self) {
        for key in self.reconciler.cluster.take_waiting() {
            self.enqueue(&key, Reason::Configuration, Priority::High);
        }
    }

    fn throttle(&self, plugin: &Arc<str>) -> Arc<Throttle> {
        let mut throttles = self.throttles.lock().unwrap_or_else(PoisonError::into_inner);
        let throttle = throttles
            .entry(Arc::clone(plugin))
            .or_insert_with(|| Arc::new(Throttle::per_second(self.plugin_qps)));
        Arc::clone(throttle)
    }

    fn routes(&self) -> std::sync::MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Between two of so many objects that are queued again.
fn stagger(objects: usize) -> Duration {
    STAGGER.min(STAGGER_MAX / u32::try_from(objects.max(1)).unwrap_or(u32::MAX))
}

fn plugin_origin(plugin: &str) -> String {
    format!("plugin {plugin}")
}

/// A period shortened by up to a tenth, the same for the same object: resyncs spread out instead of coming in waves.
fn spread(key: &ObjectKey, period: Duration) -> Duration {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let tenth = period / 10;
    let part = u32::try_from(hasher.finish() % 1000).unwrap_or(0);
    period - tenth * part / 1000
}
