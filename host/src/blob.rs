//! Object storage for plugins: [`place`] says which stores a grant means, [`login`] what a Secret says, [`store`] opens one through
//! [`client`], whose requests are the host's own guarded exchanges, [`content`] reads and checks what flows, [`upload`] writes it whole or
//! not at all, [`transfer`] is one task behind a call, and [`table`] knows all of them. [`refusal`] has what stores say for people.

pub mod client;
pub mod content;
pub mod login;
pub mod place;
pub mod refusal;
pub mod store;
pub mod table;
pub mod transfer;
pub mod upload;

/// Why something with a store was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// By the grants, or by the store.
    #[error("{0}")]
    Denied(String),
    /// No such object or bucket.
    #[error("{0}")]
    NotFound(String),
    /// A condition does not hold.
    #[error("{0}")]
    Conflict(String),
    /// A Secret is of no use.
    #[error("{0}")]
    Credentials(String),
    /// No store, no key.
    #[error("{0}")]
    Invalid(String),
    /// The store does not answer.
    #[error("{0}")]
    Unavailable(String),
    /// What was read is not what it should be.
    #[error("{0}")]
    Corrupt(String),
    /// A bound is reached.
    #[error("{0}")]
    TooLarge(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl BlobError {
    /// UpperCamelCase, from a small set.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Denied(_) => "Denied",
            Self::NotFound(_) => "NotFound",
            Self::Conflict(_) => "Conflict",
            Self::Credentials(_) => "InvalidCredentials",
            Self::Invalid(_) => "Invalid",
            Self::Unavailable(_) => "Unavailable",
            Self::Corrupt(_) => "Corrupt",
            Self::TooLarge(_) => "TooLarge",
            Self::Other(_) => "Failed",
        }
    }
}

impl From<object_store::Error> for BlobError {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error;
        let said = crate::error_text::chain(&error);
        let is_skewed = refusal::is_skewed(&said);
        let said = refusal::words(&said);
        match error {
            // Clocks are set right without anybody touching the object.
            _ if is_skewed => Self::Unavailable(said),
            Error::NotFound { .. } => Self::NotFound(said),
            Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotModified { .. } => {
                Self::Conflict(said)
            }
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Self::Denied(said),
            Error::InvalidPath { .. }
            | Error::NotSupported { .. }
            | Error::UnknownConfigurationKey { .. } => Self::Invalid(said),
            Error::NotImplemented { .. } => Self::Invalid(said),
            _ if client::is_final(&error) => Self::Denied(said),
            _ => Self::Unavailable(said),
        }
    }
}
