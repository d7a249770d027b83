//! Where all watches report: of the reconciled kinds, of objects tied to owners, and of objects owners asked about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::watch::{Cached, ObjectEvent, Subscriber, WatchHandle, WatchSpec, Watches};
use crate::action::execute::{Live, Seen};
use crate::action::ownership::PLUGIN_LABEL;
use crate::binding::Binding;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::{ObjectRef, Watch, WatchTarget};
use crate::plugin::names::host_gvk;

/// How long the first apply of a kind waits for the watch of its children: longer, and applying without a comparison is
/// the better choice.
const FIRST_LIST: Duration = Duration::from_secs(2);

/// Of a kind so many namespaces are watched beside those of the host: who writes an object may name any number of them.
const MOST_ABROAD: usize = 32;

/// Watches of tied objects, by plugin and kind.
type TiedWatches = HashMap<(Arc<str>, Gvk), Vec<WatchHandle>>;

/// What a plugin's watch knows of an object.
#[derive(Clone, Debug)]
pub enum Tied {
    /// It is there.
    Cached(Arc<Cached>),
    /// There is none of this name with the plugin's label.
    Absent,
    /// Nothing: the kind cannot be watched, or not yet.
    Unwatched,
}

impl Tied {
    /// What an apply has to know of it.
    pub fn seen(&self) -> Seen<'_> {
        match self {
            Self::Cached(cached) => Seen::Live(Live {
                resource_version: &cached.resource_version,
                digest: cached.digest,
                json: &cached.json,
            }),
            Self::Absent => Seen::Absent,
            Self::Unwatched => Seen::Unknown,
        }
    }
}

/// Why a change is reported.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Of a kind a plugin reconciles.
    Primary(Arc<Binding>),
    /// Of an object that carries a plugin's and an owner's labels.
    Tied,
    /// Of an object that owners asked about, with the watch they asked for.
    Wished(WatchSpec),
}

/// What is reported.
#[derive(Clone, Debug)]
pub enum Observed {
    /// A change.
    Changed {
        /// Why it is reported.
        origin: Origin,
        /// The change.
        event: ObjectEvent,
    },
    /// What an owner asked about may have changed after its call had looked, and before its wish was known.
    Missed {
        /// The owner.
        owner: ObjectKey,
        /// What may have changed, if that can be told.
        object: Option<ObjectKey>,
    },
}

/// What an owner asked to be told about.
#[derive(Debug, Default)]
struct Wishes {
    watches: Vec<WatchHandle>,
    /// Those who wait for the first list of a watch.
    waiting: Vec<AbortHandle>,
}

impl Drop for Wishes {
    fn drop(&mut self) {
        self.waiting.iter().for_each(AbortHandle::abort);
    }
}

/// Holds the watches and sends what they see down one stream.
#[derive(Debug)]
pub struct Observer {
    watches: Arc<Watches>,
    stream: mpsc::UnboundedSender<Observed>,
    namespaces: Vec<Arc<str>>,
    tied: Mutex<TiedWatches>,
    wished: Mutex<HashMap<ObjectKey, Wishes>>,
}

impl Observer {
    /// An observer and its stream. Without namespaces, all are watched.
    pub fn new(watches: Arc<Watches>, namespaces: &[String]) -> (Self, mpsc::UnboundedReceiver<Observed>) {
        let (stream, receiver) = mpsc::unbounded_channel();
        let namespaces = namespaces.iter().map(|ns| Arc::from(ns.as_str())).collect();
        (Self { watches, stream, namespaces, tied: Mutex::default(), wished: Mutex::default() }, receiver)
    }

    fn subscriber(&self, name: &str, origin: Origin) -> Subscriber {
        let stream = self.stream.clone();
        let hear = move |event| {
            let _ = stream.send(Observed::Changed { origin: origin.clone(), event });
        };
        Subscriber { name: name.to_owned(), hear: Arc::new(hear) }
    }

    /// Watches the objects of a binding.
    pub fn watch_primary(&self, binding: &Arc<Binding>, namespace: Option<&str>) -> WatchHandle {
        let spec = WatchSpec {
            gvk: Arc::clone(&binding.gvk),
            namespace: namespace.map(Arc::from),
            labels: binding.selector.clone(),
            fields: String::new(),
        };
        self.watches.acquire(&spec, self.subscriber("primary", Origin::Primary(Arc::clone(binding))))
    }

    /// Watches the objects of a kind that a plugin ties to owners; started at the first question, kept from then on.
    pub fn watch_tied(&self, plugin: &Arc<str>, gvk: &Gvk) -> Vec<WatchHandle> {
        self.watch_tied_in(plugin, gvk, None)
    }

