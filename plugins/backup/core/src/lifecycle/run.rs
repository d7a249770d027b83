//! How a hook is carried out: an object is created, and waited for.

use backup_api::{
    ArtefactSource, BackupPhase, BackupPlan, BackupReference, BackupSpec, BackupStatus, Origin, OriginKind,
    PolicyReference, RestoreSpec, RestoreState, RestoreStatus, names,
};
use serde_json::{Value, json};

use super::{
    announcement::{Announcement, Outcome},
    hook::{Parameters, Record},
    lost::InTheWay,
};
use crate::naming;

/// The reason of a hook whose `Restore` failed, and tells of it.
pub(super) const RESTORE_FAILED: &str = "RestoreFailed";
/// The reason of a hook whose rollback failed: there is nothing to be put back.
pub(super) const ROLLBACK_FAILED: &str = "RollbackFailed";

/// What a hook does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Move {
    /// Create this object; what is there already is left alone.
    Create(Value),
    /// Wait for an object of ours to move.
    Pending {
        /// For people.
        message: String,
        /// Its kind, of our group.
        kind: &'static str,
        /// Its name, in the subject's namespace.
        name: String,
        /// It is this hook's, which remembers that.
        begun: bool,
    },
    /// Delete an object that an earlier try of the hook left failed, and wait until it is gone.
    Replace {
        /// For people.
        message: String,
        /// Its kind, of our group.
        kind: &'static str,
        /// Its name, in the subject's namespace.
        name: String,
    },
    /// It is done, and left this.
    Done(Vec<Value>),
    /// It is not going to be.
    Failed {
        /// UpperCamelCase.
        reason: &'static str,
        /// For people.
        message: String,
    },
}

/// What is seen of the objects of a hook, by [`backup_name`] and [`restore_name`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// The hook has begun its object. One that failed before it did is of an earlier try.
    pub begun: bool,
    /// The `Backup` that the hook takes, or puts back.
    pub backup: Option<BackupSeen>,
    /// The `Restore` that the hook makes.
    pub restore: Option<RestoreSeen>,
    /// Why a backup is not begun: [`in_the_way`](super::in_the_way).
    pub in_the_way: Option<InTheWay>,
}

/// A `Backup` as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct BackupSeen {
    /// Somebody wants it gone.
    pub deleting: bool,
    /// What it asks for.
    pub spec: BackupSpec,
    /// Where it stands.
    pub status: BackupStatus,
}

/// A `Restore` as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct RestoreSeen {
    /// Somebody wants it gone.
    pub deleting: bool,
    /// What it asks for.
    pub spec: RestoreSpec,
    /// Where it stands.
    pub status: RestoreStatus,
}

/// Name of the `Backup` that a policy takes in a phase of a change: the same announcement has the same backup. A change that is announced
/// anew has another one, for the data may be another meanwhile.
pub fn backup_name(policy: &str, announcement: &Announcement) -> String {
    name(policy, announcement)
}

/// Name of the `Restore` of a policy's backup in a phase of a change.
pub fn restore_name(policy: &str, announcement: &Announcement) -> String {
    name(&format!("{policy}-restore"), announcement)
}

fn name(head: &str, announcement: &Announcement) -> String {
    let subject = announcement.reference();
    let announced = announcement.announced_at.to_string();
    let Announcement { phase, change, .. } = announcement;
    let of = [subject.group(), &subject.kind, &subject.name, phase, change, &announced];
    let id = naming::digest(&of.join("\n"), 10);
    format!("{}-{id}", naming::limited(&format!("{head}-{}", subject.name.to_lowercase()), 120))
}

/// Carries a hook on. `parameters` are those it was planned with.
pub fn run(announcement: &Announcement, parameters: &Value, seen: &Seen) -> Move {
    match serde_json::from_value(parameters.clone()) {
        Ok(parameters @ Parameters::Backup { .. }) => take(announcement, &parameters, seen),
        Ok(Parameters::Restore(record)) => put_back(announcement, &record, seen),
        Err(error) => failed("InvalidParameters", format!("the hook's parameters cannot be read: {error}")),
    }
}

fn failed(reason: &'static str, message: impl Into<String>) -> Move {
    Move::Failed { reason, message: message.into() }
}

fn take(announcement: &Announcement, parameters: &Parameters, seen: &Seen) -> Move {
    let Parameters::Backup { policy, plan, restore, set_aside, weight, on_failure } = parameters else {
        return failed("InvalidParameters", "they are not those of a backup");
    };
    let name = backup_name(policy, announcement);
    let spec = backup_spec(announcement, policy, plan);
    let Some(backup) = &seen.backup else {
        return match &seen.in_the_way {
            None => Move::Create(object(names::BACKUP, announcement, &name, &spec)),
            Some(InTheWay::AtWork(restore)) => Move::Pending {
                message: InTheWay::AtWork(restore.clone()).words(),
                kind: names::RESTORE,
                name: restore.clone(),
                begun: seen.begun,
            },
            Some(lost) => failed("DataNotPutBack", lost.words()),
        };
    };
    if (&backup.spec.origin, &backup.spec.subject) != (&spec.origin, &spec.subject) {
        return failed("NameTaken", format!("the Backup {name} is of another change: delete it"));
    }
    let kind = names::BACKUP;
    if backup.deleting {
        let message = format!("the Backup {name} is being deleted; another one is taken then");
        return Move::Pending { message, kind, name, begun: seen.begun };
    }
    match (&backup.status.phase, &backup.status.artefact) {
        (BackupPhase::Completed, Some(artefact)) if backup.status.verified => {
            let record = Record {
                backup: name,
                policy: policy.clone(),
                artefact: artefact.clone(),
                plan: (**plan).clone(),
                restore: *restore,
                set_aside: *set_aside,
                weight: *weight,
                on_failure: *on_failure,
            };
            Move::Done(serde_json::to_value(record).into_iter().collect())
        }
        // There is no artefact that somebody may need.
        (BackupPhase::Failed, _) if !seen.begun => {
            let message = format!("the Backup {name} of an earlier try failed: another one is taken");
            Move::Replace { message, kind, name }
        }
        (BackupPhase::Completed, _) => failed("NotVerified", format!("the Backup {name} was not verified")),
        (BackupPhase::Failed, _) => {
            failed("BackupFailed", format!("the Backup {name} failed: {}", backup.status.message))
        }
        (phase, _) => {
            let message = format!("the Backup {name} is {phase:?}: {}", backup.status.message);
            Move::Pending { message, kind, name, begun: true }
        }
    }
}

