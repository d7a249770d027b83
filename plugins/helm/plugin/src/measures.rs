//! What is counted and measured. Names get the host's prefix `pilothouse_plugin_` and the label `plugin`.

use std::time::Duration;

use crate::{apply::Changed, call::Call};
use helm_release::Action;

impl Call<'_> {
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
