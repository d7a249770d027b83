//! What becomes of a run that is over: what it began is brought to its end after the change, and in the end it goes. Pure.

use jiff::{SignedDuration, Timestamp};

use super::run::{Ending, Run, RunState};

/// What is next for a run that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// The phase after the change is run, though nobody announces it: something has begun that has to be brought to its end.
    Close(Ending),
    /// Nobody has said how the change ended, and somebody still may as long as the subject is there.
    Open,
    /// The phase after the change is at work.
    AwaitPost,
    /// It tells that its change has had its phase before, or it is not old enough.
    Keep(Timestamp),
    /// Nobody needs it any more.
    Delete,
}

/// After so long a run is looked at again that the other run of its change keeps.
const BESIDE: SignedDuration = SignedDuration::from_hours(1);

/// What is next for a run that is over. `other`: the run on the other side of its change. A run is kept for `history` after its end, and
/// however old it is while it is the answer to an announcement that is made again and again: its hooks would run a second time.
pub fn next(run: &Run, other: Option<&Run>, history: SignedDuration, now: Timestamp) -> Afterwards {
    let made_way = run.spec.superseded_by.is_some();
    let failed = run.status.state == RunState::Failed;
    if run.spec.is_before() {
        match other {
            None if run.needs_post() && made_way => return Afterwards::Close(Ending::Abandoned),
            None if run.needs_post() && failed => return Afterwards::Close(Ending::Failed),
            None if run.needs_post() => return Afterwards::Open,
            Some(post) if !post.is_over() => return Afterwards::AwaitPost,
            _ => {}
        }
    }
    let end = run.status.finished_at.unwrap_or(now).checked_add(history).unwrap_or(Timestamp::MAX);
    if end > now {
        return Afterwards::Keep(end);
    }
    match other {
        // Without it, what the other one began would be brought to its end again.
        Some(_) if !run.spec.is_before() => {
            Afterwards::Keep(now.checked_add(BESIDE).unwrap_or(Timestamp::MAX))
        }
        // What has failed is announced until it makes way.
        Some(_) if failed && !made_way => Afterwards::Open,
        None if run.spec.is_before() && !made_way => Afterwards::Open,
        _ => Afterwards::Delete,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DAY: SignedDuration = SignedDuration::from_hours(24);

    fn at(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH.checked_add(SignedDuration::from_hours(hours)).unwrap()
    }

    /// Over at the epoch; `Running`: not over.
    fn run(phase: &str, state: &str, ensure_post: bool) -> Run {
        let finished = (state != "Running").then_some("1970-01-01T00:00:00Z");
        let object = json!({
            "apiVersion": "lifecycle.pilothouse.dev/v1alpha1", "kind": "LifecycleRun",
            "metadata": {"name": "r", "namespace": "demo"},
            "spec": {
                "subject": {"apiVersion": "v1", "kind": "Shop", "name": "web", "uid": "u"},
                "phase": phase, "change": "v2", "announcedBy": "helm",
            },
            "status": {"state": state, "plannedAt": "1970-01-01T00:00:00Z", "finishedAt": finished, "hooks": [{
                "plugin": "backup", "name": "freeze", "weight": 0, "timeoutSeconds": 100, "retries": 1,
                "failurePolicy": "Fail", "state": "Succeeded", "startedAt": "1970-01-01T00:00:00Z",
                "ensurePost": ensure_post,
            }]},
        });
        Run::read(&object).unwrap()
    }

    fn superseded(mut run: Run) -> Run {
        run.spec.superseded_by = Some("v3".to_owned());
        run
    }

    #[test]
    fn what_has_begun_is_brought_to_its_end_when_its_change_will_not_be() {
        let frozen = |state| run("pre-upgrade", state, true);
        assert_eq!(next(&frozen("Failed"), None, DAY, at(0)), Afterwards::Close(Ending::Failed));
        assert_eq!(
            next(&superseded(frozen("Succeeded")), None, DAY, at(0)),
            Afterwards::Close(Ending::Abandoned)
        );
        assert_eq!(next(&frozen("Succeeded"), None, DAY, at(99)), Afterwards::Open);
    }

    #[test]
    fn a_run_waits_for_the_phase_after_its_change_however_old_it_is() {
        let post = run("post-upgrade", "Running", false);
        for state in ["Succeeded", "Failed"] {
            assert_eq!(
                next(&run("pre-upgrade", state, true), Some(&post), DAY, at(99)),
                Afterwards::AwaitPost
            );
        }
    }

    #[test]
    fn a_change_that_has_ended_is_forgotten_by_age_its_phase_before_first() {
        let (pre, post) = (run("pre-upgrade", "Succeeded", true), run("post-upgrade", "Succeeded", false));
        assert_eq!(next(&pre, Some(&post), DAY, at(23)), Afterwards::Keep(at(24)));
        assert_eq!(next(&post, Some(&pre), DAY, at(24)), Afterwards::Keep(at(25)));
        assert_eq!(next(&pre, Some(&post), DAY, at(24)), Afterwards::Delete);
        assert_eq!(next(&post, None, DAY, at(24)), Afterwards::Delete);
    }

    #[test]
    fn a_run_that_answers_an_announcement_is_kept_or_its_hooks_would_run_again() {
        let post = run("post-upgrade", "Succeeded", false);
        assert_eq!(next(&run("pre-upgrade", "Succeeded", false), None, DAY, at(99)), Afterwards::Open);
        assert_eq!(next(&run("pre-upgrade", "Failed", false), None, DAY, at(99)), Afterwards::Open);
        assert_eq!(next(&run("pre-upgrade", "Failed", true), Some(&post), DAY, at(99)), Afterwards::Open);
    }

    #[test]
    fn a_run_whose_change_made_way_is_forgotten_by_age() {
        let post = run("post-upgrade", "Failed", false);
        for state in ["Succeeded", "Failed"] {
            let pre = superseded(run("pre-upgrade", state, false));
            assert_eq!(next(&pre, None, DAY, at(23)), Afterwards::Keep(at(24)));
            assert_eq!(next(&pre, None, DAY, at(24)), Afterwards::Delete);
            assert_eq!(
                next(&superseded(run("pre-upgrade", state, true)), Some(&post), DAY, at(24)),
                Afterwards::Delete
            );
        }
    }
}
