//! One `Backup`: rounds of looking, deciding, writing down, acting, until there is nothing to do now.

use std::{collections::BTreeMap, time::Duration};

use backup_api::{BackupPlan, BackupPolicySpec, BackupStatus, names};
use backup_core::{
    backup::{self, Need, Note, Object, Observed, Standing, decide, dump_name, needs},
    plan::{self, PlanError},
    settings::Settings,
};
use jiff::Timestamp;
use pilothouse_sdk::{Condition, Context, Error, Event, Finalized, Gvk, ObjectRef, Outcome, Reconciler};
use serde_json::Value;

use crate::{
    act::{Done, perform},
    look,
    object::{self, Of, Policy},
    store,
};

/// So many rounds in one call at most: others wait for the worker.
const ROUNDS: u32 = 8;
/// When to go on after that.
const AT_ONCE: Duration = Duration::from_millis(50);

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
    let settings: Settings = ctx.config::<Option<Words>>()?.unwrap_or_default().into();
    for round in 1.. {
        let status = found.status()?;
        let plan = match plan_of(ctx, &found, &status)? {
            Ok(plan) => plan,
            Err(error) if found.is_deleting() => return let_go(&error),
            Err(error) => return Ok(Finalized::waiting(without_plan(&found, &error))),
        };
        if let Some(why) = unsupported(&plan) {
            if found.is_deleting() {
                return Ok(Finalized::Done);
            }
            return Ok(Finalized::waiting(Outcome::stalled("NotSupported", why)));
        }
        let spec = found.spec.clone();
        let (name, uid) = (found.metadata.name.clone(), found.metadata.uid.clone());
        let object = Object {
            namespace: &namespace,
            name: &name,
            uid: &uid,
            deleting: found.is_deleting(),
            spec: &spec,
        };
        let mut seen = observe(ctx, &object, &plan, &status)?;
        let now = Timestamp::try_from(ctx.now()).unwrap_or_default();
        let mut decision = decide(object, &plan, &status, &seen, &settings, now);
        if found.write(ctx, &decision.status)? {
            publish(ctx, &decision.notes);
        }
        if let Done::Checking(check) = perform(ctx, &namespace, &decision.act)? {
            // What was begun, or found, is looked at by the same token.
            seen.check = check;
            decision = decide(object, &plan, &decision.status, &seen, &settings, now);
            if found.write(ctx, &decision.status)? {
                publish(ctx, &decision.notes);
            }
        }
        if decision.released {
            return Ok(Finalized::Done);
        }
        if decision.next != Some(Duration::ZERO) || round >= ROUNDS {
            let next = if round >= ROUNDS { Some(AT_ONCE) } else { decision.next };
            return Ok(Finalized::waiting(outcome(&object, &plan, &decision, next)));
        }
        if !found.refresh(ctx)? {
            break;
        }
    }
    Ok(Finalized::Done)
}

/// The plugin's settings.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Words {
    image: String,
}

impl From<Words> for Settings {
    fn from(words: Words) -> Self {
        Self { image: words.image }
    }
}

/// What this version cannot do, said before anything is begun.
pub(crate) fn unsupported(plan: &BackupPlan) -> Option<&'static str> {
    if plan.strategy.job.is_some() {
        return Some("strategy.job: this version takes backups by etcd and volumeSnapshot only");
    }
    plan.quiesce.is_some().then_some("quiesce: this version runs no commands in pods")
}

fn plan_of(
    ctx: &Context,
    found: &Of<object::Backup>,
    status: &BackupStatus,
) -> Result<Result<BackupPlan, PlanError>, Error> {
    let named = found.spec.policy_ref.as_ref().filter(|_| found.spec.plan.is_none() && status.plan.is_none());
    let Some(named) = named else { return Ok(plan::resolve(&found.spec, status, None, &BTreeMap::new())) };
    let policy = Of::<Policy>::read(ctx, &found.metadata.namespace, &named.name)?;
    let spec: Option<&BackupPolicySpec> = policy.as_ref().map(|policy| &policy.spec);
    let labels = labels_of_subject(ctx, found)?;
    Ok(plan::resolve(&found.spec, status, spec, &labels))
}

