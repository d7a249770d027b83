//! What one watch does from its start to its end: finds the kind, lists, follows, and goes on after every break.

use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use kube::Api;
use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use kube::runtime::watcher::{self, InitialListStrategy, watcher};
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};

use super::backoff;
use super::cached::Arrival;
use super::failure::{self, Failure, Remedy, Trouble};
use super::{Shared, WatchSpec};
use crate::cluster::path::Resource;
use crate::controller::discovery::{Discovery, DiscoveryError};

/// How long a kind that is not served is waited for before it is looked up again without a sign.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// A streamed list that is silent for so long will not end: the server did not understand the question.
const SILENCE: Duration = Duration::from_secs(30);
/// A watch that had trouble and is silent for so long runs again: there is nothing to see. Longer than a connection may
/// take to fail.
const QUIET: Duration = Duration::from_secs(35);
/// So many failures in a row, and where the watch stood is given up.
const PATIENCE: u32 = 10;
/// The first minor version whose API server streams lists by default.
const STREAMS_LISTS: u32 = 34;

type Event = watcher::Result<watcher::Event<Arrival>>;
type Next = Option<Event>;
type Events<'a> = Pin<&'a mut (dyn Stream<Item = Event> + Send)>;

/// Why following ended.
enum End {
    /// Nobody holds the watch any more.
    Dropped,
    /// It starts again with a list.
    Relist,
    /// The kind has to be looked up.
    Resolve,
}

pub(super) struct Driver {
    shared: Weak<Shared>,
    spec: WatchSpec,
    client: kube::Client,
    discovery: Arc<Discovery>,
    /// Whether the server is still thought to stream lists.
    streams: Option<bool>,
    failures: u32,
}

impl Driver {
    pub(super) fn new(
        shared: Weak<Shared>,
        spec: WatchSpec,
        client: kube::Client,
        discovery: Arc<Discovery>,
    ) -> Self {
        Self { shared, spec, client, discovery, streams: None, failures: 0 }
    }

    /// Watches until the last handle is gone. Breaks of any kind (API server away, 403, 410, a kind not served yet) are
    /// waited out.
    pub(super) async fn run(mut self) {
        while let Some(resource) = self.resource().await {
            loop {
                match self.follow(&resource).await {
                    End::Dropped => return,
                    End::Relist => {}
                    End::Resolve => break,
                }
            }
        }
    }

    /// The kind's resource, as soon as the cluster serves it; `None` when nobody waits any more.
    async fn resource(&self) -> Option<Arc<Resource>> {
        let mut changed = self.discovery.changed();
        loop {
            let resolved = self.discovery.resolve(&self.spec.gvk).await;
            let shared = self.shared.upgrade()?;
            match resolved {
                Ok(resource) if self.discovery.supports(&self.spec.gvk, "watch") => return Some(resource),
                Ok(_) => {
                    let message = format!("the cluster serves {}, but not to be watched", self.spec.gvk);
                    shared.interrupted(Trouble::NotServed, &message);
                }
                Err(error @ DiscoveryError::Unknown(_)) => {
                    // What was of a kind that is gone is gone as well.
                    shared.clear();
                    shared.interrupted(Trouble::NotServed, &error.to_string());
                }
                Err(error) => shared.interrupted(Trouble::Unavailable, &error.to_string()),
            }
            drop(shared);
            let _ = timeout(LOOK_AGAIN, changed.changed()).await;
        }
    }

    async fn follow(&mut self, resource: &Resource) -> End {
        let streams = self.streams_lists().await;
        let mut events = pin!(watcher(self.api(resource), config(&self.spec, streams)));
        let mut listing = true;
        loop {
            let Ok(event) = self.next(events.as_mut(), streams && listing).await else {
                if streams && listing {
                    self.streams = Some(false);
                    return End::Relist;
                }
                self.failures = 0;
                if let Some(shared) = self.shared.upgrade() {
                    shared.runs();
                }
                continue;
            };
            let Some(shared) = self.shared.upgrade() else { return End::Dropped };
            match event {
                Some(Ok(event)) => {
                    listing = matches!(event, watcher::Event::Init | watcher::Event::InitApply(_));
                    // A list alone proves little: the watch after it may be refused.
                    if matches!(event, watcher::Event::Apply(_) | watcher::Event::Delete(_)) {
                        self.failures = 0;
                    }
                    shared.on_event(event);
                }
                Some(Err(error)) => {
                    let failure = failure::read(&error, streams && listing);
                    shared.interrupted(failure.trouble, &failure.message);
                    drop(shared);
                    if let Some(end) = self.recover(&failure).await {
                        return end;
                    }
                }
                None => return End::Relist,
            }
        }
    }

    /// The next event, or silence for longer than can be.
    async fn next(&self, mut events: Events<'_>, streamed_list: bool) -> Result<Next, Elapsed> {
        if streamed_list {
            timeout(SILENCE, events.next()).await
        } else if self.failures > 0 {
            timeout(QUIET, events.next()).await
        } else {
            Ok(events.next().await)
        }
    }

    /// Waits; `None`: the watcher goes on by itself.
    async fn recover(&mut self, failure: &Failure) -> Option<End> {
        self.failures = self.failures.saturating_add(1);
        let page = failure.remedy == Remedy::Page;
        if page {
            self.streams = Some(false);
        } else {
            sleep(backoff::wait(self.failures, failure.retry_after, fastrand::f64())).await;
        }
        match failure.remedy {
            Remedy::Resolve => {
                self.discovery.look_again().await;
                Some(End::Resolve)
            }
            Remedy::Relist | Remedy::Page => Some(End::Relist),
            Remedy::Resume => self.failures.is_multiple_of(PATIENCE).then_some(End::Relist),
        }
    }

    fn api(&self, resource: &Resource) -> Api<Arrival> {
        let gvk = GroupVersionKind::gvk(&resource.gvk.group, &resource.gvk.version, &resource.gvk.kind);
        let kind = ApiResource::from_gvk_with_plural(&gvk, &resource.plural);
        match self.spec.namespace.as_deref().filter(|_| resource.namespaced) {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind),
            None => Api::all_with(self.client.clone(), &kind),
        }
    }

    async fn streams_lists(&mut self) -> bool {
        if self.streams.is_none() {
            let version = self.discovery.version().await.ok();
            self.streams = version.map(|version| version.is_at_least(1, STREAMS_LISTS));
        }
        self.streams.unwrap_or(false)
    }
}

fn config(spec: &WatchSpec, streams: bool) -> watcher::Config {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    watcher::Config {
        label_selector: text(&spec.labels),
        field_selector: text(&spec.fields),
        initial_list_strategy: if streams {
            InitialListStrategy::StreamingList
        } else {
            InitialListStrategy::ListWatch
        },
        ..watcher::Config::default()
    }
}
