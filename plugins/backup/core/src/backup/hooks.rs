//! Commands that bring a database to rest and release it.

use std::time::Duration;

use backup_api::{BackupPlan, BackupStatus, ExecHook, HookCount, HookRun, HookState, OnError, Run, Step};
use jiff::SignedDuration;

use super::{
    act::{Act, Command},
    observed::{ExecSeen, PodSeen},
    situation::{Decision, SOON, Situation},
};
use crate::naming;

/// How often a command that releases may say no before it is given up. One that could not be delivered has said nothing.
const RELEASES: u32 = 10;
/// The host ends a command that takes too long; so much later it is taken for lost.
const GRACE: SignedDuration = SignedDuration::from_secs(15);
/// The longest pause between two tries of a command.
const LONGEST: SignedDuration = SignedDuration::from_secs(60);

/// Are there commands at all?
pub(crate) fn has_any(plan: &BackupPlan) -> bool {
    plan.quiesce.as_ref().is_some_and(|quiesce| !quiesce.pre.is_empty() || !quiesce.post.is_empty())
}

fn commands(plan: &BackupPlan, post: bool) -> &[ExecHook] {
    plan.quiesce.as_ref().map_or(&[], |quiesce| if post { &quiesce.post } else { &quiesce.pre })
}

fn command<'a>(plan: &'a BackupPlan, hook: &HookRun) -> Option<&'a ExecHook> {
    commands(plan, hook.post).get(usize::try_from(hook.index).ok()?)
}

/// Every command with every pod it is for, in their order.
pub(crate) fn targets(plan: &BackupPlan, pods: &[PodSeen]) -> Vec<HookRun> {
    let mut pods: Vec<&PodSeen> = pods.iter().collect();
    pods.sort_by(|a, b| a.name.cmp(&b.name));
    let all = [false, true].into_iter().flat_map(|post| {
        commands(plan, post).iter().zip(0..).map(move |(command, index)| (post, command, index))
    });
    let mut targets = Vec::new();
    for (post, command, index) in all {
        let selected = pods.iter().filter(|pod| command.selector.selects(&pod.labels));
        targets.extend(selected.map(|pod| HookRun {
            post,
            index,
            pod: pod.name.clone(),
            uid: pod.uid.clone(),
            container: container(command, pod),
            tries: 0,
            since: None,
            state: HookState::Waiting,
        }));
    }
    targets
}

/// Was nothing brought to rest in this attempt?
pub(crate) fn is_untouched(run: &Run) -> bool {
    !run.hooks.iter().any(HookRun::was_begun)
}

/// The one of these other backups of the namespace, with their names, that has the same pods at rest or is about to: who comes second
/// would have them released below its reading.
pub fn goes_first<'a>(name: &str, run: &Run, others: &'a [(String, BackupStatus)]) -> Option<&'a str> {
    let shares = |other: &Run| other.hooks.iter().any(|hook| run.hooks.iter().any(|own| own.uid == hook.uid));
    let first = |(known, status): &&(String, BackupStatus)| {
        status.run.as_ref().filter(|other| known != name && shares(other)).is_some_and(|other| {
            match other.step {
                Step::Data | Step::Release => true,
                Step::Quiesce => !is_untouched(other) || (other.since, known.as_str()) < (run.since, name),
                _ => false,
            }
        })
    };
    others.iter().find(first).map(|(name, _)| name.as_str())
}

/// The command that is next, or under way, in this step.
pub(crate) fn at_hand(run: &Run) -> Option<(usize, &HookRun)> {
    let post = match run.step {
        Step::Quiesce => false,
        Step::Release => true,
        _ => return None,
    };
    let open = run.hooks.iter().enumerate().filter(|(_, hook)| hook.post == post && !hook.is_over());
    open.min_by_key(|(at, hook)| (hook.index, *at))
}

fn container(command: &ExecHook, pod: &PodSeen) -> String {
    command.container.clone().or_else(|| pod.containers.first().cloned()).unwrap_or_default()
}

/// Where a command of the plan stands, for people.
fn path(hook: &HookRun) -> String {
    let list = if hook.post { "post" } else { "pre" };
    format!("quiesce.{list}[{}] in pod {}", hook.index, hook.pod)
}

/// What became of a command that was begun.
enum End {
    Runs(Duration),
    Well,
    /// It said no.
    Badly(String),
    /// Nobody knows whether it was carried out.
    Lost(String),
    Gone,
}

