//! The steps of a backup up to the object in the storage.

use backup_api::{Artefact, BackupPhase, BackupPlan, BackupStatus, OriginKind, Run, Step};
use jiff::Timestamp;

use super::{
    act::{Act, Role},
    hooks,
    observed::{Observed, Product, TaskSeen, TokenSeen},
    situation::{Decision, LATER, Object, SOON, Situation},
};
use crate::{key::Key, manifest, naming, settings::Settings};

/// What to do next for a backup.
///
/// # Guarantees
/// - Nothing is done that the status does not announce.
/// - After a command of `quiesce.pre` may have been carried out, those of `quiesce.post` are, whatever happens.
/// - `Completed` and `verified` are written after the storage had the whole object with that hash.
/// - A new attempt begins after the one before can write nothing any more and none of its pods is left.
pub fn decide(
    object: Object<'_>,
    plan: &BackupPlan,
    status: &BackupStatus,
    seen: &Observed,
    settings: &Settings,
    now: Timestamp,
) -> Decision {
    let situation = Situation { object, plan, status, seen, settings, now };
    match &status.run {
        None => situation.outside(),
        Some(run) => situation.step(run),
    }
}

impl Situation<'_> {
    /// Nothing is under way.
    fn outside(&self) -> Decision {
        let Object { deleting, .. } = self.object;
        match self.status.phase {
            BackupPhase::Completed if deleting && self.deletes() => self.begin_removal(),
            _ if deleting => self.let_go(),
            // Its status is written by whoever found it.
            BackupPhase::Pending if self.is_import() => {
                self.wait(LATER, "waiting for what is known of it: import it once more")
            }
            BackupPhase::Completed | BackupPhase::Failed => self.rest(self.status.clone()),
            _ => self.begin(),
        }
    }

    fn is_import(&self) -> bool {
        self.object.spec.origin.as_ref().is_some_and(|origin| origin.kind == OriginKind::Import)
    }

    fn step(&self, run: &Run) -> Decision {
        match run.step {
            Step::Quiesce => self.quiesce(run),
            Step::Data => self.data(run),
            Step::Release => self.release(run),
            Step::Reread => self.reread(run),
            Step::Trial => self.trial(run),
            Step::Catalogue => self.catalogue(run),
            Step::Tidy => self.tidy(run),
            Step::Clean => self.clean(run),
            Step::Pause => self.paused(run),
            Step::Remove => self.remove(run),
        }
    }

    fn begin(&self) -> Decision {
        let started_at = Some(self.now);
        let plan = self.object.spec.plan.is_none().then(|| self.plan.clone());
        if let Err(why) = manifest::check(&self.order(&self.new_run(1))) {
            let status = BackupStatus { started_at, plan, ..self.status.clone() };
            return self.failed(&status, format!("{why}"));
        }
        match self.attempt(1) {
            Ok(run) => self.write(BackupStatus { started_at, plan, attempts: 1, ..self.with(run) }),
            Err(wait) => *wait,
        }
    }

    /// A new attempt, with the pods whose commands it is going to run.
    pub(super) fn attempt(&self, attempt: u32) -> Result<Run, Box<Decision>> {
        let run = self.new_run(attempt);
        if !hooks::has_any(self.plan) {
            return Ok(Run { step: Step::Data, taken_at: Some(self.now), ..run });
        }
        let Some(pods) = &self.seen.pods else {
            return Err(Box::new(self.wait(SOON, "looking for the pods that are to be brought to rest")));
        };
        Ok(Run { step: Step::Quiesce, hooks: hooks::targets(self.plan, pods), ..run })
    }

    fn new_run(&self, attempt: u32) -> Run {
        let key = Key {
            namespace: self.object.namespace.to_owned(),
            group: self.object.spec.subject.group().to_owned(),
            kind: self.object.spec.subject.kind.clone(),
            name: self.object.spec.subject.name.clone(),
            taken: self.status.started_at.unwrap_or(self.now),
            id: naming::short_id(self.object.uid, attempt),
        };
        Run {
            step: Step::Data,
            attempt,
            key: key.to_string(),
            since: self.now,
            hooks: Vec::new(),
            artefact: None,
            taken_at: None,
            failure: None,
            last: false,
        }
    }

    /// The data is read by something that is not us.
    fn data(&self, run: &Run) -> Decision {
        if let Some(why) = self.stop_task(run, &self.seen.dump) {
            return self.fail(run, why);
        }
        match &self.seen.dump {
            TaskSeen::Unknown(why) => self.wait(LATER, format!("the task cannot be looked at: {why}")),
            TaskSeen::Succeeded(product) => self.read(run, product),
            TaskSeen::Failed(why) => self.fail(run, why.clone()),
            TaskSeen::Leaving => self.wait(SOON, "waiting until a task of before is gone"),
            // Also while it runs: a host that was begun anew has forgotten all tokens.
            TaskSeen::Running(how) | TaskSeen::Stuck(how) => {
                match self.token(run, Role::Dump).filter(|_| self.seen.upload == TokenSeen::Closed) {
                    Some(token) => self.act(Act::Open(token), "a token for one object is given out"),
                    None => self.wait(LATER, how.clone()),
                }
            }
            TaskSeen::Absent | TaskSeen::Partly => self.create_dump(run),
        }
    }

    fn create_dump(&self, run: &Run) -> Decision {
        if self.plan.strategy.volume_snapshot.is_some() && run.artefact.is_none() {
            return self.choose_claims(run);
        }
        match manifest::dump(&self.order(run)) {
            Ok(objects) => {
                let token = self.token(run, Role::Dump);
                self.act(Act::Create { role: Role::Dump, token, objects }, "the data is about to be read")
            }
            Err(why) => self.fail(&Run { last: true, ..run.clone() }, why.to_string()),
        }
    }

    /// Which claims are meant is written down before the first snapshot.
    fn choose_claims(&self, run: &Run) -> Decision {
        let named = self.plan.strategy.volume_snapshot.clone().unwrap_or_default();
        let claims = match (named.selector, &self.seen.claims) {
            (None, _) => named.claims,
            (Some(_), Some(claims)) => claims.clone(),
            (Some(_), None) => return self.wait(SOON, "looking for the claims"),
        };
        if claims.is_empty() {
            return self.fail(run, "strategy.volumeSnapshot selects no claim");
        }
        let name = self.task(run, Role::Dump.word());
        let snapshots =
            claims.into_iter().map(|claim| (claim.clone(), naming::snapshot(&name, &claim))).collect();
        let artefact = Some(Artefact { snapshots, ..self.artefact(run) });
        self.write(self.with(Run { artefact, ..run.clone() }))
    }

    /// It was read: what its reader tells is written down, and the database released.
    fn read(&self, run: &Run, product: &Product) -> Decision {
        let stored = self.plan.storage.is_some();
        if stored && !naming::is_sha256(&product.sha256) {
            return self.fail(run, "the task ended without a word of size and hash");
        }
        let known = run.artefact.clone().unwrap_or_else(|| self.artefact(run));
        let artefact = Artefact {
            size: product.size,
            sha256: product.sha256.clone(),
            subject_version: product.version.clone().or(known.subject_version),
            ..known
        };
        let step = if hooks::has_any(self.plan) { Step::Release } else { self.after_release() };
        self.go(&Run { artefact: Some(artefact), ..run.clone() }, step)
    }

    /// The first step of showing that it is whole.
    pub(super) fn after_release(&self) -> Step {
        if self.plan.storage.is_some() { Step::Reread } else { Step::Tidy }
    }
}
