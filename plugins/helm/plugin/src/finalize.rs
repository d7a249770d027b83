//! Takes a release away with its object.

use helm_chart::order::UNINSTALL_ORDER;
use helm_release::{Action, History, Operation, Status};
use pilothouse_sdk::{Condition, Error, Event, Finalized, Gvk, ObjectRef};
use serde_json::Value;

use crate::{
    call::Call,
    drive::Ended,
    objects,
    report::{Concern, explain},
};

impl Call<'_> {
    /// Uninstalls the release. It needs neither the chart nor the values, so that an object can go when those are gone
    /// or broken.
    ///
    /// # Errors
    /// With operator-sdk's conditions; the object stays.
    pub(crate) fn uninstall(&self) -> Result<Finalized, Error> {
        let failed = |error| explain(error, Concern::Uninstall);
        let history = self.store().history().map_err(failed)?;
        if history.latest().is_none() {
            return self.uninstall_without_records().map_err(failed);
        }
        if !self.is_ours(&history).map_err(failed)? {
            return Ok(Finalized::Done);
        }
        let Some(operation) = self.uninstall_operation(&history, false).map_err(failed)? else {
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
            Ended::Paused(pause) => {
                let going =
                    Condition::new("Deployed", false).reason("UninstallSuccessful").message(&pause.message);
                let outcome = self.paused(pause, None).condition(going).drop_condition("ReleaseFailed");
                Ok(Finalized::waiting(outcome))
            }
        }
    }

    /// The records are gone, perhaps with their namespace: what the object's status knows of the release goes, as far as it
    /// is the release's.
    fn uninstall_without_records(&self) -> Result<Finalized, Error> {
        let manifest = self.object().value().pointer("/status/deployedRelease/manifest");
        let Some(manifest) = manifest.and_then(Value::as_str) else { return Ok(Finalized::Done) };
        let mut left = self.objects(manifest).unwrap_or_default();
        objects::sort(&mut left, UNINSTALL_ORDER);
        for object in left.iter().filter(|object| !object.is_kept()) {
            self.delete(object, false)
                .map_err(|error| Error::from(error).context(format_args!("failed to delete {object}")))?;
        }
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
        history: &History,
        remedies: bool,
    ) -> Result<Option<Operation>, Error> {
        let Some(latest) = history.latest() else { return Ok(None) };
        let mut stored = self.store().load(latest.revision)?;
        if latest.status == Status::Uninstalling && latest.marks.progress.is_some() {
            return Ok(Operation::resume(stored, self.now()));
        }
        if self.namespace_is_going() {
            stored.release.hooks.clear();
        }
        stored.marks.remedies = remedies;
        stored.release.info.deleted = Some(self.now());
        stored.release.set_status(Status::Uninstalling, "Deletion in progress (or silently failed)");
        stored.release.hooks.iter_mut().for_each(|hook| hook.last_run = Default::default());
        Ok(Operation::begin(stored, self.now()))
    }

    /// Whether the release of this name belongs to this object: not when another object keeps it, nor when it is of
    /// another chart and was never ours.
    fn is_ours(&self, history: &History) -> Result<bool, Error> {
        let Some(latest) = history.latest() else { return Ok(false) };
        let owner = self.owner();
        if let Some(other) = &latest.controller {
            return Ok(owner.is(other));
        }
        if history.entries().iter().any(|entry| entry.marks.ours() || entry.marks.accepted.is_some()) {
            return Ok(true);
        }
        let deployed = self.object().value().pointer("/status/deployedRelease/name");
        if deployed.is_some_and(|deployed| deployed == owner.release.as_str()) {
            return Ok(true);
        }
        // Nobody says whose it is: of our chart it is ours, as for operator-sdk.
        let Some(chart) = self.chart_name() else { return Ok(false) };
        let stored = self.store().load(latest.revision)?;
        Ok(self.check_collision(&stored, &chart).is_ok())
    }
}
