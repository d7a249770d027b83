//! The in-memory cluster, as a test holds it.

use std::{
    cell::{RefCell, RefMut},
    collections::BTreeMap,
    rc::Rc,
    time::{Duration, SystemTime},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    calls::Call,
    charts::Charts,
    commands::Commands,
    crash::CrashPlan,
    faults::Fault,
    handovers::Handovers,
    http::Servers,
    inventory::Inventories,
    lifecycle::Lifecycle,
    object::ref_of,
    session::Session,
    settings::Settings,
    store::{Key, Part, Store, Writer},
    stores::Shelf,
    transfers::Transfers,
};
use crate::{Condition, Event, Gvk, Host, Kube, KubeError, Level, ObjectRef, Ownership};

/// Everything the cluster and its host hold. Survives crashes of the host.
#[derive(Debug)]
pub(super) struct State {
    pub(super) store: Store,
    pub(super) calls: Vec<Call>,
    pub(super) faults: Vec<Fault>,
    /// Verb and resource that the API server's RBAC refuses to plugins.
    pub(super) forbidden: Vec<(String, String)>,
    pub(super) crash: CrashPlan,
    pub(super) inventories: Inventories,
    pub(super) events: Vec<Published>,
    pub(super) logs: Vec<LogLine>,
    pub(super) metrics: BTreeMap<String, f64>,
    /// With which labels objects were counted last, by name of the gauge.
    pub(super) counted: BTreeMap<(String, ObjectRef), String>,
    /// How long each answer to a plugin takes.
    pub(super) latency: Duration,
    pub(super) pod_logs: BTreeMap<(String, String, Option<String>), String>,
    pub(super) workloads_run: bool,
    pub(super) charts: Charts,
    pub(super) servers: Servers,
    pub(super) shelf: Shelf,
    pub(super) transfers: Transfers,
    pub(super) commands: Commands,
    pub(super) handovers: Handovers,
    pub(super) lifecycle: Lifecycle,
}

/// An event, and the object it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The object.
    pub object: ObjectRef,
    /// The event.
    pub event: Event,
}

/// A line the plugin logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its severity.
    pub level: Level,
    /// Its text.
    pub message: String,
    /// Its fields.
    pub fields: Vec<(String, String)>,
}

/// An in-memory Kubernetes. Clones are the same cluster.
///
/// It serves the built-in kinds and those of the definitions it is given, and does what an API server and the garbage
/// collector do with objects; nothing runs in it: pods, jobs and deployments move when a test says so (see
/// [`set_ready`](Self::set_ready) and its sisters).
#[derive(Debug, Clone)]
pub struct Cluster {
    state: Rc<RefCell<State>>,
}

impl Default for Cluster {
    fn default() -> Self {
        Self::new()
    }
}

impl Cluster {
    /// An empty cluster with the namespaces `default` and `kube-system`, at the start of 2026.
    pub fn new() -> Self {
        let state = State {
            store: Store::new(),
            calls: Vec::new(),
            faults: Vec::new(),
            forbidden: Vec::new(),
            crash: CrashPlan::default(),
            inventories: Inventories::default(),
            events: Vec::new(),
            logs: Vec::new(),
            metrics: BTreeMap::new(),
            counted: BTreeMap::new(),
            latency: Duration::ZERO,
            pod_logs: BTreeMap::new(),
            workloads_run: false,
            charts: Charts::default(),
            servers: Servers::default(),
            shelf: Shelf::default(),
            transfers: Transfers::default(),
            commands: Commands::default(),
            handovers: Handovers::default(),
            lifecycle: Lifecycle::default(),
        };
        Self { state: Rc::new(RefCell::new(state)) }
    }

    pub(super) fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    /// The cluster as a user with all rights sees it, with `kubectl` as field manager. Not recorded, never failing on
    /// purpose, outside of any budget.
    pub fn kubectl(&self) -> Kube {
        self.user("kubectl")
    }

    /// The same under another field manager, such as that of an autoscaler.
    pub fn user(&self, manager: &str) -> Kube {
        let writer = Writer { manager: manager.to_owned(), cause: None };
        Kube::new(Rc::new(Session::of_user(self.clone(), writer)))
    }

