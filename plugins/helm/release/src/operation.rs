//! An operation on one revision, one act at a time.
//!
//! The caller asks for the next [`Act`], carries it out, reports what came of it, and asks again. Whatever must not
//! happen twice is announced by a [`Act::Write`] first: the record and its progress then stand in the cluster, and an
//! operation that is opened from there goes on where this one stood. An act that failed for a passing reason is simply
//! not reported: the operation is dropped and opened again later.

mod hooks;

use std::time::Duration;

use jiff::Timestamp;

use crate::{Progress, Stage, Status, Stored};

/// What an operation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The first revision, or the first after an uninstall.
    Install,
    /// From one revision to the next.
    Upgrade,
    /// Back to what an older revision was.
    Rollback,
    /// Everything is taken away.
    Uninstall,
}

impl Action {
    /// The action of a status, for revisions under way.
    #[must_use]
    pub fn of(status: Status) -> Option<Self> {
        Some(match status {
            Status::PendingInstall => Self::Install,
            Status::PendingUpgrade => Self::Upgrade,
            Status::PendingRollback => Self::Rollback,
            Status::Uninstalling => Self::Uninstall,
            _ => return None,
        })
    }

    /// The hook event before it.
    #[must_use]
    pub fn before(self) -> &'static str {
        match self {
            Self::Install => "pre-install",
            Self::Upgrade => "pre-upgrade",
            Self::Rollback => "pre-rollback",
            Self::Uninstall => "pre-delete",
        }
    }

    /// The hook event after it.
    #[must_use]
    pub fn after(self) -> &'static str {
        match self {
            Self::Install => "post-install",
            Self::Upgrade => "post-upgrade",
            Self::Rollback => "post-rollback",
            Self::Uninstall => "post-delete",
        }
    }
}

/// Why the objects of a hook are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// They stand in the way of a new run.
    BeforeCreation,
    /// All hooks of the event succeeded, or those before the one that failed.
    Succeeded,
    /// It failed.
    Failed,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// The hook (its place in the record) has to come to an end. `until`: when it is taken for failed.
    Run {
        /// Its place in the record.
        hook: usize,
        /// When it is taken for failed.
        until: Option<Timestamp>,
    },
    /// The hook's deleted objects have to be gone.
    Gone {
        /// Its place in the record.
        hook: usize,
    },
}

/// What has to be done next. Hooks are given by their place in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Store the record and its marks; report with [`Operation::written`].
    Write,
    /// Look at the hook's objects; report with [`Operation::seen`].
    Look {
        /// The hook.
        hook: usize,
        /// The run they should be of.
        run: String,
    },
    /// Ask for deletion of the hook's objects; report with [`Operation::removed`].
    Remove {
        /// The hook.
        hook: usize,
        /// Why.
        why: Removal,
    },
    /// Create the hook's objects, marked with the run (so that [`Act::Look`] knows them again); report with
    /// [`Operation::started`].
    Start {
        /// The hook.
        hook: usize,
        /// The run.
        run: String,
    },
    /// Bring the release's objects about and delete those that only its origins have (for an uninstall: delete them);
    /// report with [`Operation::main_done`].
    Main,
    /// Mark all other deployed revisions as superseded (for an uninstall: delete all records, this one last); report
    /// with [`Operation::finished`].
    Finish,
    /// Nothing can be done before this happens.
    Wait(Wait),
    /// The operation came to its end.
    Done,
    /// The operation failed, and the record says so; for an uninstall: it starts again from its beginning.
    Failed(String),
}

/// What a look at a hook's objects found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    /// There are none.
    Absent,
    /// There are, but they are not of this run.
    Other,
    /// They are being deleted.
    Terminating,
    /// They have not come to an end. `busy`: a process of theirs is running.
    Running {
        /// Whether a process of theirs is running.
        busy: bool,
    },
    /// They came to a good end.
    Succeeded,
    /// They failed; the sentence says how.
    Failed(String),
}

/// An operation on one revision.
#[derive(Debug)]
pub struct Operation {
    stored: Stored,
    action: Action,
    progress: Progress,
    now: Timestamp,
    timeout: Option<Duration>,
    /// Something else is wanted by now: ends as failed as soon as nothing is running.
    outdated: bool,
    /// The record or the progress is not stored yet.
    dirty: bool,
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
}

impl Operation {
    /// Opens the operation that a record says is under way. None: there is none, or somebody else's.
    #[must_use]
    pub fn resume(stored: Stored, now: Timestamp) -> Option<Self> {
        let action = Action::of(stored.release.info.status)?;
        let progress = stored.marks.progress?;
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

    fn new(stored: Stored, action: Action, progress: Progress, now: Timestamp, dirty: bool) -> Self {
        let (timeout, outdated, step, ended) = (None, false, Step::Enter, None);
        Self { stored, action, progress, now, timeout, outdated, dirty, step, ended }
    }

    /// A hook that runs longer than this has failed.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
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

    /// The event whose hooks are running; none in the other stages.
    #[must_use]
    pub fn event(&self) -> Option<&'static str> {
        match self.progress.stage {
            Stage::Pre => Some(self.action.before()),
            Stage::Post => Some(self.action.after()),
            Stage::Main | Stage::Finish => None,
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
                Stage::Finish => Some(Act::Finish),
                Stage::Pre | Stage::Post => self.next_of_hooks(),
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
        if self.action != Action::Uninstall {
            let description = match self.action {
                Action::Install => Some("Install complete"),
                Action::Upgrade => Some("Upgrade complete"),
                Action::Rollback | Action::Uninstall => None,
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
        let next = match self.progress.stage {
            Stage::Pre => Stage::Main,
            Stage::Main => Stage::Post,
            Stage::Post | Stage::Finish => Stage::Finish,
        };
        self.enter(next);
        if next == Stage::Post && self.order().is_empty() {
            self.enter(Stage::Finish);
            // An upgrade's objects may be applied twice without harm, a deletion may not be repeated after the records
            // began to go: only that has to be told.
            self.dirty = self.action == Action::Uninstall;
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
        let before_a_hook =
            matches!(self.progress.stage, Stage::Pre | Stage::Post) && self.progress.attempt == 0;
        self.outdated
            && matches!(self.action, Action::Install | Action::Upgrade)
            && (before_a_hook || self.progress.stage == Stage::Main)
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
