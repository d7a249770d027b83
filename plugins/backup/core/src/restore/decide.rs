//! The steps of a restore.

use std::time::Duration;

use backup_api::{Artefact, BackupPhase, RestoreRun, RestoreState, RestoreStatus, RestoreStep};
use jiff::{SignedDuration, Timestamp};

use super::{
    manifest,
    observed::{Object, Observed, claim_of},
    source::{Source, resolve},
    volumes::{self, Stands},
};
use crate::{
    backup::{
        Act, Note, Role, STARTING, Standing, Token,
        act::Download,
        observed::{CheckSeen, Looked, TaskSeen, TokenSeen},
        token_time,
    },
    naming,
    settings::Settings,
};

const SOON: Duration = Duration::from_secs(2);
const LATER: Duration = Duration::from_secs(10);
const PAUSE: SignedDuration = SignedDuration::from_secs(10);
const CHECK: &str = "check";
/// How long volumes are waited for: a class may make none before a pod uses the claim.
const BINDING: SignedDuration = SignedDuration::from_mins(1);

/// What is done: an act of backups, or the creation of the `Backup` that sets the present data aside.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// As for backups.
    Act(Act),
    /// Create this `Backup`; one of the name is left alone.
    CreateBackup(serde_json::Value),
}

/// What follows, in this order: the status, the act, the notes.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The status from now on.
    pub status: RestoreStatus,
    /// The one thing to do.
    pub order: Order,
    /// When to look again even if nothing is heard; zero is at once, none is never.
    pub next: Option<Duration>,
    /// The object is being deleted and nothing holds it any more.
    pub released: bool,
    /// Events.
    pub notes: Vec<Note>,
}

impl Decision {
    /// Where the object stands.
    pub fn standing(&self) -> Standing {
        match self.status.phase {
            RestoreState::Completed => Standing::Ready,
            RestoreState::Failed => Standing::Stalled,
            _ => Standing::Progressing,
        }
    }
}

/// What to do next for a restore.
///
/// # Guarantees
/// - The target is not touched before the artefact was read and has its hash, and before the present data was set aside if that is
///   asked for.
/// - `Completed` is written after both ends of the last attempt ended well.
/// - Never two attempts at once.
pub fn decide(
    object: Object<'_>,
    status: &RestoreStatus,
    seen: &Observed,
    settings: &Settings,
    now: Timestamp,
) -> Decision {
    let look = Look { object, status, seen, settings, now };
    match (&status.run, status.phase) {
        (None, _) if object.deleting => look.let_go(),
        (None, RestoreState::Completed | RestoreState::Failed) => look.rest(status.clone()),
        (None, _) => look.begin(),
        (Some(run), _) => look.step(run),
    }
}

struct Look<'a> {
    object: Object<'a>,
    status: &'a RestoreStatus,
    seen: &'a Observed,
    settings: &'a Settings,
    now: Timestamp,
}

