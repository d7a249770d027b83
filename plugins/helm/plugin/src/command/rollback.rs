//! `rollback`: asks the operator to go back to a revision, by the annotation of the object, and tells what came of it.

use std::rc::Rc;

use helm_release::{Entry, Return, WayBack};
use pilothouse_sdk::{CommandAnswer, Host, KubeError, Patch};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::standing::{Standing, suspension};
use super::subject::{Opened, Subject};

const ANNOTATION: &str = "helm.pilothouse.dev/rollback-to";

/// Options of `rollback`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RollbackOptions {
    /// The object.
    object: Subject,
    /// What is to be done about it.
    step: Step,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Step {
    /// Ask.
    Ask {
        /// The revision; the one before the deployed one when nobody says.
        revision: Option<u32>,
    },
    /// Look what became of it.
    Look {
        /// The words it was asked with.
        words: String,
    },
}

/// What was asked.
#[derive(Debug, Serialize)]
struct Asked {
    from: u32,
    to: u32,
    words: String,
    /// An operation that has to end first.
    waits_for: Option<String>,
}

/// What became of it.
#[derive(Debug, Serialize)]
struct Progress {
    /// `asked`, `under-way`, `done`, `failed` or `overtaken`.
    state: &'static str,
    /// The revision it is, or was.
    revision: Option<u32>,
    /// How it ended, or what it waits for.
    message: String,
    /// Whether the object is ready with it.
    ready: bool,
    /// Whether it will not be without help.
    stalled: bool,
}

/// Asks or looks; the answer is JSON.
pub(super) fn rollback(
    host: &Rc<dyn Host>,
    options: &RollbackOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let opened = options.object.open(host)?;
    let told = match &options.step {
        Step::Ask { revision } => serde_json::to_vec(&ask(&opened, *revision)?),
        Step::Look { words } => serde_json::to_vec(&look(&opened, words)?),
    };
    answer.output = told.map_err(|error| error.to_string())?;
    Ok(())
}

fn ask(opened: &Opened, revision: Option<u32>) -> Result<Asked, String> {
    let object = opened.object.value();
    if opened.object.is_deleting() {
        return Err(format!("{} is being deleted: there is nothing to go back to", opened.told()));
    }
    if let Some(why) = suspension(object) {
        return Err(format!("{} is suspended, so nobody would go back: {why}", opened.told()));
    }
    let history = opened.installed()?;
    let WayBack { from, to } =
        history.way_back(revision).map_err(|error| format!("{}: {error}", opened.told()))?;
    // The same number again would be the request of last time.
    let words = format!("{to}@{}", opened.now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"));
    let patch = Patch::merge(&json!({"metadata": {"annotations": {ANNOTATION: words}}}));
    let patched = patch.and_then(|patch| opened.ctx.kube().patch_ref::<Value>(opened.reference(), &patch));
    patched.map_err(|error| match error {
        KubeError::Denied(denial) => {
            format!(
                "{} cannot be asked to go back, which takes an annotation: {}",
                opened.told(),
                denial.message
            )
        }
        other => format!("{} cannot be asked to go back: {other}", opened.told()),
    })?;
    let pending = history.latest().filter(|latest| latest.status.is_pending());
    let waits_for = pending.map(|latest| format!("revision {} is {}", latest.revision, latest.status));
    Ok(Asked { from, to, words, waits_for })
}

fn look(opened: &Opened, words: &str) -> Result<Progress, String> {
    let history = opened.history()?;
    let object = opened.object.value();
    let standing = Standing::of(object);
    let at = |state, entry: Option<&Entry>, message| Progress {
        state,
        revision: entry.map(|entry| entry.revision),
        message,
        ready: false,
        stalled: false,
    };
    Ok(match history.returned(words) {
        Return::Asked => at("asked", None, standing.to_string()),
        Return::UnderWay(entry) => at("under-way", Some(entry), standing.message),
        Return::Failed(entry) => at("failed", Some(entry), description(opened, entry)),
        Return::Overtaken(entry) => at("overtaken", Some(entry), description(opened, entry)),
        Return::Done(entry) => {
            // What the object says of the revision before is not about this one.
            let told = object.pointer("/status/release/revision").and_then(Value::as_u64);
            let is_told = told.is_some_and(|told| told >= u64::from(entry.revision));
            Progress {
                ready: is_told && standing.is_ready(),
                stalled: is_told && has_stalled(object),
                ..at("done", Some(entry), if is_told { standing.message } else { String::new() })
            }
        }
    })
}

fn has_stalled(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Stalled" && condition["status"] == "True")
}

fn description(opened: &Opened, entry: &Entry) -> String {
    match opened.store().load(entry.revision) {
        Ok(stored) => stored.release.info.description,
        Err(error) => error.message().to_owned(),
    }
}
