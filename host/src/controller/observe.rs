//! Where all watches report: of the reconciled kinds, of objects tied to owners, and of objects owners asked about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::watch::{Cached, ObjectEvent, Subscriber, WatchHandle, WatchSpec, Watches};
use crate::action::ownership::PLUGIN_LABEL;
use crate::binding::Binding;
use crate::capability::kube::host_gvk;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::{Watch, WatchTarget};

/// How long the first apply of a kind waits for the watch of its children: longer, and applying without a comparison is
/// the better choice.
const FIRST_LIST: Duration = Duration::from_secs(2);

/// Watches of tied objects, by plugin and kind.
type TiedWatches = HashMap<(Arc<str>, Gvk), Vec<WatchHandle>>;

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

/// A reported change.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Why it is reported.
    pub origin: Origin,
    /// The change.
    pub event: ObjectEvent,
}

/// Holds the watches and sends what they see down one stream.
#[derive(Debug)]
pub struct Observer {
    watches: Arc<Watches>,
    stream: mpsc::UnboundedSender<Observed>,
    namespaces: Vec<Arc<str>>,
    tied: Mutex<TiedWatches>,
    wished: Mutex<HashMap<ObjectKey, Vec<WatchHandle>>>,
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
            let _ = stream.send(Observed { origin: origin.clone(), event });
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
        let mut tied = self.tied.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || {
            let scopes: Vec<Option<Arc<str>>> = if self.namespaces.is_empty() {
                vec![None]
            } else {
                self.namespaces.iter().cloned().map(Some).collect()
            };
            let spec = |namespace| WatchSpec {
                gvk: Arc::new(gvk.clone()),
                namespace,
                labels: format!("{PLUGIN_LABEL}={plugin}"),
                fields: String::new(),
            };
            scopes
                .into_iter()
                .map(|ns| self.watches.acquire(&spec(ns), self.subscriber("tied", Origin::Tied)))
                .collect()
        };
        tied.entry((Arc::clone(plugin), gvk.clone())).or_insert_with(start).clone()
    }

    /// A tied object as the cache has it. `None`: not there, or not known yet.
    pub async fn tied(&self, plugin: &Arc<str>, key: &ObjectKey) -> Option<Arc<Cached>> {
        let watches = self.watch_tied(plugin, &key.gvk);
        for watch in &watches {
            if !watch.is_synced() {
                let _ = tokio::time::timeout(FIRST_LIST, watch.synced()).await;
            }
        }
        watches.iter().find_map(|watch| watch.get(key))
    }

    /// A tied object that a watch already knows. Starts nothing.
    pub fn known(&self, plugin: &Arc<str>, key: &ObjectKey) -> Option<Arc<Cached>> {
        let tied = self.tied.lock().unwrap_or_else(PoisonError::into_inner);
        tied.get(&(Arc::clone(plugin), (*key.gvk).clone()))?.iter().find_map(|watch| watch.get(key))
    }

    /// Watches what an owner asked to be told about, in place of what it asked before.
    pub fn wish(&self, owner: &ObjectKey, plugin: &Arc<str>, watches: &[Watch]) {
        let mut handles = Vec::new();
        for watch in watches {
            if let WatchTarget::Owned(gvk) = &watch.target {
                self.watch_tied(plugin, &host_gvk(gvk));
            }
            if let Some(spec) = wished_spec(watch) {
                handles.push(
                    self.watches.acquire(&spec, self.subscriber("wished", Origin::Wished(spec.clone()))),
                );
            }
        }
        let mut wished = self.wished.lock().unwrap_or_else(PoisonError::into_inner);
        // The new ones are held before the old ones are let go: a watch in both never stops.
        if handles.is_empty() {
            wished.remove(owner)
        } else {
            wished.insert(owner.clone(), handles)
        };
    }
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
