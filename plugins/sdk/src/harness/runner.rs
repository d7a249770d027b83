//! The host in a test: it watches the in-memory cluster and calls the plugin as the real one would.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    rc::Rc,
    time::Duration,
};

use serde::Serialize;

use super::{
    budget::Limits,
    charts::Place,
    cluster::Cluster,
    crash::survive,
    manifest::{FinalizerBy, Manifest},
    object::{ref_of, text},
    queue::{Queue, ends_back_off},
    rights::Rights,
    settings::Settings,
    triggers::{Ties, is_own_change, own_reference},
};
use crate::{AssetFile, Gvk, Host, ObjectRef, Plugin, Reason, Watch};

/// Calls in one [`settle`](Runner::settle) after which a plugin is taken to go round in circles.
const TOO_MANY_CALLS: u32 = 1000;

/// What the host remembers of an object, until it dies.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) uid: String,
    pub(super) failures: u32,
    pub(super) watches: Vec<Watch>,
    /// Kinds its hook asked for that were not served.
    pub(super) missing: BTreeSet<Gvk>,
    /// Charts that its hook wished for.
    pub(super) wished: BTreeSet<Place>,
}

/// How the plugin is run; from the manifest, or said one by one.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) name: String,
    pub(super) manager: String,
    pub(super) kinds: Vec<(Gvk, Option<String>)>,
    /// Kinds whose finalizer the plugin puts on.
    pub(super) kept_by_plugin: Vec<Gvk>,
    /// Finalizers of earlier tools, taken over and removed with ours.
    pub(super) legacy_finalizers: Vec<String>,
    pub(super) rights: Rights,
    pub(super) limits: Limits,
    pub(super) settings: Rc<Settings>,
    pub(super) pooled: bool,
}

/// The host in a test. It queues objects for the reasons the real host has, calls the plugin, applies and prunes
/// declarative children, writes status and conditions, keeps the finalizer, and backs off, all on virtual time.
pub struct Runner {
    pub(super) cluster: Cluster,
    build: Box<dyn Fn() -> Plugin>,
    instance: Option<Plugin>,
    pub(super) setup: Setup,
    pub(super) queue: Queue,
    pub(super) owners: BTreeMap<ObjectRef, Known>,
    /// Changes of the cluster that were looked at.
    seen: usize,
    crashes: u32,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("setup", &self.setup)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

/// What it took to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// Hook calls.
    pub calls: u32,
    /// Crashes on purpose; after each one the host started again and went on.
    pub crashes: u32,
}

/// The plugin goes round in circles: after a thousand calls there is still an object to be called for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not settled after {TOO_MANY_CALLS} calls: {object} is called again and again, last for {reasons:?}")]
pub struct Unsettled {
    /// The object that was called for last.
    pub object: Box<ObjectRef>,
    /// Why.
    pub reasons: Vec<Reason>,
}

impl Runner {
    /// A host with one plugin: `Runner::new(&cluster, hello::plugin)`, or a closure that makes one of reconcilers. It
    /// reconciles the kinds the plugin has types for, may do everything, and keeps no finalizer, until told otherwise.
    pub fn new(cluster: &Cluster, plugin: impl Fn() -> Plugin + 'static) -> Self {
        let kinds = plugin().kinds().into_iter().map(|kind| (kind, None)).collect();
        let setup = Setup {
            name: "plugin".to_owned(),
            manager: "pilothouse-plugin".to_owned(),
            kinds,
            kept_by_plugin: Vec::new(),
            legacy_finalizers: Vec::new(),
            rights: Rights { account: account("plugin"), ..Rights::default() },
            limits: Limits::default(),
            settings: Rc::default(),
            pooled: false,
        };
        let mut runner = Self {
            cluster: cluster.clone(),
            build: Box::new(plugin),
            instance: None,
            setup,
            queue: Queue::default(),
            owners: BTreeMap::new(),
            seen: 0,
            crashes: 0,
        };
        runner.restart();
        runner
    }

    /// Takes name, kinds, finalizers, field manager, instance model, limits and rights from a `plugin.yaml`; the rights
    /// it asks for are granted, and nothing else is.
    ///
    /// # Errors
    /// A sentence with line and column when it is no manifest.
    pub fn manifest(mut self, plugin_yaml: &str) -> Result<Self, String> {
        let manifest = Manifest::parse(plugin_yaml)?;
        self.setup.limits = manifest.limits();
        self.setup.pooled = manifest.instance.model == "pooled";
        self.setup.rights = Rights {
            granted: Some(manifest.rights.kube),
            egress: Some(places(&manifest.rights.egress)?),
            stores: Some(manifest.rights.stores),
            announces: Some(manifest.rights.announces),
            account: account(&manifest.name),
        };
        self.setup.manager =
            manifest.field_manager.unwrap_or_else(|| format!("pilothouse-{}", manifest.name));
        self.setup.name = manifest.name;
        let finalizer = manifest.finalizer;
        self.setup.legacy_finalizers = manifest.legacy_finalizers;
        let by_plugin = manifest.kinds.iter().filter(|kind| kind.finalizer_by == FinalizerBy::Plugin);
        self.setup.kept_by_plugin = by_plugin.map(|kind| kind.gvk.clone()).collect();
        self.setup.kinds = manifest
            .kinds
            .into_iter()
            .map(|kind| (kind.gvk, kind.finalizer.or_else(|| finalizer.clone())))
            .collect();
        self.restart();
        Ok(self)
    }

