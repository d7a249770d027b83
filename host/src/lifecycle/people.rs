//! What people say to a run, by annotations: `approve`, `skip`, `retry`, `abandon`, each with a reason. Pure.
//!
//! What was heard is written down with what came of it, then the annotation is taken off: it is heard once, wherever the host ends.

use jiff::Timestamp;

use super::progress::{self, NOT_REACHED};
use super::run::{ABANDONED, AuditEntry, Hook, HookState, Run, RunState, Said, Status};

/// The reason of hooks that a person passed over.
pub const SKIPPED: &str = "SkippedByHand";
/// The longest reason that is kept.
const LONGEST: usize = 512;
/// So many entries of the audit are kept: a resource does not grow without end.
const AUDIT: usize = 50;

/// What became of the annotations.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Why some were not followed.
    pub refused: Vec<String>,
    /// The change is to be given up: its `post-` phase is due.
    pub abandoned: bool,
    /// A run that was over goes on, or begins anew.
    pub again: bool,
}

/// Whether somebody wants a run that is over to go on.
pub fn wants_again(run: &Run) -> bool {
    run.is_over() && ["retry", "skip"].iter().any(|name| run.said.contains_key(*name))
}

/// Forgets what was heard and taken off. True: something was.
pub fn forget_taken_off(run: &mut Run) -> bool {
    let before = run.status.heard.len();
    run.status.heard.retain(|heard| run.said.get(&heard.name) == Some(&heard.value));
    run.status.heard.len() < before
}

/// Follows what people have said. `ended`: what the run had begun was brought to its end after the change, and has to begin again.
pub fn hear(run: &mut Run, ended: bool, now: Timestamp) -> Heard {
    let mut heard = Heard::default();
    for (name, value) in run.said.clone() {
        let Some(action) = ["approve", "skip", "retry", "abandon"].into_iter().find(|known| *known == name)
        else {
            continue;
        };
        run.status.heard.push(Said { name: name.clone(), value: value.clone() });
        let followed = match action {
            "approve" => approve(run, &value),
            "skip" => skip(run, &value, (ended, now), &mut heard),
            "retry" => retry(run, &value, ended, &mut heard),
            _ => abandon(run, &value, &mut heard),
        };
        match followed {
            Ok((hooks, reason)) => run.status.audit.push(AuditEntry {
                time: now,
                action: capital(action),
                hooks,
                reason: reason.chars().take(LONGEST).collect(),
                manager: run.managers.get(&name).cloned().unwrap_or_default(),
            }),
            Err(why) => heard.refused.push(format!(
                "the annotation {}{name}={value:?} is not followed: {why}",
                super::run::SPOKEN
            )),
        }
    }
    let old = run.status.audit.len().saturating_sub(AUDIT);
    run.status.audit.drain(..old);
    heard
}

type Followed = Result<(String, String), String>;

/// `HOOK: who and why` lets one begin, any other text all of them.
fn approve(run: &mut Run, text: &str) -> Followed {
    let one = text.split_once(':').map(|(named, reason)| (named.trim(), reason.trim()));
    // A name with a slash is a hook's, also one that there is not.
    let one = one.filter(|(named, _)| {
        *named == "*" || named.contains('/') || run.status.hooks.iter().any(|hook| hook.is_called(named))
    });
    let (named, reason) = one.unwrap_or(("*", text));
    said(reason)?;
    let waits = |hook: &&mut Hook| hook.approval && !hook.approved && hook.is_called(named);
    let waiting: Vec<&mut Hook> = run.status.hooks.iter_mut().filter(waits).collect();
    if waiting.is_empty() {
        let which = if named == "*" {
            "no hook of this run".to_owned()
        } else {
            format!("no hook {named:?} of this run")
        };
        return Err(format!("{which} waits for anybody"));
    }
    let mut names = Vec::new();
    for hook in waiting {
        hook.approved = true;
        names.push(hook.full_name());
    }
    Ok((names.join(","), reason.to_owned()))
}

