//! Commands in containers, and evictions.

use std::time::Duration;

/// A command in a container of one pod; begun by [`Kube::exec`](crate::Kube::exec).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecCommand {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// Its uid: another pod of the name is a conflict.
    pub uid: String,
    /// Its container.
    pub container: String,
    /// Program and arguments, at most 64 KiB; no shell unless it is named.
    pub arguments: Vec<String>,
    /// When the host gives it up; at most an hour.
    pub timeout: Duration,
    /// What it reads from its standard input, at most 64 KiB; none: it has no standard input.
    pub stdin: Option<Vec<u8>>,
}

impl ExecCommand {
    /// A command that may take half a minute and reads nothing: `ExecCommand::new("shop", "db-0", uid, "db", ["sync"])`.
    pub fn new<A: Into<String>>(
        namespace: impl Into<String>,
        pod: impl Into<String>,
        uid: impl Into<String>,
        container: impl Into<String>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            namespace: namespace.into(),
            pod: pod.into(),
            uid: uid.into(),
            container: container.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            timeout: Duration::from_secs(30),
            stdin: None,
        }
    }

    /// How long it may take.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// What it reads.
    #[must_use]
    pub fn stdin(self, stdin: impl Into<Vec<u8>>) -> Self {
        Self { stdin: Some(stdin.into()), ..self }
    }
}

/// Where a command is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecState {
    /// Not yet at its end.
    Running,
    /// It ended with this code.
    Done(i32),
    /// With which code it ended is not known. Only of `Refused` is it certain that nothing was done.
    Failed {
        /// UpperCamelCase: `Refused`, `Unreachable`, `RuntimeFailed`, `ConnectionLost`, `TimedOut`.
        reason: String,
        /// A sentence for people.
        message: String,
    },
}

/// How a command stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecProgress {
    /// Where it is.
    pub state: ExecState,
    /// The last 4 KiB of what it wrote to standard output and standard error.
    pub output: String,
}

/// How a pod is evicted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EvictOptions {
    /// Only the pod of this uid.
    pub uid: Option<String>,
    /// How long it has to stop; none: what the pod says. Whole seconds.
    pub grace_period: Option<Duration>,
}
