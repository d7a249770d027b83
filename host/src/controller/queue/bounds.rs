//! Kinds of which only so many objects are worked on at once.
//!
//! Of such a kind no more objects than it may have are in the lanes, ready or running; the others wait here in the
//! order in which they would be handed out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::reason::Priority;
use crate::object::{Gvk, ObjectKey};

/// An object that waits for a place, by urgency and then by age.
type Place = (std::cmp::Reverse<Priority>, u64);

#[derive(Debug, Default)]
struct Bound {
    /// At least 1; none: as many as there are.
    limit: Option<usize>,
    /// Ready or running.
    inside: usize,
    outside: BTreeMap<Place, ObjectKey>,
}

impl Bound {
    fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.inside >= limit)
    }
}

/// The bounds of all kinds that were ever given one.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    kinds: HashMap<Arc<Gvk>, Bound>,
}

impl Bounds {
    /// Sets a kind's bound; `inside` counts its objects that are ready or running now.
    pub(super) fn set(&mut self, kind: &Arc<Gvk>, limit: Option<usize>, inside: impl FnOnce() -> usize) {
        let limit = limit.map(|limit| limit.max(1));
        match self.kinds.get_mut(kind) {
            Some(bound) => bound.limit = limit,
            None if limit.is_some() => {
                let bound = Bound { limit, inside: inside(), outside: BTreeMap::new() };
                self.kinds.insert(Arc::clone(kind), bound);
            }
            None => {}
        }
    }

    /// Whether an object may be ready now; if not, it waits here.
    pub(super) fn enter(&mut self, key: &ObjectKey, priority: Priority, order: u64) -> bool {
        let Some(bound) = self.kinds.get_mut(&key.gvk) else { return true };
        if bound.is_full() {
            bound.outside.insert((std::cmp::Reverse(priority), order), key.clone());
            return false;
        }
        bound.inside += 1;
        true
    }

    /// Takes a waiting object out; `false` when it does not wait here.
    pub(super) fn withdraw(&mut self, key: &ObjectKey, priority: Priority, order: u64) -> bool {
        let waiting = self.kinds.get_mut(&key.gvk).map(|bound| &mut bound.outside);
        waiting.is_some_and(|waiting| waiting.remove(&(std::cmp::Reverse(priority), order)).is_some())
    }

    /// An object is neither ready nor running any more.
    pub(super) fn leave(&mut self, kind: &Gvk) {
        if let Some(bound) = self.kinds.get_mut(kind) {
            bound.inside = bound.inside.saturating_sub(1);
        }
    }

    /// The next that takes a free place.
    pub(super) fn promote(&mut self, kind: &Gvk) -> Option<ObjectKey> {
        let bound = self.kinds.get_mut(kind).filter(|bound| !bound.is_full())?;
        let (_, key) = bound.outside.pop_first()?;
        bound.inside += 1;
        Some(key)
    }

    /// Objects that wait here.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&ObjectKey, Priority)> {
        self.kinds.values().flat_map(|bound| bound.outside.iter().map(|(place, key)| (key, place.0.0)))
    }
}
