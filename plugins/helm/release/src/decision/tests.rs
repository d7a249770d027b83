use super::*;
use crate::{Marks, Progress, Stage, backoff};

const NOW: i64 = 1_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn entry(revision: u32, status: Status) -> Entry {
    Entry {
        revision,
        status,
        marks: Marks::default(),
        uid: String::new(),
        resource_version: String::new(),
        touched: Some(at(NOW - 5)),
        controller: None,
        chunks: None,
    }
}

fn ours(revision: u32, status: Status, inputs: &str) -> Entry {
    let mut entry = entry(revision, status);
    entry.marks.inputs = Some(inputs.to_owned());
    entry
}

/// An attempt of ours that failed in a stage.
fn failed(revision: u32, inputs: &str, stage: Stage, attempt: u32) -> Entry {
    let mut entry = ours(revision, Failed, inputs);
    entry.marks.progress = Some(Progress::start(stage));
    entry.marks.attempt = attempt;
    entry
}

fn rolled_back(revision: u32, to: u32, status: Status, inputs: &str) -> Entry {
    let mut entry = ours(revision, status, inputs);
    entry.marks.rollback = Some(to);
    entry.marks.progress = (status == Failed).then(|| Progress::start(Stage::Main));
    entry.marks.attempt = 1;
    entry
}

fn decided(entries: Vec<Entry>, inputs: &str) -> Decision {
    decided_at(entries, inputs, None, NOW)
}

fn decided_at(entries: Vec<Entry>, inputs: &str, remembered: Option<&str>, now: i64) -> Decision {
    let remedy = Remedy::default();
    decide(
        &entries.into_iter().collect(),
        Wish { inputs, remembered, remedy, back: None, test: None, reset: None, now: at(now) },
    )
}

/// What is decided about a failure of `a`, with something to follow it.
fn remedied(entries: Vec<Entry>, remedy: Remedy, now: i64) -> Decision {
    let wish =
        Wish { inputs: "a", remembered: None, remedy, back: None, test: None, reset: None, now: at(now) };
    decide(&entries.into_iter().collect(), wish)
}

use Status::{
    Deployed, Failed, PendingInstall, PendingRollback, PendingUpgrade, Superseded, Uninstalled, Uninstalling,
};

#[test]
fn nothing_there_is_an_install_of_revision_one() {
    assert_eq!(decided(vec![], "a"), Decision::Install { revision: 1, attempt: 1 });
}

#[test]
fn what_is_wanted_and_deployed_is_kept() {
    let history = vec![ours(1, Superseded, "b"), ours(2, Deployed, "a")];
    assert_eq!(decided(history, "a"), Decision::Keep { revision: 2, by_hand: false });
}

#[test]
fn other_inputs_are_an_upgrade() {
    let history = vec![ours(1, Deployed, "a")];
    assert_eq!(decided(history, "b"), Decision::Upgrade { from: 1, revision: 2, attempt: 1 });
}

#[test]
fn our_own_pending_revision_is_resumed_whatever_its_age() {
    let mut pending = ours(2, PendingUpgrade, "b");
    pending.marks.progress = Some(Progress::start(Stage::Main));
    pending.touched = Some(at(5));
    let history = vec![ours(1, Deployed, "a"), pending];
    assert_eq!(decided(history.clone(), "b"), Decision::Resume { revision: 2, outdated: false });
    assert_eq!(decided(history, "c"), Decision::Resume { revision: 2, outdated: true });
}

#[test]
fn a_rollback_under_way_is_outdated_only_when_something_else_is_wanted_than_what_failed() {
    let mut back = ours(3, PendingRollback, "a");
    back.marks.rollback = Some(1);
    back.marks.progress = Some(Progress::start(Stage::Pre));
    let history = vec![ours(1, Deployed, "a"), failed(2, "b", Stage::Main, 1), back];
    for (inputs, outdated) in [("b", false), ("a", false), ("c", true)] {
        assert_eq!(decided(history.clone(), inputs), Decision::Resume { revision: 3, outdated }, "{inputs}");
    }
}