impl Look<'_> {
    fn decision(&self, status: RestoreStatus, order: Order, next: Option<Duration>) -> Decision {
        Decision { status, order, next, released: false, notes: Vec::new() }
    }

    fn rest(&self, status: RestoreStatus) -> Decision {
        self.decision(status, Order::Act(Act::Nothing), None)
    }

    fn let_go(&self) -> Decision {
        Decision { released: true, ..self.rest(self.status.clone()) }
    }

    fn write(&self, status: RestoreStatus) -> Decision {
        self.decision(status, Order::Act(Act::Nothing), Some(Duration::ZERO))
    }

    fn act(&self, order: Order, message: &str) -> Decision {
        let status = RestoreStatus { message: message.to_owned(), ..self.status.clone() };
        self.decision(status, order, Some(Duration::ZERO))
    }

    fn wait(&self, next: Duration, message: impl Into<String>) -> Decision {
        let status = RestoreStatus { message: message.into(), ..self.status.clone() };
        self.decision(status, Order::Act(Act::Nothing), Some(next))
    }

    fn go(&self, run: RestoreRun, step: RestoreStep) -> Decision {
        let phase = match step {
            RestoreStep::Check => RestoreState::Checking,
            RestoreStep::SetAside => RestoreState::SettingAside,
            RestoreStep::Restore | RestoreStep::Clean | RestoreStep::Pause => RestoreState::Restoring,
        };
        let run = Some(RestoreRun { step, since: self.now, ..run });
        self.write(RestoreStatus { phase, run, ..self.status.clone() })
    }

    fn failed(&self, why: impl Into<String>) -> Decision {
        let why = why.into();
        let message = match (self.touched(), &self.status.set_aside) {
            (false, _) => format!("{why}; nothing was touched"),
            (true, Some(backup)) => format!("{why}; the data of before is in the Backup {backup}"),
            (true, None) => format!("{why}; the target may hold a part of the data"),
        };
        let status = RestoreStatus {
            phase: RestoreState::Failed,
            run: None,
            completed_at: Some(self.now),
            message: message.clone(),
            ..self.status.clone()
        };
        let note = Note { warning: true, reason: "RestoreFailed", message };
        let next = self.object.deleting.then_some(Duration::ZERO);
        Decision { next, notes: vec![note], ..self.rest(status) }
    }

    fn touched(&self) -> bool {
        self.status.run.as_ref().is_some_and(|run| run.touched_at.is_some())
    }

    fn begin(&self) -> Decision {
        let source = match resolve(self.object.spec, self.seen.backup.as_ref()) {
            Ok(source) => source,
            Err(refusal) => return self.failed(refusal.to_string()),
        };
        let run = RestoreRun {
            step: RestoreStep::Check,
            attempt: 1,
            since: self.now,
            touched_at: None,
            failure: None,
        };
        let volumes = source.plan.strategy.volume_snapshot.is_some();
        // What cannot be made is told before anything is done.
        if !volumes && let Err(why) = manifest::restore(&self.object, &source, &run, self.settings, 1) {
            return self.failed(why.to_string());
        }
        let decision = self.go(run, if volumes { RestoreStep::Restore } else { RestoreStep::Check });
        let Source { artefact, plan } = source;
        let status = RestoreStatus {
            artefact: Some(artefact),
            plan: Some(plan),
            started_at: Some(self.now),
            attempts: u32::from(volumes),
            ..decision.status.clone()
        };
        Decision { status, ..decision }
    }

    fn step(&self, run: &RestoreRun) -> Decision {
        let (Some(artefact), Some(plan)) = (self.status.artefact.clone(), self.status.plan.clone()) else {
            return self.failed("the status does not tell what is restored");
        };
        let source = Source { artefact, plan };
        match run.step {
            _ if source.plan.strategy.volume_snapshot.is_some() => self.volumes(run),
            RestoreStep::Check => self.check(run, &source),
            RestoreStep::SetAside => self.set_aside(run, &source),
            RestoreStep::Restore => self.restore(run, &source),
            RestoreStep::Clean => self.clean(run, &source),
            RestoreStep::Pause => self.pause(run),
        }
    }

    /// How long it has been going on, if that is too long.
    fn stop(&self, since: Timestamp) -> Option<String> {
        if self.object.deleting {
            return Some("the Restore was deleted".to_owned());
        }
        let timeout = self.object.spec.timeout;
        (self.now.duration_since(since) >= timeout.signed()).then(|| format!("not done within {timeout}"))
    }

    fn check(&self, run: &RestoreRun, source: &Source) -> Decision {
        if let Some(why) = self.stop(run.since) {
            let claim = self.in_use().map(|waits| format!(": {}", waits.status.message));
            return self.failed(format!("{why}{}", claim.unwrap_or_default()));
        }
        // Before anything is read: it may take as long as people take.
        if let Some(decision) = self.in_use() {
            return decision;
        }
        let Some(object) = source.place() else {
            return self.failed("the backup does not tell where its artefact is");
        };
        // Where only a key was given, the size is not known before.
        let known = source.artefact.size;
        match &self.seen.object {
            Looked::Unknown(why) | Looked::Lost(why) => {
                return self.wait(LATER, format!("the storage cannot be used: {why}"));
            }
            Looked::Absent => return self.failed(format!("there is no object {}", object.uri())),
            Looked::Present(size) if known > 0 && *size != known => {
                return self.failed(format!("{} has {size} bytes instead of {known}", object.uri()));
            }
            Looked::Present(_) => {}
        }
        let name = naming::task(self.object.name, CHECK, run.attempt);
        match &self.seen.check {
            CheckSeen::Absent => {
                let sha256 = source.artefact.sha256.clone();
                let act = Act::StartCheck { name, object, sha256 };
                self.act(Order::Act(act), "the artefact is read and held against its hash")
            }
            CheckSeen::Running(bytes) => {
                self.wait(SOON, format!("{bytes} bytes of the artefact were read so far"))
            }
            CheckSeen::Failed { passing: true, why } => {
                let decision = self.act(Order::Act(Act::ForgetCheck { name }), why);
                Decision { next: Some(LATER), ..decision }
            }
            CheckSeen::Failed { passing: false, why } => self.failed(why.clone()),
            CheckSeen::Done { sha256, .. } if *sha256 != source.artefact.sha256 => {
                self.failed(format!("{} has not the hash that it should have", object.uri()))
            }
            CheckSeen::Done { size, .. } => self.checked(run, &source.artefact, *size),
        }
    }

    /// Files are not replaced below a server that runs: people stop it, and are told so.
    fn in_use(&self) -> Option<Decision> {
        let claim = claim_of(self.object.spec, self.status)?;
        let pods = self.seen.users.join(", ");
        let wait = || {
            self.wait(
                LATER,
                format!("the claim {claim} is in use: stop {pods} (scale to 0), or set force: true in a new Restore"),
            )
        };
        (!self.seen.users.is_empty()).then(wait)
    }

    fn checked(&self, run: &RestoreRun, artefact: &Artefact, size: u64) -> Decision {
        let aside = self.object.spec.set_aside;
        let step = if aside { RestoreStep::SetAside } else { RestoreStep::Restore };
        let touched_at = (!aside).then_some(self.now);
        let decision = self.go(RestoreRun { touched_at, ..run.clone() }, step);
        let status = RestoreStatus {
            artefact: Some(Artefact { size, ..artefact.clone() }),
            set_aside: aside.then(|| manifest::aside_name(&self.object, self.status)),
            attempts: u32::from(!aside),
            ..decision.status.clone()
        };
        Decision { status, ..decision }
    }

    fn set_aside(&self, run: &RestoreRun, source: &Source) -> Decision {
        if self.object.deleting {
            return self.failed("the Restore was deleted");
        }
        let name = manifest::aside_name(&self.object, self.status);
        let Some(backup) = &self.seen.aside else {
            let backup = manifest::aside(&self.object, source, &name);
            return self.act(Order::CreateBackup(backup), "the present data is about to be backed up");
        };
        let ours =
            backup.spec.origin.as_ref().is_some_and(|origin| origin.run.as_deref() == Some(self.object.name));
        let older = backup.status.started_at.zip(self.status.started_at).is_some_and(|(its, own)| its < own);
        // What an earlier Restore of the name has set aside stays: it may be the only copy of that data.
        if let Some(next) = manifest::next_aside(&self.object, &name).filter(|_| ours && older) {
            return self.write(RestoreStatus { set_aside: Some(next), ..self.status.clone() });
        }
        if !ours || older {
            return self.failed(format!(
                "there is another Backup {name}: delete it, or give the Restore another name"
            ));
        }
        match backup.status.phase {
            BackupPhase::Completed if backup.status.verified => {
                let run = RestoreRun { touched_at: Some(self.now), ..run.clone() };
                let decision = self.go(run, RestoreStep::Restore);
                Decision { status: RestoreStatus { attempts: 1, ..decision.status.clone() }, ..decision }
            }
            BackupPhase::Failed | BackupPhase::Completed | BackupPhase::Deleting => {
                let why = &backup.status.message;
                self.failed(format!(
                    "the present data could not be backed up ({why}); with setAside: false it is written over all the same"
                ))
            }
            phase => self.wait(LATER, format!("the present data is being backed up: {name} is {phase:?}")),
        }
    }

    fn restore(&self, run: &RestoreRun, source: &Source) -> Decision {
        let since = run.touched_at.unwrap_or(run.since);
        match &self.seen.task {
            // What is done is done, though it be late.
            TaskSeen::Succeeded(_) => return self.go(run.clone(), RestoreStep::Clean),
            TaskSeen::Failed(why) => return self.fail(run, why.clone()),
            TaskSeen::Stuck(why) if self.now.duration_since(run.since) >= STARTING => {
                return self.fail(run, why.clone());
            }
            _ => {}
        }
        if let Some(why) = self.stop(since) {
            return self.fail(run, format!("{why}: {}", self.status.message));
        }
        match &self.seen.task {
            TaskSeen::Absent => self.create(run, source, since),
            TaskSeen::Running(how) | TaskSeen::Stuck(how) => {
                match self.token(run, source).filter(|_| self.seen.download == TokenSeen::Closed) {
                    Some(token) => self.act(Order::Act(Act::Open(token)), "a token to read it is given out"),
                    None => self.wait(LATER, how.clone()),
                }
            }
            TaskSeen::Unknown(how) => self.wait(LATER, how.clone()),
            _ => self.wait(SOON, "waiting until a task of before is gone"),
        }
    }

    /// New claims are made from the snapshots; those in use stay as they are.
    fn volumes(&self, run: &RestoreRun) -> Decision {
        if let Some(why) = self.stop(run.since) {
            return self.failed(why);
        }
        let (mut missing, mut unbound, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for volume in &self.seen.volumes {
            match volumes::stands(&self.object, volume) {
                Stands::Impossible(why) => return self.failed(why),
                Stands::Missing(claim) => missing.push(claim),
                Stands::Unbound(name) => unbound.push(name),
                Stands::Bound(name) => names.push(name),
            }
        }
        if !missing.is_empty() {
            let act = Act::Create { role: Role::Restore, token: None, objects: missing };
            return self.act(Order::Act(act), "claims are made from the snapshots");
        }
        if !unbound.is_empty() && self.now.duration_since(run.since) < BINDING {
            return self.wait(LATER, format!("waiting until there are volumes for {}", unbound.join(", ")));
        }
        // Some classes wait for the first pod.
        let later = unbound.iter().map(|name| format!("{name} (when a pod uses it)"));
        let names: Vec<String> = names.into_iter().chain(later).collect();
        self.completed(format!("the data is in the claims {}", names.join(", ")))
    }

    /// The token of the Job of an attempt; none where there is no Job.
    fn token(&self, run: &RestoreRun, source: &Source) -> Option<Box<Token>> {
        source.plan.strategy.job.as_ref()?;
        let name = manifest::task(&self.object, run.attempt);
        let object = source.place()?;
        let download = Download { name, object, time: token_time(self.object.spec.timeout) };
        Some(Box::new(Token::Download(download)))
    }

    fn create(&self, run: &RestoreRun, source: &Source, since: Timestamp) -> Decision {
        if let Some(decision) = self.in_use() {
            return decision;
        }
        let left = self.object.spec.timeout.signed() - self.now.duration_since(since);
        let seconds = u64::try_from(left.as_secs()).unwrap_or(1);
        match manifest::restore(&self.object, source, run, self.settings, seconds) {
            Ok(object) => {
                let token = self.token(run, source);
                let act = Act::Create { role: Role::Restore, token, objects: vec![object] };
                self.act(Order::Act(act), "the data is being put back")
            }
            Err(why) => self.fail(run, why.to_string()),
        }
    }

    fn fail(&self, run: &RestoreRun, why: String) -> Decision {
        let failure = Some(run.failure.clone().unwrap_or(why));
        self.go(RestoreRun { failure, ..run.clone() }, RestoreStep::Clean)
    }

    /// Token and task of the attempt are taken away; then it is over, or begun anew.
    fn clean(&self, run: &RestoreRun, source: &Source) -> Decision {
        if self.seen.download == TokenSeen::Open {
            let name = manifest::task(&self.object, run.attempt);
            return self.act(Order::Act(Act::Close { name }), "the token is taken back");
        }
        match &self.seen.task {
            TaskSeen::Running(_) | TaskSeen::Stuck(_) | TaskSeen::Succeeded(_) | TaskSeen::Failed(_)
                if !self.is_of_others() =>
            {
                let objects = vec![manifest::restore_name(&self.object, source, run)];
                let token = source.plan.strategy.job.as_ref();
                let token = token.map(|_| manifest::task(&self.object, run.attempt));
                let act = Act::Delete { role: Role::Restore, token, objects, leftovers: None };
                return self.act(Order::Act(act), "what is not needed any more is taken away");
            }
            TaskSeen::Leaving if run.failure.is_some() => {
                return self.wait(SOON, "waiting until the pods of this attempt are gone");
            }
            TaskSeen::Unknown(why) => return self.wait(LATER, why.clone()),
            _ => {}
        }
        let Some(why) = run.failure.clone() else {
            return self.completed(format!("the data of {} was put back", source.artefact.uri));
        };
        let late = self.stop(run.touched_at.unwrap_or(run.since)).is_some();
        if late || run.attempt > self.object.spec.retries {
            return self.failed(why);
        }
        self.go(run.clone(), RestoreStep::Pause)
    }

    /// An `EtcdRestore` that somebody else made is not ours to delete.
    fn is_of_others(&self) -> bool {
        matches!(&self.seen.task, TaskSeen::Failed(why) if why.starts_with("there is another EtcdRestore"))
    }

    fn pause(&self, run: &RestoreRun) -> Decision {
        let why = run.failure.clone().unwrap_or_default();
        if self.stop(run.touched_at.unwrap_or(run.since)).is_some() {
            return self.failed(why);
        }
        let pause = PAUSE * (1 << run.attempt.saturating_sub(1).min(5));
        let left = pause - self.now.duration_since(run.since);
        if left.is_positive() {
            return self.wait(Duration::try_from(left).unwrap_or(SOON), format!("{why}; it is tried again"));
        }
        let attempt = run.attempt.saturating_add(1);
        let decision = self.go(RestoreRun { attempt, failure: None, ..run.clone() }, RestoreStep::Restore);
        Decision { status: RestoreStatus { attempts: attempt, ..decision.status.clone() }, ..decision }
    }

    fn completed(&self, message: String) -> Decision {
        let status = RestoreStatus {
            phase: RestoreState::Completed,
            run: None,
            completed_at: Some(self.now),
            message: message.clone(),
            ..self.status.clone()
        };
        let note = Note { warning: false, reason: "Restored", message };
        let next = self.object.deleting.then_some(Duration::ZERO);
        Decision { next, notes: vec![note], ..self.rest(status) }
    }
}