/// `HOOK: why`, with `plugin/name`, a name or `*`.
fn skip(run: &mut Run, text: &str, (ended, now): (bool, Timestamp), heard: &mut Heard) -> Followed {
    let form = "it is to be of the form \"HOOK: why\", with the hook's name, or * for all of them";
    let (named, why) = text.split_once(':').ok_or(form)?;
    let (named, why) = (named.trim(), why.trim());
    said(why).map_err(|_| form.to_owned())?;
    superseded(run)?;
    let was_over = run.is_over();
    let status = &mut run.status;
    if named == "*" && status.planned_at.is_none() {
        // Nobody could say what is to be done, and somebody says that nothing is.
        status.planned_at = Some(now);
        return Ok(("*".to_owned(), why.to_owned()));
    }
    let mut names = Vec::new();
    for hook in status.hooks.iter_mut().filter(|hook| hook.is_called(named)) {
        match hook.state {
            HookState::Running => progress::cancel(hook, SKIPPED, why.to_owned()),
            // Whoever says so twice means it: what cannot be ended is left to its fate.
            HookState::Waiting | HookState::Failed | HookState::Cancelling => progress::skip(hook, why, now),
            _ => continue,
        }
        names.push(hook.full_name());
    }
    if names.is_empty() {
        return Err(format!("{named:?} is no hook of this run that has something left to do or has failed"));
    }
    if was_over {
        // It goes on with those behind.
        revive(&mut run.status, ended);
        heard.again = true;
    }
    Ok((names.join(","), why.to_owned()))
}

fn retry(run: &mut Run, reason: &str, ended: bool, heard: &mut Heard) -> Followed {
    said(reason)?;
    if run.status.state != RunState::Failed {
        return Err("it has not failed".to_owned());
    }
    if run.spec.superseded_by.as_deref() != Some(ABANDONED) {
        superseded(run)?;
    }
    let status = &mut run.status;
    let failed: Vec<String> = with_state(status, HookState::Failed).map(|hook| hook.full_name()).collect();
    with_state(status, HookState::Failed).for_each(|hook| *hook = hook.anew());
    revive(status, ended);
    heard.again = true;
    Ok((failed.join(","), reason.to_owned()))
}

fn with_state(status: &mut Status, state: HookState) -> impl Iterator<Item = &mut Hook> {
    status.hooks.iter_mut().filter(move |hook| hook.state == state)
}

fn superseded(run: &Run) -> Result<(), String> {
    match run.spec.made_way() {
        Some(why) => Err(why),
        None => Ok(()),
    }
}

fn abandon(run: &Run, reason: &str, heard: &mut Heard) -> Followed {
    said(reason)?;
    if !run.spec.is_before() {
        return Err("only what comes before a change can be given up".to_owned());
    }
    heard.abandoned = true;
    Ok(("*".to_owned(), reason.to_owned()))
}

/// A run that was over goes on: hooks whose turn never came have it. `ended`: so have those that had begun something which was brought
/// to its end meanwhile.
pub fn revive(status: &mut Status, ended: bool) {
    for hook in &mut status.hooks {
        let never_came = hook.state == HookState::Skipped && hook.reason == NOT_REACHED;
        if never_came || (ended && hook.ensure_post && hook.has_begun() && hook.state == HookState::Succeeded)
        {
            *hook = hook.anew();
        }
    }
    status.finished_at = None;
    status.state = RunState::Running;
}

