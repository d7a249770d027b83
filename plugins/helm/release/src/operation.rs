//! An operation on one revision, one act at a time.
//!
//! The caller asks for the next [`Act`], carries it out, reports what came of it, and asks again. Whatever must not
//! happen twice is announced by a [`Act::Write`] first: the record and its progress then stand in the cluster, and an
//! operation that is opened from there goes on where this one stood. An act that failed for a passing reason is simply
//! not reported: the operation is dropped and opened again later.

mod act;
mod hooks;
mod readiness;

use std::time::Duration;

use jiff::Timestamp;

pub use act::{Act, Action, HookState, Removal, Tests, Wait};

use crate::{Progress, Stage, Status, Stored};

/// An operation on one revision.
#[derive(Debug)]
pub struct Operation {
    stored: Stored,
    action: Action,
    progress: Progress,
    now: Timestamp,
    timeout: Option<Duration>,
    /// How long the objects may take to be ready; none: nobody waits for them.
    patience: Option<Duration>,
    /// No hooks run.
    without_hooks: bool,
    /// Whether tests run after it, and are its failure when they fail.
    tests: Option<Tests>,
    /// What the record says of an operation that came to its end; none: Helm's words.
    description: Option<String>,
    /// Something else is wanted by now: ends as failed as soon as nothing is running.
    outdated: bool,
    /// The record or the progress is not stored yet.
    dirty: bool,
    /// Where the record in the cluster says that it stands.
    noted: Option<Progress>,
    /// The last words of a hook that it has.
    noted_words: Option<String>,
    /// What has been found out since the last transition; never needed after a restart.
    step: Step,
    ended: Option<Result<(), String>>,
}

/// Where the operation stands between two transitions.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Nothing is known.
    Enter,
    /// The hook's objects were looked at.
    Seen(HookState),
    /// Nothing stands in the way of the hook.
    Clear,
    /// The run has been announced.
    Announced,
    /// So many hooks have been cleaned up.
    Cleaned(usize),
    /// So many have, and the next one's objects are still there.
    Lingering(usize),
    /// The objects are not ready.
    Missing(String),
}

impl Operation {
    /// Opens the operation that a record says is under way. None: there is none, or somebody else's.
    #[must_use]
    pub fn resume(stored: Stored, now: Timestamp) -> Option<Self> {
        let progress = stored.marks.progress?;
        let action = match stored.release.info.status {
            Status::Deployed if progress.stage.is_of_a_test() => Action::Test,
            status => Action::of(status)?,
        };
        Some(Self::new(stored, action, progress, now, false))
    }

    /// Begins an operation on a record whose status says which (see [`Action::of`]); nothing is stored yet. None: its
    /// status is not one of an operation.
    #[must_use]
    pub fn begin(mut stored: Stored, now: Timestamp) -> Option<Self> {
        let action = Action::of(stored.release.info.status)?;
        let progress = Progress::start(Stage::Pre);
        stored.marks.progress = Some(progress);
        let mut operation = Self::new(stored, action, progress, now, true);
        if operation.order().is_empty() {
            operation.enter(Stage::Main);
        }
        Some(operation)
    }

    /// Begins a test of a deployed revision, asked for with these words.
    #[must_use]
    pub fn test(mut stored: Stored, words: &str, now: Timestamp) -> Self {
        let progress = Progress::start(Stage::Test);
        stored.marks.progress = Some(progress);
        stored.marks.tested = Some(words.to_owned());
        stored.marks.test_failure = None;
        Self::new(stored, Action::Test, progress, now, true)
    }

    fn new(stored: Stored, action: Action, progress: Progress, now: Timestamp, dirty: bool) -> Self {
        let (timeout, patience, outdated, step, ended) = (None, None, false, Step::Enter, None);
        let (without_hooks, description, tests) = (false, None, None);
        let noted = (!dirty).then_some(progress);
        let noted_words = stored.marks.last_words.clone();
        Self {
            noted,
            noted_words,
            stored,
            action,
            progress,
            now,
            timeout,
            patience,
            without_hooks,
            tests,
            description,
            outdated,
            dirty,
            step,
            ended,
        }
    }

    /// A hook that runs longer than this has failed, and nobody waits longer for the deletion of its objects.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// The objects have to be ready within this time before hooks run after them. An uninstall waits for nothing.
    #[must_use]
    pub fn with_patience(mut self, patience: Option<Duration>) -> Self {
        self.patience = patience.filter(|_| self.action != Action::Uninstall);
        self
    }

    /// Tests run after an installation or an upgrade.
    #[must_use]
    pub fn with_tests(mut self, tests: Option<Tests>) -> Self {
        self.tests = tests.filter(|_| matches!(self.action, Action::Install | Action::Upgrade));
        self
    }

    /// What the record says when it came to its end, instead of Helm's words.
    #[must_use]
    pub fn with_description(mut self, description: Option<String>) -> Self {
        self.description = description;
        self
    }

    /// No hooks run.
    #[must_use]
    pub fn without_hooks(mut self, off: bool) -> Self {
        self.without_hooks = off;
        self
    }

    /// Something else is wanted by now: the operation ends as failed as soon as no process of it is running. An
    /// uninstall does not, a rollback only when a hook of its hangs.
    #[must_use]
    pub fn outdated(mut self) -> Self {
        self.outdated = self.action != Action::Uninstall;
        self
    }

    /// What the operation is for.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    /// The record as it stands.
    #[must_use]
    pub fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Where it stands.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Has the record say where it stands before anything is waited for here: whoever goes on begins here then. False: it does.
    pub fn note(&mut self) -> bool {
        let is_new = self.noted != Some(self.progress);
        self.dirty |= is_new;
        is_new
    }

