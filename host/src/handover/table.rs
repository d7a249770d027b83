//! All handovers: who opened them, and how they stand.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use object_store::path::Path;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::Stored;
use super::authority::Authority;
use super::token::{self, NoRandom, Token};
use crate::blob::BlobError;
use crate::blob::store::Store;
use crate::blob::table::Standing;
use crate::blob::transfer::Outcome;
use crate::blob::upload::Upload;
use crate::cluster::fence::Fence;
use crate::object::ObjectKey;
use crate::telemetry::{SharedRegistry, register};

/// Flows at once: each has a part of an object in memory.
const AT_ONCE: usize = 4;
/// Names one object may have.
const NAMES: usize = 16;
/// The longest a handover may be open.
pub const LONGEST: Duration = Duration::from_hours(7 * 24);

const CLOSED: &str = "the handover was closed";
const LATE: &str = "the time of the handover was up";

/// What whoever has the token may do.
#[derive(Clone, Debug)]
pub enum Errand {
    /// Write an object, where there is none.
    Upload {
        /// Where it goes.
        store: Store,
        /// Its place.
        path: Path,
        /// No more bytes than this.
        most: u64,
    },
    /// Read an object.
    Download {
        /// Where it is.
        store: Store,
        /// Its place.
        path: Path,
    },
}

impl Errand {
    fn word(&self) -> &'static str {
        match self {
            Self::Upload { .. } => "upload",
            Self::Download { .. } => "download",
        }
    }
}

/// How far an upload is.
pub(super) enum Stage {
    /// Nobody came yet.
    Waiting,
    /// All was sent, and waits for the commit. It has its turn all the while: a part is in memory.
    Sent { upload: Box<Upload>, stored: Stored, _turn: OwnedSemaphorePermit },
    /// The token's one `PUT` was used.
    Spent,
}

/// One object's handover, by its name.
type Key = (ObjectKey, String);

/// One handover.
pub struct Handover {
    key: Key,
    plugin: String,
    /// By which another task under the name is known.
    task: String,
    address: String,
    token: Token,
    pub(super) errand: Errand,
    pub(super) bytes: AtomicU64,
    /// Held by whoever moves or commits content.
    pub(super) stage: Arc<tokio::sync::Mutex<Stage>>,
    stopped: watch::Sender<Option<&'static str>>,
    ended: Mutex<Option<Result<Outcome, BlobError>>>,
}

impl std::fmt::Debug for Handover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handover").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Handover {
    /// Why nothing may happen any more.
    pub(super) fn over(&self) -> Option<BlobError> {
        self.stopped.borrow().map(|why| BlobError::Other(why.to_owned()))
    }

    /// Waits until nothing may happen any more.
    pub(super) async fn stopped(&self) -> BlobError {
        let mut stopped = self.stopped.subscribe();
        // The sender lives as long as this.
        let _ = stopped.wait_for(Option::is_some).await;
        self.over().unwrap_or_else(|| BlobError::Other(CLOSED.to_owned()))
    }

    /// How it ended, if it did.
    pub(super) fn ended(&self) -> Option<Result<Outcome, BlobError>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Nothing is taken any more. Returns once a commit under way is over and everything else was let go.
    async fn stop(&self, why: &'static str) {
        self.stopped.send_if_modified(|stopped| {
            let first = stopped.is_none();
            stopped.get_or_insert(why);
            first
        });
        self.let_go().await;
    }

    /// Takes back what was sent and not committed. False: there is nothing of the kind.
    async fn let_go(&self) -> bool {
        let mut stage = self.stage.lock().await;
        match std::mem::replace(&mut *stage, Stage::Spent) {
            Stage::Sent { mut upload, .. } => {
                upload.abandon().await;
                true
            }
            Stage::Waiting | Stage::Spent => false,
        }
    }
}

/// What goes into the Secret.
pub struct Ticket {
    /// The address.
    pub url: String,
    /// The token.
    pub token: Token,
    /// PEM of the authority to trust.
    pub certificate: String,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("url", &self.url).finish_non_exhaustive()
    }
}

