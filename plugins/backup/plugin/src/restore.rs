//! One `Restore`, as a `Backup` is driven.

use std::time::Duration;

use backup_api::{RestoreStatus, names};
use backup_core::{
    backup::Standing,
    place::Place,
    restore::{Decision, Need, Object, Observed, Order, aside_name, decide, needs, task_name},
    settings::Settings,
};
use jiff::Timestamp;
use pilothouse_sdk::{Context, Error, Finalized, Outcome, Ownership, Reconciler, Watch};

use crate::{
    act::{Done, perform},
    backup::{Words, publish},
    look,
    object::{self, Of, create},
    store,
};

const ROUNDS: u32 = 8;
const AT_ONCE: Duration = Duration::from_millis(50);

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
    let settings: Settings = ctx.config::<Option<Words>>()?.unwrap_or_default().into();
    for round in 1.. {
        let status = found.status()?;
        let (spec, name) = (found.spec.clone(), found.metadata.name.clone());
        let object =
            Object { namespace: &namespace, name: &name, deleting: found.is_deleting(), spec: &spec };
        if spec.job.is_some() || status.plan.as_ref().is_some_and(|plan| plan.strategy.job.is_some()) {
            if object.deleting {
                return Ok(Finalized::Done);
            }
            let why = "this version puts back what etcd and volumeSnapshot took only";
            return Ok(Finalized::waiting(Outcome::stalled("NotSupported", why)));
        }
        let mut seen = observe(ctx, &object, &status)?;
        let now = Timestamp::try_from(ctx.now()).unwrap_or_default();
        let mut decision = decide(object, &status, &seen, &settings, now);
        if found.write(ctx, &decision.status)? {
            publish(ctx, &decision.notes);
        }
        if let Some(check) = carry_out(ctx, &namespace, &decision.order)? {
            seen.check = check;
            decision = decide(object, &decision.status, &seen, &settings, now);
            if found.write(ctx, &decision.status)? {
                publish(ctx, &decision.notes);
            }
        }
        if decision.released {
            return Ok(Finalized::Done);
        }
        if decision.next != Some(Duration::ZERO) || round >= ROUNDS {
            let next = if round >= ROUNDS { Some(AT_ONCE) } else { decision.next };
            return Ok(Finalized::waiting(outcome(&object, &decision, next)));
        }
        if !found.refresh(ctx)? {
            break;
        }
    }
    Ok(Finalized::Done)
}

fn carry_out(
    ctx: &Context,
    namespace: &str,
    order: &Order,
) -> Result<Option<backup_core::backup::observed::CheckSeen>, Error> {
    match order {
        Order::Act(act) => match perform(ctx, namespace, act)? {
            Done::Checking(check) => Ok(Some(check)),
            Done::Yes => Ok(None),
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
            Need::Aside => seen.aside = look::backup(ctx, object.namespace, &aside_name(object))?,
            Need::Object => {
                if let Some((plan, artefact)) = status.plan.as_ref().zip(status.artefact.as_ref()) {
                    let place = Place::new(&plan.storage, &artefact.key);
                    seen.object = store::look(ctx, object.namespace, &place);
                }
            }
            Need::Task => {
                if let Some(plan) = &status.plan {
                    let label = task_name(object, status);
                    seen.task = look::etcd_restore(ctx, object.namespace, &plan.target.name, &label);
                }
            }
            Need::Check | Need::Download => {}
        }
    }
    Ok(seen)
}

fn outcome(object: &Object<'_>, decision: &Decision, next: Option<Duration>) -> Outcome {
    let status = &decision.status;
    let message = status.message.clone();
    let outcome = match decision.standing() {
        Standing::Ready => Outcome::ready(),
        Standing::Progressing => Outcome::progressing(format!("{:?}", status.phase), message),
        Standing::Stalled => Outcome::stalled("RestoreFailed", message),
    };
    let outcome = if status.run.is_some() {
        let aside = look::own(names::BACKUP, object.namespace, &aside_name(object));
        let target =
            status.plan.iter().map(|plan| look::etcd("EtcdRestore", object.namespace, &plan.target.name));
        target.map(Watch::object).fold(outcome.watch(aside), Outcome::watch)
    } else {
        outcome
    };
    match next {
        Some(next) => outcome.requeue_after(next.max(AT_ONCE)),
        None => outcome,
    }
}
