//! One `EtcdBackup`: a snapshot from the member that knows most, streamed into a store by the host, read back and checked.

mod discard;
pub(crate) mod place;
mod prune;
mod remove;
mod source;
mod step;
mod trial;

use etcd_api::{
    BackupPolicy, BackupRequest, BackupRun, BackupState, BackupStatus, EtcdBackupSpec, Verification, names,
};
use etcd_core::backup::{Due, answered, due, request};
use jiff::{SignedDuration, Timestamp};
use pilothouse_sdk::{
    Context, Error, Finalized, Gvk, ObjectRef, Outcome, Reconciler, Resource, Watch, merge_difference,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    object::Metadata,
    settings::{self, Settings, Whose},
};
use place::Place;
use source::Source;

/// Brings `EtcdBackup`s to what they ask for.
#[derive(Debug)]
pub(crate) struct Backups;

/// An `EtcdBackup` as it was read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct BackupObject {
    metadata: Metadata,
    spec: EtcdBackupSpec,
    /// As it stands there: what is to vanish from it has to be named.
    #[serde(default)]
    status: Value,
}

impl Resource for BackupObject {
    fn gvk() -> Option<Gvk> {
        Some(Gvk::new(names::GROUP, names::VERSION, "EtcdBackup"))
    }

    fn from_json(text: String) -> Result<Self, Error> {
        serde_json::from_str(&text)
            .map_err(|error| Error::permanent("InvalidObject", format!("it is no EtcdBackup: {error}")))
    }
}

impl BackupObject {
    /// The cluster that it is about, as far as it names it or its Service for clients: one of its own namespace.
    fn cluster(&self) -> Option<&str> {
        if let Some(cluster) = &self.spec.etcd_cluster {
            return Some(&cluster.name);
        }
        let (_, address) = self.spec.etcd_endpoints.first()?.split_once("://")?;
        let mut labels = address.split([':', '/']).next()?.split('.');
        let name = labels.next()?.strip_suffix("-client")?;
        labels.next().is_none_or(|namespace| namespace == self.metadata.namespace).then_some(name)
    }
}

impl Reconciler for Backups {
    type Resource = BackupObject;

    fn reconcile(&self, ctx: &Context, object: &BackupObject) -> Result<Outcome, Error> {
        let settings: Settings = ctx.config()?;
        if settings.whose(ctx, &object.metadata, object.cluster())?.is_others() {
            return Ok(settings::foreign(&object.metadata, object.cluster()));
        }
        let known = object.status()?;
        let backup = match Backup::of(ctx, object)?.and_then(Backup::checked) {
            Ok(backup) => backup,
            Err(why) => return Ok(object.told(Outcome::stalled("InvalidSpec", why), &known)),
        };
        let known = backup.discard(known)?;
        let (known, more) = backup.go_on_pruning(known);
        let again = [(!known.discarded.is_empty()).then_some(discard::RETRY), more];
        let outcome = match &known.run {
            Some(run) if run.state == BackupState::Waiting => backup.retry(known.clone(), run)?,
            Some(run) if run.state == BackupState::Verifying => backup.verify(known.clone(), run.clone())?,
            Some(run) if run.state == BackupState::Trying => {
                backup.go_on_trying(known.clone(), run.clone())?
            }
            Some(run) => backup.stream(known.clone(), run.clone())?,
            None => backup.wait(known)?,
        };
        Ok(again.into_iter().flatten().fold(outcome, Outcome::requeue_within))
    }

    fn finalize(&self, ctx: &Context, object: &BackupObject) -> Result<Finalized, Error> {
        if !object.spec.backup_policy.as_ref().is_some_and(|policy| policy.delete_with_object) {
            return Ok(Finalized::Done);
        }
        // Where the cluster went first, nobody knows any more who took them: then both delete what is left.
        let settings: Settings = ctx.config()?;
        if settings.whose(ctx, &object.metadata, object.cluster())? == Whose::Others {
            // The finalizer of both is one: whoever took the backups takes it off when they are gone.
            return Ok(Finalized::waiting(settings::foreign(&object.metadata, object.cluster())));
        }
        let known = object.status()?;
        match Backup::of(ctx, object)? {
            Ok(backup) => backup.remove(&known),
            Err(why) => Ok(Finalized::waiting(object.told(remove::stuck(&why), &known))),
        }
    }
}

impl BackupObject {
    fn status(&self) -> Result<BackupStatus, Error> {
        if self.status.is_null() {
            return Ok(BackupStatus::default());
        }
        serde_json::from_value(self.status.clone())
            .map_err(|error| Error::permanent("InvalidStatus", format!("the status cannot be read: {error}")))
    }

    /// An outcome with this status, and without children: what a trial needed is deleted. Where there can be none, nobody has to look.
    fn told(&self, outcome: Outcome, status: &BackupStatus) -> Outcome {
        let trying = self.status.pointer("/run/state").and_then(Value::as_str) == Some("Trying");
        let outcome = if trying || self.is_tried() { outcome.children([(); 0]) } else { outcome };
        self.tells(outcome, status)
    }

    /// Is a member to be started from each backup?
    fn is_tried(&self) -> bool {
        let policy = self.spec.backup_policy.as_ref();
        policy.is_some_and(|policy| policy.verification == Verification::Restore)
    }

