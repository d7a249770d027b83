//! `backups`: the `Backup`s of the cluster, and how they stand.

use std::{cmp::Reverse, rc::Rc};

use backup_api::{BackupPhase, names};
use jiff::Timestamp;
use pilothouse_sdk::{CommandAnswer, Host, Kube};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::{self, Of, gvk};

/// Options of `backups`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ListOptions {
    /// The namespace; none: all.
    namespace: Option<String>,
    /// Only those of this policy.
    policy: Option<String>,
    /// Only those of this subject, `Kind/name`; the kind in any case.
    subject: Option<String>,
}

/// One of them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: String,
    name: String,
    /// `Kind/name`.
    subject: String,
    policy: Option<String>,
    /// By whom it was asked for.
    origin: String,
    change: Option<String>,
    phase: BackupPhase,
    verified: bool,
    size: Option<u64>,
    sha256: Option<String>,
    encrypted: bool,
    uri: Option<String>,
    /// When its data was read, or it was begun.
    taken: Option<Timestamp>,
    seconds: Option<u64>,
    message: String,
}

/// Tells them as JSON, the newest of a namespace first.
pub(super) fn list(
    host: &Rc<dyn Host>,
    options: &ListOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let kube = Kube::new(Rc::clone(host)).live();
    let mut rows = Vec::new();
    for found in kube.list_ref::<Value>(gvk(names::BACKUP), options.namespace.as_deref()) {
        let found = found.map_err(|error| error.to_string())?;
        let name = found.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        match row(&found) {
            Ok(row) if is_wanted(&row, options) => rows.push(row),
            Ok(_) => {}
            Err(why) => answer.messages.push(format!("Backup {name} is passed over: {why}")),
        }
    }
    rows.sort_by_key(|row: &Row| (row.namespace.clone(), Reverse(row.taken), row.name.clone()));
    answer.output = super::written(&rows)?;
    Ok(())
}

fn is_wanted(row: &Row, options: &ListOptions) -> bool {
    options.policy.as_ref().is_none_or(|policy| row.policy.as_ref() == Some(policy))
        && options.subject.as_ref().is_none_or(|subject| is_of(&row.subject, subject))
}

/// Whether `Kind/name` is what a person means, who may write the kind in small letters.
pub(super) fn is_of(subject: &str, meant: &str) -> bool {
    match (subject.split_once('/'), meant.split_once('/')) {
        (Some((kind, name)), Some((meant_kind, meant_name))) => {
            kind.eq_ignore_ascii_case(meant_kind) && name == meant_name
        }
        _ => false,
    }
}

fn row(found: &Value) -> Result<Row, String> {
    let of: Of<object::Backup> = serde_json::from_value(found.clone()).map_err(|error| error.to_string())?;
    let status = of.status().map_err(|error| error.message().to_owned())?;
    let spec = &of.spec;
    let artefact = status.artefact.as_ref();
    let origin = spec.origin.clone().unwrap_or_default();
    Ok(Row {
        subject: format!("{}/{}", spec.subject.kind, spec.subject.name),
        policy: spec.policy_ref.as_ref().map(|policy| policy.name.clone()),
        origin: format!("{:?}", origin.kind),
        change: origin.change,
        phase: status.phase,
        verified: status.verified,
        size: artefact.map(|artefact| artefact.size),
        sha256: artefact.map(|artefact| artefact.sha256.clone()).filter(|hash| !hash.is_empty()),
        encrypted: artefact.is_some_and(|artefact| artefact.encrypted),
        uri: artefact.map(|artefact| artefact.uri.clone()),
        taken: artefact.map(|artefact| artefact.taken_at).or(status.started_at),
        seconds: status.duration.map(|duration| duration.0),
        message: status.message.clone(),
        namespace: of.metadata.namespace,
        name: of.metadata.name,
    })
}
