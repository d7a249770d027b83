//! Runs in the guest's words, and what guests say in the host's; checked, because it is kept.

use std::collections::HashSet;

use serde_json::Value;

use crate::action::ownership::{OWNER_LABEL, PLUGIN_LABEL};
use crate::lifecycle::announce::counterpart;
use crate::lifecycle::run::{Artefact, Ending, FailurePolicy, Hook, Reference, Run};
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::lifecycle_hook::{self as wit, Announced, Subject, Task};
use crate::plugin::bindings::{self, ObjectRef, Watch, WatchTarget};
use crate::plugin::names::{host_gvk, wit_gvk, wit_ref};

/// Bytes of what is kept of one hook: parameters, and its record.
const LARGEST: usize = 16 * 1024;
/// Hooks of one plugin in one run.
const MOST: usize = 16;
/// What a hook made.
const MOST_ARTEFACTS: usize = 8;
/// Of a sentence that is kept.
const LONGEST: usize = 2_048;

/// What was announced, with what others have made before.
pub(super) fn announced(run: &Run, runs: &[Run]) -> Announced {
    let spec = &run.spec;
    let subject = Subject {
        object: wit_ref(&spec.subject.key()),
        uid: spec.subject.uid.clone(),
        labels: spec.subject.labels.clone().into_iter().collect(),
    };
    Announced {
        run: wit_ref(&run.key),
        subject,
        phase: spec.phase.clone(),
        change: spec.change.clone(),
        undoes: spec.undoes.clone(),
        ending: spec.ending.map(wit_ending),
        details: if spec.details.is_null() { "{}".to_owned() } else { spec.details.to_string() },
        announced_ms: u64::try_from(run.created.as_millisecond()).unwrap_or_default(),
        artefacts: earlier(run, runs),
    }
}

/// Of a rollback, what was made before the change that it undoes; of a `post-` phase, what was made before its change.
fn earlier(run: &Run, runs: &[Run]) -> Vec<(String, String, bindings::Artefact)> {
    let undone = run.spec.undoes.as_deref();
    let of_undone =
        runs.iter().filter(|other| other.spec.is_before() && Some(other.spec.change.as_str()) == undone);
    let before = counterpart(runs, run).filter(|other| other.spec.is_before());
    let hooks = of_undone.chain(before).flat_map(|other| &other.status.hooks);
    hooks
        .flat_map(|hook| {
            let own = |artefact: &Artefact| (hook.plugin.clone(), hook.name.clone(), wit_artefact(artefact));
            hook.artefacts.iter().map(own)
        })
        .collect()
}

/// A hook at work.
pub(super) fn task(run: &Run, runs: &[Run], hook: &Hook) -> Task {
    Task {
        announced: announced(run, runs),
        name: hook.name.clone(),
        parameters: if hook.parameters.is_null() { "{}".to_owned() } else { hook.parameters.to_string() },
        attempt: hook.attempts,
        record: hook.record.as_ref().map(Value::to_string),
    }
}

/// A plan as it is kept.
///
/// # Errors
/// The sentence says which rule it breaks.
pub(super) fn planned(plugin: &str, hooks: Vec<wit::Hook>) -> Result<Vec<Hook>, String> {
    if hooks.len() > MOST {
        return Err(format!("{} hooks; it may have {MOST}", hooks.len()));
    }
    let mut names = HashSet::new();
    hooks
        .into_iter()
        .map(|hook| {
            if !is_name(&hook.name) || !names.insert(hook.name.clone()) {
                return Err(format!("{:?} is no name for a hook, or two have it", hook.name));
            }
            Ok(Hook {
                plugin: plugin.to_owned(),
                weight: hook.weight,
                timeout_seconds: hook.timeout_ms.div_ceil(1_000).max(1),
                retries: hook.retries,
                failure_policy: match hook.failure_policy {
                    wit::FailurePolicy::Fail => FailurePolicy::Fail,
                    wit::FailurePolicy::Ignore => FailurePolicy::Ignore,
                },
                approval: hook.approval,
                ensure_post: hook.ensure_post,
                parameters: parameters(&hook.parameters)?,
                name: hook.name,
                ..Hook::default()
            })
        })
        .collect()
}

