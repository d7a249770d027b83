//! What may still be put back. Whatever retention says, it stays.

use std::collections::BTreeSet;

use backup_api::{BackupSpec, BackupStatus};
use jiff::Timestamp;
use serde_json::Value;

use crate::lifecycle::{RestoreSeen, is_over, lost};

/// Backups that somebody may need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guarded {
    /// Changes whose backups may still be put back.
    changes: BTreeSet<String>,
    /// Names of `Backup`s that a `Restore` is at work with.
    names: BTreeSet<String>,
    /// Keys of the artefacts that a `Restore` is at work with.
    keys: BTreeSet<String>,
}

impl Guarded {
    /// By the `LifecycleRun`s and the `Restore`s of the namespace. Of a `Restore` that is at work, and of one that failed and whose data
    /// none has put back since: what it reads, and what it has set aside.
    pub fn new(runs: &[Value], restores: &[(String, RestoreSeen)]) -> Self {
        let runs: Vec<Run<'_>> = runs.iter().map(Run::read).collect();
        let open = |run: &&Run<'_>| is_needed(&runs, run);
        let needed = runs.iter().filter(open).flat_map(|run| [Some(run.change), run.undoes]);
        let mut guarded = Self { changes: needed.flatten().map(str::to_owned).collect(), ..Self::default() };
        let at_work = restores.iter().filter(|(_, restore)| !is_over(&restore.status));
        for (_, restore) in at_work.chain(lost(restores)) {
            guarded.add(restore);
        }
        guarded
    }

    fn add(&mut self, RestoreSeen { spec, status, .. }: &RestoreSeen) {
        self.names.extend(spec.backup_ref.as_ref().map(|named| named.name.clone()));
        self.names.extend(status.set_aside.clone());
        self.keys.extend(spec.artefact.as_ref().map(|source| source.key.clone()));
        self.keys.extend(status.artefact.as_ref().map(|artefact| artefact.key.clone()));
        // VolumeSnapshots have none.
        self.keys.remove("");
    }

    /// May somebody need this one?
    pub fn has(&self, name: &str, spec: &BackupSpec, status: &BackupStatus) -> bool {
        let change = spec.origin.as_ref().and_then(|origin| origin.change.as_ref());
        let artefact = status.artefact.as_ref();
        change.is_some_and(|change| self.changes.contains(change))
            || self.names.contains(name)
            || artefact.is_some_and(|artefact| self.keys.contains(&artefact.key))
    }
}

/// A phase of a change, as far as it matters here.
struct Run<'a> {
    subject: [&'a str; 2],
    change: &'a str,
    undoes: Option<&'a str>,
    /// The phase after the change is over, and since when.
    ended: Option<Timestamp>,
    /// The change was carried out, and so was what followed it.
    went_well: bool,
    /// It was not, or what followed it was not, such as the restore after a rollback.
    failed: bool,
}

impl<'a> Run<'a> {
    fn read(run: &'a Value) -> Self {
        let text = |path: &str| run.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let after = text("/spec/phase").starts_with("post-");
        let (ending, state) = (text("/spec/ending"), text("/status/state"));
        let ended = text("/status/finishedAt").parse().ok().filter(|_| after);
        Self {
            subject: [text("/spec/subject/kind"), text("/spec/subject/name")],
            change: text("/spec/change"),
            undoes: Some(text("/spec/undoes")).filter(|undoes| !undoes.is_empty()),
            ended,
            went_well: ended.is_some() && (ending, state) == ("Succeeded", "Succeeded"),
            failed: ending == "Failed" || state == "Failed",
        }
    }
}