#[test]
fn somebody_elses_operation_is_waited_for_and_then_unlocked() {
    for status in [PendingInstall, PendingUpgrade, PendingRollback] {
        let history = vec![entry(1, status)];
        let until = at(NOW - 5 + 600);
        assert_eq!(decided(history.clone(), "a"), Decision::Await { revision: 1, status, until });
        assert_eq!(
            decided_at(history, "a", None, NOW + 595),
            Decision::Unlock { revision: 1, status: Failed }
        );
    }
    let nobody_knows_since_when = Entry { touched: None, ..entry(1, PendingInstall) };
    assert_eq!(decided(vec![nobody_knows_since_when], "a"), Decision::Unlock { revision: 1, status: Failed });
}

#[test]
fn an_interrupted_uninstall_by_hand_ends_as_uninstalled_and_is_installed_again() {
    let history = vec![entry(1, Superseded), entry(2, Uninstalling)];
    assert!(matches!(
        decided(history.clone(), "a"),
        Decision::Await { revision: 2, status: Uninstalling, .. }
    ));
    let later = decided_at(history, "a", None, NOW + 1000);
    assert_eq!(later, Decision::Unlock { revision: 2, status: Uninstalled });
    let history = vec![entry(1, Superseded), entry(2, Uninstalled)];
    assert_eq!(decided(history, "a"), Decision::Install { revision: 3, attempt: 1 });
}

#[test]
fn several_deployed_revisions_become_one() {
    let history = vec![ours(1, Deployed, "a"), ours(2, Deployed, "b"), ours(3, Deployed, "c")];
    assert_eq!(decided(history, "c"), Decision::Supersede(vec![1, 2]));
}

#[test]
fn a_failed_install_is_cleaned_then_held_then_repeated() {
    let failure = failed(1, "a", Stage::Main, 1);
    assert_eq!(decided(vec![failure.clone()], "a"), Decision::Clean { revision: 1 });
    let mut clean = failure;
    clean.marks.cleaned = true;
    let until = at(NOW - 5 + 30);
    assert_eq!(decided(vec![clean.clone()], "a"), Decision::Hold { failed: 1, deployed: None, until });
    assert_eq!(decided_at(vec![clean], "a", None, NOW + 25), Decision::Install { revision: 2, attempt: 2 });
}

#[test]
fn a_failed_install_is_repeated_at_once_with_other_inputs() {
    let history = vec![failed(1, "a", Stage::Main, 1)];
    assert_eq!(decided(history, "b"), Decision::Install { revision: 2, attempt: 1 });
}

#[test]
fn an_install_that_failed_before_it_applied_anything_needs_no_cleaning() {
    let history = vec![failed(1, "a", Stage::Pre, 1)];
    assert!(matches!(decided(history, "a"), Decision::Hold { failed: 1, deployed: None, .. }));
}

#[test]
fn a_failed_upgrade_is_rolled_back_then_held_then_repeated() {
    let attempt = vec![ours(1, Deployed, "a"), failed(2, "b", Stage::Main, 1)];
    assert_eq!(decided(attempt, "b"), Decision::Rollback { failed: 2, to: 1, revision: 3, attempt: 1 });
    let back =
        vec![ours(1, Superseded, "a"), failed(2, "b", Stage::Main, 1), rolled_back(3, 1, Deployed, "a")];
    let until = at(NOW - 5 + 30);
    assert_eq!(decided(back.clone(), "b"), Decision::Hold { failed: 2, deployed: Some(3), until });
    let later = decided_at(back, "b", None, NOW + 25);
    assert_eq!(later, Decision::Upgrade { from: 3, revision: 4, attempt: 2 });
}

