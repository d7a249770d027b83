//! Commands in containers, behind calls: [`protocol`] knows what goes over a connection, [`session`] follows one command to its
//! end, and [`table`] knows all of them.

use std::time::Duration;

use crate::cluster::path::escape;

#[cfg(test)]
mod fake;
pub mod protocol;
pub mod session;
pub mod table;

/// A command in a container of one pod.
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// Its container.
    pub container: String,
    /// Program and arguments.
    pub arguments: Vec<String>,
    /// What it reads; none: it has no standard input.
    pub stdin: Option<Vec<u8>>,
    /// When it is given up.
    pub timeout: Duration,
    /// User to impersonate; none: the host itself.
    pub account: Option<String>,
}

/// Arguments and input may hold secrets.
impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { namespace, pod, container, .. } = self;
        f.debug_struct("Command")
            .field("namespace", namespace)
            .field("pod", pod)
            .field("container", container)
            .finish_non_exhaustive()
    }
}

impl Command {
    /// Path and query of the request that starts it. Both outputs are always asked for, so that they cannot fill up unread.
    pub fn path(&self) -> String {
        let Self { namespace, pod, container, stdin, .. } = self;
        let mut path = format!(
            "/api/v1/namespaces/{}/pods/{}/exec?container={}&stdout=true&stderr=true&stdin={}",
            escape(namespace),
            escape(pod),
            escape(container),
            stdin.is_some()
        );
        for argument in &self.arguments {
            path.push_str("&command=");
            path.push_str(&escape(argument));
        }
        path
    }
}

/// Why it is not known with which code a command ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    /// By the API server; nothing was run.
    #[error("{0}")]
    Refused(String),
    /// The API server did not answer, or not with a connection. It may have been run.
    #[error("{0}")]
    Unreachable(String),
    /// The container's runtime tells of a failure that is no exit code: no such program, a container that is gone.
    #[error("{0}")]
    Runtime(String),
    /// The connection ended before the command did.
    #[error("{0}")]
    Lost(String),
    /// It took too long and was given up.
    #[error("it had not ended after {0:?}")]
    TimedOut(Duration),
}

impl ExecError {
    /// UpperCamelCase, from a small set.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Refused(_) => "Refused",
            Self::Unreachable(_) => "Unreachable",
            Self::Runtime(_) => "RuntimeFailed",
            Self::Lost(_) => "ConnectionLost",
            Self::TimedOut(_) => "TimedOut",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_argument_escapes_from_the_query() {
        let command = Command {
            namespace: "shop".to_owned(),
            pod: "db-0".to_owned(),
            container: "mariadb".to_owned(),
            arguments: ["sh", "-c", "echo a&container=b #%"].map(ToOwned::to_owned).to_vec(),
            stdin: None,
            timeout: Duration::from_secs(1),
            account: None,
        };
        assert_eq!(
            command.path(),
            "/api/v1/namespaces/shop/pods/db-0/exec?container=mariadb&stdout=true&stderr=true&stdin=false\
             &command=sh&command=-c&command=echo%20a%26container%3Db%20%23%25"
        );
        assert!(!format!("{command:?}").contains("echo"));
    }
}
