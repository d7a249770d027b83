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

/// What waits to be called.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: BTreeMap<ObjectRef, Entry>,
    count: u64,
}

impl Queue {
    /// Puts an object in, or merges the reason and the earlier time into its entry.
    pub(super) fn add(&mut self, object: &ObjectRef, reason: Reason, due: SystemTime) {
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