/// What is opened.
#[derive(Debug)]
pub struct Order {
    /// By which another one of the name is known.
    pub task: String,
    /// What for.
    pub errand: Errand,
    /// How long it stays open.
    pub time: Duration,
    /// Who asked, for metrics.
    pub plugin: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    plugin: String,
    way: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    plugin: String,
    way: &'static str,
}

/// Counters of handovers.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    ended: Family<Ended, Counter>,
    bytes: Family<Of, Counter>,
}

impl Metrics {
    /// Under names that begin with `pilothouse_handover`.
    pub fn register(registry: &SharedRegistry) -> Self {
        let metrics = Self::default();
        register(registry, |r| {
            let help = "What Jobs handed to object storage and took from it, by how it ended";
            r.register("pilothouse_handovers", help, metrics.ended.clone());
            r.register("pilothouse_handover_bytes", "Bytes of it", metrics.bytes.clone());
        });
        metrics
    }
}

/// The table.
#[derive(Debug)]
pub struct Handovers {
    authority: Authority,
    fence: Fence,
    entries: Mutex<HashMap<Key, Arc<Handover>>>,
    pub(super) turns: Arc<Semaphore>,
    changed: mpsc::UnboundedSender<Vec<ObjectKey>>,
    metrics: Metrics,
}

impl Handovers {
    /// An empty table, of a host that may write while the fence is open. Who has to be called because a handover has ended is told by
    /// the receiver.
    pub fn new(
        authority: Authority,
        fence: Fence,
        metrics: Metrics,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Vec<ObjectKey>>) {
        let (changed, receiver) = mpsc::unbounded_channel();
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        (Arc::new(Self { authority, fence, entries: Mutex::default(), turns, changed, metrics }), receiver)
    }

    /// Opens a handover, or finds the same one. Another one of the name is closed first.
    ///
    /// # Errors
    /// [`BlobError::TooLarge`] where the object has too many.
    pub async fn open(
        self: &Arc<Self>,
        owner: &ObjectKey,
        name: &str,
        order: Order,
    ) -> Result<Ticket, BlobError> {
        let key = (owner.clone(), name.to_owned());
        let found = self.entries().get(&key).cloned();
        match found {
            Some(found) if found.task == order.task && found.over().is_none() => {
                return Ok(self.ticket(&found));
            }
            Some(_) => self.close(owner, name).await,
            None => {}
        }
        let no_random = |error: NoRandom| BlobError::Other(error.to_string());
        let handover = Arc::new(Handover {
            key: key.clone(),
            plugin: order.plugin,
            task: order.task,
            address: token::address().map_err(no_random)?,
            token: Token::new().map_err(no_random)?,
            errand: order.errand,
            bytes: AtomicU64::new(0),
            stage: Arc::new(tokio::sync::Mutex::new(Stage::Waiting)),
            stopped: watch::Sender::new(None),
            ended: Mutex::default(),
        });
        {
            let mut entries = self.entries();
            if entries.keys().filter(|(other, _)| other == owner).count() >= NAMES {
                let message =
                    format!("one object has at most {NAMES} handovers; close those that have ended");
                return Err(BlobError::TooLarge(message));
            }
            entries.insert(key, Arc::clone(&handover));
        }
        let ticket = self.ticket(&handover);
        tokio::spawn(Arc::clone(self).end_in_time(handover, order.time.min(LONGEST)));
        Ok(ticket)
    }

