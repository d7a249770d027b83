//! What a hook has at hand: why it was called, and everything the host gives.

use std::{
    fmt,
    rc::Rc,
    time::{Duration, SystemTime},
};

use serde::de::DeserializeOwned;

use crate::{
    AnnounceError, Announcement, AssetError, AssetFile, AssetTree, Blob, Certificates, ChartError,
    ChartSource, ChartStanding, Error, Event, Gvk, Host, Http, Kube, Level, ObjectRef, Reason, Standing,
};

/// What a hook has at hand during one call.
#[derive(Debug, Clone)]
pub struct Context {
    host: Rc<dyn Host>,
    kind: Gvk,
    reasons: Vec<Reason>,
    failures: u32,
    deadline: Duration,
}

impl Context {
    pub(crate) fn new(
        host: Rc<dyn Host>,
        kind: Gvk,
        reasons: Vec<Reason>,
        failures: u32,
        deadline: Duration,
    ) -> Self {
        Self { host, kind, reasons, failures, deadline }
    }

    /// What a hook of a lifecycle has at hand.
    #[cfg_attr(
        not(any(target_family = "wasm", feature = "harness")),
        expect(dead_code, reason = "for transports")
    )]
    pub(crate) fn of_lifecycle(host: Rc<dyn Host>, run: &ObjectRef) -> Self {
        Self::new(host, run.kind.clone(), Vec::new(), 0, Duration::MAX)
    }

    /// Announces a phase of a change of the object at hand, or asks how one stands that was announced before. Never waits: while
    /// it is pending, the call ends, and the object is called when it moves.
    ///
    /// # Errors
    /// [`AnnounceError`].
    pub fn announce(&self, announcement: &Announcement) -> Result<Standing, AnnounceError> {
        #[cfg(target_family = "wasm")]
        return crate::guest::lifecycle::announce(announcement);
        #[cfg(not(target_family = "wasm"))]
        match self.host.announcer() {
            Some(announcer) => announcer.announce(announcement),
            None => Ok(Standing::Done(Vec::new())),
        }
    }

    /// Says that no change of the object at hand is wanted any more that was announced and has not begun.
    ///
    /// # Errors
    /// [`AnnounceError`].
    pub fn withdraw(&self) -> Result<(), AnnounceError> {
        #[cfg(target_family = "wasm")]
        return crate::guest::lifecycle::withdraw();
        #[cfg(not(target_family = "wasm"))]
        self.host.announcer().map_or(Ok(()), crate::AnnouncerOfTests::withdraw)
    }

    /// Whether this plugin takes part in a phase of what is done to objects of a kind: its manifest asks for that, and the grants have it.
    pub fn takes_part(&self, phase: &str, kind: &Gvk) -> bool {
        #[cfg(target_family = "wasm")]
        return crate::guest::lifecycle::takes_part(phase, kind);
        #[cfg(not(target_family = "wasm"))]
        self.host.announcer().is_none_or(|announcer| announcer.takes_part(phase, kind))
    }

    /// What a hook would have at hand for an object of a kind, for a command that tells what the hook would do. The
    /// settings of the kind are the command's.
    pub fn of_command(host: Rc<dyn Host>, kind: Gvk) -> Self {
        Self::new(host, kind, vec![Reason::Manual], 0, Duration::MAX)
    }

    /// The exact kind of the object that is being reconciled.
    pub fn kind(&self) -> &Gvk {
        &self.kind
    }

    /// Why the object was queued; a hint.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// Failed calls for this object in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Wall-clock time this call may take in all.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The time. Virtual in tests, so take it from here and not from the standard library.
    pub fn now(&self) -> SystemTime {
        self.host.now()
    }

    /// The cluster.
    pub fn kube(&self) -> Kube {
        Kube::new(Rc::clone(&self.host))
    }

    /// Settings of the plugin as a whole.
    ///
    /// # Errors
    /// Permanent, reason `InvalidConfiguration`, when they do not have the type's shape.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, Error> {
        settings(&self.host.plugin_config(), "the plugin's settings")
    }

    /// Settings that belong to the kind of the object at hand (an entry of `watches.yaml`, a binding).
    ///
    /// # Errors
    /// As for [`config`](Self::config).
    pub fn binding<T: DeserializeOwned>(&self) -> Result<T, Error> {
        settings(&self.host.binding_config(), "the settings of the kind")
    }

    /// Digest and size of a tree of files that the operator of the cluster gave.
    ///
    /// # Errors
    /// See [`AssetError`].
    pub fn asset(&self, name: &str) -> Result<AssetTree, AssetError> {
        self.host.asset_stat(name)
    }

    /// All files of a tree, sorted by path. Keep what was made of them by the tree's digest.
    ///
    /// # Errors
    /// See [`AssetError`].
    pub fn asset_files(&self, name: &str) -> Result<Vec<AssetFile>, AssetError> {
        self.host.asset_read(name)
    }

    /// Wishes for a chart that lies elsewhere, and asks how that stands. Never waits: the host fetches behind the call, and calls
    /// the object again (reason `Configuration`) when something has changed. A wish lasts until a call ends without it.
    ///
    /// # Errors
    /// See [`ChartError`].
    pub fn wish_for_chart(&self, source: &ChartSource) -> Result<ChartStanding, ChartError> {
        self.host.wish_for_chart(source)
    }

    /// Servers other than the cluster's API: short exchanges within this call.
    pub fn http(&self) -> Http {
        Http::new(Rc::clone(&self.host))
    }

    /// Object storage.
    pub fn blob(&self) -> Blob {
        Blob::new(Rc::clone(&self.host))
    }

    /// Certificates in Secrets.
    pub fn certificates(&self) -> Certificates {
        Certificates::new(Rc::clone(&self.host))
    }

    /// Publishes an event about the object at once, instead of with the outcome. Never fails.
    pub fn publish(&self, event: &Event) {
        self.host.publish(event);
    }

    /// Writes a line of the log; [`info!`](crate::info) and its sisters are shorter.
    pub fn log(&self, level: Level, message: fmt::Arguments<'_>, fields: &[(&str, &dyn fmt::Display)]) {
        let fields: Vec<_> =
            fields.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
        match message.as_str() {
            Some(text) => self.host.log(level, text, &fields),
            None => self.host.log(level, &message.to_string(), &fields),
        }
    }

    /// Adds to a counter of the plugin. Negative and non-finite values are dropped, and so are names that end with `_total`,
    /// which the host adds.
    pub fn count(&self, name: &str, value: f64, labels: &[(&str, &str)]) {
        self.host.counter_add(name, value, &owned(labels));
    }

    /// Sets a gauge of the plugin.
    pub fn gauge(&self, name: &str, value: f64, labels: &[(&str, &str)]) {
        self.host.gauge_set(name, value, &owned(labels));
    }

    /// Counts the object at hand in a gauge of objects by label: under each name an object counts once, with the labels it was
    /// counted with last, until it is gone. Nothing of it survives the host, so every call counts.
    pub fn count_object(&self, name: &str, labels: &[(&str, &str)]) {
        self.host.gauge_count(name, &owned(labels));
    }

    /// Observes a duration for a histogram of the plugin.
    pub fn observe(&self, name: &str, value: Duration, labels: &[(&str, &str)]) {
        self.host.observe_seconds(name, value.as_secs_f64(), &owned(labels));
    }

    /// The transport itself, for plugins that keep objects as text.
    pub fn host(&self) -> &Rc<dyn Host> {
        &self.host
    }
}

fn owned(labels: &[(&str, &str)]) -> Vec<(String, String)> {
    labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn settings<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, Error> {
    serde_json::from_str(text)
        .map_err(|error| Error::permanent("InvalidConfiguration", format!("{what}: {error}")))
}
