//! Why a call to the cluster failed.

use std::time::Duration;

use crate::{ApiStatus, Denial, Gvk};

/// Why a call to the cluster failed. Retrying inside one hook call is pointless: the host has already retried what can
/// be retried safely. Hand it on with `?` unless the case matters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KubeError {
    /// Refused by the grants, or by the API server (403).
    #[error("{0}")]
    Denied(Box<Denial>),
    /// 404 for the object, or for its namespace.
    #[error("{0}")]
    NotFound(ApiStatus),
    /// 409: the object moved since it was read, or another field manager owns a field.
    #[error("{0}")]
    Conflict(ApiStatus),
    /// 409 AlreadyExists, of `create`.
    #[error("{0}")]
    AlreadyExists(ApiStatus),
    /// 400 or 422, a webhook's refusal, or text that is not an object of the kind it was given with.
    #[error("{0}")]
    Invalid(ApiStatus),
    /// The kind is not served by this cluster (yet). The host queues the object again when it is.
    #[error("the cluster does not serve {0}")]
    UnknownKind(Gvk),
    /// 429, or the plugin's own rate limit.
    #[error("throttled, to be tried again in {0:?}")]
    Throttled(Duration),
    /// 5xx, or nobody answered. A write may or may not have happened.
    #[error("{0}")]
    Unavailable(ApiStatus),
    /// The budget of host calls or bytes of this hook call is used up, or one answer was too large.
    #[error("{0}")]
    Exhausted(String),
    /// Anything the cases above do not name.
    #[error("{0}")]
    Other(ApiStatus),
    /// The answer does not have the shape of the Rust type it was asked as; the text names type and place. Never sent
    /// by the host.
    #[error("{0}")]
    Malformed(String),
}

impl KubeError {
    /// A UpperCamelCase reason from a small set, as for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Denied(_) => "Forbidden",
            Self::NotFound(_) => "NotFound",
            Self::Conflict(_) => "Conflict",
            Self::AlreadyExists(_) => "AlreadyExists",
            Self::Invalid(_) => "Invalid",
            Self::UnknownKind(_) => "KindNotServed",
            Self::Throttled(_) => "TooManyRequests",
            Self::Unavailable(_) => "ServiceUnavailable",
            Self::Exhausted(_) => "BudgetExhausted",
            Self::Other(_) => "RequestFailed",
            Self::Malformed(_) => "UnexpectedShape",
        }
    }

    /// The object is not there, or its namespace.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound(_))
    }

    /// The object moved, is there already, or a field belongs to another manager.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict(_) | Self::AlreadyExists(_))
    }
}