    async fn end_in_time(self: Arc<Self>, handover: Arc<Handover>, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {
                handover.stop(LATE).await;
                self.end(&handover, &Err(BlobError::Unavailable(LATE.to_owned())));
            }
            _ = handover.stopped() => {}
        }
    }

    fn ticket(&self, handover: &Handover) -> Ticket {
        Ticket {
            url: format!("{}/handover/{}", self.authority.url, handover.address),
            token: handover.token.clone(),
            certificate: self.authority.certificate.clone(),
        }
    }

    /// Whether this host may make objects: not when another replica may be at work.
    pub(super) fn may_write(&self) -> bool {
        self.fence.left().is_some()
    }

    /// How a handover stands; none: there is none.
    pub fn find(&self, owner: &ObjectKey, name: &str) -> Option<Standing> {
        let handover = self.entries().get(&(owner.clone(), name.to_owned())).cloned()?;
        let bytes = handover.bytes.load(Ordering::Relaxed);
        Some(Standing { ended: handover.ended(), bytes })
    }

    /// The open handover of an address, for whoever has its token.
    pub(crate) fn admit(&self, address: &str, authorization: Option<&[u8]>) -> Option<Arc<Handover>> {
        let found = self.entries().values().find(|handover| handover.address == address).cloned()?;
        (found.token.is_in(authorization) && found.over().is_none()).then_some(found)
    }

    /// Closes a handover and forgets it. When it returns, its token is good for nothing, and nothing appears under the key any
    /// more. May be given up on and called again.
    pub async fn close(&self, owner: &ObjectKey, name: &str) {
        let key = (owner.clone(), name.to_owned());
        let Some(handover) = self.entries().get(&key).cloned() else { return };
        handover.stop(CLOSED).await;
        let mut entries = self.entries();
        if entries.get(&key).is_some_and(|found| Arc::ptr_eq(found, &handover)) {
            entries.remove(&key);
        }
    }

    /// An object is gone, and its handovers with it.
    pub fn forget_all(&self, owner: &ObjectKey) {
        let gone: Vec<_> = self.entries().extract_if(|(other, _), _| other == owner).collect();
        for (_, handover) in gone {
            tokio::spawn(async move { handover.stop(CLOSED).await });
        }
    }

    /// Closes everything, before the host ends: parts of objects cost money. What is opened afterwards takes nothing in.
    pub async fn close_all(&self) {
        self.turns.close();
        let all: Vec<_> = self.entries().drain().map(|(_, handover)| handover).collect();
        futures::future::join_all(all.iter().map(|handover| handover.stop(CLOSED))).await;
    }

    /// Somebody waits for a commit that does not come.
    pub(super) async fn give_up(self: Arc<Self>, handover: Arc<Handover>, after: Duration) {
        tokio::select! {
            () = tokio::time::sleep(after) => {
                if handover.let_go().await {
                    let why = format!("no commit came within {after:?}");
                    self.end(&handover, &Err(BlobError::Unavailable(why)));
                }
            }
            _ = handover.stopped() => {}
        }
    }

    /// Takes down how it ended. An upload ends once; an object may be read again.
    pub(super) fn end(&self, handover: &Handover, result: &Result<Outcome, BlobError>) {
        {
            let mut ended = handover.ended.lock().unwrap_or_else(PoisonError::into_inner);
            let again = matches!(handover.errand, Errand::Download { .. }) && handover.over().is_none();
            if ended.is_some() && !again {
                return;
            }
            *ended = Some(result.clone());
        }
        let (plugin, way) = (handover.plugin.clone(), handover.errand.word());
        let word = result.as_ref().map_or_else(BlobError::reason, |_| "Done");
        self.metrics.ended.get_or_create(&Ended { plugin: plugin.clone(), way, result: word }).inc();
        let bytes = handover.bytes.load(Ordering::Relaxed);
        self.metrics.bytes.get_or_create(&Of { plugin: plugin.clone(), way }).inc_by(bytes);
        let (owner, name) = (handover.key.0.to_string(), handover.key.1.as_str());
        match result {
            Ok(_) => tracing::info!(plugin, owner, name, way, bytes, "handover done"),
            Err(error) => tracing::warn!(plugin, owner, name, way, bytes, %error, "handover failed"),
        }
        let _ = self.changed.send(vec![handover.key.0.clone()]);
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Key, Arc<Handover>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
