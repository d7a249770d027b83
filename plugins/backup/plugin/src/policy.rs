//! One `BackupPolicy`: backups by the clock, and those that are not kept any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use backup_api::{
    BackupPhase, BackupPolicySpec, BackupPolicyStatus, BackupStatus, OriginKind, SubjectReference,
    SubjectStatus, names,
};
use backup_core::{
    due::{self, Asker, Due},
    lifecycle::is_about,
    plan,
    retention::{Candidate, Context as Keeping, expired},
};
use jiff::{Timestamp, tz::TimeZone};
use pilothouse_sdk::{
    Context, DeleteOptions, Error, Event, Gvk, Outcome, Ownership, Reconciler, ServedKind, Watch,
};
use serde_json::Value;

use crate::{
    object::{Backup, Of, Policy, create, delete, gvk},
    retire, settings,
};

/// Names of policies of what they are about change: it is looked at again after so long in any case.
const LOOK_AGAIN: Duration = Duration::from_mins(10);

/// Follows `BackupPolicy`s.
#[derive(Debug)]
pub(crate) struct Policies;

impl Reconciler for Policies {
    type Resource = Of<Policy>;

    fn reconcile(&self, ctx: &Context, found: &Self::Resource) -> Result<Outcome, Error> {
        let namespace = found.metadata.namespace.clone();
        let Some(mut policy) = Of::<Policy>::read(ctx, &namespace, &found.metadata.name)? else {
            return Ok(Outcome::ready());
        };
        let wrong = plan::check(&policy.spec, &namespace, &settings::read(ctx)?);
        if !wrong.is_empty() {
            let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
            return Ok(Outcome::stalled("InvalidPolicy", wrong.join("; ")));
        }
        let backups: Vec<Taken> = Of::<Backup>::list(&ctx.kube(), &namespace)?
            .into_iter()
            .flatten()
            .filter_map(Taken::of)
            .collect();
        let own: Vec<&Taken> = backups.iter().filter(|backup| backup.is_of(&policy.metadata.name)).collect();
        let next = by_the_clock(ctx, &mut policy, &own)?;
        expire(ctx, &policy, &own)?;
        measure(ctx, &policy, &own);
        let outcome = match short_of(ctx, &policy.spec) {
            Some((reason, message)) => Outcome::stalled(reason, message),
            None => Outcome::ready(),
        };
        let mut outcome = outcome.watch(Watch::selected(gvk(names::BACKUP), namespace.as_str(), ""));
        if let Some(next) = next {
            outcome = outcome.requeue_after(next);
        }
        Ok(outcome)
    }
}

/// What the policy does not do, though people may take it that it does. Its clock goes on.
fn short_of(ctx: &Context, spec: &BackupPolicySpec) -> Option<(&'static str, String)> {
    let where_to = "`hooks` of this plugin's grant (grants.plugins.backup.hooks in the chart's values)";
    let changes = not_asked(ctx, spec, &spec.phases);
    if !changes.is_empty() {
        let message = format!(
            "spec.phases: these changes go on WITHOUT a backup, since {where_to} does not have them: {changes}. Add them there, or take \
             them out here (phases: [] for a policy with a clock alone)"
        );
        return Some(("NotGranted", message));
    }
    let restore: Vec<String> = plan::phase_of_restore(spec).into_iter().map(str::to_owned).collect();
    let rollbacks = not_asked(ctx, spec, &restore);
    if !rollbacks.is_empty() {
        let message = format!(
            "spec.restore: a rollback puts NOTHING back, since {where_to} does not have it: {rollbacks}. Add it there, or set \
             restore.phase: never"
        );
        return Some(("NotGranted", message));
    }
    plan::files_undecided(spec).then(|| {
        let message = "spec.restore.phase: files are put back while no server uses them, so a rollback does not do it: set it to never \
                       and restore by hand, or to pre-rollback if the server is stopped by then";
        ("RestoreByHand", message.to_owned())
    })
}

/// Of these phases of the changes of what the policy is about, those that this plugin is never asked in.
fn not_asked(ctx: &Context, spec: &BackupPolicySpec, phases: &[String]) -> String {
    let mut missing = Vec::new();
    for rule in &spec.subjects {
        let kind = Gvk::new(&rule.api_group, "", &rule.kind);
        let phases: Vec<&str> =
            phases.iter().map(String::as_str).filter(|phase| !ctx.takes_part(phase, &kind)).collect();
        if !phases.is_empty() {
            let group =
                if rule.api_group.is_empty() { String::new() } else { format!(".{}", rule.api_group) };
            missing.push(format!("{} of {}{group}", phases.join(", "), rule.kind));
        }
    }
    missing.join("; ")
}

/// A `Backup` as it is counted.
struct Taken {
    found: Of<Backup>,
    status: BackupStatus,
}