    /// Also reconciles a kind that comes from configuration, with a finalizer if it needs one.
    #[must_use]
    pub fn kind<'a>(mut self, kind: Gvk, finalizer: impl Into<Option<&'a str>>) -> Self {
        self.setup.kinds.retain(|(known, _)| *known != kind);
        self.setup.kinds.push((kind, finalizer.into().map(str::to_owned)));
        self.restart();
        self
    }

    /// Keeps a finalizer on all objects.
    #[must_use]
    pub fn finalizer(mut self, finalizer: &str) -> Self {
        for (_, of_kind) in &mut self.setup.kinds {
            *of_kind = Some(finalizer.to_owned());
        }
        self
    }

    /// Settings of the plugin as a whole.
    #[must_use]
    pub fn config(self, settings: &impl Serialize) -> Self {
        let text = serde_json::to_string(settings).ok();
        self.with_settings(|known| known.plugin = text)
    }

    /// Settings of the kinds' binding.
    #[must_use]
    pub fn binding(self, settings: &impl Serialize) -> Self {
        let text = serde_json::to_string(settings).ok();
        self.with_settings(|known| known.binding = text)
    }

    /// A tree of files: `(path, content)`.
    #[must_use]
    pub fn asset<P: Into<String>, C: Into<Vec<u8>>>(
        self,
        name: &str,
        files: impl IntoIterator<Item = (P, C)>,
    ) -> Self {
        let files =
            files.into_iter().map(|(path, content)| AssetFile { path: path.into(), content: content.into() });
        let mut files: Vec<_> = files.collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        self.with_settings(|known| drop(known.assets.insert(name.to_owned(), files)))
    }

    /// Limits of one hook call.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.setup.limits = limits;
        self
    }

    /// Keeps the plugin's instance between calls.
    #[must_use]
    pub fn pooled(mut self) -> Self {
        self.setup.pooled = true;
        self
    }

    fn with_settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Rc::make_mut(&mut self.setup.settings));
        for object in self.objects() {
            self.wake(&object, Reason::Configuration);
        }
        self
    }

    /// Starts the host again: what it remembered is gone, every object is queued.
    pub fn restart(&mut self) {
        (self.queue, self.owners, self.instance) = (Queue::default(), BTreeMap::new(), None);
        let mut state = self.cluster.state();
        state.store.said.clear();
        state.transfers.clear();
        state.commands.clear();
        state.handovers.clear();
        self.seen = state.store.changes.len();
        drop(state);
        for object in self.objects() {
            self.wake(&object, Reason::Start);
        }
    }

    /// Queues an object.
    pub fn wake(&mut self, object: &ObjectRef, reason: Reason) {
        if ends_back_off(&reason)
            && let Some(known) = self.owners.get_mut(object)
        {
            known.failures = 0;
        }
        let now = self.cluster.now();
        self.queue.add(object, reason, now);
    }

    /// Calls the plugin until nothing is due now. Time stands still: what is to be called later waits for
    /// [`run_for`](Self::run_for).
    ///
    /// # Errors
    /// [`Unsettled`] when there is no end to it.
    pub fn settle(&mut self) -> Result<Settled, Unsettled> {
        let mut settled = Settled { calls: 0, crashes: 0 };
        loop {
            self.absorb();
            if self.cluster.tick_workloads() || self.cluster.collect_garbage() {
                continue;
            }
            let Some((object, reasons)) = self.queue.pop(self.cluster.now()) else { return Ok(settled) };
            if settled.calls == TOO_MANY_CALLS {
                return Err(Unsettled { object: Box::new(object), reasons });
            }
            settled.calls += 1;
            // Work in flight is lost with the host; the cluster keeps what was written.
            if survive(|| self.call(&object, reasons)).is_none() {
                settled.crashes += 1;
                self.crashes += 1;
                self.restart();
            }
        }
    }

    /// Lets virtual time pass, and calls the plugin whenever something is due.
    ///
    /// # Errors
    /// [`Unsettled`] when there is no end to it at one point of time.
    pub fn run_for(&mut self, time: Duration) -> Result<Settled, Unsettled> {
        let end = self.cluster.now() + time;
        let mut total = self.settle()?;
        while let Some(next) = self.next_event().filter(|next| *next <= end) {
            let wait = next.duration_since(self.cluster.now()).unwrap_or_default();
            self.cluster.advance(wait);
            let settled = self.settle()?;
            total.calls += settled.calls;
            total.crashes += settled.crashes;
        }
        self.cluster.advance(end.duration_since(self.cluster.now()).unwrap_or_default());
        Ok(total)
    }

    /// In how long the next call is due; none when nothing is queued.
    pub fn next_call(&self) -> Option<Duration> {
        self.queue.next().map(|next| next.duration_since(self.cluster.now()).unwrap_or_default())
    }

    /// The host of a command about an object, as somebody at a command line asks it: with the settings and trees of the
    /// object's kind, and the object as owner. None: there is no such object.
    pub fn command_host(&self, object: &ObjectRef) -> Option<Rc<dyn Host>> {
        Some(Rc::new(self.session(&self.live(object)?).of_person()))
    }

    /// What the inventory says are an object's declarative children.
    pub fn children(&self, object: &ObjectRef) -> Vec<ObjectRef> {
        let uid = self.owners.get(object).map(|known| known.uid.as_str()).unwrap_or_default();
        self.cluster.state().inventories.get(uid).cloned().unwrap_or_default()
    }

    /// The instance to call; a new one for each call unless it is pooled.
    pub(super) fn take_instance(&mut self) -> Plugin {
        self.instance.take().unwrap_or_else(|| (self.build)())
    }

    pub(super) fn give_back(&mut self, instance: Plugin) {
        self.instance = Some(instance).filter(|_| self.setup.pooled);
    }

    fn kinds(&self) -> Vec<Gvk> {
        self.setup.kinds.iter().map(|(kind, _)| kind.clone()).collect()
    }

    fn objects(&self) -> Vec<ObjectRef> {
        self.setup
            .kinds
            .iter()
            .flat_map(|(kind, _)| self.cluster.all(kind))
            .map(|object| ref_of(&object))
            .collect()
    }

    /// Looks at what changed since the last time, and queues whom it concerns.
    fn absorb(&mut self) {
        let events = self.cluster.state().store.changes.get(self.seen..).unwrap_or_default().to_vec();
        self.seen += events.len();
        let kinds = self.kinds();
        let fetched = std::mem::take(&mut self.cluster.state().charts.changed);
        let mut ended = self.cluster.run_transfers();
        let now = self.cluster.now();
        ended.extend(self.cluster.state().commands.ended(now));
        ended.extend(self.cluster.state().handovers.take_ended());
        for owner in self.wishing(&fetched).into_iter().chain(ended) {
            self.wake(&owner, Reason::Configuration);
        }
        for event in &events {
            let object = event.after.as_ref().or(event.before.as_ref());
            if let Some(own) = object.and_then(|object| own_reference(object, &kinds)) {
                if event.after.is_none() {
                    self.forget(&own);
                } else if event.cause.as_ref() != Some(&own) && is_own_change(event) {
                    self.wake(&own, Reason::Changed);
                }
            }
            for (owner, reason) in self.concerned(event) {
                self.wake(&owner, reason);
            }
            if object.is_some_and(|object| text(object, "/kind") == "CustomResourceDefinition") {
                self.wake_waiting_for_kinds();
            }
        }
    }

    fn concerned(&self, event: &super::store::WatchEvent) -> Vec<(ObjectRef, Reason)> {
        let woken = self.owners.iter().filter(|(owner, _)| event.cause.as_ref() != Some(*owner));
        let woken = woken.filter_map(|(owner, known)| {
            let ties = Ties { plugin: &self.setup.name, uid: &known.uid, watches: &known.watches };
            Some((owner.clone(), ties.reason(event)?))
        });
        woken.collect()
    }

    /// Who wished for one of these charts.
    fn wishing(&self, charts: &[Place]) -> Vec<ObjectRef> {
        let wishing =
            self.owners.iter().filter(|(_, known)| charts.iter().any(|chart| known.wished.contains(chart)));
        wishing.map(|(owner, _)| owner.clone()).collect()
    }

    fn wake_waiting_for_kinds(&mut self) {
        let state = self.cluster.state();
        let served = |kind: &Gvk| state.store.kinds.find(kind).is_ok();
        let waiting = self.owners.iter().filter(|(_, known)| known.missing.iter().any(served));
        let waiting: Vec<_> = waiting.map(|(owner, _)| owner.clone()).collect();
        drop(state);
        for owner in waiting {
            self.wake(&owner, Reason::Retry);
        }
    }
}

fn places(texts: &[String]) -> Result<Vec<super::places::Place>, String> {
    let parsed = |text: &String| {
        super::places::Place::parse(text).ok_or_else(|| format!("rights.egress: {text:?} names no servers"))
    };
    texts.iter().map(parsed).collect()
}

fn account(plugin: &str) -> String {
    format!("system:serviceaccount:pilothouse:{plugin}")
}
