//! The hooks of an operation, one after the other (Helm's `pkg/action/hooks.go`, which waits where this returns).

use jiff::{SignedDuration, Timestamp};

use super::{Act, Action, HookState, Operation, Removal, Step, Tests, Wait};
use crate::{DeletePolicy, Hook, HookPhase, HookRun, Progress, Stage, hook::order};

/// How often a hook is begun whose objects vanish before anybody saw how they ended.
const MOST_RUNS: u32 = 3;

impl Operation {
    /// The hook's objects were looked at.
    pub fn seen(&mut self, state: HookState) {
        // Who wrote that is gone when it has failed, and this call is over then.
        self.dirty |= state == HookState::Failing && self.stored.marks.last_words != self.noted_words;
        self.step = Step::Seen(state);
    }

    /// Whether a hook has run for longer than it may.
    #[must_use]
    pub fn is_overdue(&self, hook: usize) -> bool {
        self.progress.attempt > 0 && self.is_past(self.expiry(hook))
    }

    /// What a hook wrote that is overdue, fails or has failed, for the words of its failure. Nothing: what was heard before stays.
    pub fn heard(&mut self, words: String) {
        if !words.is_empty() {
            self.stored.marks.last_words = Some(words);
        }
    }

    fn last_words(&self) -> &str {
        self.stored.marks.last_words.as_deref().unwrap_or_default()
    }

    /// Deletion of the hook's objects was asked for. `gone`: there is none left.
    pub fn removed(&mut self, gone: bool) {
        let cleaned = match &self.step {
            Step::Cleaned(hooks) | Step::Lingering(hooks) => Some(*hooks),
            _ => self.is_cleaning().then_some(0),
        };
        self.step = match (cleaned, gone) {
            (Some(hooks), true) => Step::Cleaned(hooks + 1),
            (Some(hooks), false) => Step::Lingering(hooks),
            (None, true) => Step::Clear,
            (None, false) => Step::Seen(HookState::Terminating),
        };
    }

    /// It has been told that the hook's objects are still there.
    pub fn left(&mut self) {
        if let Step::Lingering(hooks) = self.step {
            self.step = Step::Cleaned(hooks + 1);
        }
    }

    /// The hook's objects were created, or a permanent refusal says why they cannot be.
    pub fn started(&mut self, result: Result<(), String>) {
        match (result, self.current()) {
            (Ok(()), Some(place)) if !self.hook(place).is_some_and(Hook::runs_to_completion) => {
                self.succeed(place);
            }
            // A look now would only find it running: it was created a moment ago.
            (Ok(()), Some(_)) => self.step = Step::Seen(HookState::Running { busy: false }),
            (Err(message), Some(place)) => {
                let path = self.hook(place).map_or("", |hook| hook.path.as_str());
                let event = self.event().unwrap_or_default();
                let message = format!("warning: Hook {event} {path} failed: {message}");
                self.fail_hook(place, &message);
            }
            (_, None) => {}
        }
    }

    /// The places of the stage's hooks in the order in which they run.
    pub(super) fn order(&self) -> Vec<usize> {
        let runs = !self.without_hooks || self.progress.stage == Stage::Test;
        let event = self.event().filter(|_| runs);
        event.map_or_else(Vec::new, |event| order(&self.stored.release.hooks, event))
    }

    /// None: something was decided, ask again.
    pub(super) fn next_of_hooks(&mut self) -> Option<Act> {
        let Some(place) = self.current() else {
            let done: Vec<usize> = self.order().into_iter().rev().collect();
            return self.clean(&self.deleted_after(&done, DeletePolicy::HookSucceeded)).or_else(|| {
                self.advance();
                None
            });
        };
        if self.progress.attempt == 0 {
            return self.prepare(place);
        }
        let hook = self.hook(place)?;
        if hook.last_run.phase == HookPhase::Failed {
            return self.clean_after_failure(place);
        }
        match self.step.clone() {
            Step::Announced => Some(Act::Start { hook: place, run: self.run() }),
            Step::Seen(state) => self.judge(place, state),
            Step::Enter | Step::Clear | Step::Cleaned(_) | Step::Lingering(_) | Step::Missing(_) => {
                Some(self.look(place))
            }
        }
    }

    fn look(&self, hook: usize) -> Act {
        Act::Look { hook, run: self.run() }
    }

    /// The name of the present run, unlike that of any other run of any hook of the release.
    fn run(&self) -> String {
        let release = &self.stored.release;
        let Progress { hook, attempt, .. } = self.progress;
        let event = self.event().unwrap_or_default();
        format!("{}.v{}.{event}.{hook}.{attempt}", release.name, release.version)
    }

