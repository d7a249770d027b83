//! Backups before others' changes, and their restores when a change is undone.

use std::time::Duration;

use backup_api::{FailurePolicy, RestoreState, names};
use backup_core::{
    lifecycle::{
        self, Announcement, InTheWay, Move, Outcome as Ended, Parameters, Policy as Named, RecordedArtefact,
        Seen, Subject, backup_name, restore_name,
    },
    plan,
};
use jiff::Timestamp;
use pilothouse_sdk::{
    Announced, Artefact, Context, DeleteOptions, Ending, Error, Event, HookStep, LifecycleHook, ObjectRef,
    Ownership, PlannedHook, Task,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    look,
    object::{Of, Policy, Restore, create, delete, gvk},
    settings,
};

/// What an artefact of ours is called.
const KIND: &str = "Backup";
/// The phase in which a backup is taken that a rollback puts back.
const BEFORE_UPGRADE: &str = "pre-upgrade";
/// When to look again whether what is being deleted is gone, which nobody may tell of.
const SOON: Duration = Duration::from_secs(2);
/// When to look again whether a restore has come to its end.
const LATER: Duration = Duration::from_secs(10);

/// What a hook remembers.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    /// Its object was made: one that failed is its own failure, and not that of an earlier try.
    begun: bool,
}

/// Takes part in what others do.
#[derive(Debug)]
pub(crate) struct Changes;

impl LifecycleHook for Changes {
    fn plan(&self, ctx: &Context, announced: &Announced) -> Result<Vec<PlannedHook>, Error> {
        let announcement = told(announced);
        let policies = followed(ctx, &announcement)?;
        let named: Vec<Named<'_>> =
            policies.iter().map(|policy| Named { name: &policy.metadata.name, spec: &policy.spec }).collect();
        Ok(lifecycle::plan(&announcement, &named).into_iter().map(planned).collect())
    }

    fn run(&self, ctx: &Context, task: &Task) -> Result<HookStep, Error> {
        let announcement = told(&task.announced);
        let seen = Seen { begun: has_begun(task), ..seen(ctx, &announcement, &task.parameters)? };
        let namespace = &announcement.subject.namespace;
        Ok(match lifecycle::run(&announcement, &task.parameters, &seen) {
            Move::Create(object) => {
                create(ctx, &object, Ownership::None)?;
                let (kind, name) = (text(&object, "/kind"), text(&object, "/metadata/name"));
                HookStep::pending(format!("the {kind} {name} was created"))
                    .watch(look::own(&kind, namespace, &name))
                    .record(&Memory { begun: true })?
            }
            Move::Pending { message, kind, name, begun } => HookStep::pending(message)
                .watch(look::own(kind, namespace, &name))
                .record(&Memory { begun })?,
            Move::Replace { message, kind, name } => {
                delete(ctx, kind, (namespace, &name), &DeleteOptions::default())?;
                HookStep::pending(message).watch(look::own(kind, namespace, &name)).requeue_after(SOON)
            }
            Move::Done(records) => {
                HookStep::done(records.into_iter().map(|record| artefact(namespace, record)).collect())
            }
            Move::Failed { reason, message } => HookStep::refused(reason, message),
        })
    }

    fn cancel(&self, ctx: &Context, task: &Task) -> Result<(), Error> {
        let announcement = told(&task.announced);
        let namespace = announcement.subject.namespace.as_str();
        match task.parameters::<Parameters>()? {
            Parameters::Backup { policy, .. } => {
                let name = backup_name(&policy, &announcement);
                delete(ctx, names::BACKUP, (namespace, &name), &DeleteOptions::default())
            }
            Parameters::Restore(record) => {
                end_restore(ctx, namespace, &restore_name(&record.policy, &announcement))
            }
        }
    }
}

/// The policies of this phase that can be followed. One that cannot, and whose failures count, holds the change up until it is mended.
fn followed(ctx: &Context, announcement: &Announcement) -> Result<Vec<Of<Policy>>, Error> {
    let settings = settings::read(ctx)?;
    let mut followed = Vec::new();
    for found in Of::<Policy>::list(&ctx.kube(), &announcement.subject.namespace)? {
        match found {
            Ok(policy) if lifecycle::guards(&policy.spec, announcement) => {
                let wrong = plan::check(&policy.spec, &policy.metadata.namespace, &settings);
                if wrong.is_empty() {
                    followed.push(policy);
                    continue;
                }
                let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
                let name = &policy.metadata.name;
                let message = format!("the BackupPolicy {name} cannot be followed: {}", wrong.join("; "));
                without(ctx, policy.spec.on_failure, "InvalidPolicy", &message)?;
            }
            Err(unreadable) => {
                let spec = unreadable.object.get("spec").cloned().unwrap_or_default();
                if lifecycle::may_guard(&spec, announcement) {
                    let ignored = text(&spec, "/onFailure") == "Ignore";
                    let counts = if ignored { FailurePolicy::Ignore } else { FailurePolicy::Fail };
                    without(ctx, counts, "InvalidObject", &unreadable.words())?;
                }
            }
            Ok(_) => {}
        }
    }
    Ok(followed)
}

/// What becomes of a change without the backup of a policy.
fn without(ctx: &Context, counts: FailurePolicy, reason: &str, why: &str) -> Result<(), Error> {
    if counts == FailurePolicy::Fail {
        let mend = "the change is not begun until it is mended, or has onFailure: Ignore";
        return Err(Error::retry(reason, format!("{why}; {mend}")));
    }
    ctx.publish(&Event::warning(reason, format!("{why}; the change goes on WITHOUT a backup")));
    Ok(())
}