fn said(reason: &str) -> Result<(), String> {
    if reason.trim().is_empty() || reason.trim() == "true" {
        return Err("say who wants it and why".to_owned());
    }
    Ok(())
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn run(said: &Value, hooks: &Value, state: &str) -> Run {
        let finished = (state == "Failed").then_some("2026-01-01T00:00:00Z");
        let object = json!({
            "apiVersion": "lifecycle.pilothouse.dev/v1alpha1", "kind": "LifecycleRun",
            "metadata": {"name": "r", "namespace": "demo", "annotations": said},
            "spec": {
                "subject": {"apiVersion": "v1", "kind": "Shop", "name": "web", "uid": "u"},
                "phase": "pre-upgrade", "change": "v2", "announcedBy": "helm",
            },
            "status": {"state": state, "plannedAt": "2026-01-01T00:00:00Z", "finishedAt": finished, "hooks": hooks},
        });
        Run::read(&object).unwrap()
    }

    /// Whose turn never came.
    fn behind(name: &str) -> Value {
        let mut hook = hook(name, "Skipped");
        hook["reason"] = json!(NOT_REACHED);
        hook
    }

    fn hook(name: &str, state: &str) -> Value {
        json!({
            "plugin": "backup", "name": name, "weight": 0, "timeoutSeconds": 100, "retries": 1,
            "failurePolicy": "Fail", "state": state, "attempts": 2, "startedAt": "2026-01-01T00:00:00Z",
        })
    }

    fn annotation(name: &str, value: &str) -> Value {
        json!({format!("lifecycle.pilothouse.dev/{name}"): value})
    }

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn an_approval_lets_every_waiting_hook_begin_and_is_written_down() {
        let mut waiting = hook("a", "Waiting");
        waiting["approval"] = json!(true);
        let mut run =
            run(&annotation("approve", "jo: window is open"), &json!([waiting]), "AwaitingApproval");
        let heard = hear(&mut run, false, NOW);
        assert!(run.status.heard[0].name == "approve" && heard.refused.is_empty());
        assert!(run.status.hooks[0].approved);
        let entry = &run.status.audit[0];
        assert_eq!((entry.action.as_str(), entry.hooks.as_str()), ("Approve", "backup/a"));
        assert_eq!(entry.reason, "jo: window is open");
    }

    #[test]
    fn an_approval_may_be_for_one_hook_and_a_hook_that_is_not_there_is_not_taken_for_a_person() {
        let waiting = |name: &str| {
            let mut hook = hook(name, "Waiting");
            hook["approval"] = json!(true);
            hook
        };
        for (said, approved) in [
            ("b: jo, window is open", vec!["backup/b"]),
            ("backup/a: jo, window is open", vec!["backup/a"]),
            ("*: jo, window is open", vec!["backup/a", "backup/b"]),
            ("jo: window is open", vec!["backup/a", "backup/b"]),
            ("backup/c: jo, window is open", vec![]),
            ("b:", vec![]),
        ] {
            let hooks = json!([waiting("a"), waiting("b")]);
            let mut run = run(&annotation("approve", said), &hooks, "AwaitingApproval");
            let heard = hear(&mut run, false, NOW);
            let found: Vec<String> =
                run.status.hooks.iter().filter(|hook| hook.approved).map(Hook::full_name).collect();
            assert_eq!(
                (found.len(), heard.refused.len()),
                (approved.len(), usize::from(approved.is_empty()))
            );
            assert_eq!(found, approved, "{said}");
        }
    }

    #[test]
    fn nothing_is_followed_that_says_no_reason() {
        for (name, value) in
            [("approve", ""), ("approve", "true"), ("skip", "a"), ("skip", "a: "), ("retry", " ")]
        {
            let mut run = run(&annotation(name, value), &json!([hook("a", "Failed")]), "Failed");
            let mut before = run.status.clone();
            let heard = hear(&mut run, false, NOW);
            assert_eq!(heard.refused.len(), 1, "{name}={value}");
            // It is taken off, or it would be refused for ever.
            before.heard.push(Said { name: name.to_owned(), value: value.to_owned() });
            assert_eq!(run.status, before);
        }
    }

    #[test]
    fn a_failed_hook_that_is_passed_over_lets_the_run_go_on_with_those_behind_it() {
        let hooks = json!([hook("a", "Failed"), behind("b")]);
        let mut run = run(&annotation("skip", "backup/a: storage moves"), &hooks, "Failed");
        hear(&mut run, false, NOW);
        assert_eq!(run.status.hooks[0].state, HookState::Skipped);
        assert_eq!(progress::next(&run.spec, &run.status, NOW), progress::Next::Begin(1));
    }

    #[test]
    fn a_hook_at_work_that_is_passed_over_is_told_to_end_first() {
        let mut run = run(&annotation("skip", "a: too slow"), &json!([hook("a", "Running")]), "Running");
        hear(&mut run, false, NOW);
        assert_eq!(progress::next(&run.spec, &run.status, NOW), progress::Next::Cancel(0));
        progress::cancelled(&mut run.status.hooks[0], NOW);
        assert_eq!(
            (run.status.hooks[0].state, run.status.hooks[0].message.as_str()),
            (HookState::Skipped, "too slow")
        );
        assert_eq!(progress::next(&run.spec, &run.status, NOW), progress::Next::End(RunState::Succeeded));
    }

    #[test]
    fn what_was_heard_is_known_until_it_is_taken_off_or_other_words_are_in_its_place() {
        let mut run = run(&annotation("skip", "a: too slow"), &json!([hook("a", "Running")]), "Running");
        hear(&mut run, false, NOW);
        assert!(!forget_taken_off(&mut run) && run.status.heard.len() == 1);
        run.said.insert("skip".to_owned(), "a: much too slow".to_owned());
        assert!(forget_taken_off(&mut run) && run.status.heard.is_empty());
        hear(&mut run, false, NOW);
        run.said.clear();
        assert!(forget_taken_off(&mut run) && run.status.heard.is_empty());
    }

    #[test]
    fn the_audit_keeps_the_last_entries_only() {
        let mut run = run(&json!({}), &json!([hook("a", "Failed")]), "Failed");
        for round in 0..AUDIT + 2 {
            run.said.insert("retry".to_owned(), format!("jo: {round}"));
            run.status.state = RunState::Failed;
            hear(&mut run, false, NOW);
        }
        assert_eq!(run.status.audit.len(), AUDIT);
        assert_eq!(run.status.audit[0].reason, "jo: 2");
    }

    #[test]
    fn a_hook_that_nobody_knows_is_said_to_be_unknown() {
        let mut run = run(&annotation("skip", "x: y"), &json!([hook("a", "Running")]), "Running");
        assert!(hear(&mut run, false, NOW).refused[0].contains("\"x\" is no hook of this run"));
        assert!(run.status.audit.is_empty());
    }

    #[test]
    fn a_failed_run_is_tried_again_with_all_its_attempts() {
        let mut run = run(
            &annotation("retry", "jo: store is back"),
            &json!([hook("a", "Failed"), behind("b")]),
            "Failed",
        );
        let heard = hear(&mut run, false, NOW);
        assert!(heard.again);
        assert_eq!(progress::next(&run.spec, &run.status, NOW), progress::Next::Begin(0));
        assert_eq!(run.status.hooks[0].attempts, 0);
        assert_eq!(run.status.hooks[1].state, HookState::Waiting);
    }

    #[test]
    fn what_was_brought_to_its_end_meanwhile_begins_again_whoever_lets_the_run_go_on() {
        for (name, value) in [("retry", "jo: store is back"), ("skip", "backup: not today")] {
            let mut freeze = hook("freeze", "Succeeded");
            freeze["ensurePost"] = json!(true);
            let hooks = json!([freeze, hook("backup", "Failed")]);
            let mut run = run(&annotation(name, value), &hooks, "Failed");
            assert!(wants_again(&run));
            assert!(hear(&mut run, true, NOW).again, "{name}");
            assert_eq!(progress::next(&run.spec, &run.status, NOW), progress::Next::Begin(0), "{name}");
        }
    }

    #[test]
    fn a_run_whose_change_made_way_for_another_one_stays_over() {
        for (name, value) in [("retry", "jo: now"), ("skip", "a: not today")] {
            let mut run = run(&annotation(name, value), &json!([hook("a", "Failed")]), "Failed");
            run.spec.superseded_by = Some("v3".to_owned());
            assert!(hear(&mut run, false, NOW).refused[0].contains("v3 has taken the place"), "{name}");
            assert!(run.is_over());
        }
    }

    #[test]
    fn a_change_that_was_given_up_by_hand_is_taken_up_by_hand() {
        let mut run = run(&annotation("retry", "jo: after all"), &json!([hook("a", "Failed")]), "Failed");
        run.spec.superseded_by = Some(ABANDONED.to_owned());
        assert!(hear(&mut run, false, NOW).again);
    }

    #[test]
    fn a_run_that_has_not_failed_is_not_tried_again() {
        let mut run = run(&annotation("retry", "jo: now"), &json!([hook("a", "Running")]), "Running");
        assert!(!hear(&mut run, false, NOW).again);
        assert_eq!(run.status.hooks[0].state, HookState::Running);
    }

    #[test]
    fn a_run_that_nobody_could_plan_is_passed_over_as_a_whole() {
        let mut run = run(&annotation("skip", "*: plugin is broken"), &json!([]), "Planning");
        run.status.planned_at = None;
        hear(&mut run, false, NOW);
        assert_eq!(progress::next(&run.spec, &run.status, NOW), progress::Next::End(RunState::Succeeded));
    }
}