impl Situation<'_> {
    /// Brings the database to rest, one command after another.
    pub(super) fn quiesce(&self, run: &Run) -> Decision {
        let at_hand = at_hand(run);
        // One that was begun is waited for in any case: released before it has done its work, the database would be at rest for ever.
        let begun = at_hand.is_some_and(|(_, hook)| hook.state == HookState::Begun);
        if !begun && let Some(why) = self.stop() {
            return self.fail(run, why);
        }
        if let Some(index) = self.command_without_pod(run) {
            return self.fail(run, format!("quiesce.pre[{index}] selects no running pod"));
        }
        if let Some(other) = self.seen.goes_first.as_ref().filter(|_| is_untouched(run)) {
            return self.wait(SOON, format!("the Backup {other} has these pods at rest: it comes first"));
        }
        let Some((at, hook)) = at_hand else {
            return self.go(&Run { taken_at: Some(self.now), ..run.clone() }, Step::Data);
        };
        if hook.state == HookState::Waiting {
            return self.exec(run, at, hook);
        }
        self.after_command(run, at, hook)
    }

    fn after_command(&self, run: &Run, at: usize, hook: &HookRun) -> Decision {
        let (state, why) = match self.end(hook) {
            End::Runs(left) => return self.wait(left.min(SOON), format!("{} is running", path(hook))),
            End::Lost(_) if self.left(hook).is_positive() => {
                let left = Duration::try_from(self.left(hook)).unwrap_or(SOON);
                return self.wait(left, format!("{} may still be running", path(hook)));
            }
            End::Well => (HookState::Succeeded, None),
            // It may have been carried out. Doing it again could bring to rest twice what is released once.
            End::Badly(why) | End::Lost(why) => (HookState::Failed, Some(format!("{}: {why}", path(hook)))),
            End::Gone => (HookState::Gone, Some(format!("{}: the pod is gone", path(hook)))),
        };
        let status = self.ended(run, at, state);
        let fails = command(self.plan, hook).is_none_or(|command| command.on_error == OnError::Fail);
        match (why, status.run.clone()) {
            (Some(why), Some(run)) if fails => {
                let decision = self.fail(&run, why);
                Decision {
                    status: BackupStatus { hooks: status.hooks, ..decision.status.clone() },
                    ..decision
                }
            }
            _ => self.write(status),
        }
    }

    fn command_without_pod(&self, run: &Run) -> Option<u32> {
        let selects = |index: u32| run.hooks.iter().any(|hook| !hook.post && hook.index == index);
        let must = |hook: &ExecHook| hook.on_error == OnError::Fail;
        let all = commands(self.plan, false).iter().zip(0..);
        all.filter(|(hook, _)| must(hook)).map(|(_, index)| index).find(|index| !selects(*index))
    }

    /// Releases the database: every command in every pod that it is for now or was for in the beginning.
    pub(super) fn release(&self, run: &Run) -> Decision {
        let Some(pods) = &self.seen.pods else {
            return self.wait(SOON, "looking for the pods that are to be released");
        };
        let known = |new: &HookRun| {
            run.hooks.iter().any(|hook| hook.post && hook.index == new.index && hook.uid == new.uid)
        };
        let new: Vec<HookRun> =
            targets(self.plan, pods).into_iter().filter(|hook| hook.post && !known(hook)).collect();
        if !new.is_empty() {
            let hooks = run.hooks.iter().cloned().chain(new).collect();
            return self.write(self.with(Run { hooks, ..run.clone() }));
        }
        match at_hand(run) {
            Some((at, hook)) => self.release_one(run, at, hook),
            None => self.released(run),
        }
    }

    fn release_one(&self, run: &Run, at: usize, hook: &HookRun) -> Decision {
        if hook.state == HookState::Waiting {
            return if self.is_gone(hook) {
                self.write(self.ended(run, at, HookState::Gone))
            } else {
                self.exec(run, at, hook)
            };
        }
        match self.end(hook) {
            End::Runs(left) => self.wait(left.min(SOON), format!("{} is running", path(hook))),
            End::Well => self.write(self.ended(run, at, HookState::Succeeded)),
            End::Gone => self.write(self.ended(run, at, HookState::Gone)),
            End::Badly(why) if hook.tries >= RELEASES => {
                let why = format!("{}: {why}; the database may still be at rest", path(hook));
                let status = self.ended(run, at, HookState::Failed);
                let fails = command(self.plan, hook).is_none_or(|command| command.on_error == OnError::Fail);
                let status = if fails { with_failure(status, &why) } else { status };
                self.write(status).note(true, "ReleaseFailed", why)
            }
            End::Badly(why) | End::Lost(why) => {
                let pause = (SignedDuration::from_secs(1) * (1 << hook.tries.min(6))).min(LONGEST);
                let rested = hook.since.map_or(pause, |since| self.since(since));
                if rested >= pause {
                    return self.exec(run, at, hook);
                }
                let left = Duration::try_from(pause - rested).unwrap_or(SOON);
                self.wait(left, format!("{}: {why}; it is tried again", path(hook)))
            }
        }
    }

    fn released(&self, run: &Run) -> Decision {
        if run.failure.is_some() {
            return self.go(run, Step::Clean);
        }
        self.go(run, self.after_release())
    }

    fn exec(&self, run: &Run, at: usize, hook: &HookRun) -> Decision {
        let Some(command) = command(self.plan, hook) else {
            return self.write(self.ended(run, at, HookState::Failed));
        };
        let begun = HookRun {
            state: HookState::Begun,
            tries: hook.tries.saturating_add(1),
            since: Some(self.now),
            ..hook.clone()
        };
        let act = Act::Exec(Command {
            name: naming::command(run.attempt, &begun),
            pod: hook.pod.clone(),
            uid: hook.uid.clone(),
            container: hook.container.clone(),
            command: command.command.clone(),
            timeout: command.timeout.into(),
        });
        let message = format!("{} is begun", path(hook));
        let mut status = self.with(replaced(run, at, begun));
        status.hooks.attempted = status.hooks.attempted.saturating_add(u32::from(hook.tries == 0));
        self.announce(status, act, message)
    }

    fn ended(&self, run: &Run, at: usize, state: HookState) -> BackupStatus {
        let hook = run.hooks.get(at).cloned().map(|hook| HookRun { state, ..hook });
        let status = match hook {
            Some(hook) => self.with(replaced(run, at, hook)),
            None => self.with(run.clone()),
        };
        let HookCount { attempted, failed } = status.hooks;
        let failed = failed.saturating_add(u32::from(state == HookState::Failed));
        BackupStatus { hooks: HookCount { attempted, failed }, ..status }
    }

    fn is_gone(&self, hook: &HookRun) -> bool {
        let pods = self.seen.pods.as_ref();
        pods.is_some_and(|pods| !pods.iter().any(|pod| pod.name == hook.pod && pod.uid == hook.uid))
    }

    /// How long a command may still run.
    fn left(&self, hook: &HookRun) -> SignedDuration {
        let timeout =
            command(self.plan, hook).map_or(SignedDuration::ZERO, |command| command.timeout.signed());
        hook.since.map_or(SignedDuration::ZERO, |since| timeout + GRACE - self.since(since))
    }

    fn end(&self, hook: &HookRun) -> End {
        if self.is_gone(hook) {
            return End::Gone;
        }
        let left = self.left(hook);
        match &self.seen.exec {
            ExecSeen::Running if left.is_positive() => End::Runs(Duration::try_from(left).unwrap_or(SOON)),
            ExecSeen::Running => End::Lost("it did not end within its timeout".to_owned()),
            ExecSeen::Exited(0, _) => End::Well,
            ExecSeen::Exited(code, said) if said.is_empty() => End::Badly(format!("it ended with {code}")),
            ExecSeen::Exited(code, said) => End::Badly(format!("it ended with {code}: {said}")),
            ExecSeen::Unreachable(why) => End::Lost(why.clone()),
            // What releases is asked for until it was heard: rights come back.
            ExecSeen::Refused(why) if hook.post => End::Lost(why.clone()),
            ExecSeen::Refused(why) => End::Badly(why.clone()),
            ExecSeen::Unknown => End::Lost("its end was not heard of".to_owned()),
        }
    }
}

fn replaced(run: &Run, at: usize, hook: HookRun) -> Run {
    let mut run = run.clone();
    if let Some(place) = run.hooks.get_mut(at) {
        *place = hook;
    }
    run
}

fn with_failure(mut status: BackupStatus, why: &str) -> BackupStatus {
    if let Some(run) = status.run.as_mut() {
        run.failure.get_or_insert_with(|| why.to_owned());
        run.last = true;
    }
    status
}
