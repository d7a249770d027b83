//! Which revision of each plugin is at work.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::mpsc;

use super::identity::Identity;
use super::revision::{Revision, RevisionError};

/// What happened to a plugin.
#[derive(Debug, Clone)]
pub enum Change {
    /// A revision is at work from now on. Calls under way end on the one before.
    Activated {
        /// The new revision.
        revision: Arc<Revision>,
        /// The one before.
        before: Option<Arc<Identity>>,
    },
    /// A file did not become a revision; what was at work goes on.
    Refused {
        /// The file.
        origin: String,
        /// The plugin's name where it could be read.
        name: Option<String>,
        /// A bounded word.
        reason: &'static str,
        /// The sentence.
        message: String,
    },
    /// The plugin is gone; its objects are left as they are.
    Retired(Arc<Identity>),
}

#[derive(Debug)]
struct Entry {
    revision: Arc<Revision>,
    origin: String,
}

/// The plugins of this host. Reading is cheap; every call looks its plugin up again, which is what makes a swap atomic
/// for each object.
#[derive(Debug)]
pub struct Registry {
    plugins: RwLock<BTreeMap<Arc<str>, Entry>>,
    changes: mpsc::UnboundedSender<Change>,
}

impl Registry {
    /// An empty registry and the stream of its changes.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Change>) {
        let (changes, receiver) = mpsc::unbounded_channel();
        (Self { plugins: RwLock::new(BTreeMap::new()), changes }, receiver)
    }

    /// The revision at work.
    pub fn active(&self, name: &str) -> Option<Arc<Revision>> {
        let plugins = self.plugins.read().unwrap_or_else(PoisonError::into_inner);
        plugins.get(name).map(|entry| Arc::clone(&entry.revision))
    }

    /// All revisions at work, by name.
    pub fn all(&self) -> Vec<Arc<Revision>> {
        let plugins = self.plugins.read().unwrap_or_else(PoisonError::into_inner);
        plugins.values().map(|entry| Arc::clone(&entry.revision)).collect()
    }

    /// Puts a revision to work. The same digest again changes nothing.
    ///
    /// # Errors
    /// When another file carries the same name, or another plugin one of its kinds.
    pub fn activate(&self, revision: Revision, origin: &str) -> Result<(), RevisionError> {
        let mut plugins = self.plugins.write().unwrap_or_else(PoisonError::into_inner);
        let name = Arc::clone(&revision.identity.name);
        for kind in &revision.manifest.kinds {
            let taken = |entry: &&Entry| {
                entry.revision.identity.name != name
                    && entry.revision.manifest.kinds.iter().any(|k| k.gvk() == kind.gvk())
            };
            if let Some(owner) = plugins.values().find(taken) {
                let owner = format!("plugin {}", owner.revision.identity.name);
                return Err(RevisionError::KindTaken { kind: kind.gvk().to_string(), owner });
            }
        }
        if let Some(entry) = plugins.get(&name)
            && entry.origin != origin
        {
            return Err(RevisionError::Duplicate { name: name.to_string(), other: entry.origin.clone() });
        }
        let revision = Arc::new(revision);
        let before =
            plugins.insert(name, Entry { revision: Arc::clone(&revision), origin: origin.to_owned() });
        let before = before.map(|entry| Arc::clone(&entry.revision.identity));
        if before.as_ref() != Some(&revision.identity) {
            let _ = self.changes.send(Change::Activated { revision, before });
        }
        Ok(())
    }

    /// Better code for a revision that is at work: nothing that anybody has to be told. False when another revision is at
    /// work by now.
    pub fn improve(&self, revision: Revision) -> bool {
        let mut plugins = self.plugins.write().unwrap_or_else(PoisonError::into_inner);
        let entry = plugins.get_mut(&revision.identity.name);
        let Some(entry) = entry.filter(|entry| entry.revision.identity == revision.identity) else {
            return false;
        };
        entry.revision = Arc::new(revision);
        true
    }

    /// Says that a file did not become a revision.
    pub fn refuse(&self, origin: &str, name: Option<&str>, error: &RevisionError) {
        let _ = self.changes.send(Change::Refused {
            origin: origin.to_owned(),
            name: name.map(ToOwned::to_owned),
            reason: error.reason(),
            message: error.to_string(),
        });
    }

    /// Takes the plugin of a file out of work.
    pub fn retire(&self, origin: &str) {
        let mut plugins = self.plugins.write().unwrap_or_else(PoisonError::into_inner);
        let name = plugins.iter().find(|(_, entry)| entry.origin == origin).map(|(name, _)| Arc::clone(name));
        if let Some(entry) = name.and_then(|name| plugins.remove(&name)) {
            let _ = self.changes.send(Change::Retired(Arc::clone(&entry.revision.identity)));
        }
    }
}
