//! What one hook call may use up.

use crate::KubeError;

/// Limits of one hook call; the manifest's `limits`, as far as the harness can hold a plugin to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Calls of the cluster's interface.
    pub host_calls: u64,
    /// Bytes that cross in those calls, both ways.
    pub host_bytes: u64,
    /// Bytes of what the hook returns.
    pub answer_bytes: u64,
    /// Bytes of log lines; further lines are dropped.
    pub log_bytes: u64,
}

const MIB: u64 = 1024 * 1024;

/// The host's defaults.
impl Default for Limits {
    fn default() -> Self {
        Self { host_calls: 1000, host_bytes: 32 * MIB, answer_bytes: 8 * MIB, log_bytes: 64 * 1024 }
    }
}

/// What is left of them.
#[derive(Debug)]
pub(super) struct Budget(Limits);

impl Budget {
    pub(super) fn new(limits: Limits) -> Self {
        Self(limits)
    }

    /// Takes one call and the bytes it brings.
    pub(super) fn call(&mut self, bytes: usize) -> Result<(), KubeError> {
        let rest = self.0.host_calls.checked_sub(1);
        self.0.host_calls = rest.ok_or_else(|| exhausted("host calls"))?;
        self.bytes(bytes)
    }

    /// Takes the bytes of an answer.
    pub(super) fn bytes(&mut self, bytes: usize) -> Result<(), KubeError> {
        let rest = self.0.host_bytes.checked_sub(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.0.host_bytes = rest.ok_or_else(|| exhausted("bytes exchanged with the host"))?;
        Ok(())
    }

    /// Is there room for a log line?
    pub(super) fn log(&mut self, bytes: usize) -> bool {
        let rest = self.0.log_bytes.checked_sub(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.0.log_bytes = rest.unwrap_or(0);
        rest.is_some()
    }
}

fn exhausted(what: &str) -> KubeError {
    KubeError::Exhausted(format!("the hook's budget of {what} is used up"))
}
