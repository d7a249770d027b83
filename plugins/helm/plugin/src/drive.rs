//! Carries an operation on, one act after the other, until it ends or has to wait.

use std::collections::BTreeSet;

use helm_chart::order::UNINSTALL_ORDER;
use helm_release::{Act, Action, Entry, History, Hook, Operation, Status, Stored, Wait};
use jiff::{SignedDuration, Timestamp};
use pilothouse_sdk::{Ending, Error, Event, Gvk, Level, ObjectRef, Watch};

use crate::{
    apply::{Applied, Items},
    call::Call,
    left_alone::Purpose,
    lifecycle::version,
    objects::{self, Object},
    readiness::{LOOK_AT_WAITING, WAITING_FOR_READINESS},
    report::{Pause, WAITING_FOR_KIND},
};

/// Acts in one call after which an operation is taken to go round in circles.
const TOO_MANY_ACTS: u32 = 10_000;

/// How an operation stands at the end of a call.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It came to its end.
    Done(Box<Stored>),
    /// It failed, and the record says so.
    Failed(String),
    /// It has to wait.
    Paused(Pause),
}

impl Call<'_> {
    /// Carries an operation on.
    ///
    /// # Errors
    /// Passing failures: the operation stands where its record says and goes on with the next call.
    pub(crate) fn drive(&self, mut operation: Operation, history: &History) -> Result<Ended, Error> {
        for _ in 0..TOO_MANY_ACTS {
            match operation.next_act() {
                Act::Write => {
                    let secret = self.store().write(operation.stored())?;
                    operation.written(&secret);
                }
                Act::Look { hook, run } => self.look_for(&mut operation, hook, &run)?,
                Act::Remove { hook, .. } => {
                    let gone = hook_of(&operation, hook).map_or(Ok(true), |hook| self.remove_hook(hook))?;
                    operation.removed(gone);
                }
                Act::Leave { hook } => {
                    self.tell_not_deleted(&operation, hook);
                    operation.left();
                }
                Act::Start { hook, run } => {
                    let stored = operation.stored();
                    let started = match hook_of(&operation, hook) {
                        Some(hook) => self.start_hook(stored, hook, &run)?,
                        None => continue,
                    };
                    operation.started(started);
                }
                Act::Main => match self.main(&operation, history)? {
                    Main::Done(result) => operation.main_done(result),
                    Main::Paused(pause) => return Ok(Ended::Paused(pause)),
                },
                Act::LookReady => {
                    let prepared = self.prepare(operation.stored())?;
                    operation.readiness(self.readiness_of_operation(&prepared)?.verdict());
                }
                Act::Finish => {
                    let Stored { marks, release, .. } = operation.stored();
                    if let Some(pause) = self.tell_end(marks, &version(release), Ending::Succeeded)? {
                        if operation.note() {
                            continue;
                        }
                        return Ok(Ended::Paused(pause));
                    }
                    self.finish(&operation, history)?;
                    operation.finished();
                }
                Act::Wait(wait) => return Ok(Ended::Paused(self.pause(&operation, &wait)?)),
                Act::Done => {
                    self.count_operation(operation.action(), true);
                    return Ok(Ended::Done(Box::new(operation.stored().clone())));
                }
                Act::Failed(message) => {
                    self.count_operation(operation.action(), false);
                    return Ok(Ended::Failed(message));
                }
            }
        }
        Err(Error::permanent("Circles", "the release's operation does not come to an end"))
    }

    fn main(&self, operation: &Operation, history: &History) -> Result<Main, Error> {
        if operation.action() == Action::Uninstall {
            return self.delete_all(operation, history);
        }
        let record = &operation.stored().release;
        let mut prepared = match self.prepare(operation.stored()) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Main::Done(Err(error.message().to_owned()))),
        };
        if prepared.has_rules() {
            let good = history.good().map(|entry| self.origin_objects(entry)).transpose()?;
            prepared = prepared.in_place_of(good.unwrap_or_default());
        }
        let keys = prepared.references.iter().map(objects::key).collect();
        let unknown = self.first_unknown(&prepared.references)?;
        let (references, items) = self.items_now(&prepared, Purpose::Operation)?;
        let replace = match operation.action() {
            Action::Rollback => self.annotations().rollback_force,
            Action::Upgrade => self.annotations().upgrade_force,
            Action::Install | Action::Uninstall | Action::Test => false,
        };
        let all = Items { references: &references, items: &items };
        match self.measured("helm_apply_seconds", || self.apply(&all, replace))? {
            Applied::Done(changed) => {
                self.tell_taken(record.version, &changed);
                self.prune_origins(record.version, history, &keys)
            }
            // Before its definition was applied nobody could tell whether it belongs into a namespace.
            Applied::Refused(message) if let Some(kind) = unknown => {
                self.forget_kinds();
                if self.first_unknown(&prepared.references)?.as_ref() == Some(&kind) {
                    return Ok(Main::Done(Err(message)));
                }
                let until = self.now().checked_add(SignedDuration::from_secs(1)).ok();
                Ok(Main::Paused(Pause { until, ..waiting_for(&kind) }))
            }
            Applied::WaitingFor(kind) => self.in_time(operation, waiting_for(&kind)),
            Applied::Replacing(reference) => self.in_time(operation, self.waiting_for_deletion(reference)),
            Applied::Refused(message) => Ok(Main::Done(Err(message))),
        }
    }

    /// Waits in the middle of an operation. What has something to go back to gives up when that takes longer than objects may
    /// take to be ready: until then the release is between two revisions.
    fn in_time(&self, operation: &Operation, pause: Pause) -> Result<Main, Error> {
        if operation.action() == Action::Install {
            return Ok(Main::Paused(pause));
        }
        let patience = SignedDuration::try_from(self.settings().release.timeout()?).ok();
        // The record was written when this began.
        let began = operation.stored().touched().unwrap_or(self.now());
        let end = patience.and_then(|patience| began.checked_add(patience).ok()).unwrap_or(Timestamp::MAX);
        if end <= self.now() {
            return Ok(Main::Done(Err(pause.message)));
        }
        Ok(Main::Paused(Pause { until: Some(pause.until.map_or(end, |until| until.min(end))), ..pause }))
    }

    fn waiting_for_deletion(&self, reference: ObjectRef) -> Pause {
        Pause {
            reason: "WaitingForDeletion",
            message: format!("{reference} is replaced, and its old one is still there"),
            // Whoever may not watch it looks again.
            until: self.now().checked_add(LOOK_AT_WAITING).ok(),
            watches: vec![Watch::object(reference)],
        }
    }

    /// A kind of these that was not served when the call began.
    fn first_unknown(&self, references: &[ObjectRef]) -> Result<Option<Gvk>, Error> {
        let kinds = self.kinds()?;
        let unknown = references.iter().find(|reference| kinds.is_namespaced(&reference.kind).is_none());
        Ok(unknown.map(|reference| reference.kind.clone()))
    }

    fn prune_origins(
        &self,
        revision: u32,
        history: &History,
        wanted: &BTreeSet<objects::Key>,
    ) -> Result<Main, Error> {
        let mut origins = Vec::new();
        for entry in history.origins(revision) {
            origins.extend(self.origin_objects(entry)?);
        }
        Ok(Main::Done(self.prune(&origins, wanted)?))
    }

    /// The objects of an older revision; none when its manifest cannot be read any more, which is logged.
    pub(crate) fn origin_objects(&self, entry: &Entry) -> Result<Vec<Object>, Error> {
        let stored = self.store().load(entry.revision)?;
        Ok(self.objects(&stored.release.manifest).unwrap_or_else(|error| {
            let revision: &dyn std::fmt::Display = &entry.revision;
            self.ctx().log(
                Level::Warn,
                format_args!("nothing is deleted of it: {error}"),
                &[("revision", revision)],
            );
            Vec::new()
        }))
    }

    /// The same for who takes the release away: a record that cannot be read must not hold it.
    fn origin_objects_left(&self, entry: &Entry) -> Result<Vec<Object>, Error> {
        match self.store().try_load(entry.revision)? {
            Ok(stored) => Ok(self.objects(&stored.release.manifest).unwrap_or_default()),
            Err(error) => {
                self.ctx().log(
                    Level::Warn,
                    format_args!("only what status tells is deleted of it: {error}"),
                    &[],
                );
                Ok(self.remembered_objects())
            }
        }
    }

    /// Deletes everything the release may have in the cluster, and waits for it when the object's owner wants that.
    fn delete_all(&self, operation: &Operation, history: &History) -> Result<Main, Error> {
        let stored = operation.stored();
        let mut all = self.objects(&stored.release.manifest).unwrap_or_default();
        let mut known = objects::keys(&all);
        let present = known.clone();
        for entry in history.origins(stored.release.version) {
            let left = self.origin_objects_left(entry)?;
            all.extend(left.into_iter().filter(|object| known.insert(object.key())));
        }
        objects::sort(&mut all, UNINSTALL_ORDER);
        let doomed: Vec<&Object> = all.iter().filter(|object| !object.is_kept()).collect();
        let uninstall = &self.settings().release.uninstall;
        let mut looks = self.looks(doomed.iter().map(|object| &object.reference));
        for object in &doomed {
            // What only an older revision had may have been left behind on purpose.
            let respect_keep = !present.contains(&object.key());
            let propagation = uninstall.deletion_propagation.into();
            looks
                .at(&object.reference)
                .and_then(|live| self.delete_seen(object, live, respect_keep, propagation))
                .map_err(|error| Error::from(error).context(format_args!("failed to delete {object}")))?;
        }
        // What is installed anew must not meet what is on its way out.
        let waits = stored.marks.remedies || self.waits_for_deletion();
        Ok(self.still_going(&doomed, waits)?.map_or(Main::Done(Ok(())), Main::Paused))
    }

    /// Whether an uninstall ends only when everything is gone.
    pub(crate) fn waits_for_deletion(&self) -> bool {
        let uninstall = &self.settings().release.uninstall;
        self.annotations().uninstall_wait || uninstall.disable_wait == Some(false)
    }

    /// What of deleted objects is waited for, if that is wanted.
    pub(crate) fn still_going(&self, doomed: &[&Object], waits: bool) -> Result<Option<Pause>, Error> {
        if !waits {
            return Ok(None);
        }
        Ok(self.first_left(doomed)?.map(|left| Pause {
            reason: "WaitingForDeletion",
            message: format!("Waiting until all resources are deleted: {left} is still there."),
            watches: vec![Watch::object(left.reference.clone())],
            until: self.now().checked_add(SignedDuration::from_secs(30)).ok(),
        }))
    }

    fn finish(&self, operation: &Operation, history: &History) -> Result<(), Error> {
        let revision = operation.stored().release.version;
        if operation.action() == Action::Test {
            return Ok(());
        }
        let others = history.entries().iter().filter(|entry| entry.revision != revision);
        if operation.action() == Action::Uninstall {
            // This one last: it says that the rest may go.
            others
                .into_iter()
                .try_for_each(|other| self.store().delete(other.revision, other.chunks.as_ref()))?;
            return self.store().delete(revision, operation.stored().chunks().as_ref());
        }
        others
            .filter(|entry| entry.status == Status::Deployed)
            .try_for_each(|entry| self.change_status(entry.revision, Status::Superseded, None))
    }

    /// Marks a revision, which is no operation of ours, with another status.
    pub(crate) fn change_status(
        &self,
        revision: u32,
        status: Status,
        description: Option<&str>,
    ) -> Result<(), Error> {
        let mut stored = self.store().load(revision)?;
        stored.release.info.status = status;
        if let Some(description) = description {
            description.clone_into(&mut stored.release.info.description);
        }
        self.store().write(&stored).map(drop)
    }

    fn pause(&self, operation: &Operation, wait: &Wait) -> Result<Pause, Error> {
        let event = operation.event().unwrap_or_default();
        let (place, until) = match wait {
            Wait::Run { hook, until } | Wait::Gone { hook, until } => (*hook, *until),
            Wait::Ready { missing, until } => {
                let message =
                    format!("revision {} is not ready yet: {missing}", operation.stored().release.version);
                let until = Some(self.next_look(*until, LOOK_AT_WAITING));
                let watches = self.watches(self.prepare(operation.stored()).ok().as_ref());
                return Ok(Pause { reason: WAITING_FOR_READINESS, message, watches, until });
            }
        };
        let Some(hook) = hook_of(operation, place) else {
            return Err(Error::permanent(
                "InvalidRelease",
                "the release waits for a hook that it does not have",
            ));
        };
        let what = match wait {
            Wait::Run { .. } => "has to come to its end",
            Wait::Gone { .. } | Wait::Ready { .. } => "is being deleted",
        };
        let object = self.hook_objects(hook)?.into_iter().next();
        Ok(Pause {
            reason: "WaitingForHook",
            message: format!(
                "{event} hook {} {} of revision {} {what}",
                hook.kind,
                hook.name,
                operation.stored().release.version
            ),
            watches: object.map(|object| Watch::object(object.reference)).into_iter().collect(),
            until,
        })
    }

    fn tell_not_deleted(&self, operation: &Operation, place: usize) {
        let Some(hook) = hook_of(operation, place) else { return };
        let revision = operation.stored().release.version;
        let message = format!(
            "hook {} {} of revision {revision} has run and is still being deleted: nobody waits for it any more",
            hook.kind, hook.name
        );
        self.ctx().publish(&Event::warning("HookNotDeleted", message));
    }

    /// Says what an operation came to.
    pub(crate) fn announce(&self, action: Action, stored: &Stored) {
        let (name, revision) = (&stored.release.name, stored.release.version);
        let (reason, what) = match action {
            Action::Install => ("InstallSuccessful", "installed"),
            Action::Upgrade => ("UpgradeSuccessful", "upgraded"),
            Action::Rollback => ("RolledBack", "rolled back"),
            Action::Uninstall => ("UninstallSuccessful", "uninstalled"),
            Action::Test => ("TestSuccessful", "tested"),
        };
        let to = stored.release.info.rollback_revision;
        let message = match if action == Action::Rollback { to } else { 0 } {
            0 => format!("release {name} {what}, revision {revision}"),
            to => format!("release {name} {what} to revision {to}, as revision {revision}"),
        };
        self.ctx().publish(&Event::normal(reason, message));
    }

    /// The operation, with what the settings say of it.
    pub(crate) fn as_set(&self, operation: Operation) -> Result<Operation, Error> {
        let (settings, annotations) = (self.settings(), self.annotations());
        let action = operation.action();
        let timeout = settings.release.timeout_of(action)?;
        let patience = settings.release.waits(action).then_some(timeout);
        let (release, off, told) = (&settings.release, &annotations.disable_hooks, &annotations.descriptions);
        let (without_hooks, description) = match action {
            Action::Install => (release.install.disable_hooks || off.install, &told.install),
            Action::Upgrade => (release.upgrade.disable_hooks || off.upgrade, &told.upgrade),
            Action::Rollback => (release.rollback.disable_hooks, &None),
            Action::Uninstall => (release.uninstall.disable_hooks || off.uninstall, &told.uninstall),
            Action::Test => (false, &None),
        };
        let operation = operation.without_hooks(without_hooks).with_description(description.clone());
        let operation = operation.with_tests(release.tests_after(action)).with_patience(patience);
        Ok(operation.with_timeout(settings.hook_timeout(action)?))
    }
}

enum Main {
    Done(Result<(), String>),
    Paused(Pause),
}

/// A kind is not served yet; the host tells when it is.
pub(crate) fn waiting_for(kind: &Gvk) -> Pause {
    let message = format!("the cluster does not serve {kind} yet");
    Pause { reason: WAITING_FOR_KIND, message, watches: Vec::new(), until: None }
}

pub(crate) fn hook_of(operation: &Operation, place: usize) -> Option<&Hook> {
    operation.stored().release.hooks.get(place)
}