    /// The same; an object in a namespace that is none of those that are watched anyway has that one watched, too.
    fn watch_tied_in(&self, plugin: &Arc<str>, gvk: &Gvk, namespace: Option<&Arc<str>>) -> Vec<WatchHandle> {
        let start = |namespace: Option<&Arc<str>>| {
            let spec = WatchSpec {
                gvk: Arc::new(gvk.clone()),
                namespace: namespace.cloned(),
                labels: format!("{PLUGIN_LABEL}={plugin}"),
                fields: String::new(),
            };
            self.watches.acquire(&spec, self.subscriber("tied", Origin::Tied))
        };
        let usual = || {
            let all = self.namespaces.is_empty().then(|| start(None));
            all.into_iter().chain(self.namespaces.iter().map(|namespace| start(Some(namespace)))).collect()
        };
        let mut tied = self.tied.lock().unwrap_or_else(PoisonError::into_inner);
        let watches = tied.entry((Arc::clone(plugin), gvk.clone())).or_insert_with(usual);
        if let Some(namespace) = namespace.filter(|_| !self.namespaces.is_empty())
            && watches.len() < self.namespaces.len() + MOST_ABROAD
            && !watches.iter().any(|watch| watch.spec().namespace.as_ref() == Some(namespace))
        {
            watches.push(start(Some(namespace)));
        }
        watches.clone()
    }

    /// A tied object as the cache has it.
    pub async fn tied(&self, plugin: &Arc<str>, key: &ObjectKey) -> Tied {
        let watches = self.watch_tied_in(plugin, &key.gvk, key.namespace.as_ref());
        let is_at =
            |watch: &WatchHandle| watch.spec().namespace.is_none() || watch.spec().namespace == key.namespace;
        let (mut found, mut is_known) = (None, key.namespace.is_none() || watches.iter().any(is_at));
        for watch in &watches {
            let _ = tokio::time::timeout(FIRST_LIST, watch.answered()).await;
            is_known &= watch.is_current() || !(is_at(watch) || key.namespace.is_none());
            found = found.or_else(|| watch.get(key));
        }
        match found {
            _ if !is_known => Tied::Unwatched,
            Some(cached) => Tied::Cached(cached),
            None => Tied::Absent,
        }
    }

    /// A tied object that a watch already knows. Starts nothing.
    pub fn known(&self, plugin: &Arc<str>, key: &ObjectKey) -> Option<Arc<Cached>> {
        let tied = self.tied.lock().unwrap_or_else(PoisonError::into_inner);
        tied.get(&(Arc::clone(plugin), (*key.gvk).clone()))?.iter().find_map(|watch| watch.get(key))
    }

    /// Watches what an owner asked to be told about, in place of what it asked before. `since`: when the call began whose wish
    /// this is. What was told from then on was told to nobody who could know about the wish, so the owner is to look again.
    pub fn wish(&self, owner: &ObjectKey, plugin: &Arc<str>, watches: &[Watch], since: Instant) {
        let mut wishes = Wishes::default();
        for watch in watches {
            if let WatchTarget::Owned(gvk) = &watch.target {
                self.watch_tied(plugin, &host_gvk(gvk));
            }
            if let Some(spec) = wished_spec(watch) {
                let subscriber = self.subscriber("wished", Origin::Wished(spec.clone()));
                let handle = self.watches.acquire(&spec, subscriber);
                if !handle.is_synced() {
                    wishes.waiting.push(self.look_again_when_listed(owner, watch, &handle));
                } else if let Some(object) = handle.changed_since(since) {
                    self.missed(owner, Some(object));
                }
                wishes.watches.push(handle);
            }
        }
        let mut wished = self.wished.lock().unwrap_or_else(PoisonError::into_inner);
        // The new ones are held before the old ones are let go: a watch in both never stops.
        if wishes.watches.is_empty() {
            wished.remove(owner)
        } else {
            wished.insert(owner.clone(), wishes)
        };
    }

    /// A first list tells what is there, not what went away before it.
    fn look_again_when_listed(&self, owner: &ObjectKey, watch: &Watch, handle: &WatchHandle) -> AbortHandle {
        let object = match &watch.target {
            WatchTarget::Object(object) => Some(host_key(object)),
            WatchTarget::Owned(_) | WatchTarget::Selected(_) => None,
        };
        let (stream, owner, synced) = (self.stream.clone(), owner.clone(), handle.synced());
        let wait = async move {
            synced.await;
            let _ = stream.send(Observed::Missed { owner, object });
        };
        tokio::spawn(wait).abort_handle()
    }

    fn missed(&self, owner: &ObjectKey, object: Option<ObjectKey>) {
        let _ = self.stream.send(Observed::Missed { owner: owner.clone(), object });
    }
}

fn host_key(object: &ObjectRef) -> ObjectKey {
    let namespace = object.namespace.as_deref().filter(|ns| !ns.is_empty());
    ObjectKey::new(Arc::new(host_gvk(&object.kind)), namespace, &object.name)
}

/// The watch for a wish about objects that are not tied to the owner.
pub fn wished_spec(watch: &Watch) -> Option<WatchSpec> {
    let namespace =
        |namespace: &Option<String>| namespace.as_deref().filter(|ns| !ns.is_empty()).map(Arc::from);
    match &watch.target {
        WatchTarget::Owned(_) => None,
        WatchTarget::Object(object) => Some(WatchSpec {
            gvk: Arc::new(host_gvk(&object.kind)),
            namespace: namespace(&object.namespace),
            labels: String::new(),
            fields: format!("metadata.name={}", object.name),
        }),
        WatchTarget::Selected((gvk, ns, labels)) => Some(WatchSpec {
            gvk: Arc::new(host_gvk(gvk)),
            namespace: namespace(ns),
            labels: labels.clone(),
            fields: String::new(),
        }),
    }
}

#[cfg(test)]
mod tests;
