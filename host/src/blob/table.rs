//! All transfers: which object started them, and how they stand.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio::sync::{Semaphore, mpsc};

use super::BlobError;
use super::transfer::{Carrier, Outcome, Sign, Task};
use crate::object::ObjectKey;
use crate::telemetry::{SharedRegistry, register};

/// Transfers at once: each has a part in memory.
const AT_ONCE: usize = 4;
/// Names one object may have.
const NAMES: usize = 16;

/// How a transfer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// None: it runs, or waits for its turn.
    pub ended: Option<Result<Outcome, BlobError>>,
    /// Bytes of content up to now.
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    plugin: String,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    plugin: String,
}

/// Counters of transfers.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    ended: Family<Ended, Counter>,
    bytes: Family<Of, Counter>,
}

impl Metrics {
    /// Under names that begin with `pilothouse_blob_transfer`.
    pub fn register(registry: &SharedRegistry) -> Self {
        let metrics = Self::default();
        register(registry, |r| {
            let help = "Transfers of plugins to and from object storage, by how they ended";
            r.register("pilothouse_blob_transfers", help, metrics.ended.clone());
            r.register("pilothouse_blob_transferred_bytes", "Bytes of their content", metrics.bytes.clone());
        });
        metrics
    }
}

#[derive(Debug)]
struct Entry {
    /// By which another task under the name is known.
    task: String,
    sign: Arc<Sign>,
    ended: Option<Result<Outcome, BlobError>>,
}

/// One object's transfer.
type Key = (ObjectKey, String);

/// The table.
#[derive(Debug)]
pub struct Transfers {
    entries: Mutex<HashMap<Key, Entry>>,
    turns: Arc<Semaphore>,
    changed: mpsc::UnboundedSender<Vec<ObjectKey>>,
    metrics: Metrics,
}

impl Transfers {
    /// An empty table. Who has to be called because a transfer has ended is told by the receiver.
    pub fn new(metrics: Metrics) -> (Arc<Self>, mpsc::UnboundedReceiver<Vec<ObjectKey>>) {
        let (changed, receiver) = mpsc::unbounded_channel();
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        (Arc::new(Self { entries: Mutex::default(), turns, changed, metrics }), receiver)
    }

    /// How a transfer stands, if this task was given under the name.
    pub fn find(&self, owner: &ObjectKey, name: &str, task: &str) -> Option<Standing> {
        let entries = self.entries();
        let entry = entries.get(&(owner.clone(), name.to_owned())).filter(|entry| entry.task == task)?;
        Some(Standing { ended: entry.ended.clone(), bytes: entry.sign.bytes.load(Ordering::Relaxed) })
    }

    /// Starts one. Another one of the name is stopped.
    ///
    /// # Errors
    /// [`BlobError::TooLarge`] where the object has too many.
    pub fn start(
        self: &Arc<Self>,
        owner: &ObjectKey,
        name: &str,
        task: (String, Task),
        carrier: Carrier,
    ) -> Result<(), BlobError> {
        let key = (owner.clone(), name.to_owned());
        let sign = Arc::new(Sign::default());
        {
            let mut entries = self.entries();
            let others = entries.keys().filter(|(other, known)| other == owner && known != name).count();
            if others >= NAMES {
                let message =
                    format!("one object has at most {NAMES} transfers; forget those that have ended");
                return Err(BlobError::TooLarge(message));
            }
            let entry = Entry { task: task.0, sign: Arc::clone(&sign), ended: None };
            if let Some(before) = entries.insert(key.clone(), entry) {
                before.sign.stop.notify_one();
            }
        }
        tokio::spawn(Arc::clone(self).carry(key, sign, task.1, carrier));
        Ok(())
    }

    async fn carry(self: Arc<Self>, key: Key, sign: Arc<Sign>, task: Task, carrier: Carrier) {
        let turn = tokio::select! {
            turn = self.turns.acquire() => turn,
            () = sign.stop.notified() => return,
        };
        let result = carrier.carry(task, &sign).await;
        drop(turn);
        let plugin = carrier.plugin;
        let word = result.as_ref().map_or_else(BlobError::reason, |_| "Done");
        self.metrics.ended.get_or_create(&Ended { plugin: plugin.clone(), result: word }).inc();
        let bytes = sign.bytes.load(Ordering::Relaxed);
        self.metrics.bytes.get_or_create(&Of { plugin: plugin.clone() }).inc_by(bytes);
        let (owner, name) = (key.0.to_string(), key.1.clone());
        match &result {
            Ok(_) => tracing::info!(plugin, owner, name, bytes, "transfer done"),
            Err(error) => tracing::warn!(plugin, owner, name, bytes, %error, "transfer failed"),
        }
        let mut entries = self.entries();
        // Another one may have taken its name.
        if let Some(entry) = entries.get_mut(&key).filter(|entry| Arc::ptr_eq(&entry.sign, &sign)) {
            entry.ended = Some(result);
            drop(entries);
            let _ = self.changed.send(vec![key.0]);
        }
    }

    /// Stops and forgets one.
    pub fn forget(&self, owner: &ObjectKey, name: &str) {
        if let Some(entry) = self.entries().remove(&(owner.clone(), name.to_owned())) {
            entry.sign.stop.notify_one();
        }
    }

    /// An object is gone, and its transfers with it.
    pub fn forget_all(&self, owner: &ObjectKey) {
        self.entries().retain(|(other, _), entry| {
            let others = other != owner;
            if !others {
                entry.sign.stop.notify_one();
            }
            others
        });
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
