//! VolumeSnapshots and the claims they are of.

use std::collections::BTreeMap;

use backup_api::{Artefact, LabelSelector};
use backup_core::{
    backup::{observed::TaskSeen, read},
    restore::{self, Volume},
};
use pilothouse_sdk::{Context, Error, Gvk, ObjectRef, Watch};
use serde_json::Value;

use crate::look::found;

/// Their kind.
pub(crate) const KIND: &str = "VolumeSnapshot";
/// The kind of claims.
pub(crate) const CLAIM: &str = "PersistentVolumeClaim";

fn reference(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("snapshot.storage.k8s.io", "v1", KIND), namespace, name)
}

fn names(artefact: Option<&Artefact>) -> impl Iterator<Item = &String> {
    artefact.into_iter().flat_map(|artefact| artefact.snapshots.values())
}

/// How the snapshots of an artefact stand.
pub(crate) fn look(ctx: &Context, namespace: &str, artefact: Option<&Artefact>) -> TaskSeen {
    let mut objects = Vec::new();
    for name in names(artefact) {
        match found(ctx, &reference(namespace, name)) {
            Ok(object) => objects.extend(object),
            Err(why) => return TaskSeen::Unknown(why),
        }
    }
    read::snapshots(names(artefact).count(), &objects)
}

/// Snapshots of an artefact with the claims that they are of, and those that a restore makes from them: from the API server itself, for what
/// is not there is made.
///
/// # Errors
/// As for any request.
pub(crate) fn volumes(
    ctx: &Context,
    object: &restore::Object<'_>,
    artefact: Option<&Artefact>,
) -> Result<Vec<Volume>, Error> {
    let claim = |name: &str| ObjectRef::new(Gvk::new("", "v1", CLAIM), object.namespace, name);
    let kube = ctx.kube().live();
    let volume = |(of, snapshot): (&String, &String)| {
        Ok(Volume {
            claim: of.clone(),
            snapshot: snapshot.clone(),
            seen: kube.get_ref(&reference(object.namespace, snapshot))?,
            source: kube.get_ref(&claim(of))?,
            made: kube.get_ref(&claim(&restore::claim_name(object, of)))?,
        })
    };
    artefact.into_iter().flat_map(|artefact| &artefact.snapshots).map(volume).collect()
}

/// What tells of them.
pub(crate) fn watches(namespace: &str, artefact: Option<&Artefact>) -> Vec<Watch> {
    names(artefact).map(|name| Watch::object(reference(namespace, name))).collect()
}

/// Names of claims by labels.
///
/// # Errors
/// As for any request.
pub(crate) fn claims(ctx: &Context, namespace: &str, selector: &LabelSelector) -> Result<Vec<String>, Error> {
    let kind = Gvk::new("", "v1", CLAIM);
    let kube = ctx.kube().only(["metadata.name", "metadata.labels"]);
    let found = kube.list_ref::<Value>(kind, namespace).all()?;
    let selects = |claim: &&Value| {
        let labels = claim.pointer("/metadata/labels").cloned().unwrap_or_default();
        let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap_or_default();
        selector.selects(&labels)
    };
    let mut names: Vec<String> = found
        .iter()
        .filter(selects)
        .filter_map(|claim| claim.pointer("/metadata/name")?.as_str().map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}