    /// The hook that runs or is to run; none: all have run.
    fn current(&self) -> Option<usize> {
        self.order().get(self.progress.hook).copied()
    }

    fn hook(&self, place: usize) -> Option<&Hook> {
        self.stored.release.hooks.get(place)
    }

    /// Makes room for a hook and announces its run.
    fn prepare(&mut self, place: usize) -> Option<Act> {
        let hook = self.hook(place)?;
        let clears = hook.deletes(DeletePolicy::BeforeHookCreation);
        match &self.step {
            Step::Enter if clears => return Some(self.look(place)),
            Step::Seen(HookState::Absent) | Step::Enter | Step::Clear => {}
            Step::Seen(HookState::Terminating) => return self.wait_until_gone(place),
            Step::Seen(_) => return Some(Act::Remove { hook: place, why: Removal::BeforeCreation }),
            Step::Announced | Step::Cleaned(_) | Step::Lingering(_) | Step::Missing(_) => {
                self.step = Step::Enter;
            }
        }
        self.announce(place, 1);
        None
    }

    /// What stands in the way of a hook has to go, in the time that the hook itself would have.
    fn wait_until_gone(&mut self, place: usize) -> Option<Act> {
        let until = self.gone_by();
        if !self.is_past(until) {
            return Some(Act::Wait(Wait::Gone { hook: place, until }));
        }
        let message = self.timed_out(place, "of an earlier run is still being deleted");
        if self.progress.stage == Stage::Test {
            self.stored.marks.test_failure = Some(message.clone());
        }
        self.fail_hooks(&message);
        None
    }

    fn announce(&mut self, place: usize, attempt: u32) {
        let run = HookRun { started_at: Some(self.now), completed_at: None, phase: HookPhase::Running };
        if let Some(hook) = self.stored.release.hooks.get_mut(place) {
            hook.last_run = run;
            if hook.delete_policies.is_empty() {
                // Helm writes its default into the record as well.
                hook.delete_policies.push(DeletePolicy::BeforeHookCreation.as_str().to_owned());
            }
        }
        self.move_to(Progress { attempt, ..self.progress });
        self.step = Step::Announced;
    }

    fn judge(&mut self, place: usize, state: HookState) -> Option<Act> {
        let name = self.hook(place).map(|hook| format!("{} {}", hook.kind, hook.name)).unwrap_or_default();
        match state {
            HookState::Absent if self.outdated => self.abandon(place),
            HookState::Absent if self.progress.attempt >= MOST_RUNS => {
                self.fail_hook(
                    place,
                    &format!("{name} was deleted {MOST_RUNS} times before it came to an end"),
                );
            }
            HookState::Absent => self.announce(place, self.progress.attempt + 1),
            HookState::Terminating => {
                let until = self.expiry(place);
                if !self.is_past(until) {
                    return Some(Act::Wait(Wait::Gone { hook: place, until }));
                }
                self.fail_hook(place, &self.timed_out(place, "is still being deleted"));
            }
            // What is done when it is there is applied, whoever made it.
            HookState::Other if !self.hook(place)?.runs_to_completion() => self.step = Step::Announced,
            HookState::Other => self.fail_hook(place, &format!("{name} already exists")),
            HookState::Running { busy } => return self.wait(place, busy),
            HookState::Succeeded => self.succeed(place),
            HookState::Failing => return self.wait(place, true),
            HookState::Failed(message) => {
                let message = format!("{message}{}", self.last_words());
                self.fail_hook(place, &message);
            }
        }
        None
    }

    fn wait(&mut self, place: usize, busy: bool) -> Option<Act> {
        if self.outdated && !busy {
            self.abandon(place);
            return None;
        }
        let until = self.expiry(place);
        if self.is_past(until) {
            self.fail_hook(place, &self.timed_out(place, "has not come to its end"));
            return None;
        }
        Some(Act::Wait(Wait::Run { hook: place, until }))
    }

    fn is_past(&self, until: Option<Timestamp>) -> bool {
        until.is_some_and(|until| until <= self.now)
    }

    /// Until when a hook may run.
    fn expiry(&self, place: usize) -> Option<Timestamp> {
        let timeout = SignedDuration::try_from(self.timeout?).ok()?;
        self.hook(place)?.last_run.started_at?.checked_add(timeout).ok()
    }

    /// Until when objects of hooks may take to be gone. Nothing is written while that is waited for, so it is counted from
    /// the last word of the record.
    fn gone_by(&self) -> Option<Timestamp> {
        let timeout = SignedDuration::try_from(self.timeout?).ok()?;
        self.stored.touched().unwrap_or(self.now).checked_add(timeout).ok()
    }