    /// Creates objects as a user: `cluster.create(&[&a, &b])`, or `create([&a])` for one type.
    ///
    /// # Errors
    /// The first refusal.
    pub fn create<T: Serialize>(&self, objects: impl IntoIterator<Item = T>) -> Result<(), KubeError> {
        let kubectl = self.kubectl();
        for object in objects {
            kubectl.create(
                &serde_json::to_value(object).map_err(|error| unreadable(&error))?,
                Ownership::None,
            )?;
        }
        Ok(())
    }

    /// Serves a custom kind: `cluster.define(&Hello::crd())`.
    ///
    /// # Errors
    /// When there is one of this name.
    pub fn define(&self, definition: &impl Serialize) -> Result<(), KubeError> {
        self.create([definition])
    }

    /// Reads an object, lets `change` change it, and replaces it, as a user.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] when there is none, and what the server refuses.
    pub fn edit_ref<T: Serialize + DeserializeOwned>(
        &self,
        object: &ObjectRef,
        change: impl FnOnce(&mut T),
    ) -> Result<T, KubeError> {
        let kubectl = self.kubectl();
        let found: Option<T> = kubectl.get_ref(object)?;
        let mut found = found.ok_or_else(|| super::object::not_found(&object.kind.kind, &object.name))?;
        change(&mut found);
        kubectl.replace(&found)
    }

