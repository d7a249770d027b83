//! Backups before others' changes, and their restores when a change is undone.

use std::time::Duration;

use backup_api::{FailurePolicy, names};
use backup_core::{
    lifecycle::{
        self, Announcement, Move, Outcome as Ended, Parameters, Policy as Named, RecordedArtefact, Seen,
        Subject, backup_name, restore_name,
    },
    plan,
};
use jiff::Timestamp;
use pilothouse_sdk::{
    Announced, Artefact, Context, Ending, Error, Event, HookStep, LifecycleHook, ObjectRef, Ownership,
    PlannedHook, Task,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    look,
    object::{Of, Policy, create, gvk},
    settings,
};

/// What an artefact of ours is called.
const KIND: &str = "Backup";
/// The phase in which a backup is taken that a rollback puts back.
const BEFORE_UPGRADE: &str = "pre-upgrade";
/// When to look again whether what is being deleted is gone, which nobody may tell of.
const SOON: Duration = Duration::from_secs(2);

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
        let mut policies = Of::<Policy>::list_all(ctx, &announcement.subject.namespace)?;
        policies.retain(|policy| lifecycle::guards(&policy.spec, &announcement));
        let policies = followed(ctx, policies)?;
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
                delete(ctx, kind, namespace, &name)?;
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
        let (kind, name) = match task.parameters::<Parameters>()? {
            Parameters::Backup { policy, .. } => (names::BACKUP, backup_name(&policy, &announcement)),
            Parameters::Restore(record) => (names::RESTORE, restore_name(&record.policy, &announcement)),
        };
        delete(ctx, kind, namespace, &name)
    }
}

/// The policies that can be followed. One that cannot, and whose failures count, holds the change up until it is mended.
fn followed(ctx: &Context, policies: Vec<Of<Policy>>) -> Result<Vec<Of<Policy>>, Error> {
    let settings = settings::read(ctx)?;
    let mut followed = Vec::new();
    for policy in policies {
        let wrong = plan::check(&policy.spec, &policy.metadata.namespace, &settings);
        if wrong.is_empty() {
            followed.push(policy);
            continue;
        }
        let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        let message =
            format!("the BackupPolicy {} cannot be followed: {}", policy.metadata.name, wrong.join("; "));
        if policy.spec.on_failure == FailurePolicy::Fail {
            let mend = "the change is not begun until it is mended, or has onFailure: Ignore";
            return Err(Error::retry("InvalidPolicy", format!("{message}; {mend}")));
        }
        ctx.publish(&Event::warning(
            "InvalidPolicy",
            format!("{message}; the change goes on WITHOUT a backup"),
        ));
    }
    Ok(followed)
}

/// What it has at rest is released by its finalizer.
fn delete(ctx: &Context, kind: &str, namespace: &str, name: &str) -> Result<(), Error> {
    let reference = ObjectRef::new(gvk(kind), namespace, name);
    Ok(ctx.kube().delete_ref(&reference, &Default::default()).map(drop)?)
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
            let restores = if begins { look::restores(ctx, namespace)? } else { Vec::new() };
            let spoilt_by = lifecycle::not_put_back(&announcement.reference(), &restores).map(str::to_owned);
            Seen { backup, spoilt_by, ..Seen::default() }
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
