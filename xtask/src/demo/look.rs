//! What a scene does to a cluster and sees there, in the namespace of its resources.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::access::Access;
use super::interrupt;
use crate::steps::say;

/// How long a step may take to be seen.
const PATIENCE: Duration = Duration::from_secs(90);

/// A namespace of a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look<'a> {
    /// The cluster.
    pub(super) access: &'a Access,
    /// The namespace.
    pub(super) namespace: &'static str,
}

impl Look<'_> {
    /// kubectl in the namespace; what it prints.
    pub(super) fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.access.kubectl(&[arguments, &["--namespace", self.namespace]].concat())
    }

    /// The real helm in the namespace; what it prints.
    pub(super) fn helm(&self, arguments: &[&str]) -> Result<String> {
        self.access.helm(&[arguments, &["--namespace", self.namespace]].concat())
    }

    /// A field of an object, by kubectl's JSONPath. Empty when there is no such object or field.
    pub(super) fn value(&self, object: &str, path: &str) -> String {
        self.kubectl(&["get", object, &format!("--output=jsonpath={path}")]).unwrap_or_default()
    }

    /// Changes an object by a merge patch.
    pub(super) fn patch(&self, object: &str, patch: &str) -> Result<()> {
        self.kubectl(&["patch", object, "--type=merge", "--patch", patch]).map(drop)
    }

    /// Waits until a Backup is verified.
    ///
    /// # Errors
    /// When it fails, with what it says, and as [`seen`](Self::seen).
    pub(super) fn verified(&self, patience: Duration, what: &str, backup: &str) -> Result<()> {
        let backup = format!("backups/{backup}");
        let stands = || self.value(&backup, "{.status.phase} {.status.verified}");
        self.seen_within(patience, what, || {
            ["Completed true", "Failed false", "Failed "].contains(&stands().as_str())
        })
        .with_context(|| self.value(&backup, "{.status.phase}: {.status.message}"))?;
        match stands().starts_with("Completed") {
            true => Ok(()),
            false => bail!("{backup} failed: {}", self.value(&backup, "{.status.message}")),
        }
    }

    /// Waits until something holds, and says how long that took.
    ///
    /// # Errors
    /// When it takes too long, or Ctrl-C comes first.
    pub(super) fn seen(&self, what: &str, holds: impl FnMut() -> bool) -> Result<()> {
        self.seen_within(PATIENCE, what, holds)
    }

    /// The same for what may take longer, or has to be quicker.
    ///
    /// # Errors
    /// As [`seen`](Self::seen).
    pub(super) fn seen_within(
        &self,
        patience: Duration,
        what: &str,
        mut holds: impl FnMut() -> bool,
    ) -> Result<()> {
        let started = Instant::now();
        while !holds() {
            if interrupt::happened() {
                bail!("interrupted");
            }
            if started.elapsed() > patience {
                bail!("{what} (waited {} s)", patience.as_secs());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        say(&format!("seen after {:>5} ms: {what}", started.elapsed().as_millis()));
        Ok(())
    }
}