#[test]
fn an_upgrade_that_failed_before_it_applied_anything_leaves_the_release_alone() {
    let history = vec![ours(1, Deployed, "a"), failed(2, "b", Stage::Pre, 3)];
    let until = at(NOW - 5 + 120);
    assert_eq!(decided(history.clone(), "b"), Decision::Hold { failed: 2, deployed: Some(1), until });
    assert_eq!(decided(history.clone(), "a"), Decision::Keep { revision: 1, by_hand: false });
    assert_eq!(decided(history, "c"), Decision::Upgrade { from: 1, revision: 3, attempt: 1 });
}

#[test]
fn a_failed_upgrade_is_skipped_when_a_third_thing_is_wanted_by_then() {
    let history = vec![ours(1, Deployed, "a"), failed(2, "b", Stage::Main, 1)];
    assert_eq!(decided(history.clone(), "c"), Decision::Upgrade { from: 1, revision: 3, attempt: 1 });
    assert_eq!(decided(history, "a"), Decision::Rollback { failed: 2, to: 1, revision: 3, attempt: 1 });
}

#[test]
fn a_failed_rollback_is_repeated_with_patience_and_left_when_something_new_is_wanted() {
    let history =
        vec![ours(1, Deployed, "a"), failed(2, "b", Stage::Main, 1), rolled_back(3, 1, Failed, "a")];
    assert!(matches!(decided(history.clone(), "b"), Decision::Hold { failed: 3, deployed: Some(1), .. }));
    let later = decided_at(history.clone(), "b", None, NOW + 100);
    assert_eq!(later, Decision::Rollback { failed: 3, to: 1, revision: 4, attempt: 2 });
    assert_eq!(decided(history, "c"), Decision::Upgrade { from: 1, revision: 4, attempt: 1 });
}

#[test]
fn an_old_failure_does_not_hold_what_worked_or_changed_since() {
    let history = vec![ours(1, Superseded, "a"), failed(2, "b", Stage::Pre, 5), ours(3, Deployed, "c")];
    assert_eq!(decided(history, "b"), Decision::Upgrade { from: 3, revision: 4, attempt: 1 });
}

#[test]
fn a_failed_upgrade_by_hand_is_rolled_back() {
    let history = vec![ours(1, Deployed, "a"), entry(2, Failed)];
    assert_eq!(decided(history, "a"), Decision::Rollback { failed: 2, to: 1, revision: 3, attempt: 1 });
}

#[test]
fn a_revision_of_somebody_else_is_compared() {
    let before_us = vec![entry(1, Deployed)];
    assert_eq!(decided(before_us, "a"), Decision::Compare { revision: 1, by_hand: false });
    let by_hand = vec![ours(1, Superseded, "a"), entry(2, Deployed)];
    assert_eq!(
        decided_at(by_hand.clone(), "a", Some("a"), NOW),
        Decision::Compare { revision: 2, by_hand: true }
    );
    let and_changed_since = decided_at(by_hand, "b", Some("a"), NOW);
    assert_eq!(and_changed_since, Decision::Compare { revision: 2, by_hand: false });
}

#[test]
fn an_accepted_revision_stays_until_something_else_is_wanted() {
    let mut accepted = entry(2, Deployed);
    accepted.marks.accepted = Some("a".to_owned());
    let history = vec![ours(1, Superseded, "a"), accepted];
    assert_eq!(decided(history.clone(), "a"), Decision::Keep { revision: 2, by_hand: true });
    assert_eq!(decided(history, "b"), Decision::Upgrade { from: 2, revision: 3, attempt: 1 });
}

#[test]
fn without_a_deployed_revision_the_newest_superseded_one_is_the_start() {
    let history = vec![ours(1, Superseded, "a"), ours(2, Superseded, "b")];
    assert_eq!(decided(history, "b"), Decision::Upgrade { from: 2, revision: 3, attempt: 1 });
}

