//! `history`: the revisions of a release, as `helm history` tells them, and what is known beside it.

use std::rc::Rc;

use helm_release::Line;
use pilothouse_sdk::{CommandAnswer, Host};
use serde::Deserialize;

use super::subject::Subject;

/// Options of `history`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct HistoryOptions {
    /// The object.
    object: Subject,
    /// So many of the newest revisions.
    max: usize,
}

/// Tells the revisions, oldest first, as JSON.
pub(super) fn history(
    host: &Rc<dyn Host>,
    options: &HistoryOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let opened = options.object.open(host)?;
    let history = opened.installed()?;
    let store = opened.store();
    let entries = history.entries();
    let newest = entries.get(entries.len().saturating_sub(options.max)..).unwrap_or_default();
    let mut lines = Vec::with_capacity(newest.len());
    for entry in newest {
        let stored = store.load(entry.revision);
        if let Err(error) = &stored {
            answer.messages.push(format!("revision {}: {}", entry.revision, error.message()));
        }
        lines.push(Line::of(&history, entry, stored.as_ref().ok()));
    }
    answer.output = serde_json::to_vec(&lines).map_err(|error| error.to_string())?;
    Ok(())
}