    /// The event whose hooks are running; none in the other stages.
    #[must_use]
    pub fn event(&self) -> Option<&'static str> {
        match self.progress.stage {
            Stage::Pre => Some(self.action.before()),
            Stage::Post => Some(self.action.after()),
            Stage::Test => Some("test"),
            Stage::Main | Stage::Ready | Stage::Finish => None,
        }
    }

    /// What has to be done next. The same answer until something is reported.
    pub fn next_act(&mut self) -> Act {
        loop {
            if self.dirty {
                return Act::Write;
            }
            match &self.ended {
                Some(Ok(())) => return Act::Done,
                Some(Err(message)) => return Act::Failed(message.clone()),
                None => {}
            }
            if self.is_abandoned() {
                self.fail("something else was asked for before it was brought to an end");
                continue;
            }
            let act = match self.progress.stage {
                Stage::Main => Some(Act::Main),
                Stage::Ready => self.next_of_readiness(),
                Stage::Finish => Some(Act::Finish),
                Stage::Pre | Stage::Post | Stage::Test => self.next_of_hooks(),
            };
            if let Some(act) = act {
                return act;
            }
        }
    }

    /// The record was stored; `secret` is what the cluster answered.
    pub fn written(&mut self, secret: &serde_json::Value) {
        self.stored.written(secret);
        self.dirty = false;
        self.noted = Some(self.progress);
        self.noted_words.clone_from(&self.stored.marks.last_words);
    }

    /// The objects of the release are as they should be, or a permanent refusal says why they cannot be.
    pub fn main_done(&mut self, result: Result<(), String>) {
        match result {
            Ok(()) => self.advance(),
            Err(message) => self.fail(&message),
        }
    }

    /// All other records are as they should be.
    pub fn finished(&mut self) {
        if self.action == Action::Test {
            self.stored.marks.progress = None;
            self.dirty = true;
        } else if self.action != Action::Uninstall {
            let own = self.description.as_deref().filter(|own| !own.is_empty());
            let description = match self.action {
                Action::Install => Some(own.unwrap_or("Install complete")),
                Action::Upgrade => Some(own.unwrap_or("Upgrade complete")),
                Action::Rollback | Action::Uninstall | Action::Test => None,
            };
            self.stored.release.info.status = Status::Deployed;
            if let Some(description) = description {
                description.clone_into(&mut self.stored.release.info.description);
            }
            self.stored.marks.progress = None;
            self.stored.marks.attempt = 0;
            self.dirty = true;
        }
        self.ended = Some(Ok(()));
    }

    /// On to the next stage that has something to do.
    fn advance(&mut self) {
        let from = self.progress.stage;
        let next = match from {
            Stage::Pre => Stage::Main,
            Stage::Main if self.patience.is_some() => Stage::Ready,
            Stage::Main | Stage::Ready => Stage::Post,
            Stage::Post if self.tests.is_some() => Stage::Test,
            Stage::Post | Stage::Test | Stage::Finish => Stage::Finish,
        };
        self.enter(next);
        if matches!(next, Stage::Post | Stage::Test) && self.order().is_empty() {
            self.advance();
            // An upgrade's objects may be applied twice without harm, a deletion may not be repeated after the records
            // began to go: only that has to be told, and whatever is waited for.
            let waits = matches!(self.progress.stage, Stage::Post | Stage::Test);
            self.dirty = waits || self.action == Action::Uninstall;
        }
    }

    fn enter(&mut self, stage: Stage) {
        self.move_to(Progress::start(stage));
    }

    fn move_to(&mut self, progress: Progress) {
        self.progress = progress;
        self.stored.marks.progress = Some(progress);
        self.step = Step::Enter;
        self.dirty = true;
    }

    /// Nothing is running, something else is wanted, and leaving now does less harm than going on.
    fn is_abandoned(&self) -> bool {
        let before_a_hook = matches!(self.progress.stage, Stage::Pre | Stage::Post | Stage::Test)
            && self.progress.attempt == 0;
        let early = before_a_hook || matches!(self.progress.stage, Stage::Main | Stage::Ready);
        match self.action {
            Action::Install | Action::Upgrade => self.outdated && early,
            // A test changes nothing, so nothing is lost with it.
            Action::Test => self.outdated,
            Action::Rollback | Action::Uninstall => false,
        }
    }

    /// A test that failed says nothing against the revision.
    fn fail_test(&mut self, message: &str) {
        self.stored.marks.test_failure = Some(message.to_owned());
        self.stored.marks.progress = None;
        self.dirty = true;
        self.ended = Some(Err(message.to_owned()));
    }

    /// Ends the operation as failed, in Helm's words. An uninstall stays under way and begins anew.
    fn fail(&mut self, message: &str) {
        let release = &mut self.stored.release;
        let (name, version) = (&release.name, release.version);
        let description = match self.action {
            Action::Install => format!("Release \"{name}\" failed: {message}"),
            Action::Upgrade => format!("Upgrade \"{name}\" failed: {message}"),
            Action::Rollback => format!("Rollback \"{name}\" failed: {message}"),
            Action::Uninstall => format!("Uninstall of \"{name}\" (revision {version}) failed: {message}"),
            Action::Test => return self.fail_test(message),
        };
        release.info.description = description;
        if self.action == Action::Uninstall {
            self.enter(Stage::Pre);
        } else {
            release.info.status = Status::Failed;
            self.dirty = true;
        }
        self.ended = Some(Err(message.to_owned()));
    }
}

#[cfg(test)]
mod tests;
