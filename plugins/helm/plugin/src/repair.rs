//! Drift of a release: what of it is not as it was applied is applied again.

use std::rc::Rc;

use helm_release::{Operation, Status};
use pilothouse_sdk::{ApplyOptions, Change, Error, Event, KubeError, Watch};
use serde_json::Value;

use crate::{
    apply::{Changed, Items, is_refusal, listed},
    call::Call,
    drive::Ended,
    left_alone::Purpose,
    options::DriftMode,
    releases::Prepared,
    report::{Concern, explain},
};

impl Call<'_> {
    /// Applies a deployed revision; what had to be changed is drift. Answers what differs and is left as it is.
    pub(crate) fn repair(&self, prepared: &Prepared) -> Result<Vec<Changed>, Error> {
        self.repair_or_adopt(prepared, false)
    }

    /// The same for a release that was there before us: what is written then are our marks.
    pub(crate) fn repair_or_adopt(&self, prepared: &Prepared, adopts: bool) -> Result<Vec<Changed>, Error> {
        let failed = |error| {
            let error = explain(error, Concern::Reconcile);
            self.watched_failure(error, Some(prepared))
        };
        let mode = self.settings().release.drift_detection.mode;
        if mode == DriftMode::Disabled {
            return Ok(Vec::new());
        }
        let (references, items) =
            self.items_now(prepared, Purpose::Repair).map_err(|error| failed(error.into()))?;
        let items = Items { references: &references, items: &items };
        if mode == DriftMode::Warn {
            return self.differing(&items).map_err(|error| failed(error.into()));
        }
        let (changed, failure) = self.apply_each(&items);
        if !changed.is_empty() {
            self.tell_repaired(prepared, &changed, adopts);
        }
        failure.map_or(Ok(Vec::new()), |error| Err(failed(error)))
    }

    fn tell_repaired(&self, prepared: &Prepared, changed: &[Changed], adopts: bool) {
        let revision = prepared.revision;
        if adopts {
            let message =
                format!("took over revision {revision}: {} of its objects got our marks", changed.len());
            self.ctx().publish(&Event::normal("ReleaseAdopted", message));
            self.tell_taken(revision, changed);
            return;
        }
        let message = format!("changed back to revision {revision}: {}", listed(changed));
        self.count_drift(changed);
        self.ctx().publish(&Event::normal("DriftCorrected", message));
    }

    /// Which objects are not as they would be applied.
    fn differing(&self, all: &Items<'_>) -> Result<Vec<Changed>, KubeError> {
        let options = ApplyOptions { force: true, dry_run: true, ..ApplyOptions::default() };
        let answers = self.send(all.items, options);
        let mut differing = Vec::new();
        for ((answer, reference), item) in answers.into_iter().zip(all.references).zip(all.items) {
            match answer {
                Ok(applied) if applied.change == Change::Unchanged => {}
                Ok(applied) => {
                    let live: Option<Value> = self.kube().get_ref(reference)?;
                    if live.is_none_or(|live| differs(&live, &item.object, applied.generation)) {
                        differing.push(Changed { reference: reference.clone(), taken: applied.taken });
                    }
                }
                // What the cluster does not want as it is told by who applies it.
                Err(error) if is_refusal(&error) || matches!(error, KubeError::UnknownKind(_)) => {
                    differing.push(Changed { reference: reference.clone(), taken: Vec::new() });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(differing)
    }

    /// What can be done while nobody can tell what is wanted, because the chart or the values cannot be read: our own
    /// operation goes on, since its record holds all that it needs, and what is deployed stays repaired. Answers the error
    /// with what the release is woken by.
    pub(crate) fn keep_up(&self, error: Error) -> Error {
        match self.keep_up_or_fail() {
            Ok(kept) => kept.watches.into_iter().fold(error, Error::watch),
            Err(failure) => {
                let fields: [(&str, &dyn std::fmt::Display); 1] = [("reason", &failure.message())];
                let words = format_args!("the release cannot be kept up");
                self.ctx().log(pilothouse_sdk::Level::Warn, words, &fields);
                self.watched_failure(error, None).worth_retrying()
            }
        }
    }

    pub(crate) fn keep_up_or_fail(&self) -> Result<Kept, Error> {
        let nothing = || Kept { watches: self.watches(None), deployed: None };
        let mut history = self.store().history()?;
        // Helm's own records name no owner: what somebody made by hand of our release is ours all the same.
        if !self.is_ours(&history)? {
            return Ok(nothing());
        }
        let Some(latest) = history.latest() else { return Ok(nothing()) };
        if latest.status.is_pending() && latest.marks.progress.is_some() {
            let stored = self.store().load(latest.revision)?;
            if let Some(operation) = Operation::resume(stored, self.now()) {
                let action = operation.action();
                match self.drive(self.as_set(operation)?, &history)? {
                    Ended::Done(stored) => self.announce(action, &stored),
                    Ended::Failed(_) => {}
                    Ended::Paused(pause) => {
                        let watches = self.watches(None).into_iter().chain(pause.watches).collect();
                        return Ok(Kept { watches, deployed: None });
                    }
                }
                history = self.store().history()?;
            }
        }
        let Some(deployed) = history.latest().filter(|latest| latest.status == Status::Deployed) else {
            return Ok(nothing());
        };
        let prepared = self.prepared(deployed)?;
        self.repair(&prepared)?;
        Ok(Kept { watches: self.watches(Some(&prepared)), deployed: Some(prepared) })
    }
}

/// What was kept up while nobody can tell what is wanted.
pub(crate) struct Kept {
    /// What the release is woken by.
    pub(crate) watches: Vec<Watch>,
    /// What is deployed.
    pub(crate) deployed: Option<Rc<Prepared>>,
}

/// Whether a live object differs from what is applied. The API server counts changes of a specification; it counts none of
/// metadata, and none of kinds that have no specification.
fn differs(live: &Value, item: &str, generation: u64) -> bool {
    let known = live.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or(0);
    if generation == 0 || generation != known {
        return true;
    }
    let Ok(item) = serde_json::from_str::<Value>(item) else { return true };
    ["/metadata/labels", "/metadata/annotations"].iter().any(|table| {
        let wanted = item.pointer(table).and_then(Value::as_object);
        let found = live.pointer(table);
        wanted.into_iter().flatten().any(|(key, value)| found.and_then(|found| found.get(key)) != Some(value))
    })
}
