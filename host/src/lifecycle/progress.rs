//! What is next for a run, and what becomes of it. Pure: the resource and the time are everything it knows.

use jiff::{SignedDuration, Timestamp};

use super::run::{Artefact, FailurePolicy, Hook, HookState, RunState, Spec, Status};

/// After the first failure of a hook; doubled with each further one.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(10);
/// The longest wait between two attempts.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(300);

/// The reason of hooks whose turn never came.
pub const NOT_REACHED: &str = "NotReached";

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The plugins are asked what is to be done.
    Plan,
    /// The hook begins an attempt: that is written down first.
    Begin(usize),
    /// The hook is called, to do it or to look how far it is.
    Call(usize),
    /// The hook is told to end before its time.
    Cancel(usize),
    /// A person has to say yes to the hook.
    AwaitApproval(usize),
    /// The hook is tried again then.
    Wait(usize, Timestamp),
    /// Nothing is left to be done: this is how it ended.
    End(RunState),
    /// It ended before.
    Over,
}

/// What is next.
pub fn next(spec: &Spec, status: &Status, now: Timestamp) -> Next {
    if status.finished_at.is_some() {
        return Next::Over;
    }
    if status.planned_at.is_none() {
        return if spec.superseded_by.is_some() { Next::End(RunState::Failed) } else { Next::Plan };
    }
    for (index, hook) in status.hooks.iter().enumerate() {
        match hook.state {
            HookState::Succeeded | HookState::Ignored | HookState::Skipped => {}
            // After the change, what one hook did not do is no reason for another to do nothing.
            HookState::Failed if !spec.is_before() => {}
            HookState::Failed => return Next::End(RunState::Failed),
            HookState::Cancelling => return Next::Cancel(index),
            HookState::Waiting if hook.approval && !hook.approved => return Next::AwaitApproval(index),
            HookState::Waiting => match hook.retry_at {
                Some(then) if then > now => return Next::Wait(index, then),
                _ => return Next::Begin(index),
            },
            HookState::Running => return Next::Call(index),
        }
    }
    // What has made way is not begun, though its hooks were just about to be done.
    let made_way = spec.is_before() && spec.superseded_by.is_some();
    let failed = made_way || status.hooks.iter().any(|hook| hook.state == HookState::Failed);
    Next::End(if failed { RunState::Failed } else { RunState::Succeeded })
}

/// The hook begins an attempt.
pub fn begin(hook: &mut Hook, now: Timestamp) {
    hook.state = HookState::Running;
    hook.attempts += 1;
    hook.started_at.get_or_insert(now);
    hook.retry_at = None;
    hook.reason.clear();
    hook.message.clear();
}

/// When the hook's time is over, if it has begun.
pub fn deadline(hook: &Hook) -> Option<Timestamp> {
    let timeout = SignedDuration::from_secs(i64::try_from(hook.timeout_seconds).unwrap_or(i64::MAX));
    hook.started_at?.checked_add(timeout).ok()
}

/// Tells hooks at work to end whose time is over, or whose run has lost its purpose. True: something has changed.
pub fn end_in_time(spec: &Spec, status: &mut Status, now: Timestamp) -> bool {
    let mut changed = false;
    let made_way = spec.made_way();
    for hook in &mut status.hooks {
        let late = deadline(hook).is_some_and(|end| end <= now);
        match (hook.state, &made_way) {
            (HookState::Running, Some(why)) => cancel(hook, "Superseded", why.clone()),
            (HookState::Running, None) if late => {
                let message =
                    format!("it did not come to an end within {} s{}", hook.timeout_seconds, last(hook));
                cancel(hook, "TimedOut", message);
            }
            // Between two attempts there is nothing to be taken away.
            (HookState::Waiting, Some(why)) if spec.is_before() => {
                give_up(hook, "Superseded", why.clone(), now);
            }
            (HookState::Waiting, _) if late => {
                let message =
                    format!("its {} s were over before another attempt{}", hook.timeout_seconds, last(hook));
                give_up(hook, "TimedOut", message, now);
            }
            _ => continue,
        }
        changed = true;
    }
    changed
}

fn last(hook: &Hook) -> String {
    if hook.message.is_empty() {
        String::new()
    } else {
        format!("; the last that was known: {}", hook.message)
    }
}

