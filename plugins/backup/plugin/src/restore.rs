//! One `Restore`, as a `Backup` is driven.

use std::time::Duration;

use backup_api::{OriginKind, RestoreState, RestoreStatus, names};
use backup_core::{
    backup::{
        Standing,
        observed::{CheckSeen, TaskSeen},
    },
    place::Place,
    restore::{Decision, Need, Object, Observed, Order, aside_name, claim_of, decide, needs, task_name},
    settings::Settings,
};
use jiff::Timestamp;
use pilothouse_sdk::{Context, Error, Finalized, Outcome, Ownership, Reconciler, Watch, warn};

use crate::{
    act::{Done, perform},
    backup::{ANSWERS, AT_ONCE, ROUNDS, publish},
    claim, etcd, job, look,
    object::{self, Of, create},
    retire, settings, snapshot, store,
};

/// Puts backups back.
#[derive(Debug)]
pub(crate) struct Restores;

impl Reconciler for Restores {
    type Resource = Of<object::Restore>;

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

fn drive(ctx: &Context, found: &Of<object::Restore>) -> Result<Finalized, Error> {
    let namespace = found.metadata.namespace.clone();
    let Some(mut found) = Of::<object::Restore>::read(ctx, &namespace, &found.metadata.name)? else {
        return Ok(Finalized::Done);
    };
    let settings = settings::read(ctx)?;
    for round in 1.. {
        let decision = advance(ctx, &mut found, &settings)?;
        if decision.released {
            return Ok(Finalized::Done);
        }
        if decision.next != Some(Duration::ZERO) || round >= ROUNDS {
            let next = if round >= ROUNDS { Some(AT_ONCE) } else { decision.next };
            return Ok(Finalized::waiting(outcome(&found, &decision, next)));
        }
        if !found.refresh(ctx)? {
            break;
        }
    }
    Ok(Finalized::Done)
}

/// One round.
fn advance(ctx: &Context, found: &mut Of<object::Restore>, settings: &Settings) -> Result<Decision, Error> {
    let (metadata, spec, deleting) = (found.metadata.clone(), found.spec.clone(), found.is_deleting());
    let (namespace, name) = (&metadata.namespace, &metadata.name);
    let object = Object { namespace, name, deleting, spec: &spec };
    let mut status = found.status()?;
    let mut seen = observe(ctx, &object, &status)?;
    let now = Timestamp::try_from(ctx.now()).unwrap_or_default();
    let mut answers = 0;
    loop {
        let decision = decide(object, &status, &seen, settings, now);
        if found.write(ctx, &decision.status)? {
            publish(ctx, &decision.notes);
            tidy(ctx, found, &decision.status);
        }
        answers += 1;
        let done = carry_out(ctx, namespace, &decision.order);
        match done.or_else(|error| found.refused(ctx, decision.status.clone(), error))? {
            Some(check) if answers < ANSWERS => seen.check = check,
            _ => return Ok(decision),
        }
        status = decision.status;
    }
}

/// After the restore of a rollback, what others of these have set aside long ago goes. That it did not is no failure of this one.
fn tidy(ctx: &Context, found: &Of<object::Restore>, status: &RestoreStatus) {
    let by_change = found.spec.origin.as_ref().is_some_and(|origin| origin.kind == OriginKind::Lifecycle);
    let Some(plan) = status.plan.as_ref().filter(|_| by_change) else { return };
    if status.phase != RestoreState::Completed {
        return;
    }
    if let Err(error) = retire::asides(ctx, &found.metadata.namespace, &plan.target) {
        warn!(ctx, "what was set aside long ago could not be taken away: {}", error.message());
    }
}

fn carry_out(ctx: &Context, namespace: &str, order: &Order) -> Result<Option<CheckSeen>, Error> {
    match order {
        Order::Act(act) => match perform(ctx, namespace, act)? {
            Done::Checking(check) => Ok(Some(check)),
            Done::Yes | Done::Executing(_) => Ok(None),
        },
        // It outlives the restore: it is the way back.
        Order::CreateBackup(backup) => create(ctx, backup, Ownership::None).map(|()| None),
    }
}

fn observe(ctx: &Context, object: &Object<'_>, status: &RestoreStatus) -> Result<Observed, Error> {
    let mut seen = Observed::default();
    for need in needs(object, status) {
        match need {
            Need::Backup => {
                if let Some(named) = &object.spec.backup_ref {
                    seen.backup = look::backup(ctx, object.namespace, &named.name)?;
                }
            }
            Need::Aside => seen.aside = look::backup(ctx, object.namespace, &aside_name(object, status))?,
            Need::Object => {
                let storage = status.plan.as_ref().and_then(|plan| plan.storage.as_ref());
                if let Some((storage, artefact)) = storage.zip(status.artefact.as_ref()) {
                    let place = Place::new(storage, &artefact.key);
                    seen.object = store::look(ctx, object.namespace, &place);
                }
            }
            Need::Download => seen.download = store::token(ctx, &task_name(object, status)),
            Need::Task => seen.task = task(ctx, object, status),
            Need::Users => seen.users = users(ctx, object, status)?,
            Need::Volumes => seen.volumes = snapshot::volumes(ctx, object, status.artefact.as_ref())?,
            // It is looked at by beginning it.
            Need::Check => {}
        }
    }
    Ok(seen)
}

/// Pods that have the claim mounted whose files are replaced.
fn users(ctx: &Context, object: &Object<'_>, status: &RestoreStatus) -> Result<Vec<String>, Error> {
    let Some(claim) = claim_of(object.spec, status) else { return Ok(Vec::new()) };
    claim::users(ctx, object.namespace, claim)
}

/// What puts the data back.
fn task(ctx: &Context, object: &Object<'_>, status: &RestoreStatus) -> TaskSeen {
    let (name, Some(plan)) = (task_name(object, status), &status.plan) else { return TaskSeen::Absent };
    match plan.strategy.job {
        Some(_) => job::look(ctx, object.namespace, &name),
        None => etcd::restore(ctx, object.namespace, &plan.target.name, &name),
    }
}

fn outcome(found: &Of<object::Restore>, decision: &Decision, next: Option<Duration>) -> Outcome {
    let status = &decision.status;
    let message = status.message.clone();
    let outcome = match decision.standing() {
        Standing::Ready => Outcome::ready(),
        Standing::Progressing => Outcome::progressing(format!("{:?}", status.phase), message),
        Standing::Stalled => Outcome::stalled("RestoreFailed", message),
    };
    let outcome = watches(found, status).into_iter().fold(outcome, Outcome::watch);
    match next {
        Some(next) => outcome.requeue_after(next.max(AT_ONCE)),
        None => outcome,
    }
}

/// What tells of the backup of the present data and of what puts the data back.
fn watches(found: &Of<object::Restore>, status: &RestoreStatus) -> Vec<Watch> {
    let (Some(_), Some(plan)) = (&status.run, &status.plan) else { return Vec::new() };
    let metadata = &found.metadata;
    let (namespace, name) = (&metadata.namespace, &metadata.name);
    let object = Object { namespace, name, deleting: found.is_deleting(), spec: &found.spec };
    let mut watches = match plan.strategy.job {
        _ if plan.strategy.volume_snapshot.is_some() => return Vec::new(),
        Some(_) => job::watches(namespace, &task_name(&object, status)),
        None => vec![etcd::watch_restore(namespace, &plan.target.name)],
    };
    watches.push(look::own(names::BACKUP, namespace, &aside_name(&object, status)));
    watches
}
