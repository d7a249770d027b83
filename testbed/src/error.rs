//! What can go wrong with the testbed.

use std::path::Path;

/// A testbed's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the testbed cannot do something. Every message says what, where and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// A program could not be started, or ended badly.
    #[error("{program}: {message}")]
    Program {
        /// Which.
        program: String,
        /// What it said.
        message: String,
    },
    /// A program is not to be had.
    #[error("{name} {version} is not to be had: {message}")]
    Missing {
        /// Which.
        name: String,
        /// Which version.
        version: String,
        /// What was tried.
        message: String,
    },
    /// Something did not become ready.
    #[error("{what} did not become ready in {seconds} s; its log: {log}\n{tail}")]
    NotReady {
        /// What.
        what: String,
        /// How long it was waited for.
        seconds: u64,
        /// Where to look.
        log: String,
        /// The end of the log.
        tail: String,
    },
    /// Certificates.
    #[error("certificates: {0}")]
    Pki(#[from] rcgen::Error),
    /// Anything else, in a sentence.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// A file's error with its path.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::File { path, source }
    }
}