    /// The same by Rust type.
    ///
    /// # Errors
    /// As for [`edit_ref`](Self::edit_ref).
    #[cfg(feature = "typed")]
    pub fn edit<'a, K>(
        &self,
        namespace: impl Into<Option<&'a str>>,
        name: &str,
        change: impl FnOnce(&mut K),
    ) -> Result<K, KubeError>
    where
        K: kube_core::Resource<DynamicType = ()> + Serialize + DeserializeOwned,
    {
        self.edit_ref(&ObjectRef::of::<K>(namespace, name), change)
    }

    /// Merges into an object's status, as its controller would.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] when there is none.
    pub fn set_status(&self, object: &ObjectRef, status: &impl Serialize) -> Result<(), KubeError> {
        let patch = crate::Patch::merge(&serde_json::json!({"status": status}))?;
        let has_status = self.state().store.kinds.find(&object.kind)?.status;
        let patch = if has_status { patch.subresource(Part::Status.subresource()) } else { patch };
        self.user("controller").patch_ref::<Value>(object, &patch).map(drop)
    }

    /// Every object, in order of kind, namespace and name: `apps/v1 Deployment default/web`.
    pub fn objects(&self) -> Vec<ObjectRef> {
        self.state().store.objects.values().map(|stored| ref_of(&stored.object)).collect()
    }

    /// Which managers own fields of an object, and which: `kubectl: .data.a`, in order.
    pub fn managers(&self, object: &ObjectRef) -> Vec<String> {
        let state = self.state();
        let Some(stored) = state.store.objects.get(&Key::of(object)) else { return Vec::new() };
        let of_manager = |manager: &super::managers::Manager| {
            let name = manager.name.clone();
            let fields =
                manager.fields.0.iter().map(move |path| format!("{name}: {}", super::fields::show(path)));
            fields.collect::<Vec<_>>()
        };
        stored.managers.0.iter().flat_map(of_manager).collect()
    }

    /// What the plugin and its host asked, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// What of it changed the cluster, as text: `apply apps/v1 Deployment default/web`.
    pub fn writes(&self) -> Vec<String> {
        self.state().calls.iter().filter(|call| call.changed).map(ToString::to_string).collect()
    }

    /// Forgets the recorded calls, events and log lines.
    pub fn forget_calls(&self) {
        let mut state = self.state();
        state.calls.clear();
        state.events.clear();
        state.logs.clear();
    }

    /// Fails requests on purpose.
    pub fn fail(&self, fault: Fault) {
        self.state().faults.push(fault);
    }

    /// Takes all faults back.
    pub fn heal(&self) {
        self.state().faults.clear();
    }

    /// Kills the host right after the n-th of its writes from now on, counted from 1: the plugin's, and its own of
    /// children, status, finalizers and inventory. [`Runner::settle`](super::Runner::settle) then starts it again.
    pub fn crash_after_write(&self, nth: u32) {
        self.state().crash.after_writes(nth);
    }

    /// Has the host died of [`crash_after_write`](Self::crash_after_write)?
    pub fn has_crashed(&self) -> bool {
        self.state().crash.crashed
    }

    /// Takes a right from plugins' accounts, as RBAC of the API server: `forbid("patch", "ingresses")`.
    pub fn forbid(&self, verb: &str, resource: &str) {
        self.state().forbidden.push((verb.to_owned(), resource.to_owned()));
    }

    /// Lets caches lag behind: reads that are not [live](Kube::live) miss the object until [`catch_up`](Self::catch_up).
    pub fn hide_from_caches(&self, object: &ObjectRef) {
        self.state().store.unseen.insert(Key::of(object));
    }

    /// Caches have everything again.
    pub fn catch_up(&self) {
        self.state().store.unseen.clear();
    }

    /// Gives the right back.
    pub fn permit(&self, verb: &str, resource: &str) {
        self.state().forbidden.retain(|(known, of)| (known.as_str(), of.as_str()) != (verb, resource));
    }

    /// Events the plugin published, at once or with an outcome, in order.
    pub fn events(&self) -> Vec<Published> {
        self.state().events.clone()
    }

    /// Lines the plugin logged.
    pub fn logs(&self) -> Vec<LogLine> {
        self.state().logs.clone()
    }

    /// A metric by name and labels, as `name{a="b"}`; a histogram is `name_sum` and `name_count`.
    pub fn metric(&self, series: &str) -> Option<f64> {
        let state = self.state();
        let is_there = |object: &ObjectRef| matches!(state.store.find(object), Ok(Some(_)));
        let counted =
            state.counted.iter().filter(|((_, object), labels)| *labels == series && is_there(object));
        let counted = u32::try_from(counted.count()).ok().filter(|count| *count > 0);
        state.metrics.get(series).copied().or(counted.map(f64::from))
    }

    /// The virtual time.
    pub fn now(&self) -> SystemTime {
        self.state().store.now
    }

    /// What an object's status says about a condition.
    pub fn condition(&self, object: &ObjectRef, kind: &str) -> Option<Condition> {
        let found: Option<Value> = self.kubectl().get_ref(object).ok().flatten();
        super::status::condition(&found?, kind)
    }

    /// Lets virtual time pass without calling anybody; [`Runner::run_for`](super::Runner::run_for) calls those whose
    /// time has come.
    pub fn advance(&self, time: Duration) {
        self.state().store.now += time;
    }

    /// Lets the API server take so long for each answer to a plugin. Towards the end of the time that a call has, nobody answers.
    pub fn answer_after(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// What a container's log says.
    pub fn set_log(&self, namespace: &str, pod: &str, container: Option<&str>, text: &str) {
        let key = (namespace.to_owned(), pod.to_owned(), container.map(str::to_owned));
        self.state().pod_logs.insert(key, text.to_owned());
    }

    /// Lets the garbage collector and the namespace controller do all their work. True when there was some.
    pub fn collect_garbage(&self) -> bool {
        let mut worked = false;
        while self.state().store.collect_garbage() {
            worked = true;
        }
        worked
    }

    /// The host of a hook call that is made by hand, without a [`Runner`](super::Runner): all rights, recorded.
    pub fn host(&self, plugin: &str) -> Rc<dyn Host> {
        Rc::new(Session::by_hand(self.clone(), plugin, Rc::new(Settings::default())))
    }

    /// Objects of a kind, as they are stored.
    pub(super) fn all(&self, kind: &Gvk) -> Vec<Value> {
        let state = self.state();
        let of_kind = state.store.objects.iter();
        let of_kind = of_kind.filter(|(key, _)| (&key.group, &key.kind) == (&kind.group, &kind.kind));
        of_kind.map(|(_, stored)| Store::answer(stored, kind)).collect()
    }
}

fn unreadable(error: &serde_json::Error) -> KubeError {
    KubeError::Malformed(format!("cannot be written as JSON: {error}"))
}