    /// An outcome with this status.
    fn tells(&self, outcome: Outcome, status: &BackupStatus) -> Outcome {
        let status = BackupStatus { observed_generation: self.metadata.generation(), ..status.clone() };
        let after = serde_json::to_value(&status).unwrap_or_default();
        let outcome = match merge_difference(&self.status, &after) {
            Some(patch) => outcome.status(&patch),
            None => outcome,
        };
        self.watched(outcome)
    }

    /// Asks to be called when Secrets that are used change.
    fn watched(&self, outcome: Outcome) -> Outcome {
        let login = place::of_backup(&self.spec).secret().map(str::to_owned);
        let secrets = [login, self.spec.client_tls_secret.clone()];
        secrets.into_iter().flatten().filter(|name| !name.is_empty()).fold(outcome, |outcome, name| {
            let secret = ObjectRef::new(Gvk::new("", "v1", "Secret"), self.metadata.namespace.as_str(), name);
            outcome.watch(Watch::object(secret))
        })
    }
}

/// One call for one object.
struct Backup<'a> {
    ctx: &'a Context,
    object: &'a BackupObject,
    place: Place,
    now: Timestamp,
}

impl<'a> Backup<'a> {
    /// The place that the object names.
    ///
    /// # Errors
    /// What is wrong with its spec, as the inner one.
    fn of(ctx: &'a Context, object: &'a BackupObject) -> Result<Result<Self, String>, Error> {
        let Settings { stores, .. } = ctx.config()?;
        let now = Timestamp::try_from(ctx.now()).unwrap_or_default();
        let namespace = object.metadata.namespace.as_str();
        let place = Place::of(place::of_backup(&object.spec), namespace, &stores);
        Ok(place.map(|place| Self { ctx, object, place, now }))
    }
}

impl Backup<'_> {
    /// It, if a backup may be taken as the spec asks for it.
    ///
    /// # Errors
    /// What is wrong with the spec.
    fn checked(self) -> Result<Self, String> {
        source::unused_secret(&self.object.spec).map_or(Ok(self), Err)
    }

    /// Nothing is being taken: until the next one is due.
    fn wait(&self, mut known: BackupStatus) -> Result<Outcome, Error> {
        let (policy, asked) = (self.object.spec.backup_policy.as_ref(), self.asked());
        if known.succeeded || !known.reason.is_empty() {
            known.request = Some(answered(&known, &asked));
        }
        let found = match due(policy, &known, &asked, self.now) {
            Ok(found) => found,
            Err(error) => {
                let outcome = Outcome::stalled("InvalidSpec", format!("spec.backupPolicy: {error}"));
                return Ok(self.object.told(outcome, &known));
            }
        };
        match found {
            Due::Now(at) => self.begin(known, at, 1),
            Due::Missed(at) => {
                let status = BackupStatus { last_schedule_time: Some(at), ..known };
                let outcome = Outcome::progressing(
                    "Missed",
                    format!("the backup of {at} could not begin in time and is left out"),
                );
                Ok(self.object.told(outcome.requeue_after(step::AT_ONCE), &status))
            }
            Due::At(next) => {
                let seen = known.last_schedule_time.or(Some(self.now));
                let status =
                    BackupStatus { next_schedule_time: Some(next), last_schedule_time: seen, ..known };
                let outcome = self.at_rest(&status).requeue_after(self.until(next));
                Ok(self.object.told(outcome, &status))
            }
            Due::Never => {
                let status = BackupStatus { next_schedule_time: None, ..known };
                Ok(self.object.told(self.at_rest(&status), &status))
            }
        }
    }

    /// The last attempt failed: until the next one, which begins at once when something was changed.
    fn retry(&self, known: BackupStatus, run: &BackupRun) -> Result<Outcome, Error> {
        let asked = self.asked().generation;
        if run.request.as_ref().is_some_and(|request| request.generation != asked) {
            return self.begin(known, run.due, 1);
        }
        if self.now < run.started {
            let outcome = Outcome::progressing("Retrying", step::retrying(run));
            return Ok(self.object.told(outcome.requeue_after(self.until(run.started)), &known));
        }
        self.begin(known, run.due, run.attempt + 1)
    }

    /// How it stands while nothing is being taken.
    fn at_rest(&self, status: &BackupStatus) -> Outcome {
        match (status.reason.is_empty(), status.next_schedule_time) {
            (true, _) => Outcome::ready(),
            (false, Some(next)) => Outcome::progressing(
                "BackupFailed",
                format!("{}; the next one is due at {next}", status.reason),
            ),
            (false, None) => Outcome::stalled("BackupFailed", status.reason.clone()),
        }
    }

    fn until(&self, time: Timestamp) -> std::time::Duration {
        let wait = time.duration_since(self.now).max(SignedDuration::from_millis(100));
        std::time::Duration::try_from(wait).unwrap_or(step::AT_ONCE)
    }

    fn repeats(&self) -> bool {
        self.object.spec.backup_policy.as_ref().is_some_and(BackupPolicy::repeats)
    }

    /// What is asked for now.
    fn asked(&self) -> BackupRequest {
        request(&self.object.spec, self.object.metadata.generation())
    }

    fn source(&self) -> Result<Result<Source, String>, Error> {
        Source::of(self.ctx, &self.object.spec, &self.object.metadata.namespace)
    }
}