impl Taken {
    fn of(found: Of<Backup>) -> Option<Self> {
        let status = found.status().ok()?;
        Some(Self { found, status })
    }

    fn is_of(&self, policy: &str) -> bool {
        self.found.spec.policy_ref.as_ref().is_some_and(|named| named.name == policy)
    }

    fn is_over(&self) -> bool {
        matches!(self.status.phase, BackupPhase::Completed | BackupPhase::Failed)
    }

    fn is_scheduled(&self) -> bool {
        self.found.spec.origin.as_ref().is_some_and(|origin| origin.kind == OriginKind::Schedule)
    }

    fn succeeded_at(&self) -> Option<Timestamp> {
        self.status.completed_at.filter(|_| self.status.verified)
    }
}

/// Takes what is due. When to look again.
fn by_the_clock(ctx: &Context, policy: &mut Of<Policy>, own: &[&Taken]) -> Result<Option<Duration>, Error> {
    let known = policy.status()?;
    let last_success_time = own.iter().filter_map(|backup| backup.succeeded_at()).max();
    let Some(rule) = policy.spec.schedule.clone() else {
        let status =
            BackupPolicyStatus { subjects: Vec::new(), next_schedule_time: None, last_success_time, ..known };
        policy.write(ctx, &status)?;
        return Ok(None);
    };
    let now = Timestamp::try_from(ctx.now()).unwrap_or_default();
    let subjects = subjects(ctx, &policy.metadata.namespace, &policy.spec)?;
    let mut status = BackupPolicyStatus { subjects: Vec::new(), ..known.clone() };
    let (mut begun, mut next) = (Vec::new(), None::<Timestamp>);
    for subject in subjects {
        let before = known.subjects.iter().find(|known| known.subject == subject);
        let last = before.and_then(|before| before.last_schedule_time).unwrap_or(now);
        let of_subject: Vec<&&Taken> =
            own.iter().filter(|backup| backup.found.spec.subject == subject).collect();
        let running: Vec<String> = of_subject
            .iter()
            .filter(|backup| backup.is_scheduled() && !backup.is_over())
            .map(|backup| backup.found.metadata.name.clone())
            .collect();
        let asker = Asker { policy_uid: &policy.metadata.uid, subject: &subject, last, running: &running };
        let found = due::due(&rule, &asker, now)
            .map_err(|error| Error::permanent("InvalidPolicy", format!("spec.schedule: {error}")))?;
        let (last, again) = match found {
            Due::Now { scheduled, replaces } => {
                begun.push((subject.clone(), scheduled, replaces));
                (scheduled, None)
            }
            Due::Missed(scheduled) => {
                ctx.publish(&Event::warning(
                    "ScheduleMissed",
                    format!("the backup of the {} due at {scheduled} was not begun in time", subject.words()),
                ));
                (scheduled, None)
            }
            Due::Waits { until, .. } => (last, Some(until)),
            Due::At(then) => (last, Some(then)),
            Due::Never => (last, None),
        };
        next = next.into_iter().chain(again).min();
        status.subjects.push(stands(subject, last, &of_subject));
    }
    status.next_schedule_time = next;
    status.last_success_time = last_success_time;
    for (subject, scheduled, replaces) in &begun {
        begin(ctx, policy, (subject, *scheduled), replaces)?;
    }
    // After what was due was created: whoever dies between the two does it again, and the same time has the same name.
    policy.write(ctx, &status)?;
    if !begun.is_empty() {
        return Ok(Some(Duration::from_secs(1)));
    }
    let wait =
        next.map(|next| Duration::try_from(next.duration_since(now)).unwrap_or(Duration::from_secs(1)));
    Ok(Some(wait.unwrap_or(LOOK_AGAIN).clamp(Duration::from_secs(1), LOOK_AGAIN)))
}

/// Creates what is due, in the place of others where that is asked for.
fn begin(
    ctx: &Context,
    policy: &Of<Policy>,
    (subject, scheduled): (&SubjectReference, Timestamp),
    replaces: &[String],
) -> Result<(), Error> {
    let (namespace, name) = (&policy.metadata.namespace, &policy.metadata.name);
    let backup = due::backup(namespace, name, &policy.spec, subject, scheduled);
    let own = backup.pointer("/metadata/name").and_then(Value::as_str);
    // It may be there already, and does not replace itself.
    for other in replaces.iter().filter(|other| Some(other.as_str()) != own) {
        delete(ctx, names::BACKUP, (namespace, other), &DeleteOptions::default())?;
    }
    create(ctx, &backup, Ownership::None)
}

