//! What operations are for, what they ask to be done, and what they are told.

use jiff::Timestamp;

use crate::Status;

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
    /// What is deployed is tested; the revision stays deployed meanwhile.
    Test,
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
            Self::Test => "test",
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
            Self::Test => "test",
        }
    }
}

/// Tests that run after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    /// The operation fails when they do.
    Required,
    /// They are told.
    Told,
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
    /// The release's objects have to be ready. `until`: when that is taken for failed.
    Ready {
        /// What is missing.
        missing: String,
        /// When it is taken for failed.
        until: Timestamp,
    },
    /// The hook's deleted objects have to be gone. `until`: when that is given up.
    Gone {
        /// Its place in the record.
        hook: usize,
        /// When that is given up.
        until: Option<Timestamp>,
    },
}

/// What has to be done next. Hooks are given by their place in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Store the record and its marks; report with `Operation::written`.
    Write,
    /// Look at the hook's objects; report with `Operation::seen`.
    Look {
        /// The hook.
        hook: usize,
        /// The run they should be of.
        run: String,
    },
    /// Ask for deletion of the hook's objects; report with `Operation::removed`.
    Remove {
        /// The hook.
        hook: usize,
        /// Why.
        why: Removal,
    },
    /// Tell that objects of a hook that has run are still there although their deletion was asked for; report with
    /// `Operation::left`.
    Leave {
        /// The hook.
        hook: usize,
    },
    /// Create the hook's objects, marked with the run (so that [`Act::Look`] knows them again); report with
    /// `Operation::started`.
    Start {
        /// The hook.
        hook: usize,
        /// The run.
        run: String,
    },
    /// Bring the release's objects about and delete those that only its origins have (for an uninstall: delete them);
    /// report with `Operation::main_done`.
    Main,
    /// Look whether the release's objects are ready; report with `Operation::readiness`.
    LookReady,
    /// Mark all other deployed revisions as superseded (for an uninstall: delete all records, this one last); report
    /// with `Operation::finished`.
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
    /// They are going to have failed: what is left of them is ending.
    Failing,
    /// They came to a good end.
    Succeeded,
    /// They failed; the sentence says how.
    Failed(String),
}
