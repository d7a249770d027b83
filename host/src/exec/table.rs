//! All commands: which object gave them, and how they stand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio::sync::{Notify, mpsc};

use super::protocol::Tail;
use super::{Command, ExecError, session};
use crate::cluster::request::Api;
use crate::object::ObjectKey;
use crate::telemetry::{SharedRegistry, register};

/// Commands of one plugin that run at once. None waits for its turn: its time-out would begin nobody knows when.
const AT_ONCE: usize = 8;
/// Names one object may have.
const NAMES: usize = 16;

/// How a command stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// None: it runs.
    pub ended: Option<Result<i32, ExecError>>,
    /// The end of what it wrote.
    pub output: String,
}

/// A command as it is given.
#[derive(Clone, Debug)]
pub struct Given {
    /// Which attempt it is.
    pub attempt: u32,
    /// By which another command under the name is known.
    pub known_by: String,
    /// What is run.
    pub command: Command,
}

/// Why a command is not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// The plugin has too many that run.
    #[error("{AT_ONCE} commands of the plugin are running")]
    Running,
    /// The object has too many names.
    #[error("one object has at most {NAMES} commands; forget those that have ended")]
    Names,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    plugin: String,
    result: &'static str,
}

/// Counters of commands.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    ended: Family<Ended, Counter>,
}

impl Metrics {
    /// As `pilothouse_exec_commands`.
    pub fn register(registry: &SharedRegistry) -> Self {
        let metrics = Self::default();
        register(registry, |r| {
            let help = "Commands that plugins ran in containers, by how they ended";
            r.register("pilothouse_exec_commands", help, metrics.ended.clone());
        });
        metrics
    }
}

/// What a command and who asks for it share.
#[derive(Debug, Default)]
struct Sign {
    stop: Notify,
    tail: Mutex<Tail>,
}

#[derive(Debug)]
struct Entry {
    plugin: String,
    attempt: u32,
    known_by: String,
    sign: Arc<Sign>,
    ended: Option<Result<i32, ExecError>>,
}

/// One object's command.
type Key = (ObjectKey, String);

/// The table.
#[derive(Debug)]
pub struct Commands {
    entries: Mutex<HashMap<Key, Entry>>,
    changed: mpsc::UnboundedSender<Vec<ObjectKey>>,
    metrics: Metrics,
}

impl Commands {
    /// An empty table. Who has to be called because a command has ended is told by the receiver.
    pub fn new(metrics: Metrics) -> (Arc<Self>, mpsc::UnboundedReceiver<Vec<ObjectKey>>) {
        let (changed, receiver) = mpsc::unbounded_channel();
        (Arc::new(Self { entries: Mutex::default(), changed, metrics }), receiver)
    }

    /// How a command stands, if this one was given under the name.
    pub fn find(&self, owner: &ObjectKey, name: &str, known_by: &str) -> Option<Standing> {
        self.standing(owner, name, |entry| entry.known_by == known_by)
    }

    /// How a command stands, whatever it is.
    pub fn look(&self, owner: &ObjectKey, name: &str, attempt: u32) -> Option<Standing> {
        self.standing(owner, name, |entry| entry.attempt == attempt)
    }

    fn standing(&self, owner: &ObjectKey, name: &str, is: impl Fn(&Entry) -> bool) -> Option<Standing> {
        let entries = self.entries();
        let entry = entries.get(&(owner.clone(), name.to_owned())).filter(|entry| is(entry))?;
        let output = entry.sign.tail.lock().unwrap_or_else(PoisonError::into_inner).text();
        Some(Standing { ended: entry.ended.clone(), output })
    }

    /// Begins one. Another one of the name is stopped.
    ///
    /// # Errors
    /// [`Full`]; nothing has changed then.
    pub fn start(
        self: &Arc<Self>,
        owner: &ObjectKey,
        name: &str,
        given: Given,
        plugin: &str,
        api: Api,
    ) -> Result<(), Full> {
        let key = (owner.clone(), name.to_owned());
        let sign = Arc::new(Sign::default());
        {
            let mut entries = self.entries();
            let others = || entries.iter().filter(|(other, _)| **other != key);
            if others().filter(|((other, _), _)| other == owner).count() >= NAMES {
                return Err(Full::Names);
            }
            let runs = |entry: &Entry| entry.ended.is_none() && entry.plugin == plugin;
            if others().filter(|(_, entry)| runs(entry)).count() >= AT_ONCE {
                return Err(Full::Running);
            }
            let entry = Entry {
                plugin: plugin.to_owned(),
                attempt: given.attempt,
                known_by: given.known_by,
                sign: Arc::clone(&sign),
                ended: None,
            };
            if let Some(before) = entries.insert(key.clone(), entry) {
                before.sign.stop.notify_one();
            }
        }
        tokio::spawn(Arc::clone(self).run(key, sign, given.command, plugin.to_owned(), api));
        Ok(())
    }

    async fn run(self: Arc<Self>, key: Key, sign: Arc<Sign>, command: Command, plugin: String, api: Api) {
        let limit = command.timeout;
        let running = tokio::time::timeout(limit, session::run(&api, &command, &sign.tail));
        let result = tokio::select! {
            result = running => result.unwrap_or(Err(ExecError::TimedOut(limit))),
            () = sign.stop.notified() => return,
        };
        self.tell(&plugin, &key, &result);
        let mut entries = self.entries();
        // Another one may have taken its name.
        if let Some(entry) = entries.get_mut(&key).filter(|entry| Arc::ptr_eq(&entry.sign, &sign)) {
            entry.ended = Some(result);
            drop(entries);
            let _ = self.changed.send(vec![key.0]);
        }
    }

    /// What it wrote is told to nobody but its plugin.
    fn tell(&self, plugin: &str, (owner, name): &Key, result: &Result<i32, ExecError>) {
        let owner = owner.to_string();
        let word = match result {
            Ok(0) => "Succeeded",
            Ok(_) => "ExitedNonZero",
            Err(error) => error.reason(),
        };
        match result {
            Ok(code) => tracing::info!(plugin, owner, name, code, "command ended"),
            Err(error) => tracing::warn!(plugin, owner, name, %error, "command failed"),
        }
        self.metrics.ended.get_or_create(&Ended { plugin: plugin.to_owned(), result: word }).inc();
    }

    /// Stops and forgets one.
    pub fn forget(&self, owner: &ObjectKey, name: &str) {
        if let Some(entry) = self.entries().remove(&(owner.clone(), name.to_owned())) {
            entry.sign.stop.notify_one();
        }
    }

    /// An object is gone, and its commands with it.
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

#[cfg(test)]
mod tests;