fn backup_spec(announcement: &Announcement, policy: &str, plan: &BackupPlan) -> BackupSpec {
    BackupSpec {
        subject: announcement.reference(),
        policy_ref: Some(PolicyReference { name: policy.to_owned() }),
        plan: Some(plan.clone()),
        origin: Some(origin(announcement)),
        subject_version: announcement.version(),
        deletion_policy: None,
    }
}

fn origin(announcement: &Announcement) -> Origin {
    Origin {
        kind: OriginKind::Lifecycle,
        change: Some(announcement.change.clone()),
        phase: Some(announcement.phase.clone()),
        ..Origin::default()
    }
}

fn object(kind: &str, announcement: &Announcement, name: &str, spec: &impl serde::Serialize) -> Value {
    json!({
        "apiVersion": names::API_VERSION,
        "kind": kind,
        "metadata": {"namespace": announcement.subject.namespace, "name": name},
        "spec": spec,
    })
}

fn put_back(announcement: &Announcement, record: &Record, seen: &Seen) -> Move {
    // What was not asked for is not done: the data of the old version is not put under the new one.
    if matches!(announcement.outcome, Some(Outcome::Failed | Outcome::Abandoned)) {
        return failed(ROLLBACK_FAILED, "the rollback did not succeed: the data is left as it is");
    }
    let of_undone = record.artefact.change.as_ref() == announcement.undoes.as_ref();
    if record.artefact.change.is_none() || !of_undone {
        let (is, undone) = (record.artefact.change.as_deref(), announcement.undoes.as_deref());
        return failed("OtherChange", format!("the artefact is of change {is:?}, and {undone:?} is undone"));
    }
    let name = restore_name(&record.policy, announcement);
    let Some(restore) = &seen.restore else {
        return match restore_spec(announcement, record, seen) {
            Ok(spec) => Move::Create(object(names::RESTORE, announcement, &name, &spec)),
            Err(why) => failed("NoStorage", why),
        };
    };
    if restore.spec.origin.as_ref() != Some(&origin(announcement)) {
        return failed("NameTaken", format!("the Restore {name} is of another change: delete it"));
    }
    let kind = names::RESTORE;
    if restore.deleting {
        let message = format!("the Restore {name} is being deleted; another one is made then");
        return Move::Pending { message, kind, name, begun: seen.begun };
    }
    match restore.status.phase {
        RestoreState::Failed if !seen.begun => {
            let message = format!("the Restore {name} of an earlier try failed: another one is made");
            Move::Replace { message, kind, name }
        }
        RestoreState::Completed => Move::Done(Vec::new()),
        RestoreState::Failed => {
            failed(RESTORE_FAILED, format!("the Restore {name} failed: {}", restore.status.message))
        }
        phase => {
            let message = format!("the Restore {name} is {phase:?}: {}", restore.status.message);
            Move::Pending { message, kind, name, begun: true }
        }
    }
}

/// By its `Backup` where that is still there, and else by what was recorded.
fn restore_spec(announcement: &Announcement, record: &Record, seen: &Seen) -> Result<RestoreSpec, String> {
    let sha256 = record.artefact.sha256.clone();
    let there = seen
        .backup
        .as_ref()
        .is_some_and(|backup| !backup.deleting && backup.status.artefact.as_ref() == Some(&record.artefact));
    let artefact = match (&record.plan.storage, there) {
        (_, true) => None,
        (Some(storage), false) => Some(ArtefactSource {
            storage: storage.clone(),
            key: record.artefact.key.clone(),
            sha256: sha256.clone(),
            format: record.artefact.format,
            subject_version: record.artefact.subject_version.clone(),
        }),
        (None, false) => {
            return Err(format!("the Backup {} is gone, and with it its snapshots", record.backup));
        }
    };
    let named = Some(sha256).filter(|sha256| !sha256.is_empty());
    Ok(RestoreSpec {
        backup_ref: there.then(|| BackupReference { name: record.backup.clone(), sha256: named }),
        job: if there { None } else { record.plan.strategy.job.clone() },
        encryption: if there { None } else { record.plan.encryption.clone() },
        artefact,
        target: Some(announcement.reference()),
        target_version: announcement.version_after(),
        claims: std::collections::BTreeMap::new(),
        set_aside: record.set_aside,
        force: false,
        timeout: record.plan.timeout,
        retries: record.plan.retries,
        origin: Some(origin(announcement)),
    })
}