fn labels_of_subject(ctx: &Context, found: &Of<object::Backup>) -> Result<BTreeMap<String, String>, Error> {
    let subject = &found.spec.subject;
    let (group, version) = subject.api_version.split_once('/').unwrap_or(("", &subject.api_version));
    let kind = Gvk::new(group, version, &subject.kind);
    let reference = ObjectRef::new(kind, found.metadata.namespace.as_str(), subject.name.as_str());
    let object: Option<Value> = ctx.kube().clone().only(["metadata.labels"]).get_ref(&reference)?;
    let labels = object.as_ref().and_then(|object| object.pointer("/metadata/labels")?.as_object());
    let texts = labels
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Ok(texts.collect())
}

fn without_plan(found: &Of<object::Backup>, error: &PlanError) -> Outcome {
    let outcome = Outcome::stalled("NoPlan", error.to_string());
    match &found.spec.policy_ref {
        Some(policy) => outcome.watch(look::own(names::POLICY, &found.metadata.namespace, &policy.name)),
        None => outcome,
    }
}

/// Nothing can have been done for it.
fn let_go(_: &PlanError) -> Result<Finalized, Error> {
    Ok(Finalized::Done)
}

fn observe(
    ctx: &Context,
    object: &Object<'_>,
    plan: &BackupPlan,
    status: &BackupStatus,
) -> Result<Observed, Error> {
    let mut seen = Observed::default();
    let run = status.run.as_ref();
    let place = run
        .zip(plan.storage.as_ref())
        .map(|(run, storage)| backup_core::place::Place::new(storage, &run.key));
    for need in needs(object, plan, status) {
        match need {
            Need::Dump => {
                let artefact = run.and_then(|run| run.artefact.as_ref());
                let task = dump_name(object.name, status);
                seen.dump = look::dump(ctx, object.namespace, (plan, &task), artefact);
            }
            Need::Object => {
                if let Some(place) = &place {
                    seen.object = store::look(ctx, object.namespace, place);
                }
            }
            Need::Entry => {
                if let Some(place) = &place {
                    seen.entry = store::look(ctx, object.namespace, &place.entry());
                }
            }
            Need::Claims => {
                let selector =
                    plan.strategy.volume_snapshot.as_ref().and_then(|snapshot| snapshot.selector.clone());
                let selects = |claim: &Value| {
                    let labels = claim.pointer("/metadata/labels").cloned().unwrap_or_default();
                    let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap_or_default();
                    selector.as_ref().is_some_and(|selector| selector.selects(&labels))
                };
                seen.claims = Some(look::claims(ctx, object.namespace, selects)?);
            }
            // Of Jobs and commands, which this version does not have.
            Need::Pods | Need::Exec | Need::Upload | Need::Download | Need::Trial | Need::Check => {}
        }
    }
    Ok(seen)
}

fn outcome(
    object: &Object<'_>,
    plan: &BackupPlan,
    decision: &backup::Decision,
    next: Option<Duration>,
) -> Outcome {
    let status = &decision.status;
    let message = status.message.clone();
    let outcome = match decision.standing() {
        Standing::Ready => Outcome::ready(),
        Standing::Progressing => Outcome::progressing(format!("{:?}", status.phase), message.clone()),
        Standing::Stalled => Outcome::stalled("BackupFailed", message.clone()),
    };
    let run = status.run.as_ref();
    let artefact = run.and_then(|run| run.artefact.as_ref());
    let task = dump_name(object.name, status);
    let watches =
        if run.is_some() { look::watches(plan, object.namespace, (&task, artefact)) } else { Vec::new() };
    let outcome = watches.into_iter().fold(outcome, Outcome::watch);
    let verified = Condition::new(names::condition::VERIFIED, status.verified)
        .reason(if status.verified { "Verified" } else { "NotVerified" })
        .message(message);
    let outcome = outcome.condition(verified);
    match next {
        Some(next) => outcome.requeue_after(next.max(AT_ONCE)),
        None => outcome,
    }
}

/// Tells what happened, by whoever wrote it down.
pub(crate) fn publish(ctx: &Context, notes: &[Note]) {
    for note in notes {
        let event = if note.warning { Event::warning } else { Event::normal };
        ctx.publish(&event(note.reason, note.message.clone()));
    }
}