    /// Helm's words, and what it waited for.
    fn timed_out(&self, place: usize, how: &str) -> String {
        let name = self.hook(place).map(|hook| format!("{} {}", hook.kind, hook.name)).unwrap_or_default();
        let timeout = self.timeout.and_then(|timeout| SignedDuration::try_from(timeout).ok());
        let timeout = timeout.unwrap_or_default();
        format!("timed out waiting for the condition: {name} {how} after {timeout:#}{}", self.last_words())
    }

    fn abandon(&mut self, place: usize) {
        self.complete(place, HookPhase::Unknown);
        self.fail("something else was asked for while a hook had not begun to work");
    }

    fn complete(&mut self, place: usize, phase: HookPhase) {
        let now = self.now;
        self.stored.marks.last_words = None;
        if let Some(hook) = self.stored.release.hooks.get_mut(place) {
            hook.last_run.completed_at = Some(now);
            hook.last_run.phase = phase;
        }
        self.dirty = true;
    }

    fn succeed(&mut self, place: usize) {
        self.complete(place, HookPhase::Succeeded);
        let hook = self.progress.hook + 1;
        self.move_to(Progress { hook, attempt: 0, ..self.progress });
    }

    /// Writes the failure down before anything is cleaned up, so that the cleaning is not taken for a lost run.
    fn fail_hook(&mut self, place: usize, message: &str) {
        self.complete(place, HookPhase::Failed);
        if self.progress.stage == Stage::Test {
            self.stored.marks.test_failure = Some(message.to_owned());
        } else {
            message.clone_into(&mut self.stored.release.info.description);
        }
        self.step = Step::Enter;
    }

    fn clean_after_failure(&mut self, failed: usize) -> Option<Act> {
        let before: Vec<usize> = self.order().into_iter().take(self.progress.hook).collect();
        let mut removals = self.deleted_after(&[failed], DeletePolicy::HookFailed);
        removals.extend(self.deleted_after(&before, DeletePolicy::HookSucceeded));
        if let Some(act) = self.clean(&removals) {
            return Some(act);
        }
        let message = match self.progress.stage {
            Stage::Test => self.stored.marks.test_failure.clone().unwrap_or_default(),
            _ => self.stored.release.info.description.clone(),
        };
        self.fail_hooks(&message);
        None
    }

    /// What the failure of a hook means for its operation.
    fn fail_hooks(&mut self, message: &str) {
        match (self.action, self.progress.stage) {
            (Action::Install | Action::Upgrade, Stage::Test) if self.tests == Some(Tests::Told) => {
                self.enter(Stage::Finish);
            }
            (Action::Install | Action::Upgrade, Stage::Test) => self.fail(&format!("test failed: {message}")),
            (Action::Uninstall, Stage::Post) => self.enter(Stage::Finish),
            (Action::Install, stage) => {
                let event = if stage == Stage::Pre { "pre-install" } else { "post-install" };
                self.fail(&format!("failed {event}: {message}"));
            }
            (Action::Upgrade, _) => {
                let event = self.event().unwrap_or_default();
                self.fail(&format!("{event} hooks failed: {message}"));
            }
            _ => self.fail(message),
        }
    }

    /// The hooks among these that a policy deletes.
    fn deleted_after(&self, places: &[usize], policy: DeletePolicy) -> Vec<(usize, Removal)> {
        let why = if policy == DeletePolicy::HookFailed { Removal::Failed } else { Removal::Succeeded };
        let deleted = |place: &&usize| self.hook(**place).is_some_and(|hook| hook.deletes(policy));
        places.iter().filter(deleted).map(|place| (*place, why)).collect()
    }

    /// Deletes these, one after the other, and waits until each is gone. What does not go in time is left: the hook itself did
    /// its work. None: there is nothing left to do.
    fn clean(&self, removals: &[(usize, Removal)]) -> Option<Act> {
        let done = match &self.step {
            Step::Cleaned(hooks) | Step::Lingering(hooks) => *hooks,
            _ => 0,
        };
        let (hook, why) = *removals.get(done)?;
        if !matches!(self.step, Step::Lingering(_)) {
            return Some(Act::Remove { hook, why });
        }
        let until = self.gone_by();
        Some(if self.is_past(until) { Act::Leave { hook } } else { Act::Wait(Wait::Gone { hook, until }) })
    }

    fn is_cleaning(&self) -> bool {
        let failed = |place| self.hook(place).is_some_and(|hook| hook.last_run.phase == HookPhase::Failed);
        self.current().is_none_or(|place| self.progress.attempt > 0 && failed(place))
    }
}
