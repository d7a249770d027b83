//! A release's history in words: what `helm history` tells of a revision, and what is known beside it.

use jiff::Timestamp;
use serde::Serialize;

use crate::{Entry, History, HookPhase, Progress, Stage, Status, Stored};

/// Who made a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Maker {
    /// We.
    Operator,
    /// Another operator, for the same object.
    OtherOperator,
    /// Somebody with the helm command line.
    Hand,
    /// It cannot be told: the helm command line has written the record since.
    Unknown,
}

/// A revision in words. Its fields are called as in helm's `history --output json`, where helm has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its number.
    pub revision: u32,
    /// When it was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<Timestamp>,
    /// Where it stands.
    pub status: Status,
    /// `name-version` of its chart.
    pub chart: String,
    /// Version of what the chart installs.
    pub app_version: String,
    /// What happened last.
    pub description: String,
    /// Who made it.
    pub made_by: Maker,
    /// The revision that a rollback left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_from: Option<u32>,
    /// The revision that a rollback went back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_to: Option<u32>,
    /// How often the same has been tried, this time included, for what is under way or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How its tests ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<String>,
    /// What else is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl Line {
    /// The line of a revision. `stored` is its record; none when that cannot be read.
    #[must_use]
    pub fn of(history: &History, entry: &Entry, stored: Option<&Stored>) -> Self {
        let release = stored.map(|stored| &stored.release);
        let chart = release.and_then(crate::Release::chart_name);
        let (from, to) = (history.left(entry, stored), went_back_to(entry, stored));
        Self {
            revision: entry.revision,
            updated: release.and_then(|release| release.info.last_deployed).or(entry.touched),
            status: entry.status,
            chart: chart
                .as_ref()
                .map_or("MISSING".to_owned(), |chart| format!("{}-{}", chart.name, chart.version)),
            app_version: chart.map_or("MISSING".to_owned(), |chart| chart.app_version),
            description: match release {
                Some(release) => release.info.description.clone(),
                None => "the record cannot be read".to_owned(),
            },
            made_by: history.maker(entry),
            rollback_from: from,
            rollback_to: to,
            attempt: Some(entry.marks.attempt).filter(|attempt| *attempt > 0),
            tests: tests(entry, stored),
            remarks: history.remarks(entry, from.zip(to)),
        }
    }
}

impl History {
    /// Who made a revision. What the helm command line writes anew loses our notes, and it does that with the deployed
    /// revision when it deploys another one.
    #[must_use]
    pub fn maker(&self, entry: &Entry) -> Maker {
        if entry.marks.ours() {
            return Maker::Operator;
        }
        if entry.controller.is_some() {
            return Maker::OtherOperator;
        }
        let stood = |other: &&Entry| {
            other.revision > entry.revision && matches!(other.status, Status::Deployed | Status::Superseded)
        };
        let next = self.entries().iter().find(stood);
        match (entry.status, next) {
            (Status::Superseded, Some(next)) if !next.marks.ours() && next.controller.is_none() => {
                Maker::Unknown
            }
            _ => Maker::Hand,
        }
    }

    /// The revision that a rollback left: the one before it.
    fn left(&self, entry: &Entry, stored: Option<&Stored>) -> Option<u32> {
        went_back_to(entry, stored)?;
        let before = |other: &&Entry| other.revision < entry.revision;
        self.entries().iter().rev().find(before).map(|other| other.revision)
    }

    fn remarks(&self, entry: &Entry, rollback: Option<(u32, u32)>) -> Vec<String> {
        let mut remarks = Vec::new();
        match self.maker(entry) {
            Maker::Operator | Maker::Unknown => {}
            Maker::OtherOperator => remarks.push("made by another operator".to_owned()),
            Maker::Hand if entry.marks.accepted.is_some() && entry.status == Status::Deployed => {
                remarks.push("made by hand, and kept".to_owned());
            }
            Maker::Hand => remarks.push("made by hand".to_owned()),
        }
        if let Some((from, to)) = rollback {
            let failed = self.get(from).is_some_and(|left| left.status == Status::Failed);
            let why = if failed { ", which failed," } else { "" };
            remarks.push(format!("back from {from}{why} to {to}"));
        }
        if entry.marks.attempt > 1 {
            remarks.push(format!("attempt {}", entry.marks.attempt));
        }
        if let Some(progress) = entry.marks.progress.filter(|_| entry.status.is_pending()) {
            remarks.push(format!("at its {}", stage(progress)));
        }
        if entry.marks.cleaned {
            remarks.push("what it left was taken away".to_owned());
        }
        if let Some(failure) = &entry.marks.test_failure {
            remarks.push(format!("its tests failed: {failure}"));
        }
        remarks
    }
}

fn stage(progress: Progress) -> &'static str {
    match progress.stage {
        Stage::Pre => "hooks before the objects",
        Stage::Main => "objects",
        Stage::Ready => "objects, until they are ready",
        Stage::Post => "hooks after the objects",
        Stage::Test => "tests",
        Stage::Finish => "end",
    }
}

/// The revision that a rollback went back to. Helm 3 says it only in its description.
fn went_back_to(entry: &Entry, stored: Option<&Stored>) -> Option<u32> {
    let info = stored.map(|stored| &stored.release.info);
    let noted = info.map(|info| info.rollback_revision).filter(|revision| *revision > 0);
    let told = || info?.description.strip_prefix("Rollback to ")?.parse().ok();
    entry.marks.rollback.or(noted).or_else(told)
}

