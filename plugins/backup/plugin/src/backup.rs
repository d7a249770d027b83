//! One `Backup`: rounds of looking, deciding, writing down, acting, until there is nothing to do now.

mod observe;
mod planned;

use std::time::Duration;

use backup_api::{BackupPhase, BackupPlan, BackupStatus, names};
use backup_core::{
    backup::{Decision, Note, Object, Role, Standing, decide, task_name},
    plan::PlanError,
    settings::Settings,
};
use jiff::Timestamp;
use pilothouse_sdk::{Condition, Context, Error, Event, Finalized, Outcome, Reconciler, Watch};

use crate::{
    act::{Done, perform},
    etcd, job, look,
    object::{self, Of},
    quiesce, settings, snapshot,
};

/// So many rounds in one call at most: others wait for the worker.
pub(crate) const ROUNDS: u32 = 8;
/// When to go on after that.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(50);
/// An act that answers at once is followed by another look at that answer: a reading by its forgetting, a command by its end.
pub(crate) const ANSWERS: u32 = 3;

/// Takes `Backup`s.
#[derive(Debug)]
pub(crate) struct Backups;

impl Reconciler for Backups {
    type Resource = Of<object::Backup>;

    fn reconcile(&self, ctx: &Context, found: &Self::Resource) -> Result<Outcome, Error> {
        match drive(ctx, found)? {
            Finalized::Done => Ok(Outcome::ready()),
            Finalized::Waiting(outcome) => Ok(*outcome),
        }
    }

    fn finalize(&self, ctx: &Context, found: &Self::Resource) -> Result<Finalized, Error> {
        drive(ctx, found)
    }
}

fn drive(ctx: &Context, found: &Of<object::Backup>) -> Result<Finalized, Error> {
    let namespace = found.metadata.namespace.clone();
    let Some(mut found) = Of::<object::Backup>::read(ctx, &namespace, &found.metadata.name)? else {
        return Ok(Finalized::Done);
    };
    let settings = settings::read(ctx)?;
    for round in 1.. {
        let status = found.status()?;
        if found.is_deleting() && is_untouched(&status) {
            return Ok(Finalized::Done);
        }
        let plan = match planned::of(ctx, &found, &status)? {
            Ok(plan) => plan,
            // Without a plan nothing can have been done.
            Err(_) if found.is_deleting() => return Ok(Finalized::Done),
            Err(error) => return Ok(Finalized::waiting(without_plan(&found, &error))),
        };
        let decision = advance(ctx, &mut found, &plan, &settings)?;
        if decision.released {
            return Ok(Finalized::Done);
        }
        if decision.next != Some(Duration::ZERO) || round >= ROUNDS {
            let next = if round >= ROUNDS { Some(AT_ONCE) } else { decision.next };
            return Ok(Finalized::waiting(outcome(&found, &plan, &decision, next)));
        }
        if !found.refresh(ctx)? {
            break;
        }
    }
    Ok(Finalized::Done)
}

fn is_untouched(status: &BackupStatus) -> bool {
    status.run.is_none() && status.phase == BackupPhase::Pending
}

/// One round.
fn advance(
    ctx: &Context,
    found: &mut Of<object::Backup>,
    plan: &BackupPlan,
    settings: &Settings,
) -> Result<Decision, Error> {
    let (metadata, spec, deleting) = (found.metadata.clone(), found.spec.clone(), found.is_deleting());
    let (namespace, name, uid) = (&metadata.namespace, &metadata.name, &metadata.uid);
    let object = Object { namespace, name, uid, deleting, spec: &spec };
    let mut status = found.status()?;
    let mut seen = observe::observe(ctx, &object, plan, &status)?;
    let now = Timestamp::try_from(ctx.now()).unwrap_or_default();
    let mut answers = 0;
    loop {
        let decision = decide(object, plan, &status, &seen, settings, now);
        if found.write(ctx, &decision.status)? {
            publish(ctx, &decision.notes);
            quiesce::forget(ctx, &status, &decision.status);
        }
        answers += 1;
        let done = perform(ctx, namespace, &decision.act);
        match done.or_else(|error| found.refused(ctx, decision.status.clone(), error))? {
            Done::Checking(check) if answers < ANSWERS => seen.check = check,
            Done::Executing(exec) if answers < ANSWERS => seen.exec = exec,
            _ => return Ok(decision),
        }
        status = decision.status;
    }
}

fn without_plan(found: &Of<object::Backup>, error: &PlanError) -> Outcome {
    let outcome = Outcome::stalled("NoPlan", error.to_string());
    match &found.spec.policy_ref {
        Some(policy) => outcome.watch(look::own(names::POLICY, &found.metadata.namespace, &policy.name)),
        None => outcome,
    }
}

fn outcome(
    found: &Of<object::Backup>,
    plan: &BackupPlan,
    decision: &Decision,
    next: Option<Duration>,
) -> Outcome {
    let status = &decision.status;
    let message = status.message.clone();
    let outcome = match decision.standing() {
        Standing::Ready => Outcome::ready(),
        Standing::Progressing => Outcome::progressing(format!("{:?}", status.phase), message.clone()),
        Standing::Stalled => Outcome::stalled("BackupFailed", message.clone()),
    };
    let verified = Condition::new(names::condition::VERIFIED, status.verified)
        .reason(if status.verified { "Verified" } else { "NotVerified" })
        .message(message);
    let outcome = watches(found, plan, status).into_iter().fold(outcome, Outcome::watch).condition(verified);
    match next {
        Some(next) => outcome.requeue_after(next.max(AT_ONCE)),
        None => outcome,
    }
}

/// What tells of the tasks of the attempt at hand.
fn watches(found: &Of<object::Backup>, plan: &BackupPlan, status: &BackupStatus) -> Vec<Watch> {
    let Some(run) = &status.run else { return Vec::new() };
    let namespace = &found.metadata.namespace;
    let name = |role| task_name(&found.metadata.name, status, role);
    if plan.strategy.job.is_some() {
        let roles = [Role::Dump, Role::Trial].into_iter();
        return roles.flat_map(|role| job::watches(namespace, &name(role))).collect();
    }
    if plan.strategy.etcd.is_some() {
        return vec![etcd::watch_backup(namespace, &name(Role::Dump))];
    }
    snapshot::watches(namespace, run.artefact.as_ref())
}

/// Tells what happened, by whoever wrote it down.
pub(crate) fn publish(ctx: &Context, notes: &[Note]) {
    for note in notes {
        let event = if note.warning { Event::warning } else { Event::normal };
        ctx.publish(&event(note.reason, note.message.clone()));
    }
}
