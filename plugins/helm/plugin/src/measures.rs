//! What is counted and measured. Names get the host's prefix `pilothouse_plugin_` and the label `plugin`.

use std::time::Duration;

use crate::{apply::Changed, call::Call, report::is_passing};
use helm_release::Action;
use pilothouse_sdk::Error;

/// Where a release stands, as far as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// What is wanted is deployed.
    Deployed,
    /// Something is under way, or is waited for.
    Pending,
    /// The last attempt failed.
    Failed,
    /// Nobody looks after it.
    Suspended,
    /// It goes with its object.
    Uninstalling,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Deployed => "deployed",
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::Suspended => "suspended",
            Self::Uninstalling => "uninstalling",
        }
    }
}

impl Call<'_> {
    /// Counts the release among those that stand where it does. A failure that passes by itself moves it nowhere.
    pub(crate) fn count_release(&self, failure: Option<&Error>) {
        let failed = failure.filter(|error| !is_passing(error)).map(|_| State::Failed);
        if let Some(state) = failed.or_else(|| self.state().filter(|_| failure.is_none())) {
            self.ctx().count_object("helm_releases", &[("state", state.as_str())]);
        }
    }

    /// Does something and measures how long it takes.
    pub(crate) fn measured<T>(&self, name: &str, work: impl FnOnce() -> T) -> T {
        let began = self.ctx().now();
        let done = work();
        let took = self.ctx().now().duration_since(began).unwrap_or(Duration::ZERO);
        self.ctx().observe(name, took, &[]);
        done
    }

    /// An operation came to its end.
    pub(crate) fn count_operation(&self, action: Action, succeeded: bool) {
        let action = match action {
            Action::Install => "install",
            Action::Upgrade => "upgrade",
            Action::Rollback => "rollback",
            Action::Uninstall => "uninstall",
            Action::Test => "test",
        };
        let result = if succeeded { "success" } else { "failure" };
        self.ctx().count("helm_operations", 1.0, &[("action", action), ("result", result)]);
    }

    /// A reconciliation came to its end.
    pub(crate) fn count_reconcile(&self, outcome: &str) {
        self.ctx().count("helm_reconciles", 1.0, &[("outcome", outcome)]);
    }

    /// Objects were changed back.
    pub(crate) fn count_drift(&self, objects: &[Changed]) {
        for object in objects {
            self.ctx().count("helm_drift_corrected", 1.0, &[("kind", &object.reference.kind.kind)]);
        }
    }
}