/// A change that has not ended may be undone; one that failed may be until a later one of its subject went well.
fn is_needed(runs: &[Run<'_>], run: &Run<'_>) -> bool {
    let of_subject = || runs.iter().filter(|other| other.subject == run.subject);
    let end = of_subject().find(|other| other.change == run.change && other.ended.is_some());
    let Some(end) = end else { return true };
    let later = |other: &Run<'_>| other.went_well && other.ended > end.ended;
    end.failed && !of_subject().any(later)
}

#[cfg(test)]
mod tests {
    use backup_api::{RestoreSpec, RestoreState, RestoreStatus};
    use serde_json::json;

    use super::*;

    fn run(phase: &str, change: &str, undoes: Option<&str>, end: Option<(&str, &str, &str)>) -> Value {
        let (ending, state, minute) = end.unwrap_or_default();
        let finished = end.map(|_| format!("2026-01-01T00:{minute}:00Z"));
        json!({
            "spec": {"subject": {"kind": "Shop", "name": "eu"}, "phase": phase, "change": change, "undoes": undoes, "ending": ending},
            "status": {"state": state, "finishedAt": finished},
        })
    }

    fn changes(runs: &[Value]) -> Vec<String> {
        Guarded::new(runs, &[]).changes.into_iter().collect()
    }

    #[test]
    fn the_backup_of_a_change_that_failed_stays_until_a_later_change_went_well() {
        let before = run("pre-upgrade", "v2", None, Some(("", "Succeeded", "01")));
        assert_eq!(changes(std::slice::from_ref(&before)), ["v2"]);
        let failed = run("post-upgrade", "v2", None, Some(("Failed", "Succeeded", "02")));
        let mut runs = vec![before, failed];
        assert_eq!(changes(&runs), ["v2"], "a rollback is about to follow");
        runs.push(run("pre-rollback", "back", Some("v2"), Some(("", "Succeeded", "03"))));
        assert_eq!(changes(&runs), ["back", "v2"]);
        runs.push(run("post-rollback", "back", Some("v2"), Some(("Succeeded", "Failed", "04"))));
        assert_eq!(changes(&runs), ["back", "v2"], "the data was not put back");
        runs.pop();
        runs.push(run("post-rollback", "back", Some("v2"), Some(("Succeeded", "Succeeded", "05"))));
        assert_eq!(changes(&runs), [""; 0]);
    }

    #[test]
    fn a_change_that_went_well_keeps_nothing_but_what_is_being_undone() {
        let mut runs = vec![
            run("pre-upgrade", "v2", None, Some(("", "Succeeded", "01"))),
            run("post-upgrade", "v2", None, Some(("Succeeded", "Succeeded", "02"))),
        ];
        assert_eq!(changes(&runs), [""; 0]);
        runs.push(run("pre-rollback", "back", Some("v2"), None));
        assert_eq!(changes(&runs), ["back", "v2"]);
    }

    #[test]
    fn another_subjects_success_ends_nothing() {
        let mut other = run("post-upgrade", "w2", None, Some(("Succeeded", "Succeeded", "09")));
        other["spec"]["subject"]["name"] = json!("us");
        let failed = run("post-upgrade", "v2", None, Some(("Failed", "Succeeded", "02")));
        assert_eq!(changes(&[failed, other]), ["v2"]);
    }

    fn stays(names: [&str; 2], restores: &[(String, RestoreSeen)]) -> [bool; 2] {
        let backup: BackupSpec = serde_json::from_value(json!({
            "subject": {"apiVersion": "v1", "kind": "Service", "name": "db"}, "policyRef": {"name": "p"},
        }))
        .unwrap();
        let guarded = Guarded::new(&[], restores);
        assert!(!guarded.has("c", &backup, &BackupStatus::default()));
        names.map(|name| guarded.has(name, &backup, &BackupStatus::default()))
    }

    fn restore(phase: RestoreState, origin: &Value) -> (String, RestoreSeen) {
        let spec: RestoreSpec =
            serde_json::from_value(json!({"backupRef": {"name": "b"}, "origin": origin})).unwrap();
        let status =
            RestoreStatus { phase, set_aside: Some("r-before".to_owned()), ..RestoreStatus::default() };
        ("r".to_owned(), RestoreSeen { deleting: false, spec, status })
    }

    #[test]
    fn what_a_restore_is_at_work_with_stays_until_it_is_over() {
        for (phase, is) in [
            (RestoreState::Pending, true),
            (RestoreState::Restoring, true),
            (RestoreState::Completed, false),
            (RestoreState::Failed, false),
        ] {
            assert_eq!(stays(["b", "r-before"], &[restore(phase, &Value::Null)]), [is; 2], "{phase:?}");
        }
    }

    #[test]
    fn what_a_rollback_could_not_put_back_stays_until_it_is_put_back() {
        let failed = restore(RestoreState::Failed, &json!({"kind": "Lifecycle"}));
        assert_eq!(stays(["b", "r-before"], &[failed]), [true; 2]);
    }
}