#[test]
fn the_backoff_doubles_up_to_half_an_hour() {
    let seconds: Vec<u64> = [0, 1, 2, 3, 7, 8, 40].into_iter().map(|n| backoff(n).as_secs()).collect();
    assert_eq!(seconds, [30, 30, 60, 120, 1800, 1800, 1800]);
}

#[test]
fn a_failed_upgrade_can_be_left_and_made_again_after_an_interval() {
    let remedy = Remedy {
        interval: Some(Duration::from_mins(5)),
        undo: Undo::Nothing,
        undoes_last: false,
        ..Remedy::default()
    };
    let history = || vec![ours(1, Deployed, "b"), failed(2, "a", Stage::Main, 7)];
    let until = at(NOW - 5 + 300);
    assert_eq!(remedied(history(), remedy, NOW), Decision::Hold { failed: 2, deployed: Some(1), until });
    assert_eq!(
        remedied(history(), remedy, NOW + 295),
        Decision::Upgrade { from: 1, revision: 3, attempt: 8 }
    );
    let wish =
        Wish { inputs: "b", remembered: None, remedy, back: None, test: None, reset: None, now: at(NOW) };
    let back = decide(&history().into_iter().collect(), wish);
    assert_eq!(
        back,
        Decision::Rollback { failed: 2, to: 1, revision: 3, attempt: 1 },
        "the good one is wanted"
    );
    let install = || vec![failed(1, "a", Stage::Main, 1)];
    assert_eq!(remedied(install(), remedy, NOW), Decision::Hold { failed: 1, deployed: None, until });
    assert_eq!(remedied(install(), remedy, NOW + 295), Decision::Install { revision: 2, attempt: 2 });
}

#[test]
fn the_last_of_so_many_attempts_can_be_left() {
    let remedy = Remedy { retries: Some(1), undoes_last: false, ..Remedy::default() };
    let history = |attempt| vec![ours(1, Deployed, "b"), failed(2, "a", Stage::Main, attempt)];
    let back = Decision::Rollback { failed: 2, to: 1, revision: 3, attempt: 1 };
    assert_eq!(remedied(history(1), remedy, NOW), back);
    let held = Decision::Hold { failed: 2, deployed: Some(1), until: NEVER };
    assert_eq!(remedied(history(2), remedy, NOW), held);
    assert_eq!(remedied(history(2), Remedy { undoes_last: true, ..remedy }, NOW), back);
    let install = |attempt| vec![failed(1, "a", Stage::Main, attempt)];
    assert_eq!(remedied(install(1), remedy, NOW), Decision::Clean { revision: 1 });
    let held = Decision::Hold { failed: 1, deployed: None, until: NEVER };
    assert_eq!(remedied(install(2), remedy, NOW), held);
}

#[test]
fn a_failed_upgrade_can_be_uninstalled_and_that_goes_on_where_it_was() {
    let remedy = Remedy { undo: Undo::Uninstall, ..Remedy::default() };
    let history = vec![ours(1, Deployed, "b"), failed(2, "a", Stage::Main, 1)];
    assert_eq!(remedied(history, remedy, NOW), Decision::Uninstall { failed: 2 });
    let mut going = failed(2, "a", Stage::Main, 1);
    going.status = Uninstalling;
    going.marks.remedies = true;
    let decision = remedied(vec![ours(1, Deployed, "b"), going], Remedy::default(), NOW);
    assert_eq!(decision, Decision::Resume { revision: 2, outdated: false });
}

