//! The hooks that would run.

use helm_release::{Hook, Stored};
use helm_yaml::Duplicates;
use pilothouse_sdk::Error;
use serde::Serialize;
use serde_json::Value;

use super::masked::texts;
use super::wanted::{Action, Wanted};
use crate::{call::Call, objects};

/// How a hook stands to the one of the deployed revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Known {
    New,
    Changed,
    Same,
}

/// One run of a hook.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HookRun {
    event: &'static str,
    kind: String,
    name: String,
    weight: i64,
    known: Known,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// The hooks that would run, in order.
///
/// # Errors
/// The cluster's kinds cannot be told.
pub(super) fn runs(call: &Call<'_>, wanted: &Wanted) -> Result<Vec<HookRun>, Error> {
    let Some(candidate) = &wanted.candidate else { return Ok(Vec::new()) };
    let (release, off) = (&call.settings().release, &call.annotations().disable_hooks);
    let (off, events): (_, [_; 2]) = match wanted.action {
        Action::Install => (release.install.disable_hooks || off.install, ["pre-install", "post-install"]),
        Action::Upgrade => (release.upgrade.disable_hooks || off.upgrade, ["pre-upgrade", "post-upgrade"]),
        Action::Keep => return Ok(Vec::new()),
    };
    let events = events.into_iter().filter(|_| !off);
    let events = events.chain(release.test.enable.then_some("test"));
    let mut runs: Vec<HookRun> = Vec::new();
    for event in events {
        for hook in Hook::of_event(&candidate.release.hooks, event) {
            let run = run(call, event, hook, wanted.deployed.as_ref())?;
            // What differs is shown once.
            let is_shown = runs.iter().any(|shown| (&shown.kind, &shown.name) == (&run.kind, &run.name));
            runs.push(if is_shown { HookRun { before: None, after: None, ..run } } else { run });
        }
    }
    Ok(runs)
}

fn run(
    call: &Call<'_>,
    event: &'static str,
    hook: &Hook,
    deployed: Option<&Stored>,
) -> Result<HookRun, Error> {
    let same =
        |other: &&Hook| (&other.path, &other.kind, &other.name) == (&hook.path, &hook.kind, &hook.name);
    let before = deployed.and_then(|stored| stored.release.hooks.iter().find(same));
    let (namespace, kinds) = (&call.owner().namespace, call.kinds()?);
    let known = match before {
        None => Known::New,
        Some(before) if objects::same(&before.manifest, &hook.manifest, namespace, &kinds) => Known::Same,
        Some(_) => Known::Changed,
    };
    let (before, after) = match known {
        Known::Same => (None, None),
        Known::New | Known::Changed => texts(before.and_then(object), object(hook)),
    };
    let (kind, name) = (hook.kind.clone(), hook.name.clone());
    Ok(HookRun { event, kind, name, weight: hook.weight, known, before, after })
}

fn object(hook: &Hook) -> Option<Value> {
    helm_yaml::yaml_to_json(hook.manifest.as_bytes(), Duplicates::LastWins).ok()
}
