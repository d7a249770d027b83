//! Commands in containers in the words of the interface.

use std::time::Duration;

use super::bindings::pilothouse::operator::kube;
use crate::{ExecCommand, ExecProgress, ExecState};

impl From<&ExecCommand> for kube::Command {
    fn from(command: &ExecCommand) -> Self {
        let ExecCommand { namespace, pod, uid, container, arguments, timeout, stdin } = command.clone();
        let timeout_ms = millis(timeout);
        Self { namespace, pod, uid, container, arguments, timeout_ms, stdin }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl From<kube::CommandProgress> for ExecProgress {
    fn from(kube::CommandProgress { state, output }: kube::CommandProgress) -> Self {
        let state = match state {
            kube::CommandState::Running => ExecState::Running,
            kube::CommandState::Done(code) => ExecState::Done(code),
            kube::CommandState::Failed((reason, message)) => ExecState::Failed { reason, message },
        };
        Self { state, output }
    }
}
