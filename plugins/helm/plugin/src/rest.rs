//! A release at rest: what is needed to say so is in the object's status, in the host's caches and in what its last applies
//! returned, so saying it takes no request.
//!
//! Caches may be a moment old. So nothing is ever written on what is found here: whatever does not look like rest is looked at
//! again, from the API server. And since somebody else's revision that changes nothing would never be noticed like this, the
//! records are listed once in a while all the same.

use std::rc::Rc;

use helm_release::{Entry, Status, secret_name};
use jiff::SignedDuration;
use pilothouse_sdk::{ApplyOptions, ObjectRef, Outcome, Reason};
use serde_json::Value;

use crate::{
    call::Call,
    inputs,
    left_alone::Purpose,
    looked_up::Answers,
    options::DriftMode,
    readiness::{NOT_READY, WAITING_FOR_READINESS},
    releases::Prepared,
    report::DRIFTED,
    store::secret_kind,
};

/// So long after an instance listed the records of a release, or took it up, it lists them even though nothing has changed.
const TRUSTED_FOR: SignedDuration = SignedDuration::from_hours(1);
/// The host merges more reasons than these into one call, and leaves the rest out.
const MOST_REASONS: usize = 16;

impl Call<'_> {
    /// What to say of a release at which there is nothing to do; none when that cannot be told without asking.
    ///
    /// `base`: what is wanted, without what was looked up in the cluster.
    pub(crate) fn at_rest(&self, base: &str) -> Option<Outcome> {
        let inputs = self.remembered().filter(|known| inputs::base(known) == base)?;
        let revision = self.settled_revision()?;
        let entry = self.store().known(revision)?;
        let wanted = |marks: &Option<String>| marks.as_deref() == Some(inputs);
        let by_hand = !wanted(&entry.marks.inputs);
        let test = &self.annotations().test_at;
        if entry.status != Status::Deployed
            || !self.is_way_back_settled(entry.marks.asked.as_deref())
            || (test.is_some() && *test != entry.marks.tested)
            || entry.marks.progress.is_some()
            || (by_hand && !wanted(&entry.marks.accepted))
            || !self.keeps(&entry)
            || (self.asks_again() && self.answers(entry.marks.lookups.as_ref()) != Answers::Same)
        {
            return None;
        }
        let prepared = self.prepared(&entry).ok()?;
        if self.now().duration_since(prepared.looked_at.get()) >= TRUSTED_FOR || !self.stands(&prepared) {
            return None;
        }
        let description = by_hand.then_some(prepared.description.as_str());
        Some(self.deployed(&prepared, inputs, description))
    }

    /// Whether the last call left the release at rest.
    pub(crate) fn is_at_rest(&self) -> bool {
        let conditions = self.object().value().pointer("/status/conditions").and_then(Value::as_array);
        conditions.is_some_and(|conditions| conditions.iter().any(|condition| is_of_rest(&condition)))
    }

    /// The records were looked at: what is deployed is what is wanted.
    pub(crate) fn trust(&self, prepared: &Rc<Prepared>) {
        prepared.looked_at.set(self.now());
    }

    /// The revision that the last call left at rest. None when it left anything else, or when there is
    /// reason to believe that somebody was at work since.
    fn settled_revision(&self) -> Option<u32> {
        let object = self.object().value();
        let conditions = object.pointer("/status/conditions")?.as_array()?;
        let ready = conditions.iter().find(is_of_rest)?;
        // Whether what was told of drift still holds takes a look, and so does what happened while nobody looked.
        if conditions.iter().any(|condition| condition["type"] == DRIFTED) || self.was_suspended() {
            return None;
        }
        if ready.get("observedGeneration") != object.pointer("/metadata/generation") || !self.is_routine() {
            return None;
        }
        u32::try_from(object.pointer("/status/release/revision")?.as_u64()?).ok()
    }

    /// Whether nothing that led to this call speaks of an operation: neither one that may have been broken off, nor a record
    /// that moved.
    fn is_routine(&self) -> bool {
        let record = secret_name(&self.owner().release, 0);
        let prefix = record.trim_end_matches('0');
        let is_record = |object: &ObjectRef| object.kind == secret_kind() && object.name.starts_with(prefix);
        let routine = |reason: &Reason| match reason {
            Reason::Changed | Reason::Timer | Reason::Resync => true,
            Reason::Child(object) | Reason::Related(object) => !is_record(object),
            Reason::Start | Reason::Configuration | Reason::Retry | Reason::Manual => false,
        };
        let reasons = self.ctx().reasons();
        reasons.len() < MOST_REASONS && reasons.iter().all(routine)
    }

    /// Whether the record is this object's.
    fn keeps(&self, entry: &Entry) -> bool {
        entry.controller.as_ref().is_none_or(|other| self.owner().is(other))
    }

    /// Whether every object is known to be as it was applied. Asks about the first that is not, and changes nothing.
    fn stands(&self, prepared: &Prepared) -> bool {
        let strict = self.is_strict();
        let options = ApplyOptions { force: true, dry_run: true, stop_on_error: true, strict };
        if self.settings().release.drift_detection.mode == DriftMode::Disabled {
            return true;
        }
        (0..prepared.items.len()).all(|at| {
            let Ok(item) = self.item_now(prepared, at, Purpose::Look) else { return false };
            let Some(item) = item else { return true };
            self.is_as_applied(prepared, at, &item, options)
                || prepared.references.get(at).is_some_and(|reference| self.is_opted_out(reference))
        })
    }
}

/// Whether a condition says that a release is at rest; it is also while objects are on their way.
fn is_of_rest(condition: &&Value) -> bool {
    let waits = [WAITING_FOR_READINESS, NOT_READY].iter().any(|reason| condition["reason"] == *reason);
    condition["type"] == "Ready" && (condition["status"] == "True" || waits)
}