/// A hook at work is to end.
pub fn cancel(hook: &mut Hook, reason: &str, message: String) {
    hook.state = HookState::Cancelling;
    reason.clone_into(&mut hook.reason);
    hook.message = message;
}

/// A cancelled hook has ended.
pub fn cancelled(hook: &mut Hook, now: Timestamp) {
    let (reason, message) = (std::mem::take(&mut hook.reason), std::mem::take(&mut hook.message));
    if reason == super::people::SKIPPED {
        skip(hook, &message, now);
    } else {
        give_up(hook, &reason, message, now);
    }
}

/// A hook is passed over.
pub fn skip(hook: &mut Hook, why: &str, now: Timestamp) {
    hook.state = HookState::Skipped;
    super::people::SKIPPED.clone_into(&mut hook.reason);
    why.clone_into(&mut hook.message);
    hook.finished_at = Some(now);
    hook.retry_at = None;
}

/// A hook has done its part.
pub fn succeed(hook: &mut Hook, artefacts: Vec<Artefact>, now: Timestamp) {
    hook.state = HookState::Succeeded;
    hook.artefacts = artefacts;
    hook.finished_at = Some(now);
    hook.reason.clear();
    hook.message.clear();
}

/// An attempt failed: another one is made, or none is left.
pub fn fail(hook: &mut Hook, reason: &str, message: String, now: Timestamp) {
    if hook.attempts > hook.retries {
        return give_up(hook, reason, message, now);
    }
    let doubled = FIRST_WAIT.checked_mul(1 << hook.attempts.saturating_sub(1).min(5));
    let wait = doubled.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
    hook.state = HookState::Waiting;
    hook.retry_at = now.checked_add(wait).ok();
    reason.clone_into(&mut hook.reason);
    hook.message = message;
}

/// A hook failed for good.
pub fn give_up(hook: &mut Hook, reason: &str, message: String, now: Timestamp) {
    hook.state = match hook.failure_policy {
        FailurePolicy::Fail => HookState::Failed,
        FailurePolicy::Ignore => HookState::Ignored,
    };
    reason.clone_into(&mut hook.reason);
    hook.message = message;
    hook.finished_at = Some(now);
    hook.retry_at = None;
}

/// The run has ended: hooks whose turn never came are passed over.
pub fn end(status: &mut Status, state: RunState, message: String, now: Timestamp) {
    for hook in &mut status.hooks {
        if !hook.state.is_over() {
            hook.state = HookState::Skipped;
            NOT_REACHED.clone_into(&mut hook.reason);
            "a hook before it failed".clone_into(&mut hook.message);
            hook.finished_at = Some(now);
            hook.retry_at = None;
        }
    }
    status.state = state;
    status.message = message;
    status.finished_at = Some(now);
}

/// Where the run stands, for what is next.
pub fn tell(status: &mut Status, next: Next) {
    let named = |index: usize| status.hooks.get(index).map(Hook::full_name).unwrap_or_default();
    let doing = |index: usize| status.hooks.get(index).map(|hook| hook.message.clone()).unwrap_or_default();
    let (state, message) = match next {
        Next::Plan => (RunState::Planning, status.message.clone()),
        Next::Begin(index) | Next::Call(index) | Next::Cancel(index) => {
            let doing = doing(index);
            let colon = if doing.is_empty() { "" } else { ": " };
            (RunState::Running, format!("{}{colon}{doing}", named(index)))
        }
        Next::Wait(index, then) => {
            (RunState::Running, format!("{} is tried again at {then:.0}: {}", named(index), doing(index)))
        }
        Next::AwaitApproval(index) => (
            RunState::AwaitingApproval,
            format!(
                "{} waits for a person: annotate this LifecycleRun with {}approve=\"who and why\"",
                named(index),
                super::run::SPOKEN
            ),
        ),
        Next::End(_) | Next::Over => return,
    };
    status.state = state;
    status.message = message;
}