fn tests(entry: &Entry, stored: Option<&Stored>) -> Option<String> {
    if entry.marks.test_failure.is_some() {
        return Some("failed".to_owned());
    }
    let hooks = stored.map(|stored| &stored.release.hooks).into_iter().flatten();
    let tests =
        hooks.filter(|hook| hook.events.iter().any(|event| event == "test" || event == "test-success"));
    let phases: Vec<_> =
        tests.map(|hook| hook.last_run.phase).filter(|phase| *phase != HookPhase::NotRun).collect();
    let word = if phases.is_empty() {
        return None;
    } else if phases.contains(&HookPhase::Failed) {
        "failed"
    } else if phases.iter().all(|phase| *phase == HookPhase::Succeeded) {
        "succeeded"
    } else {
        "running"
    };
    Some(word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::{entry, history};
    use crate::{Marks, Release};

    use Status::{Deployed, Failed, PendingUpgrade, Superseded};

    fn ours(revision: u32, status: Status) -> Entry {
        let mut ours = entry(revision, status);
        ours.marks.inputs = Some("sha256:1".to_owned());
        ours
    }

    fn stored(entry: &Entry, description: &str) -> Stored {
        let mut release = Release { name: "web".into(), version: entry.revision, ..Release::default() };
        release.set_status(entry.status, description);
        Stored::new(release, entry.marks.clone(), Default::default())
    }

    #[test]
    fn who_made_a_revision_is_told_as_far_as_it_is_known() {
        let by_us: History = [ours(1, Superseded), ours(2, Deployed)].into_iter().collect();
        assert_eq!(by_us.maker(&by_us.entries()[0]), Maker::Operator);
        // Helm wrote 1 anew when it deployed 2, and we wrote 2 when we deployed 3.
        let mixed: History =
            [entry(1, Superseded), entry(2, Superseded), ours(3, Deployed)].into_iter().collect();
        assert_eq!(mixed.maker(&mixed.entries()[0]), Maker::Unknown);
        assert_eq!(mixed.maker(&mixed.entries()[1]), Maker::Hand);
        assert_eq!(history(&[Superseded, Deployed]).maker(&entry(2, Deployed)), Maker::Hand);
        assert_eq!(history(&[Failed, Deployed]).maker(&entry(1, Failed)), Maker::Hand);
        let mut other = entry(1, Deployed);
        other.controller =
            serde_json::from_str(r#"{"apiVersion": "g/v1", "kind": "A", "name": "a", "uid": "u"}"#).unwrap();
        assert_eq!(History::default().maker(&other), Maker::OtherOperator);
    }

    #[test]
    fn a_rollback_says_from_where_to_where_whoever_made_it() {
        let mut back = ours(3, Deployed);
        back.marks.rollback = Some(1);
        let history: History = [ours(1, Superseded), ours(2, Failed), back.clone()].into_iter().collect();
        let line = Line::of(&history, &back, Some(&stored(&back, "Rollback to 1")));
        assert_eq!((line.rollback_from, line.rollback_to), (Some(2), Some(1)));
        assert_eq!(line.remarks, ["back from 2, which failed, to 1"]);
        let by_hand = entry(4, Deployed);
        let history: History = history.entries().iter().cloned().chain([by_hand.clone()]).collect();
        let line = Line::of(&history, &by_hand, Some(&stored(&by_hand, "Rollback to 2")));
        assert_eq!(line.remarks, ["made by hand", "back from 3 to 2"]);
    }

    #[test]
    fn failures_attempts_and_tests_are_told() {
        let mut failed = ours(2, Failed);
        (failed.marks.attempt, failed.marks.cleaned) = (3, true);
        let history: History = [ours(1, Superseded), failed.clone()].into_iter().collect();
        let line = Line::of(&history, &failed, Some(&stored(&failed, "Upgrade \"web\" failed: no")));
        assert_eq!(line.description, "Upgrade \"web\" failed: no");
        assert_eq!((line.attempt, line.tests), (Some(3), None));
        assert_eq!(line.remarks, ["attempt 3", "what it left was taken away"]);
        let mut tested = ours(3, Deployed);
        tested.marks.test_failure = Some("probe failed".to_owned());
        let line = Line::of(&history, &tested, None);
        assert_eq!((line.tests.as_deref(), line.chart.as_str()), (Some("failed"), "MISSING"));
        assert_eq!(line.remarks, ["its tests failed: probe failed"]);
        let mut pending = ours(4, PendingUpgrade);
        pending.marks.progress = Some(Progress::start(Stage::Pre));
        assert_eq!(Line::of(&history, &pending, None).remarks, ["at its hooks before the objects"]);
    }

    #[test]
    fn fields_are_called_as_helm_calls_them() {
        let entry = Entry { marks: Marks::default(), ..entry(1, Deployed) };
        let line = Line::of(&History::default(), &entry, Some(&stored(&entry, "Install complete")));
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            r#"{"revision":1,"status":"deployed","chart":"MISSING","app_version":"MISSING","description":"Install complete","made_by":"hand","remarks":["made by hand"]}"#
        );
    }
}
