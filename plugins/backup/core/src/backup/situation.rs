//! One look at one backup, and what is decided from it.

use std::time::Duration;

use backup_api::{
    Artefact, BackupPhase, BackupPlan, BackupSpec, BackupStatus, DeletionPolicy, HookRun, Run, Step,
};
use jiff::{SignedDuration, Timestamp};

use super::{
    act::{Act, Download, Role, Token, Upload},
    observed::{Observed, TaskSeen},
};
use crate::{manifest, naming, place::Place, settings::Settings};

/// How soon to look again at what nobody tells of.
pub(crate) const SOON: Duration = Duration::from_secs(2);
/// How soon to look again at what wakes us anyway, or at a store that does not answer.
pub(crate) const LATER: Duration = Duration::from_secs(10);
/// How long after the first attempt the second one begins; each further one waits twice as long.
const PAUSE: SignedDuration = SignedDuration::from_secs(10);
/// How long a task may wait for what may never come: longer than a registry is away for a moment.
pub(crate) const STARTING: SignedDuration = SignedDuration::from_mins(5);
/// No token is good for longer.
const WEEK: Duration = Duration::from_hours(7 * 24);

/// A `Backup` as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// Somebody wants it gone.
    pub deleting: bool,
    /// What it asks for.
    pub spec: &'a BackupSpec,
}

/// What follows. In this order: the status is written if it differs, with the object's version as precondition; then the act is
/// done; then notes are told, only by who wrote the status.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The status from now on.
    pub status: BackupStatus,
    /// The one thing to do.
    pub act: Act,
    /// When to look again even if nothing is heard; zero is at once, none is never.
    pub next: Option<Duration>,
    /// The object is being deleted and nothing holds it any more.
    pub released: bool,
    /// Events.
    pub notes: Vec<Note>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Something is wrong.
    pub warning: bool,
    /// UpperCamelCase.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// Where an object stands, in kstatus' terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Done.
    Ready,
    /// Under way.
    Progressing,
    /// It does not get further.
    Stalled,
}

impl Decision {
    /// Where the object stands.
    pub fn standing(&self) -> Standing {
        match self.status.phase {
            BackupPhase::Completed => Standing::Ready,
            BackupPhase::Failed => Standing::Stalled,
            _ => Standing::Progressing,
        }
    }

    pub(super) fn note(mut self, warning: bool, reason: &'static str, message: String) -> Self {
        self.notes.push(Note { warning, reason, message });
        self
    }
}

/// One look at one backup.
pub(crate) struct Situation<'a> {
    pub(crate) object: Object<'a>,
    pub(crate) plan: &'a BackupPlan,
    pub(crate) status: &'a BackupStatus,
    pub(crate) seen: &'a Observed,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