#[test]
fn failures_are_forgotten_once_on_request_and_what_stands_well_is_kept() {
    let asked = |entries: Vec<Entry>, inputs, reset| {
        let remedy = Remedy { retries: Some(0), ..Remedy::default() };
        let (remembered, back, test, now) = (None, None, None, at(NOW));
        let wish = Wish { inputs, remembered, remedy, back, test, reset, now };
        decide(&entries.into_iter().collect(), wish)
    };
    let history = |reset: Option<&str>| {
        let mut failure = failed(2, "a", Stage::Main, 1);
        failure.marks.reset = reset.map(str::to_owned);
        vec![ours(1, Superseded, "b"), failure, rolled_back(3, 1, Deployed, "b")]
    };
    let held = Decision::Hold { failed: 2, deployed: Some(3), until: NEVER };
    let again = Decision::Upgrade { from: 3, revision: 4, attempt: 1 };
    assert_eq!(asked(history(None), "a", None), held);
    assert_eq!(asked(history(None), "a", Some("monday")), again);
    assert_eq!(asked(history(Some("monday")), "a", Some("monday")), held, "this failure came after it");
    assert_eq!(asked(history(Some("monday")), "a", Some("tuesday")), again);
    assert_eq!(asked(history(Some("monday")), "a", None), held, "taking the words off asks for nothing");
    let keep = Decision::Keep { revision: 3, by_hand: false };
    assert_eq!(asked(history(None), "b", Some("monday")), keep);
    let stuck = |reset: Option<&str>| {
        let mut back = rolled_back(3, 1, Failed, "b");
        (back.marks.attempt, back.marks.reset) = (7, reset.map(str::to_owned));
        vec![ours(1, Superseded, "b"), failed(2, "a", Stage::Main, 1), back]
    };
    let waits = decided(stuck(None), "b");
    assert!(matches!(waits, Decision::Hold { failed: 3, deployed: Some(1), .. }), "{waits:?}");
    assert_eq!(asked(stuck(Some("monday")), "b", Some("monday")), waits);
    let back = Decision::Rollback { failed: 3, to: 1, revision: 4, attempt: 1 };
    assert_eq!(asked(stuck(None), "b", Some("monday")), back, "also the wait of a way back that failed");
    let install = || {
        vec![{
            let mut failure = failed(1, "a", Stage::Main, 1);
            failure.marks.cleaned = true;
            failure
        }]
    };
    let held = Decision::Hold { failed: 1, deployed: None, until: NEVER };
    assert_eq!(asked(install(), "a", None), held);
    assert_eq!(asked(install(), "a", Some("monday")), Decision::Install { revision: 2, attempt: 1 });
}

#[test]
fn attempts_that_differ_in_what_they_found_in_the_cluster_are_counted_together() {
    let remedy = Remedy { retries: Some(1), ..Remedy::default() };
    let asked = |entries: Vec<Entry>, inputs, now| {
        let (remembered, back, test, reset, now) = (None, None, None, None, at(now));
        let wish = Wish { inputs, remembered, remedy, back, test, reset, now };
        decide(&entries.into_iter().collect(), wish)
    };
    let history = |attempt| {
        let failure = failed(2, "a+1", Stage::Main, attempt);
        vec![ours(1, Superseded, "a"), failure, rolled_back(3, 1, Deployed, "a")]
    };
    let until = at(NOW - 5 + 30);
    assert_eq!(asked(history(1), "a+2", NOW), Decision::Hold { failed: 2, deployed: Some(3), until });
    let again = Decision::Upgrade { from: 3, revision: 4, attempt: 2 };
    assert_eq!(asked(history(1), "a+2", NOW + 25), again);
    let spent = Decision::Hold { failed: 2, deployed: Some(3), until: NEVER };
    assert_eq!(asked(history(2), "a+3", NOW + 25), spent);
    assert_eq!(asked(history(2), "b+3", NOW), Decision::Upgrade { from: 3, revision: 4, attempt: 1 });
    assert_eq!(asked(history(2), "a", NOW), Decision::Keep { revision: 3, by_hand: false });
    let between = history(1).into_iter().take(2).collect();
    let back = Decision::Rollback { failed: 2, to: 1, revision: 3, attempt: 1 };
    assert_eq!(asked(between, "a+2", NOW), back, "what it left is undone first");
}