fn stands(subject: SubjectReference, last: Timestamp, of_subject: &[&&Taken]) -> SubjectStatus {
    let last_success_time = of_subject.iter().filter_map(|backup| backup.succeeded_at()).max();
    let failed_since = |backup: &&&&Taken| {
        backup.status.phase == BackupPhase::Failed && backup.status.completed_at > last_success_time
    };
    let failures = of_subject.iter().filter(failed_since).count();
    SubjectStatus {
        subject,
        last_schedule_time: Some(last),
        last_success_time,
        failures: u32::try_from(failures).unwrap_or(u32::MAX),
    }
}

/// Everything that the policy is about, in order.
fn subjects(ctx: &Context, namespace: &str, spec: &BackupPolicySpec) -> Result<Vec<SubjectReference>, Error> {
    let served = ctx.kube().served_kinds()?;
    let mut found = BTreeSet::new();
    for rule in &spec.subjects {
        let is_meant = |kind: &&ServedKind| kind.kind.group == rule.api_group && kind.kind.kind == rule.kind;
        let Some(kind) = served.iter().find(is_meant).map(|served| served.kind.clone()) else { continue };
        for object in ctx
            .kube()
            .clone()
            .only(["metadata.name", "metadata.labels"])
            .list_ref::<Value>(kind.clone(), namespace)
            .all()?
        {
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let labels = object.pointer("/metadata/labels").cloned().unwrap_or_default();
            let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap_or_default();
            let subject = SubjectReference {
                api_version: kind.api_version(),
                kind: kind.kind.clone(),
                name: name.to_owned(),
            };
            if is_about(spec, &subject, &labels) {
                found.insert(subject);
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// Takes away what is not kept any more, artefacts and all.
fn expire(ctx: &Context, policy: &Of<Policy>, own: &[&Taken]) -> Result<(), Error> {
    let Some(rule) = &policy.spec.retention else { return Ok(()) };
    let candidates: Vec<Candidate> = own
        .iter()
        .map(|backup| {
            let (name, spec) = (&backup.found.metadata.name, &backup.found.spec);
            Candidate::of_backup(name, spec, &backup.status, backup.found.is_deleting())
        })
        .collect();
    let zone = policy.spec.schedule.as_ref().and_then(|rule| rule.time_zone.as_deref());
    let keeping = Keeping {
        policy: &policy.metadata.name,
        zone: zone.and_then(|zone| TimeZone::get(zone).ok()).unwrap_or(TimeZone::UTC),
        now: Timestamp::try_from(ctx.now()).unwrap_or_default(),
    };
    let expired = expired(rule, &candidates, &keeping);
    let old = own.iter().filter(|backup| expired.contains(&backup.found.metadata.name));
    let old = old.map(|Taken { found, status }| (found.metadata.name.as_str(), &found.spec, status));
    retire::all(ctx, &policy.metadata.namespace, old.collect())
}

/// What alerts go by: of each subject, for one that succeeds must not hide another.
fn measure(ctx: &Context, policy: &Of<Policy>, own: &[&Taken]) {
    let (namespace, name) = (policy.metadata.namespace.as_str(), policy.metadata.name.as_str());
    let scheduled = policy.spec.schedule.as_ref().is_some_and(|schedule| !schedule.suspend);
    ctx.gauge("backup_scheduled", f64::from(scheduled), &[("namespace", namespace), ("policy", name)]);
    let mut subjects: BTreeMap<String, Vec<&Taken>> = BTreeMap::new();
    for backup in own {
        let subject = &backup.found.spec.subject;
        subjects.entry(format!("{}/{}", subject.kind, subject.name)).or_default().push(backup);
    }
    for (subject, backups) in &subjects {
        let labels = [("namespace", namespace), ("policy", name), ("subject", subject.as_str())];
        measure_subject(ctx, &labels, backups);
    }
}

fn measure_subject(ctx: &Context, labels: &[(&str, &str)], backups: &[&Taken]) {
    let newest = backups
        .iter()
        .filter(|backup| backup.succeeded_at().is_some())
        .max_by_key(|backup| backup.succeeded_at());
    if let Some(newest) = newest {
        let time = newest.succeeded_at().map(Timestamp::as_second).unwrap_or_default();
        let size = newest.status.artefact.as_ref().map_or(0, |artefact| artefact.size);
        let took = newest.status.duration.map_or(0, |length| length.0);
        #[expect(clippy::cast_precision_loss, reason = "seconds and bytes on a dashboard")]
        for (name, value) in [
            ("backup_last_success_timestamp_seconds", time as f64),
            ("backup_last_size_bytes", size as f64),
            ("backup_last_duration_seconds", took as f64),
        ] {
            ctx.gauge(name, value, labels);
        }
    }
    let failed = backups.iter().filter(|backup| backup.status.phase == BackupPhase::Failed).count();
    ctx.gauge("backup_failed_objects", u32::try_from(failed).map_or(f64::MAX, f64::from), labels);
}
