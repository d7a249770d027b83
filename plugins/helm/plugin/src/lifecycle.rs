//! What is about to be done to a release is announced, and so is how it ended: others may have a part in it, such as a backup before an
//! upgrade and its restore after a rollback. Who they are is not known here.

use std::fmt::Write as _;

use helm_release::{Action, Entry, History, Operation, Release, Stored};
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

    /// Tells how an operation ended. None: everybody has heard it.
    ///
    /// # Errors
    /// It could not be told, and the operation has to end again.
    pub(crate) fn tell_end(&self, operation: &Operation, ending: Ending) -> Result<Option<Pause>, Error> {
        let stored = operation.stored();
        let Some((word, name)) = word(operation.action()).zip(stored.marks.change.clone()) else {
            return Ok(None);
        };
        let owner = self.owner();
        let details = json!({
            "release": owner.release, "namespace": owner.namespace, "to": version(&stored.release),
        });
        let announcement = Announcement::after(word, name, ending).undoing(stored.marks.undoes.clone());
        Ok(match self.ctx().announce(&announcement.details(details))? {
            Standing::Done(_) => None,
            Standing::Pending(message) => Some(waiting(WAITING_FOR_HOOKS, message)),
            Standing::Failed { message, .. } => {
                self.ctx().publish(&Event::warning(HOOK_FAILED, message));
                None
            }
        })
    }

    /// The change by which a release left a revision, as far as it was announced.
    ///
    /// # Errors
    /// As for reading a record.
    pub(crate) fn change_after(&self, history: &History, revision: u32) -> Option<String> {
        let next =
            history.entries().iter().filter(|entry| entry.revision > revision).min_by_key(of_revision)?;
        next.marks.change.clone()
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
