//! What is seen of the tasks of a backup or a restore.

use backup_api::{Artefact, BackupPlan, names};
use backup_core::{
    backup::{observed::TaskSeen, read},
    lifecycle::{BackupSeen, RestoreSeen},
};
use pilothouse_sdk::{Context, Error, Gvk, ObjectRef, Watch};
use serde_json::Value;

use crate::object::{Backup, Of, Restore};

const ETCD: (&str, &str) = ("etcd.database.coreos.com", "v1beta2");
const SNAPSHOT: (&str, &str) = ("snapshot.storage.k8s.io", "v1");

pub(crate) fn etcd(kind: &str, namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new(ETCD.0, ETCD.1, kind), namespace, name)
}

fn snapshot(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new(SNAPSHOT.0, SNAPSHOT.1, "VolumeSnapshot"), namespace, name)
}

fn found(ctx: &Context, reference: &ObjectRef) -> Result<Option<Value>, String> {
    ctx.kube().get_ref(reference).map_err(|error| error.to_string())
}

/// What reads the data of an attempt: `task` is the name of what was made for it.
pub(crate) fn dump(
    ctx: &Context,
    namespace: &str,
    (plan, task): (&BackupPlan, &str),
    artefact: Option<&Artefact>,
) -> TaskSeen {
    if plan.strategy.etcd.is_some() {
        return match found(ctx, &etcd("EtcdBackup", namespace, task)) {
            Ok(object) => read::etcd_backup(object.as_ref()),
            Err(why) => TaskSeen::Unknown(why),
        };
    }
    let names: Vec<&String> = artefact.iter().flat_map(|artefact| artefact.snapshots.values()).collect();
    let mut objects = Vec::new();
    for name in &names {
        match found(ctx, &snapshot(namespace, name)) {
            Ok(object) => objects.extend(object),
            Err(why) => return TaskSeen::Unknown(why),
        }
    }
    read::snapshots(names.len(), &objects)
}

/// What puts an etcd snapshot back.
pub(crate) fn etcd_restore(ctx: &Context, namespace: &str, cluster: &str, label: &str) -> TaskSeen {
    match found(ctx, &etcd("EtcdRestore", namespace, cluster)) {
        Ok(object) => read::etcd_restore(object.as_ref(), label),
        Err(why) => TaskSeen::Unknown(why),
    }
}

/// What tells of the tasks of an attempt.
pub(crate) fn watches(
    plan: &BackupPlan,
    namespace: &str,
    (task, artefact): (&str, Option<&Artefact>),
) -> Vec<Watch> {
    if plan.strategy.etcd.is_some() {
        return vec![Watch::object(etcd("EtcdBackup", namespace, task))];
    }
    let names = artefact.iter().flat_map(|artefact| artefact.snapshots.values());
    names.map(|name| Watch::object(snapshot(namespace, name))).collect()
}

/// Names of claims by labels.
pub(crate) fn claims(
    ctx: &Context,
    namespace: &str,
    selects: impl Fn(&Value) -> bool,
) -> Result<Vec<String>, Error> {
    let kind = Gvk::new("", "v1", "PersistentVolumeClaim");
    let found = ctx.kube().list_ref::<Value>(kind, namespace).all()?;
    let mut names: Vec<String> = found
        .iter()
        .filter(|claim| selects(claim))
        .filter_map(|claim| claim.pointer("/metadata/name")?.as_str().map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

/// A `Backup` as the core sees it.
///
/// # Errors
/// As for any request.
pub(crate) fn backup(ctx: &Context, namespace: &str, name: &str) -> Result<Option<BackupSeen>, Error> {
    let Some(found) = Of::<Backup>::read(ctx, namespace, name)? else { return Ok(None) };
    Ok(Some(BackupSeen { deleting: found.is_deleting(), status: found.status()?, spec: found.spec }))
}

/// A `Restore` as the core sees it.
///
/// # Errors
/// As for any request.
pub(crate) fn restore(ctx: &Context, namespace: &str, name: &str) -> Result<Option<RestoreSeen>, Error> {
    let Some(found) = Of::<Restore>::read(ctx, namespace, name)? else { return Ok(None) };
    Ok(Some(RestoreSeen { status: found.status()?, spec: found.spec }))
}

/// What is watched of our own objects.
pub(crate) fn own(kind: &str, namespace: &str, name: &str) -> Watch {
    debug_assert!([names::BACKUP, names::RESTORE, names::POLICY].contains(&kind));
    Watch::object(ObjectRef::new(crate::object::gvk(kind), namespace, name))
}
