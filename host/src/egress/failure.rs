//! Every way an exchange can fail, in words for administrators.

use std::net::IpAddr;
use std::time::Duration;

/// Why an exchange failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The manifest or the grants do not allow the server.
    #[error("{0}")]
    Denied(String),
    /// No address of a server, or a method that is not served.
    #[error("{0}")]
    Invalid(String),
    /// The name leads where nobody may go.
    #[error("{host} leads to {address}, {why}")]
    Prohibited {
        /// As it was asked for.
        host: String,
        /// Where it leads.
        address: IpAddr,
        /// What is there, and what to do.
        why: &'static str,
    },
    /// The name is not known.
    #[error("{host} cannot be resolved: {said}")]
    Unknown {
        /// The name.
        host: String,
        /// The system's words.
        said: String,
    },
    /// Nobody answers there.
    #[error("no connection to {server}: {said}")]
    Connect {
        /// Host and port.
        server: String,
        /// The system's words.
        said: String,
    },
    /// The server's certificate is not to be trusted.
    #[error("the certificate of {server} is not accepted: {said}")]
    Certificate {
        /// Host and port.
        server: String,
        /// What is wrong with it.
        said: String,
    },
    /// The server ended the handshake, or does not speak TLS.
    #[error("no TLS with {server}: {said}")]
    Tls {
        /// Host and port.
        server: String,
        /// What the server said: a certificate it does not take stands here.
        said: String,
    },
    /// A step took too long.
    #[error("{server}: {step} took longer than {limit:?}")]
    Slow {
        /// Host and port.
        server: String,
        /// Which step.
        step: &'static str,
        /// What it may take.
        limit: Duration,
    },
    /// The end of the call came first.
    #[error("{server}: the call's time was up before the answer was whole")]
    Deadline {
        /// Host and port.
        server: String,
    },
    /// The connection ended too early.
    #[error("{server}: the connection broke off: {said}")]
    Broken {
        /// Host and port.
        server: String,
        /// What is known of it.
        said: String,
    },
    /// No HTTP.
    #[error("{server} does not speak HTTP/1.1: {said}")]
    Protocol {
        /// Host and port.
        server: String,
        /// What is known of it.
        said: String,
    },
    /// A budget is used up: of calls, of bytes, or of connections at once.
    #[error("{0}")]
    Exhausted(&'static str),
    /// The plugin's own rate limit.
    #[error("too many requests of the plugin; again in {} ms", .0.as_millis())]
    Throttled(Duration),
}

impl Failure {
    /// A bounded word for metrics and spans.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::Prohibited { .. } => "prohibited",
            Self::Unknown { .. } => "unknown-host",
            Self::Connect { .. } => "connect",
            Self::Certificate { .. } => "certificate",
            Self::Tls { .. } => "tls",
            Self::Slow { .. } => "slow",
            Self::Deadline { .. } => "deadline",
            Self::Broken { .. } => "broken",
            Self::Protocol { .. } => "protocol",
            Self::Exhausted(_) => "exhausted",
            Self::Throttled(_) => "throttled",
        }
    }

    /// Whether the same request may do better later, without anybody mending anything.
    pub fn may_pass(&self) -> bool {
        !matches!(
            self,
            Self::Denied(_)
                | Self::Invalid(_)
                | Self::Prohibited { .. }
                | Self::Certificate { .. }
                | Self::Exhausted(_)
        )
    }
}
