//! What is seen for a backup.

use backup_api::{BackupPlan, BackupStatus};
use backup_core::{
    backup::{self, Need, Object, Observed, Role, needs, observed::TaskSeen, task_name},
    place::Place,
};
use pilothouse_sdk::{Context, Error};

use crate::{
    etcd, job,
    object::{Backup, Of},
    quiesce, snapshot, store,
};

/// Looks at what the next decision needs.
///
/// # Errors
/// As for any request.
pub(super) fn observe(
    ctx: &Context,
    object: &Object<'_>,
    plan: &BackupPlan,
    status: &BackupStatus,
) -> Result<Observed, Error> {
    let mut seen = Observed::default();
    let place = status.run.as_ref().zip(plan.storage.as_ref());
    let place = place.map(|(run, storage)| Place::new(storage, &run.key));
    let name = |role| task_name(object.name, status, role);
    for need in needs(object, plan, status) {
        match need {
            Need::Pods => seen.pods = Some(quiesce::pods(ctx, object.namespace, plan, status)?),
            Need::Others => seen.goes_first = goes_first(ctx, object, status)?,
            Need::Claims => seen.claims = claims(ctx, object.namespace, plan)?,
            Need::Exec => seen.exec = quiesce::begun(ctx, status)?,
            Need::Upload => seen.upload = store::token(ctx, &name(Role::Dump)),
            Need::Download => seen.download = store::token(ctx, &name(Role::Trial)),
            Need::Dump => seen.dump = dump(ctx, object, plan, status),
            Need::Trial if plan.strategy.job.is_some() => {
                seen.trial = job::look(ctx, object.namespace, &name(Role::Trial));
            }
            // What is not there needs not be looked at; a reading is looked at by beginning it.
            Need::Trial | Need::Check => {}
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
        }
    }
    Ok(seen)
}

/// From the API server: two may begin in the same second.
fn goes_first(ctx: &Context, object: &Object<'_>, status: &BackupStatus) -> Result<Option<String>, Error> {
    let Some(run) = &status.run else { return Ok(None) };
    let others = Of::<Backup>::list(&ctx.kube().live(), object.namespace)?.into_iter().flatten();
    let others: Vec<(String, BackupStatus)> =
        others.filter_map(|other| Some((other.metadata.name.clone(), other.status().ok()?))).collect();
    Ok(backup::goes_first(object.name, run, &others).map(str::to_owned))
}

/// What reads the data.
fn dump(ctx: &Context, object: &Object<'_>, plan: &BackupPlan, status: &BackupStatus) -> TaskSeen {
    let name = task_name(object.name, status, Role::Dump);
    if plan.strategy.job.is_some() {
        return job::look(ctx, object.namespace, &name);
    }
    if plan.strategy.etcd.is_some() {
        return etcd::backup(ctx, object.namespace, &name);
    }
    let artefact = status.run.as_ref().and_then(|run| run.artefact.as_ref());
    snapshot::look(ctx, object.namespace, artefact)
}

fn claims(ctx: &Context, namespace: &str, plan: &BackupPlan) -> Result<Option<Vec<String>>, Error> {
    let selector = plan.strategy.volume_snapshot.as_ref().and_then(|strategy| strategy.selector.as_ref());
    selector.map(|selector| snapshot::claims(ctx, namespace, selector)).transpose()
}
