//! Takes a release away with its object.

use std::collections::BTreeSet;

use helm_chart::order::UNINSTALL_ORDER;
use helm_release::{Action, Entry, History, Operation, SecretError, Status, Stored};
use pilothouse_sdk::{Condition, Error, Event, Finalized, Gvk, ObjectRef};
use serde_json::Value;

use crate::{
    call::Call,
    drive::Ended,
    lifecycle::{self, Change},
    objects::{self, Object},
    report::{Concern, Pause, explain},
};

impl Call<'_> {
    /// Uninstalls the release. It needs neither the chart nor the values, so that an object can go when those are gone
    /// or broken.
    ///
    /// # Errors
    /// With operator-sdk's conditions; the object stays.
    pub(crate) fn uninstall(&self) -> Result<Finalized, Error> {
        let failed = |error| explain(error, Concern::Uninstall);
        let history = self.store().tidied_history().map_err(failed)?;
        let Some(latest) = history.latest() else {
            return self.uninstall_without_records().map_err(failed);
        };
        if !self.is_ours(&history).map_err(failed)? {
            return Ok(Finalized::Done);
        }
        let stored = match self.store().try_load(latest.revision).map_err(failed)? {
            Ok(stored) => stored,
            Err(error) => {
                if let Some(pause) = self.may_go_unread().map_err(failed)? {
                    return Ok(self.going(pause));
                }
                return self.uninstall_unread(&history, &error).map_err(failed);
            }
        };
        if let Some(pause) = self.may_uninstall(latest, &stored).map_err(failed)? {
            return Ok(self.going(pause));
        }
        let Some(operation) = self.uninstall_operation(latest, stored, false) else {
            return Ok(Finalized::Done);
        };
        let operation = self.as_set(operation)?;
        match self.drive(operation, &history).map_err(failed)? {
            Ended::Done(stored) => {
                self.announce(Action::Uninstall, &stored);
                Ok(Finalized::Done)
            }
            Ended::Failed(message) => {
                self.ctx().publish(&Event::warning(Concern::Uninstall.reason(), &message));
                Err(failed(Error::retry(Concern::Uninstall.reason(), message)))
            }
            Ended::Paused(pause) => Ok(self.going(pause)),
        }
    }

    /// Announces that the release is taken away. None: that may begin, or has.
    pub(crate) fn may_uninstall(&self, latest: &Entry, stored: &Stored) -> Result<Option<Pause>, Error> {
        if latest.status == Status::Uninstalling && latest.marks.progress.is_some() {
            return Ok(None);
        }
        self.may_begin(&Change {
            action: Action::Uninstall,
            name: self.deletion(stored),
            undoes: None,
            from: Some(&stored.release),
            to: Value::Null,
        })
    }

    /// The same where no record tells of the release: the object's own name for its deletion.
    fn may_go_unread(&self) -> Result<Option<Pause>, Error> {
        let uid = self.object().value().pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        let name = lifecycle::name(0, &["delete", uid]);
        let (action, to) = (Action::Uninstall, Value::Null);
        self.may_begin(&Change { action, name, undoes: None, from: None, to })
    }

    fn going(&self, pause: Pause) -> Finalized {
        let going = Condition::new("Deployed", false).reason("UninstallSuccessful").message(&pause.message);
        Finalized::waiting(self.paused(pause, None).condition(going).drop_condition("ReleaseFailed"))
    }

    /// The newest record cannot be read, and nobody will make it readable: what is known of the release goes, without hooks,
    /// since those of an older revision may be wrong. The helm command line passes such a record over as well.
    fn uninstall_unread(&self, history: &History, error: &SecretError) -> Result<Finalized, Error> {
        let mut left = self.remembered_objects();
        for entry in history.life() {
            if let Ok(stored) = self.store().try_load(entry.revision)? {
                left.extend(self.objects(&stored.release.manifest).unwrap_or_default());
            }
        }
        let mut known = BTreeSet::new();
        left.retain(|object| !object.is_kept() && known.insert(object.key()));
        objects::sort(&mut left, UNINSTALL_ORDER);
        self.delete_each(&left, true)?;
        if let Some(pause) = self.still_going(&left.iter().collect::<Vec<_>>(), self.waits_for_deletion())? {
            return Ok(self.going(pause));
        }
        let message = format!("the release was taken away without its hooks, as far as it is known: {error}");
        self.ctx().publish(&Event::warning("RecordUnreadable", message));
        // Whoever is killed here finds the newest again.
        history
            .entries()
            .iter()
            .try_for_each(|entry| self.store().delete(entry.revision, entry.chunks.as_ref()))?;
        Ok(Finalized::Done)
    }

    /// What the object's status says is of the release.
    pub(crate) fn remembered_objects(&self) -> Vec<Object> {
        let manifest =
            self.object().value().pointer("/status/deployedRelease/manifest").and_then(Value::as_str);
        manifest.and_then(|manifest| self.objects(manifest).ok()).unwrap_or_default()
    }

    fn delete_each(&self, objects: &[Object], respect_keep: bool) -> Result<(), Error> {
        objects.iter().try_for_each(|object| {
            let deleted = self.delete(object, respect_keep);
            deleted
                .map(drop)
                .map_err(|error| Error::from(error).context(format_args!("failed to delete {object}")))
        })
    }

    /// The records are gone, perhaps with their namespace: what the object's status knows of the release goes, as far as it
    /// is the release's.
    fn uninstall_without_records(&self) -> Result<Finalized, Error> {
        let mut left = self.remembered_objects();
        left.retain(|object| !object.is_kept());
        if left.is_empty() {
            return Ok(Finalized::Done);
        }
        if let Some(pause) = self.may_go_unread()? {
            return Ok(self.going(pause));
        }
        objects::sort(&mut left, UNINSTALL_ORDER);
        self.delete_each(&left, false)?;
        Ok(Finalized::Done)
    }

    /// Whether the release's namespace is going: then nothing can be created in it, hooks neither.
    fn namespace_is_going(&self) -> bool {
        let reference =
            ObjectRef::new(Gvk::new("", "v1", "Namespace"), None::<&str>, &self.owner().namespace);
        let kube = self.kube().clone().live().only(["metadata.deletionTimestamp"]);
        // Where namespaces may not be read, the hooks themselves find out.
        let found: Option<Value> = kube.get_ref(&reference).ok().flatten();
        found.is_some_and(|found| found.pointer("/metadata/deletionTimestamp").is_some())
    }

    /// None: there is nothing to uninstall. `remedies`: it follows a failed upgrade, and is not the end.
    pub(crate) fn uninstall_operation(
        &self,
        latest: &Entry,
        mut stored: Stored,
        remedies: bool,
    ) -> Option<Operation> {
        if latest.status == Status::Uninstalling && latest.marks.progress.is_some() {
            return Operation::resume(stored, self.now());
        }
        if self.namespace_is_going() {
            stored.release.hooks.clear();
        }
        stored.marks.remedies = remedies;
        stored.marks.change = lifecycle::mark(Action::Uninstall, &self.deletion(&stored));
        stored.marks.undoes = None;
        stored.release.info.deleted = Some(self.now());
        stored.release.set_status(Status::Uninstalling, "Deletion in progress (or silently failed)");
        stored.release.hooks.iter_mut().for_each(|hook| hook.last_run = Default::default());
        Operation::begin(stored, self.now())
    }

    /// Whether the release of this name belongs to this object: not when another object keeps it, nor when it is of
    /// another chart and was never ours.
    pub(crate) fn is_ours(&self, history: &History) -> Result<bool, Error> {
        let Some(latest) = history.latest() else { return Ok(false) };
        let owner = self.owner();
        if let Some(other) = &latest.controller {
            return Ok(owner.is(other));
        }
        if history.entries().iter().any(|entry| entry.marks.ours() || entry.marks.accepted.is_some()) {
            return Ok(true);
        }
        let status = |pointer: &str| self.object().value().pointer(pointer).and_then(Value::as_str);
        if status("/status/deployedRelease/name") == Some(owner.release.as_str()) {
            // Somebody may have put another chart under that name.
            let Some(known) = status("/status/release/chart") else { return Ok(true) };
            let Ok(stored) = self.store().try_load(latest.revision)? else { return Ok(true) };
            return Ok(stored.release.chart_name().is_none_or(|found| is_of_chart(known, &found.name)));
        }
        // Nobody says whose it is: of our chart it is ours, as for operator-sdk.
        let Some(chart) = self.chart_name() else { return Ok(false) };
        let stored = self.store().try_load(latest.revision)?;
        Ok(stored.is_ok_and(|stored| self.check_collision(&stored, &chart).is_ok()))
    }
}

/// Whether `name-version` is a version of the chart of this name.
fn is_of_chart(name_and_version: &str, name: &str) -> bool {
    let version = name_and_version.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
    version.is_some_and(|version| version.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit()))
}
