//! Data that was not put back: what is there is not that of the version, and a backup of it would be taken for a good one.

use backup_api::{OriginKind, RestoreState, RestoreStatus, Strategy, SubjectReference};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    Announcement,
    hook::Parameters,
    run::{RESTORE_FAILED, ROLLBACK_FAILED, RestoreSeen},
};

/// Why a backup before a change is not begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InTheWay {
    /// This `Restore` is writing, or is being deleted.
    AtWork(String),
    /// This `Restore` after a rollback failed.
    Failed(String),
    /// A hook that was to put the data back failed without one: the run, the hook, and why.
    NotBegun {
        /// Name of the `LifecycleRun`.
        run: String,
        /// Name of the hook.
        hook: String,
        /// For people.
        why: String,
    },
}

impl InTheWay {
    pub(super) fn words(&self) -> String {
        let spoilt =
            "so the data is not that of the version, and a backup of it would be taken for a good one";
        let by_hand = "put it back by a Restore by hand";
        match self {
            Self::AtWork(restore) => {
                format!("the Restore {restore} is at work: a backup is taken when it is over")
            }
            Self::Failed(restore) => format!(
                "the Restore {restore} after a rollback failed, {spoilt}: {by_hand}, or delete that Restore if the data is as it should be; \
                 then retry this run"
            ),
            Self::NotBegun { run, hook, why } => format!(
                "the hook {hook} of the LifecycleRun {run} could not put the data back ({why}), {spoilt}: retry that run, {by_hand}, or let \
                 that run skip the hook if the data is as it should be; then retry this run"
            ),
        }
    }
}

/// What is in the way of a backup before a change of the subject: by the `Restore`s of the namespace, with their names, and by its
/// `LifecycleRun`s.
pub fn in_the_way(
    announcement: &Announcement,
    restores: &[(String, RestoreSeen)],
    runs: &[Value],
) -> Option<InTheWay> {
    let subject = announcement.reference();
    let is_of = |restore: &RestoreSeen| target(restore).is_some_and(|target| same(target, &subject));
    let of_subject = || restores.iter().filter(|(_, restore)| is_of(restore));
    if let Some((name, _)) = of_subject().find(|(_, restore)| restore.deleting || !is_over(&restore.status)) {
        return Some(InTheWay::AtWork(name.clone()));
    }
    let lost = lost(restores).filter(|(_, restore)| is_of(restore));
    if let Some((name, _)) = lost.max_by_key(|(_, restore)| restore.status.completed_at) {
        return Some(InTheWay::Failed(name.clone()));
    }
    runs.iter().filter(|run| is_rollback_of(run, announcement)).find_map(|run| {
        let hooks = run.pointer("/status/hooks").and_then(Value::as_array);
        let (hook, why) = hooks.into_iter().flatten().find_map(|hook| not_begun(hook, &subject, restores))?;
        Some(InTheWay::NotBegun { run: text(run, "/metadata/name").to_owned(), hook, why })
    })
}

/// Is nothing of it done any more?
pub(crate) fn is_over(status: &RestoreStatus) -> bool {
    matches!(status.phase, RestoreState::Completed | RestoreState::Failed)
}

/// The `Restore`s of changes that failed, and whose data none has put back since.
pub(crate) fn lost(restores: &[(String, RestoreSeen)]) -> impl Iterator<Item = &(String, RestoreSeen)> {
    restores.iter().filter(|(_, restore)| {
        let by_change =
            restore.spec.origin.as_ref().is_some_and(|origin| origin.kind == OriginKind::Lifecycle);
        let way = restore.status.plan.as_ref().map(|plan| &plan.strategy);
        let put_back = || {
            let target = target(restore)?;
            Some(was_put_back(restores, target, way?, restore.status.completed_at))
        };
        restore.status.phase == RestoreState::Failed && by_change && !put_back().unwrap_or_default()
    })
}

/// A subject may have several databases: only a restore of the same one counts.
fn was_put_back(
    restores: &[(String, RestoreSeen)],
    target_of_failed: &SubjectReference,
    way: &Strategy,
    failed: Option<Timestamp>,
) -> bool {
    restores.iter().any(|(_, restore)| {
        let status = &restore.status;
        status.phase == RestoreState::Completed
            && status.completed_at > failed
            && target(restore).is_some_and(|target| same(target, target_of_failed))
            && status.plan.as_ref().is_some_and(|plan| covers(&plan.strategy, way))
    })
}

fn target(restore: &RestoreSeen) -> Option<&SubjectReference> {
    restore.spec.target.as_ref().or(restore.status.plan.as_ref().map(|plan| &plan.target))
}

fn same(a: &SubjectReference, b: &SubjectReference) -> bool {
    (a.group(), &a.kind, &a.name) == (b.group(), &b.kind, &b.name)
}

/// What a strategy reaches: images, logins, and how it is done do not matter.
pub(crate) fn reached(strategy: &Strategy) -> Strategy {
    let mut reached = strategy.clone();
    if let Some(job) = &mut reached.job {
        (job.image, job.restore, job.output) = (None, None, backup_api::Output::default());
        (job.parameters.user, job.parameters.password_secret) = (None, None);
        job.template = job.template.take().filter(|_| job.preset.is_none());
    }
    reached
}

fn covers(done: &Strategy, failed: &Strategy) -> bool {
    let (done, mut failed) = (reached(done), reached(failed));
    let whole_server = |job: &backup_api::JobStrategy| job.parameters.database.is_none();
    if let Some(job) = failed.job.as_mut().filter(|_| done.job.as_ref().is_some_and(whole_server)) {
        job.parameters.database = None;
    }
    done == failed
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn is_rollback_of(run: &Value, announcement: &Announcement) -> bool {
    let subject = &announcement.subject;
    let of = ["kind", "name", "uid"].map(|field| text(run, &format!("/spec/subject/{field}")));
    text(run, "/spec/phase").ends_with("-rollback") && of == [&subject.kind, &subject.name, &subject.uid]
}

/// A hook of ours that failed without a `Restore` that could tell of it: its name, and why.
fn not_begun(
    hook: &Value,
    subject: &SubjectReference,
    restores: &[(String, RestoreSeen)],
) -> Option<(String, String)> {
    // Of the one the `Restore` tells; after the other there is nothing to be put back.
    let is_no_loss = [RESTORE_FAILED, ROLLBACK_FAILED].contains(&text(hook, "/reason"));
    if text(hook, "/state") != "Failed" || is_no_loss {
        return None;
    }
    let parameters = serde_json::from_value(hook.get("parameters")?.clone()).ok()?;
    let Parameters::Restore(record) = parameters else { return None };
    let failed = text(hook, "/finishedAt").parse().ok();
    let why = format!("{}: {}", text(hook, "/reason"), text(hook, "/message"));
    (!was_put_back(restores, subject, &record.plan.strategy, failed))
        .then(|| (text(hook, "/name").to_owned(), why))
}