/// The sentence with which a run ends.
pub fn verdict(spec: &Spec, status: &Status) -> String {
    let failed: Vec<String> = status
        .hooks
        .iter()
        .filter(|hook| hook.state == HookState::Failed)
        .map(|hook| format!("{}: {}", hook.full_name(), hook.message))
        .collect();
    match (spec.made_way(), failed.is_empty()) {
        (Some(why), _) => why,
        (None, false) => failed.join("; "),
        (None, true) if status.hooks.is_empty() => "no hook takes part".to_owned(),
        (None, true) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    fn spec(phase: &str) -> Spec {
        serde_json::from_value(json!({
            "subject": {"apiVersion": "v1", "kind": "Shop", "name": "web", "uid": "u"},
            "phase": phase, "change": "v2", "announcedBy": "helm",
        }))
        .unwrap()
    }

    fn hook(name: &str) -> Hook {
        serde_json::from_value(json!({
            "plugin": "backup", "name": name, "weight": 0, "timeoutSeconds": 100, "retries": 1,
            "failurePolicy": "Fail", "state": "Waiting",
        }))
        .unwrap()
    }

    fn planned(hooks: Vec<Hook>) -> Status {
        Status { planned_at: Some(at(0)), hooks, ..Status::default() }
    }

    #[test]
    fn what_is_to_be_done_is_asked_before_anything_else() {
        assert_eq!(next(&spec("pre-upgrade"), &Status::default(), at(0)), Next::Plan);
    }

    #[test]
    fn hooks_follow_one_another_and_the_run_succeeds_with_the_last() {
        let (spec, mut status) = (spec("pre-upgrade"), planned(vec![hook("a"), hook("b")]));
        for index in 0..2 {
            assert_eq!(next(&spec, &status, at(1)), Next::Begin(index));
            begin(&mut status.hooks[index], at(1));
            assert_eq!(next(&spec, &status, at(2)), Next::Call(index));
            succeed(&mut status.hooks[index], vec![], at(3));
        }
        assert_eq!(next(&spec, &status, at(4)), Next::End(RunState::Succeeded));
        end(&mut status, RunState::Succeeded, String::new(), at(4));
        assert_eq!(next(&spec, &status, at(5)), Next::Over);
    }

    #[test]
    fn a_run_without_hooks_succeeds() {
        assert_eq!(next(&spec("pre-upgrade"), &planned(vec![]), at(0)), Next::End(RunState::Succeeded));
    }

    #[test]
    fn a_failed_attempt_is_followed_by_another_one_later_and_by_no_third() {
        let (spec, mut status) = (spec("pre-upgrade"), planned(vec![hook("a"), hook("b")]));
        begin(&mut status.hooks[0], at(0));
        fail(&mut status.hooks[0], "StoreDown", "no answer".to_owned(), at(1));
        assert_eq!(next(&spec, &status, at(2)), Next::Wait(0, at(11)));
        assert_eq!(next(&spec, &status, at(11)), Next::Begin(0));
        begin(&mut status.hooks[0], at(11));
        fail(&mut status.hooks[0], "StoreDown", "no answer".to_owned(), at(12));
        assert_eq!(next(&spec, &status, at(13)), Next::End(RunState::Failed));
        let message = verdict(&spec, &status);
        assert_eq!(message, "backup/a: no answer");
        end(&mut status, RunState::Failed, message, at(13));
        assert_eq!(status.hooks[1].state, HookState::Skipped, "it never began");
        assert!(!status.hooks[1].has_begun());
    }

    #[test]
    fn a_failure_that_is_to_be_ignored_lets_the_next_one_go_on() {
        let (spec, mut status) = (spec("pre-upgrade"), planned(vec![hook("a"), hook("b")]));
        status.hooks[0].failure_policy = FailurePolicy::Ignore;
        status.hooks[0].retries = 0;
        begin(&mut status.hooks[0], at(0));
        fail(&mut status.hooks[0], "StoreDown", "no answer".to_owned(), at(1));
        assert_eq!(status.hooks[0].state, HookState::Ignored);
        assert_eq!(next(&spec, &status, at(2)), Next::Begin(1));
    }

    #[test]
    fn after_the_change_every_hook_has_its_turn_and_the_failure_is_told_at_the_end() {
        let (spec, mut status) = (spec("post-upgrade"), planned(vec![hook("a"), hook("b")]));
        status.hooks[0].retries = 0;
        begin(&mut status.hooks[0], at(0));
        fail(&mut status.hooks[0], "Broken", "no thaw".to_owned(), at(1));
        assert_eq!(next(&spec, &status, at(2)), Next::Begin(1));
        begin(&mut status.hooks[1], at(2));
        succeed(&mut status.hooks[1], vec![], at(3));
        assert_eq!(next(&spec, &status, at(4)), Next::End(RunState::Failed));
    }

    #[test]
    fn a_hook_that_takes_too_long_is_told_to_end_and_has_failed_then() {
        let (spec, mut status) = (spec("pre-upgrade"), planned(vec![hook("a")]));
        begin(&mut status.hooks[0], at(0));
        assert!(!end_in_time(&spec, &mut status, at(99)));
        status.hooks[0].message = "the Job runs".to_owned();
        assert!(end_in_time(&spec, &mut status, at(100)));
        assert_eq!(next(&spec, &status, at(100)), Next::Cancel(0));
        cancelled(&mut status.hooks[0], at(101));
        assert_eq!((status.hooks[0].state, status.hooks[0].reason.as_str()), (HookState::Failed, "TimedOut"));
        assert!(status.hooks[0].message.ends_with("the Job runs"), "{}", status.hooks[0].message);
    }

    #[test]
    fn the_time_of_all_attempts_counts_together() {
        let (spec, mut status) = (spec("pre-upgrade"), planned(vec![hook("a")]));
        status.hooks[0].retries = 9;
        begin(&mut status.hooks[0], at(0));
        fail(&mut status.hooks[0], "Broken", "no".to_owned(), at(95));
        assert!(end_in_time(&spec, &mut status, at(100)));
        assert_eq!(next(&spec, &status, at(100)), Next::End(RunState::Failed));
    }

    #[test]
    fn waiting_for_a_person_costs_a_hook_none_of_its_time() {
        let (spec, mut status) = (spec("pre-upgrade"), planned(vec![hook("a")]));
        status.hooks[0].approval = true;
        assert!(!end_in_time(&spec, &mut status, at(100_000)));
        let next_is = next(&spec, &status, at(100_000));
        assert_eq!(next_is, Next::AwaitApproval(0));
        tell(&mut status, next_is);
        assert_eq!(status.state, RunState::AwaitingApproval);
        assert!(status.message.contains("lifecycle.pilothouse.dev/approve"), "{}", status.message);
    }

    #[test]
    fn a_run_whose_change_was_superseded_ends_its_hooks_and_begins_none() {
        let (mut spec, mut status) = (spec("pre-upgrade"), planned(vec![hook("a"), hook("b")]));
        begin(&mut status.hooks[0], at(0));
        spec.superseded_by = Some("v3".to_owned());
        assert!(end_in_time(&spec, &mut status, at(1)));
        assert_eq!(next(&spec, &status, at(1)), Next::Cancel(0));
        cancelled(&mut status.hooks[0], at(2));
        assert_eq!(next(&spec, &status, at(2)), Next::End(RunState::Failed));
        assert!(verdict(&spec, &status).contains("v3"));
        succeed(&mut status.hooks[0], vec![], at(2));
        succeed(&mut status.hooks[1], vec![], at(2));
        assert_eq!(next(&spec, &status, at(2)), Next::End(RunState::Failed), "nor does it end well");
        assert_eq!(next(&spec, &Status::default(), at(2)), Next::End(RunState::Failed), "nor is one planned");
    }

    #[test]
    fn hooks_behind_one_that_failed_have_their_turn_when_the_run_goes_on() {
        let (spec, mut status) = (spec("pre-upgrade"), planned(vec![hook("a"), hook("b")]));
        status.hooks[0].retries = 0;
        begin(&mut status.hooks[0], at(0));
        fail(&mut status.hooks[0], "Broken", "no".to_owned(), at(1));
        end(&mut status, RunState::Failed, String::new(), at(1));
        assert_eq!(status.hooks[1].reason, NOT_REACHED);
        skip(&mut status.hooks[0], "never mind", at(2));
        super::super::people::revive(&mut status, false);
        assert_eq!(next(&spec, &status, at(3)), Next::Begin(1));
    }

    #[test]
    fn attempts_wait_longer_and_longer_up_to_a_bound() {
        let mut one = hook("a");
        one.retries = 100;
        let mut waits = Vec::new();
        for _ in 0..8 {
            begin(&mut one, at(0));
            fail(&mut one, "Broken", String::new(), at(0));
            waits.push(one.retry_at.unwrap().duration_since(at(0)).as_secs());
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
    }
}