impl Situation<'_> {
    fn decision(&self, status: BackupStatus, act: Act, next: Option<Duration>) -> Decision {
        Decision { status, act, next, released: false, notes: Vec::new() }
    }

    /// Something to do; its announcement stands already.
    pub(crate) fn act(&self, act: Act, message: impl Into<String>) -> Decision {
        self.announce(self.status.clone(), act, message)
    }

    /// Something to write down and then to do.
    pub(crate) fn announce(&self, status: BackupStatus, act: Act, message: impl Into<String>) -> Decision {
        self.decision(BackupStatus { message: message.into(), ..status }, act, Some(Duration::ZERO))
    }

    /// Something to wait for.
    pub(crate) fn wait(&self, next: Duration, message: impl Into<String>) -> Decision {
        let left = self.deadline().duration_since(self.now);
        let left = Duration::try_from(left).ok().filter(|left| !left.is_zero());
        let next = left.map_or(next, |left| left.min(next));
        self.decision(
            BackupStatus { message: message.into(), ..self.status.clone() },
            Act::Nothing,
            Some(next),
        )
    }

    /// Something to write down.
    pub(crate) fn write(&self, status: BackupStatus) -> Decision {
        self.decision(status, Act::Nothing, Some(Duration::ZERO))
    }

    /// Nothing more to do.
    pub(crate) fn rest(&self, status: BackupStatus) -> Decision {
        self.decision(status, Act::Nothing, None)
    }

    /// Nothing holds the object any more.
    pub(crate) fn let_go(&self) -> Decision {
        Decision { released: true, ..self.rest(self.status.clone()) }
    }

    /// The status with this run.
    pub(crate) fn with(&self, run: Run) -> BackupStatus {
        let phase = phase(&run);
        BackupStatus { phase, run: Some(run), ..self.status.clone() }
    }

    /// Goes to another step.
    pub(crate) fn go(&self, run: &Run, step: Step) -> Decision {
        self.write(self.with(Run { step, since: self.now, ..run.clone() }))
    }

    /// The attempt fails: what is at rest is released, and what was made is taken away.
    pub(crate) fn fail(&self, run: &Run, why: impl Into<String>) -> Decision {
        let failure = Some(run.failure.clone().unwrap_or_else(|| why.into()));
        let begun = run.hooks.iter().any(HookRun::was_begun);
        let step = match run.step {
            Step::Quiesce | Step::Data if begun => Step::Release,
            _ => Step::Clean,
        };
        let last = run.last || self.object.deleting || self.late();
        let message = failure.clone().unwrap_or_default();
        let decision = self.go(&Run { failure, last, ..run.clone() }, step);
        Decision { status: BackupStatus { message, ..decision.status.clone() }, ..decision }
    }

    /// Why nothing new is begun, if it is not.
    pub(crate) fn stop(&self) -> Option<String> {
        if self.object.deleting {
            return Some("the Backup was deleted".to_owned());
        }
        self.late().then(|| format!("not done within {}", self.plan.timeout))
    }

    /// The same for a step that waits for a task, with what that said last.
    pub(crate) fn stop_task(&self, run: &Run, task: &TaskSeen) -> Option<String> {
        let last_word = match task {
            TaskSeen::Stuck(why) if self.since(run.since) >= STARTING => return Some(why.clone()),
            TaskSeen::Stuck(how) | TaskSeen::Running(how) | TaskSeen::Unknown(how) => how,
            // It could not be begun: that was told in its place.
            _ => &self.status.message,
        };
        self.stop().map(|why| if last_word.is_empty() { why } else { format!("{why}: {last_word}") })
    }

    pub(crate) fn deadline(&self) -> Timestamp {
        let began = self.status.started_at.unwrap_or(self.now);
        began.saturating_add(self.plan.timeout.signed()).unwrap_or(Timestamp::MAX)
    }

    pub(crate) fn late(&self) -> bool {
        self.now >= self.deadline()
    }

    /// How long a step goes on.
    pub(crate) fn since(&self, time: Timestamp) -> SignedDuration {
        self.now.duration_since(time)
    }

    /// When the attempt after this one may begin.
    pub(crate) fn pause(&self, run: &Run) -> SignedDuration {
        PAUSE * (1 << run.attempt.saturating_sub(1).min(5))
    }

    /// The object of an attempt.
    pub(crate) fn place(&self, run: &Run) -> Option<Place> {
        self.plan.storage.as_ref().map(|storage| Place::new(storage, &run.key))
    }

    /// Name of what is made for an attempt.
    pub(crate) fn task(&self, run: &Run, word: &str) -> String {
        naming::task(self.object.name, word, run.attempt)
    }

    /// The token of a Job of an attempt; none where there is no Job.
    pub(crate) fn token(&self, run: &Run, role: Role) -> Option<Box<Token>> {
        let object = self.plan.strategy.job.as_ref().and_then(|_| self.place(run))?;
        let (name, time) = (self.task(run, role.word()), token_time(self.plan.timeout));
        Some(Box::new(match role {
            Role::Dump => Token::Upload(Upload { name, max_size: object.storage.max_size.0, object, time }),
            Role::Trial | Role::Restore => Token::Download(Download { name, object, time }),
        }))
    }

    pub(crate) fn deletes(&self) -> bool {
        self.object.spec.deletion_policy.unwrap_or(self.plan.deletion_policy) == DeletionPolicy::Delete
    }

    /// What manifests are made from.
    pub(crate) fn order<'a>(&'a self, run: &'a Run) -> manifest::Order<'a> {
        manifest::Order { object: self.object, plan: self.plan, run, settings: self.settings }
    }

    /// The artefact, with what its reader tells.
    pub(crate) fn artefact(&self, run: &Run) -> Artefact {
        let place = self.place(run);
        Artefact {
            uri: place.map_or_else(|| naming::snapshot_uri(self.object), |place| place.uri()),
            key: if self.plan.storage.is_some() { run.key.clone() } else { String::new() },
            size: 0,
            sha256: String::new(),
            encrypted: self.plan.encryption.is_some(),
            format: manifest::format(&self.plan.strategy),
            subject: self.object.spec.subject.clone(),
            subject_version: self.object.spec.subject_version.clone(),
            change: self.object.spec.origin.as_ref().and_then(|origin| origin.change.clone()),
            taken_at: run.taken_at.unwrap_or(self.now),
            snapshots: std::collections::BTreeMap::new(),
        }
    }
}

/// How long a token is good for that is given out within so long a time.
pub(crate) fn token_time(timeout: backup_api::Duration) -> Duration {
    Duration::from(timeout).saturating_add(LATER).min(WEEK)
}

fn phase(run: &Run) -> BackupPhase {
    match run.step {
        Step::Quiesce | Step::Release => BackupPhase::Quiescing,
        Step::Data => BackupPhase::Running,
        Step::Reread | Step::Trial | Step::Catalogue | Step::Tidy => BackupPhase::Verifying,
        Step::Clean => BackupPhase::Running,
        Step::Pause => BackupPhase::Pending,
        Step::Remove => BackupPhase::Deleting,
    }
}
