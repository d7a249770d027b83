//! The work queue on virtual time: each object at most once, with why it is in it.

use std::{collections::BTreeMap, time::SystemTime};

use crate::{ObjectRef, Reason};

/// Reasons that are kept for one call.
const REASONS: usize = 16;

#[derive(Debug)]
struct Entry {
    due: SystemTime,
    order: u64,
    reasons: Vec<Reason>,
}

/// Does the reason make earlier failures meaningless?
pub(super) fn ends_back_off(reason: &Reason) -> bool {
    matches!(reason, Reason::Start | Reason::Changed | Reason::Configuration | Reason::Manual)
}

/// What waits to be called.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: BTreeMap<ObjectRef, Entry>,
    /// Until when a failed object is left alone.
    holds: BTreeMap<ObjectRef, SystemTime>,
    count: u64,
}

impl Queue {
    /// Puts an object in, or merges the reason and the earlier time into its entry. A back-off is waited out, except
    /// for the reasons that make the failures meaningless.
    pub(super) fn add(&mut self, object: &ObjectRef, reason: Reason, due: SystemTime) {
        if ends_back_off(&reason) {
            self.holds.remove(object);
        }
        let due = self.holds.get(object).map_or(due, |hold| due.max(*hold));
        self.insert(object, reason, due);
    }

    /// A failed object comes back after its back-off and not before.
    pub(super) fn hold(&mut self, object: &ObjectRef, until: SystemTime) {
        self.holds.insert(object.clone(), until);
        self.insert(object, Reason::Retry, until);
    }

    /// The back-off of an object is over.
    pub(super) fn release(&mut self, object: &ObjectRef) {
        self.holds.remove(object);
    }

    fn insert(&mut self, object: &ObjectRef, reason: Reason, due: SystemTime) {
        self.count += 1;
        let order = self.count;
        let new = || Entry { due, order, reasons: Vec::new() };
        let entry = self.entries.entry(object.clone()).or_insert_with(new);
        entry.due = entry.due.min(due);
        if !entry.reasons.contains(&reason) && entry.reasons.len() < REASONS {
            entry.reasons.push(reason);
        }
    }

    pub(super) fn remove(&mut self, object: &ObjectRef) {
        self.entries.remove(object);
        self.holds.remove(object);
    }

    /// Takes out what has been due for longest.
    pub(super) fn pop(&mut self, now: SystemTime) -> Option<(ObjectRef, Vec<Reason>)> {
        let due = self.entries.iter().filter(|(_, entry)| entry.due <= now);
        let (object, _) = due.min_by_key(|(_, entry)| (entry.due, entry.order))?;
        let object = object.clone();
        let entry = self.entries.remove(&object)?;
        Some((object, entry.reasons))
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<SystemTime> {
        self.entries.values().map(|entry| entry.due).min()
    }
}
