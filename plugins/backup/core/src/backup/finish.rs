//! What is taken away: after success what was needed for it, after failure what it left, and with the object what it stood for.

use backup_api::{BackupPhase, BackupStatus, Duration as Length, Run, Step};
use jiff::SignedDuration;

use super::{
    act::{Act, Role},
    observed::{Looked, TaskSeen, TokenSeen},
    situation::{Decision, LATER, SOON, Situation},
};
use crate::{manifest, place::Place};

/// A pod of a node that is lost may never go. Without its token it can write nothing, but nothing new is begun beside it.
const LINGERING: SignedDuration = SignedDuration::from_mins(5);
/// A storage that does not answer for so long is not asked any more whether something was left in it.
const PATIENCE: SignedDuration = SignedDuration::from_hours(1);
/// A Secret that is not there for so long is not waited for to take away what may be in the storage.
const LOGIN: SignedDuration = SignedDuration::from_secs(30);

impl Situation<'_> {
    /// It is whole: what was needed for it is taken away.
    pub(super) fn tidy(&self, run: &Run) -> Decision {
        if let Some(decision) = self.close(run) {
            return decision;
        }
        let keeps = self.plan.strategy.volume_snapshot.is_some();
        if let Some(decision) = self.delete_task(run, Role::Trial, &self.seen.trial, None) {
            return decision;
        }
        if !keeps && let Some(decision) = self.delete_task(run, Role::Dump, &self.seen.dump, None) {
            return decision;
        }
        self.completed(run)
    }

    fn completed(&self, run: &Run) -> Decision {
        let artefact = run.artefact.clone();
        let message = artefact
            .as_ref()
            .map(|artefact| format!("{} has {} bytes and was verified", artefact.uri, artefact.size))
            .unwrap_or_default();
        let status = BackupStatus {
            phase: BackupPhase::Completed,
            verified: true,
            artefact,
            run: None,
            message: message.clone(),
            ..self.over(self.status)
        };
        self.rest(status).note(false, "BackupCompleted", message)
    }

    /// It failed: nothing of it is to be left.
    pub(super) fn clean(&self, run: &Run) -> Decision {
        if let Some(decision) = self.close(run) {
            return decision;
        }
        if let Some(decision) = self.delete_task(run, Role::Trial, &self.seen.trial, None) {
            return decision;
        }
        if let Some(decision) = self.delete_task(run, Role::Dump, &self.seen.dump, self.place(run)) {
            return decision;
        }
        let left = if self.since(run.since) < PATIENCE { self.erase(run) } else { None };
        if let Some(decision) = left {
            return decision;
        }
        let lingers = self.seen.dump == TaskSeen::Leaving || self.seen.trial == TaskSeen::Leaving;
        if lingers && self.since(run.since) < LINGERING {
            return self.wait(SOON, "waiting until the pods of this attempt are gone");
        }
        let again = !run.last
            && !lingers
            && !self.object.deleting
            && run.attempt <= self.plan.retries
            && self.now.saturating_add(self.pause(run)).is_ok_and(|next| next < self.deadline());
        let why = run.failure.clone().unwrap_or_default();
        if !again {
            return self.failed(self.status, why);
        }
        let message = format!("attempt {} of {}: {why}", run.attempt, self.plan.retries.saturating_add(1));
        let decision = self.go(run, Step::Pause);
        Decision { status: BackupStatus { message: message.clone(), ..decision.status.clone() }, ..decision }
            .note(true, "AttemptFailed", message)
    }

    /// The next attempt is waited for.
    pub(super) fn paused(&self, run: &Run) -> Decision {
        if let Some(why) = self.stop() {
            let why = run.failure.clone().unwrap_or(why);
            return self.failed(self.status, why);
        }
        let left = self.pause(run) - self.since(run.since);
        if left.is_positive() {
            let left = std::time::Duration::try_from(left).unwrap_or(SOON);
            return self.wait(left, self.status.message.clone());
        }
        let attempt = run.attempt.saturating_add(1);
        match self.attempt(attempt) {
            Ok(run) => self.write(BackupStatus { attempts: attempt, ..self.with(run) }),
            Err(wait) => *wait,
        }
    }

    /// It is given up.
    pub(super) fn failed(&self, status: &BackupStatus, why: String) -> Decision {
        let status = BackupStatus {
            phase: BackupPhase::Failed,
            verified: false,
            artefact: None,
            run: None,
            message: why.clone(),
            ..self.over(status)
        };
        let next = self.object.deleting.then_some(std::time::Duration::ZERO);
        Decision { next, ..self.rest(status) }.note(true, "BackupFailed", why)
    }

    fn over(&self, status: &BackupStatus) -> BackupStatus {
        let began = status.started_at.unwrap_or(self.now);
        let seconds = u64::try_from(self.since(began).as_secs()).unwrap_or_default();
        BackupStatus { completed_at: Some(self.now), duration: Some(Length(seconds)), ..status.clone() }
    }

    /// The object is deleted, and its artefact with it.
    pub(super) fn begin_removal(&self) -> Decision {
        let Some(artefact) = &self.status.artefact else { return self.let_go() };
        let run = Run {
            step: Step::Remove,
            attempt: self.status.attempts,
            key: artefact.key.clone(),
            since: self.now,
            hooks: Vec::new(),
            artefact: Some(artefact.clone()),
            taken_at: Some(artefact.taken_at),
            failure: None,
            last: true,
        };
        self.write(self.with(run))
    }

    pub(super) fn remove(&self, run: &Run) -> Decision {
        // People who do not want it to be deleted after all, or cannot wait for the storage, say so in the object.
        if !self.deletes() {
            return self.let_go();
        }
        if let Some(decision) = self.delete_task(run, Role::Dump, &self.seen.dump, None) {
            return decision;
        }
        self.erase(run).unwrap_or_else(|| self.removed(run))
    }

    /// Nothing holds the object any more; what could not be deleted without a login is told of.
    fn removed(&self, run: &Run) -> Decision {
        let left = self.place(run).zip(match (&self.seen.object, &self.seen.entry) {
            (Looked::Lost(why), _) | (_, Looked::Lost(why)) => Some(why),
            _ => None,
        });
        let Some((object, why)) = left else { return self.let_go() };
        let message = format!("{} is left in the storage, which cannot be asked: {why}", object.uri());
        let status = BackupStatus { message: message.clone(), ..self.status.clone() };
        Decision { status, ..self.let_go() }.note(true, "ArtefactLeft", message)
    }

    fn close(&self, run: &Run) -> Option<Decision> {
        let tokens = [(Role::Dump, self.seen.upload), (Role::Trial, self.seen.download)];
        let (role, _) = tokens.into_iter().find(|(_, seen)| *seen == TokenSeen::Open)?;
        let name = self.task(run, role.word());
        Some(self.act(Act::Close { name }, "a token of the object is taken back"))
    }

    fn delete_task(
        &self,
        run: &Run,
        role: Role,
        seen: &TaskSeen,
        leftovers: Option<Place>,
    ) -> Option<Decision> {
        match seen {
            TaskSeen::Absent | TaskSeen::Leaving => None,
            TaskSeen::Unknown(why) => Some(self.wait(LATER, format!("the task cannot be looked at: {why}"))),
            TaskSeen::Partly
            | TaskSeen::Running(_)
            | TaskSeen::Stuck(_)
            | TaskSeen::Succeeded(_)
            | TaskSeen::Failed(_) => {
                let objects = manifest::names(&self.order(run), role);
                let token = self.plan.strategy.job.is_some().then(|| self.task(run, role.word()));
                let act = Act::Delete { role, token, objects, leftovers };
                Some(self.act(act, "what is not needed any more is taken away"))
            }
        }
    }

    /// Deletes the object and its entry, until both are seen to be gone.
    fn erase(&self, run: &Run) -> Option<Decision> {
        let object = self.place(run)?;
        self.erase_one(run, &object, &self.seen.object)
            .or_else(|| self.erase_one(run, &object.entry(), &self.seen.entry))
    }

    fn erase_one(&self, run: &Run, object: &Place, seen: &Looked) -> Option<Decision> {
        match seen {
            Looked::Absent => None,
            // With a namespace goes the Secret as well; without it nothing new came into the storage either.
            Looked::Lost(_) if self.since(run.since) >= LOGIN => None,
            Looked::Present(_) => {
                Some(self.act(Act::DeleteObject(object.clone()), format!("{} is deleted", object.uri())))
            }
            Looked::Unknown(why) | Looked::Lost(why) => {
                let message =
                    format!("{} is to be deleted, but the storage cannot be used: {why}", object.uri());
                Some(self.wait(LATER, message))
            }
        }
    }
}