/// Ends a `Restore` that has not written anything yet. One that has comes to its end by itself, and stays in sight: what it leaves is
/// in the way of backups.
fn end_restore(ctx: &Context, namespace: &str, name: &str) -> Result<(), Error> {
    let Some(restore) = Of::<Restore>::read_live(ctx, namespace, name)? else { return Ok(()) };
    let status = restore.status()?;
    if matches!(status.phase, RestoreState::Completed | RestoreState::Failed) {
        return Ok(());
    }
    if status.run.is_some_and(|run| run.touched_at.is_some()) {
        let message = format!("the Restore {name} has begun to write: it comes to its end first");
        return Err(Error::retry_after(LATER, "RestoreAtWork", message));
    }
    let unchanged = Some(restore.metadata.resource_version);
    let options = DeleteOptions { resource_version: unchanged, ..DeleteOptions::default() };
    delete(ctx, names::RESTORE, (namespace, name), &options)
}

fn has_begun(task: &Task) -> bool {
    let memory = task.record.clone().map(serde_json::from_value::<Memory>);
    memory.and_then(Result::ok).unwrap_or_default().begun
}

fn text(object: &Value, path: &str) -> String {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn told(announced: &Announced) -> Announcement {
    let subject = &announced.subject;
    let artefacts = announced.artefacts.iter().filter_map(|earlier| {
        let artefact = earlier.artefact.details.clone().filter(|_| earlier.artefact.kind == KIND)?;
        Some(RecordedArtefact { hook: earlier.hook.clone(), artefact })
    });
    Announcement {
        subject: Subject {
            api_version: subject.object.kind.api_version(),
            kind: subject.object.kind.kind.clone(),
            namespace: subject.object.namespace.clone().unwrap_or_default(),
            name: subject.object.name.clone(),
            uid: subject.uid.clone(),
            labels: subject.labels.iter().cloned().collect(),
        },
        phase: announced.phase.clone(),
        change: announced.change.clone(),
        announced_at: Timestamp::try_from(announced.announced_at).unwrap_or_default(),
        undoes: announced.undoes.clone(),
        outcome: announced.ending.map(|ending| match ending {
            Ending::Succeeded => Ended::Succeeded,
            Ending::Failed => Ended::Failed,
            Ending::Abandoned => Ended::Abandoned,
        }),
        details: with_versions(&announced.details),
        artefacts: artefacts.collect(),
    }
}

/// Versions as announcers tell them: as they are, or of the chart's application.
fn with_versions(details: &Value) -> Value {
    let version = |side: &str| {
        let told = details.get(side);
        let plain = told.and_then(Value::as_str);
        let of_chart = told.and_then(|told| told.pointer("/chart/appVersion")?.as_str());
        plain.or(of_chart).map(str::to_owned)
    };
    let mut details = details.clone();
    if let Some(fields) = details.as_object_mut() {
        fields.entry("versions").or_insert_with(|| json!({"from": version("from"), "to": version("to")}));
    }
    details
}

/// Names of hooks have no colon with the host.
fn planned(hook: lifecycle::Hook) -> PlannedHook {
    PlannedHook {
        name: hook.name.replace(':', "."),
        weight: hook.weight,
        timeout: hook.timeout,
        retries: hook.retries,
        ignore_failure: hook.on_failure == FailurePolicy::Ignore,
        approval: hook.approval,
        ensure_post: hook.needs_post,
        parameters: hook.parameters,
    }
}

fn seen(ctx: &Context, announcement: &Announcement, parameters: &Value) -> Result<Seen, Error> {
    let namespace = &announcement.subject.namespace;
    Ok(match serde_json::from_value::<Parameters>(parameters.clone()) {
        Ok(Parameters::Backup { policy, .. }) => {
            let backup = look::backup(ctx, namespace, &backup_name(&policy, announcement))?;
            let begins = backup.is_none() && announcement.phase == BEFORE_UPGRADE;
            let in_the_way = if begins { in_the_way(ctx, announcement)? } else { None };
            Seen { backup, in_the_way, ..Seen::default() }
        }
        Ok(Parameters::Restore(record)) => Seen {
            backup: look::backup(ctx, namespace, &record.backup)?,
            restore: look::restore(ctx, namespace, &restore_name(&record.policy, announcement))?,
            ..Seen::default()
        },
        // The core says what is wrong with them.
        Err(_) => Seen::default(),
    })
}

/// By what the API server says: a backup of spoilt data would be taken for a good one.
fn in_the_way(ctx: &Context, announcement: &Announcement) -> Result<Option<InTheWay>, Error> {
    let (kube, namespace) = (ctx.kube().live(), &announcement.subject.namespace);
    let (restores, runs) = (look::restores(&kube, namespace)?, look::runs(&kube, namespace)?);
    Ok(lifecycle::in_the_way(announcement, &restores, &runs))
}

fn artefact(namespace: &str, record: Value) -> Artefact {
    let name = text(&record, "/backup");
    Artefact {
        kind: KIND.to_owned(),
        uri: text(&record, "/artefact/uri"),
        sha256: Some(text(&record, "/artefact/sha256")).filter(|sha256| !sha256.is_empty()),
        size: record.pointer("/artefact/size").and_then(Value::as_u64),
        object: Some(ObjectRef::new(gvk(names::BACKUP), namespace, name.as_str())),
        name,
        details: Some(record),
    }
}
