//! The Job's end of a handover: [`pipe`] is between the database's tools and us, [`dump`] reads it, [`seal`] encrypts and decrypts
//! (age), [`link`] speaks to the host, [`upload`] and [`download`] put these together, and [`word`] tells the pod's status.
//!
//! Everything flows; what is in memory at once are a few pieces.

pub mod download;
pub mod dump;
pub mod link;
pub mod pipe;
pub mod seal;
pub mod upload;
pub mod word;

use std::path::{Path, PathBuf};

use super::Refusal;
use crate::egress::failure::Failure;
use crate::egress::identity::IdentityError;

/// Why nothing was handed over.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// A file or a pipe.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// The async runtime did not start.
    #[error("cannot start: {0}")]
    Start(#[source] std::io::Error),
    /// The address.
    #[error("{0}")]
    Address(String),
    /// Whom to trust.
    #[error(transparent)]
    Trust(#[from] IdentityError),
    /// Recipients, or the key that reads what was encrypted.
    #[error("{0}")]
    Keys(String),
    /// Encrypted content that cannot be read.
    #[error("the artefact cannot be decrypted: {0}")]
    Sealed(String),
    /// Whoever writes the data failed.
    #[error("what writes the data ended with {0}: nothing is stored")]
    Source(String),
    /// Whoever writes the data is gone without a word.
    #[error("the data ended, and {} did not appear within {patience:?}: nothing is stored", status.display())]
    Silent {
        /// The status file.
        status: PathBuf,
        /// How long it was waited for.
        patience: std::time::Duration,
    },
    /// The host does not answer.
    #[error(transparent)]
    Host(#[from] Failure),
    /// The host refused.
    #[error("the host answered {status}: {}", refusal.message)]
    Refused {
        /// Of HTTP.
        status: http::StatusCode,
        /// Its words.
        refusal: Refusal,
    },
    /// What arrived is not what was sent.
    #[error("{0}")]
    Corrupt(String),
}

impl ClientError {
    /// UpperCamelCase, from a small set and the host's words.
    pub fn reason(&self) -> &str {
        match self {
            Self::File { .. } | Self::Start(_) => "File",
            Self::Address(_) => "InvalidAddress",
            Self::Trust(_) => "InvalidAuthority",
            Self::Keys(_) => "InvalidKeys",
            Self::Sealed(_) => "Undecipherable",
            Self::Source(_) => "SourceFailed",
            Self::Silent { .. } => "SourceLost",
            Self::Host(failure) => failure.reason(),
            Self::Refused { refusal, .. } => &refusal.reason,
            Self::Corrupt(_) => "Corrupt",
        }
    }

    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        |source| Self::File { path: path.to_owned(), source }
    }
}
