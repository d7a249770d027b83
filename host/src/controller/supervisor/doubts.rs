//! Changes that may be a call's own doing. A write's event can be there before the answer to the write, and then nobody knows
//! yet whose it was: what is told of a child while a call for its owner is under way is judged when that call is over.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::controller::queue::{MAX_REASONS, Priority};
use crate::object::ObjectKey;

/// A child as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) child: ObjectKey,
    /// Its resource version then.
    pub(super) version: Box<str>,
    /// How urgent it is if it was somebody else's doing.
    pub(super) priority: Priority,
}

/// What was told during calls, by owner.
#[derive(Debug, Default)]
pub(super) struct Doubts(Mutex<HashMap<ObjectKey, Vec<Seen>>>);

impl Doubts {
    /// Keeps it for later if `is_running` says that a call for the owner is under way. False: it has to be acted on now. A call
    /// must be over before [`take`](Self::take) is asked for what was kept during it, so nothing is kept that nobody takes.
    pub(super) fn keep(&self, owner: &ObjectKey, seen: Seen, is_running: impl FnOnce() -> bool) -> bool {
        let mut all = self.lock();
        if !is_running() {
            return false;
        }
        let kept = all.entry(owner.clone()).or_default();
        if kept.len() >= MAX_REASONS {
            return false;
        }
        if !kept.contains(&seen) {
            kept.push(seen);
        }
        true
    }

    /// What was kept for an owner whose call is over.
    pub(super) fn take(&self, owner: &ObjectKey) -> Vec<Seen> {
        self.lock().remove(owner).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, Vec<Seen>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::object::Gvk;

    fn object(name: &str) -> ObjectKey {
        ObjectKey::new(Arc::new(Gvk::new("", "v1", "ConfigMap")), Some("a"), name)
    }

    fn seen(child: &str, version: &str) -> Seen {
        Seen { child: object(child), version: version.into(), priority: Priority::High }
    }

    #[test]
    fn what_is_told_of_a_child_at_rest_is_not_kept() {
        let doubts = Doubts::default();
        assert!(!doubts.keep(&object("owner"), seen("child", "1"), || false));
        assert_eq!(doubts.take(&object("owner")), []);
    }

    #[test]
    fn what_is_told_during_a_call_is_kept_until_it_is_over_and_no_longer() {
        let doubts = Doubts::default();
        for version in ["1", "2", "1"] {
            assert!(doubts.keep(&object("owner"), seen("child", version), || true));
        }
        assert_eq!(doubts.take(&object("other")), []);
        let kept = [seen("child", "1"), seen("child", "2")];
        assert_eq!(doubts.take(&object("owner")), kept);
        assert_eq!(doubts.take(&object("owner")), []);
    }

    #[test]
    fn of_a_flood_the_rest_is_acted_on() {
        let doubts = Doubts::default();
        let keep = |n: usize| doubts.keep(&object("owner"), seen(&format!("c{n}"), "1"), || true);
        assert_eq!((0..100).filter(|n| keep(*n)).count(), MAX_REASONS);
    }
}
