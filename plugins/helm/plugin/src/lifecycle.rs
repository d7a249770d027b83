//! What is about to be done to a release is announced, and so is how it ended: others may have a part in it, such as a backup before an
//! upgrade and its restore after a rollback. Who they are is not known here.

use std::fmt::Write as _;

use helm_release::{Action, Entry, History, Marks, Release, Status, Stored};
use pilothouse_sdk::{Announcement, Ending, Error, Event, Standing};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{call::Call, report::Pause};

/// The release waits for others to do their part.
pub(crate) const WAITING_FOR_HOOKS: &str = "WaitingForHooks";
/// Others could not do their part, and without it the change is not begun.
pub(crate) const HOOK_FAILED: &str = "HookFailed";

/// A change that is about to begin.
pub(crate) struct Change<'a> {
    pub(crate) action: Action,
    /// Its name, the same at every look at it.
    pub(crate) name: String,
    /// Of a rollback: the change that is undone.
    pub(crate) undoes: Option<String>,
    /// What is there.
    pub(crate) from: Option<&'a Release>,
    /// What will be.
    pub(crate) to: Value,
}

/// Helm's word for what an action does; none for what changes nothing.
fn word(action: Action) -> Option<&'static str> {
    match action {
        Action::Install => Some("install"),
        Action::Upgrade => Some("upgrade"),
        Action::Rollback => Some("rollback"),
        Action::Uninstall => Some("delete"),
        Action::Test => None,
    }
}

/// What a record says of the change that made it.
pub(crate) fn mark(action: Action, name: &str) -> Option<String> {
    word(action).map(|word| format!("{word}/{name}"))
}

/// A name for a change: of the revision that it makes, and of what tells it from another one of that number, in another life of the
/// release or towards something else.
pub(crate) fn name(revision: u32, parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    digest.iter().take(5).fold(format!("v{revision}-"), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// When a release was deployed first, which tells its lives apart.
pub(crate) fn birth(release: &Release) -> String {
    release.info.first_deployed.map(|time| time.to_string()).unwrap_or_default()
}

/// What others may know of a revision.
pub(crate) fn version(release: &Release) -> Value {
    let chart = release.chart_name().unwrap_or_default();
    json!({
        "revision": release.version,
        "chart": {"name": chart.name, "version": chart.version, "appVersion": chart.app_version},
    })
}

impl Call<'_> {
    /// Announces a change. None: it may begin.
    ///
    /// # Errors
    /// Nobody knows whether it may.
    pub(crate) fn may_begin(&self, change: &Change<'_>) -> Result<Option<Pause>, Error> {
        let Some(word) = word(change.action) else { return Ok(None) };
        let owner = self.owner();
        let details = json!({
            "release": owner.release, "namespace": owner.namespace,
            "from": change.from.map(version), "to": change.to,
        });
        let announcement = Announcement::before(word, &change.name).undoing(change.undoes.clone());
        Ok(match self.ctx().announce(&announcement.details(details))? {
            Standing::Done(_) => None,
            Standing::Pending(message) => Some(waiting(WAITING_FOR_HOOKS, message)),
            Standing::Failed { message, .. } => Some(waiting(HOOK_FAILED, message)),
        })
    }

    /// Tells how the change that made a revision ended. None: everybody has heard it.
    ///
    /// # Errors
    /// It could not be told, and has to be told again.
    pub(crate) fn tell_end(&self, marks: &Marks, to: &Value, ending: Ending) -> Result<Option<Pause>, Error> {
        let Some((word, name)) = marks.change.as_deref().and_then(|mark| mark.split_once('/')) else {
            return Ok(None);
        };
        let owner = self.owner();
        let details = json!({"release": owner.release, "namespace": owner.namespace, "to": to});
        let announcement = Announcement::after(word, name, ending).undoing(marks.undoes.clone());
        Ok(match self.ctx().announce(&announcement.details(details))? {
            Standing::Done(_) => None,
            Standing::Pending(message) => Some(waiting(WAITING_FOR_HOOKS, message)),
            Standing::Failed { message, .. } => {
                self.ctx().publish(&Event::warning(HOOK_FAILED, message));
                None
            }
        })
    }

    /// Tells that the newest revision failed. Not waited for: whatever is announced next waits for it. Told again at every look, for
    /// whoever died between the record and this.
    ///
    /// # Errors
    /// As [`tell_end`](Self::tell_end).
    pub(crate) fn tell_failure(&self, history: &History) -> Result<(), Error> {
        let Some(latest) = history.latest() else { return Ok(()) };
        if latest.status != Status::Failed || latest.marks.change.is_none() {
            return Ok(());
        }
        // The number alone: a record is large, and this is said at every look.
        self.tell_end(&latest.marks, &json!({"revision": latest.revision}), Ending::Failed).map(drop)
    }

    /// Says that what was announced is wanted no more, where something was.
    ///
    /// # Errors
    /// It could not be said, and has to be said again.
    pub(crate) fn withdraw(&self) -> Result<(), Error> {
        let conditions = self.object().value().pointer("/status/conditions").and_then(Value::as_array);
        let waits = |condition: &Value| {
            let reason = condition["reason"].as_str().unwrap_or_default();
            condition["type"] == "Ready" && [WAITING_FOR_HOOKS, HOOK_FAILED].contains(&reason)
        };
        if conditions.into_iter().flatten().any(waits) {
            self.ctx().withdraw()?;
        }
        Ok(())
    }

    /// The change by which a release left a revision, as far as it was announced: attempts that touched nothing did not leave it.
    pub(crate) fn change_after(&self, history: &History, revision: u32) -> Option<String> {
        let left = |entry: &&Entry| entry.revision > revision && entry.marks.may_have_applied();
        let next = history.entries().iter().filter(left).min_by_key(of_revision)?;
        next.marks.change.as_deref()?.split_once('/').map(|(_, name)| name.to_owned())
    }

    /// The name of the change that takes a release away.
    pub(crate) fn deletion(&self, stored: &Stored) -> String {
        name(stored.release.version, &["delete", &birth(&stored.release)])
    }
}

fn of_revision(entry: &&Entry) -> u32 {
    entry.revision
}

fn waiting(reason: &'static str, message: String) -> Pause {
    Pause { reason, message, watches: Vec::new(), until: None }
}
