//! `releases`: the custom resources that are releases, and how they stand.

mod row;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use helm_release::{Controller, Entry, Stored, secret_name};
use pilothouse_sdk::{CommandAnswer, Gvk, Host, Kube, KubeError, ObjectRef, ServedKind};
use serde::Deserialize;
use serde_json::Value;

use super::subject::{RELEASE, release_name};
use crate::store::secret_kind;
use row::Row;

/// Options of `releases`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ReleasesOptions {
    /// The namespace; none: all.
    namespace: Option<String>,
    /// Only objects with these labels.
    selector: String,
    /// The kinds; none: those that own records of releases.
    kinds: Option<Vec<Kind>>,
}

/// A kind whose objects are releases.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Kind {
    group: String,
    version: String,
    kind: String,
    /// Only objects with these labels are.
    selector: String,
}

/// What of an object tells how it stands. Its manifest in status is left out: it may be half a megabyte.
const TELLING: [&str; 8] = [
    "spec.releaseName",
    "metadata.labels",
    "metadata.annotations",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.generation",
    "status.conditions",
    "status.release",
];
/// What of a record's Secret tells where its revision stands.
const NOTES: [&str; 3] = ["metadata.labels", "metadata.annotations", "metadata.ownerReferences"];

/// Namespace and name of a release.
type Name = (String, String);

/// The revisions of releases.
type Records = BTreeMap<Name, Vec<Entry>>;

/// Tells them in order of namespace and name, as JSON.
pub(super) fn releases(
    host: &Rc<dyn Host>,
    options: &ReleasesOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let kube = Kube::new(Rc::clone(host)).live();
    let records = match records(&kube, options.namespace.as_deref()) {
        Ok(records) => records,
        Err(KubeError::Denied(denial)) if options.kinds.is_some() => {
            let why = denial.message;
            answer.messages.push(format!("what the records of releases say cannot be told: {why}"));
            Records::new()
        }
        Err(KubeError::Denied(denial)) => {
            let why = denial.message;
            return Err(format!(
                "the kinds that are releases are found by the records of releases, which are Secrets, and these may not be read; \
                 name the kinds by a watches file (--watches-file): {why}"
            ));
        }
        Err(error) => return Err(error.to_string()),
    };
    let served = kube.served_kinds().map_err(|error| error.to_string())?;
    let kinds = match &options.kinds {
        Some(kinds) => named(kinds, &served, answer),
        None => found(&records, &served),
    };
    let mut rows = Vec::new();
    let mut refused = Vec::new();
    for (kind, selector) in &kinds {
        match objects(&kube, kind, options, selector) {
            Ok(objects) => rows.extend(objects.iter().map(|object| row(&kube, object, kind, &records))),
            Err(error) => refused.push(error.to_string()),
        }
    }
    if rows.is_empty() && !refused.is_empty() {
        return Err(refused.join("; "));
    }
    answer.messages.extend(refused);
    rows.sort_by(|a, b| a.place().cmp(&b.place()));
    answer.output = serde_json::to_vec(&rows).map_err(|error| error.to_string())?;
    Ok(())
}

/// The records of all releases, by what is said beside them.
fn records(kube: &Kube, namespace: Option<&str>) -> Result<Records, KubeError> {
    let kube = kube.clone().only(NOTES);
    let mut records = Records::new();
    for secret in kube.list_ref::<Value>(secret_kind(), namespace).labels("owner=helm") {
        let secret = secret?;
        let text =
            |pointer: &str| secret.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Ok(entry) = Entry::read(&secret) {
            let name = (text("/metadata/namespace"), text("/metadata/labels/name"));
            records.entry(name).or_default().push(entry);
        }
    }
    for entries in records.values_mut() {
        entries.sort_by_key(|entry| entry.revision);
    }
    Ok(records)
}

/// The kinds that were named and are served, and the resource of our own where it is.
fn named(kinds: &[Kind], served: &[ServedKind], answer: &mut CommandAnswer) -> Vec<(Gvk, String)> {
    let mut wanted = Vec::new();
    for Kind { group, version, kind, selector } in kinds {
        match of_group(served, group, kind, version) {
            Some(gvk) => wanted.push((gvk, selector.clone())),
            None => {
                let gvk = Gvk::new(group.as_str(), version.as_str(), kind.as_str());
                answer.messages.push(format!("the cluster does not serve {gvk}: is its definition there?"));
            }
        }
    }
    if let Some(own) = of_group(served, RELEASE.0, RELEASE.2, RELEASE.1)
        && !wanted.iter().any(|(gvk, _)| *gvk == own)
    {
        wanted.push((own, String::new()));
    }
    wanted
}

/// The kinds of the objects that keep records.
fn found(records: &Records, served: &[ServedKind]) -> Vec<(Gvk, String)> {
    let keepers = records.values().flatten().filter_map(|entry| entry.controller.as_ref());
    let gvks = keepers.filter_map(|keeper| {
        let Gvk { group, version, kind } = Gvk::from_api_version(&keeper.api_version, keeper.kind.clone());
        of_group(served, &group, &kind, &version)
    });
    let gvks: BTreeSet<Gvk> = gvks.collect();
    gvks.into_iter().map(|gvk| (gvk, String::new())).collect()
}

/// The kind in the version that is named, or in the one the cluster prefers, in which its objects are the same.
fn of_group(served: &[ServedKind], group: &str, kind: &str, version: &str) -> Option<Gvk> {
    let same =
        |served: &&ServedKind| served.kind.group == group && served.kind.kind == kind && served.namespaced;
    let all: Vec<_> = served.iter().filter(same).collect();
    let named = all.iter().find(|served| served.kind.version == version);
    let found = named.or_else(|| all.iter().find(|served| served.preferred)).or(all.first());
    found.map(|served| served.kind.clone())
}

fn objects(
    kube: &Kube,
    kind: &Gvk,
    options: &ReleasesOptions,
    selector: &str,
) -> Result<Vec<Value>, KubeError> {
    let selectors: Vec<_> = [selector, &options.selector].into_iter().filter(|one| !one.is_empty()).collect();
    let list = kube.clone().only(TELLING).list_ref::<Value>(kind.clone(), options.namespace.as_deref());
    list.labels(selectors.join(",")).all()
}

fn row(kube: &Kube, object: &Value, kind: &Gvk, records: &Records) -> Row {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let own = |keeper: &Controller| keeper.is(&kind.group, &kind.kind, &name);
    let release = release_name(kind, object).to_owned();
    let entries = records.get(&(namespace.clone(), release.clone())).map(Vec::as_slice).unwrap_or_default();
    // Of two kinds that have an object of this name, one has the release.
    let entries = if entries.last().and_then(|latest| latest.controller.as_ref()).is_none_or(own) {
        entries
    } else {
        &[]
    };
    let row = Row::of(object, kind, &release, entries);
    if row.is_whole() {
        return row;
    }
    // Neither status nor labels tell the chart of a revision that the operator has not looked at yet.
    let latest = entries.last().map(|latest| latest.revision);
    let record = latest.and_then(|revision| {
        let record = ObjectRef::new(secret_kind(), namespace.as_str(), secret_name(&release, revision));
        Stored::read(&kube.get_ref::<Value>(&record).ok()??).ok()
    });
    match record.and_then(|record| record.release.chart_name()) {
        Some(chart) => row.with_chart(&chart.name, &chart.version, &chart.app_version),
        None => row,
    }
}