/// What a plugin leaves for its next call.
///
/// # Errors
/// When it is no JSON, or too long.
pub(super) fn record(text: Option<&str>) -> Result<Option<Value>, String> {
    text.map(|text| json(text, "record")).transpose()
}

/// What a hook made, as it is kept.
///
/// # Errors
/// When there are too many.
pub(super) fn artefacts(artefacts: Vec<bindings::Artefact>) -> Result<Vec<Artefact>, String> {
    if artefacts.len() > MOST_ARTEFACTS {
        return Err(format!("{} artefacts; a hook may have {MOST_ARTEFACTS}", artefacts.len()));
    }
    let own = |artefact: bindings::Artefact| {
        Ok(Artefact {
            name: sentence(&artefact.name),
            kind: sentence(&artefact.kind),
            uri: sentence(&artefact.uri),
            sha256: artefact.sha256.map(|text| text.chars().take(128).collect()),
            size: artefact.size,
            object: artefact.object.as_ref().map(reference),
            details: artefact.details.map(|text| json(&text, "details of an artefact")).transpose()?,
        })
    };
    artefacts.into_iter().map(own).collect()
}

/// A sentence, as long as one is kept.
pub(super) fn sentence(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

/// Watches of a hook as the controller knows them: what a plugin ties to a run is found by its labels.
pub(super) fn watches(plugin: &str, uid: &str, watches: Vec<Watch>) -> Vec<Watch> {
    let own = |watch: Watch| match watch.target {
        WatchTarget::Owned(kind) => {
            let labels = format!("{PLUGIN_LABEL}={plugin},{OWNER_LABEL}={uid}");
            Watch { target: WatchTarget::Selected((kind, None, labels)), trigger: watch.trigger }
        }
        WatchTarget::Object(_) | WatchTarget::Selected(_) => watch,
    };
    watches.into_iter().map(own).collect()
}

fn parameters(text: &str) -> Result<Value, String> {
    let parameters = json(text, "parameters")?;
    if parameters.is_object() { Ok(parameters) } else { Err("parameters are not an object".to_owned()) }
}

fn json(text: &str, what: &str) -> Result<Value, String> {
    if text.len() > LARGEST {
        return Err(format!("{what} of {} bytes; they may have {LARGEST}", text.len()));
    }
    serde_json::from_str(text).map_err(|error| format!("{what} are not JSON: {error}"))
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    !text.is_empty() && text.len() <= 63 && text.chars().all(allowed)
}

fn wit_ending(ending: Ending) -> bindings::Ending {
    match ending {
        Ending::Succeeded => bindings::Ending::Succeeded,
        Ending::Failed => bindings::Ending::Failed,
        Ending::Abandoned => bindings::Ending::Abandoned,
    }
}

/// An artefact in the guest's words.
pub(crate) fn wit_artefact(artefact: &Artefact) -> bindings::Artefact {
    let object = artefact.object.as_ref().map(|object| {
        let (group, version) = object.api_version.split_once('/').unwrap_or(("", &object.api_version));
        ObjectRef {
            kind: wit_gvk(&Gvk::new(group, version, &object.kind)),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
        }
    });
    bindings::Artefact {
        name: artefact.name.clone(),
        kind: artefact.kind.clone(),
        uri: artefact.uri.clone(),
        sha256: artefact.sha256.clone(),
        size: artefact.size,
        object,
        details: artefact.details.as_ref().map(Value::to_string),
    }
}

fn reference(object: &ObjectRef) -> Reference {
    Reference {
        api_version: host_gvk(&object.kind).api_version(),
        kind: object.kind.kind.clone(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    }
}

/// Watches on objects.
pub(super) fn on_objects(keys: &[ObjectKey]) -> Vec<Watch> {
    let watch = |key| Watch { target: WatchTarget::Object(wit_ref(key)), trigger: bindings::Trigger::Any };
    keys.iter().map(watch).collect()
}
