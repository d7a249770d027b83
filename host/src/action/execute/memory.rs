//! What was applied last, so that the same again costs nothing and an own write is known again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::object::ObjectKey;

/// What the last apply of an object said and returned.
#[derive(Clone, Debug, Default)]
pub(super) struct LastApply {
    /// Hash of manager, applied text and how strictly it was meant; 0: nothing that could be said again.
    pub(super) said: u64,
    pub(super) resource_version: String,
    /// What its writes before the last one returned.
    pub(super) earlier: Vec<String>,
    /// Digest of the object without status as it was left.
    pub(super) content: Option<u64>,
}

/// So many earlier writes of an object are known again: of a call that writes it more often, events are only late.
const MOST_EARLIER: usize = 4;

impl LastApply {
    /// What its writes returned, the last one included: what is earlier for the next.
    pub(super) fn versions(mut self) -> Vec<String> {
        self.earlier.push(self.resource_version);
        let surplus = self.earlier.len().saturating_sub(MOST_EARLIER);
        self.earlier.drain(..surplus);
        self.earlier
    }
}

/// The last applies of all objects.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<HashMap<ObjectKey, LastApply>>);

impl Memory {
    pub(super) fn last(&self, key: &ObjectKey) -> Option<LastApply> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Whether the last write of the object returned this resource version.
    pub(super) fn wrote(&self, key: &ObjectKey, resource_version: &str) -> bool {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.get(key).is_some_and(|last| {
            last.resource_version == resource_version
                || last.earlier.iter().any(|own| own == resource_version)
        })
    }

    pub(super) fn remember(&self, key: ObjectKey, last: LastApply) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, last);
    }

    pub(super) fn forget(&self, key: &ObjectKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
