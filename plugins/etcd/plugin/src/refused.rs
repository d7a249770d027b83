//! What a failed request means to the core.

use etcd_core::refusal::Refusal;
use pilothouse_sdk::{HttpError, HttpErrorKind, KubeError};

/// Why nothing is done where what is written down does not stay there: it would be done again and again.
pub(crate) const FORGETFUL: &str = "the definitions of the etcd kinds are older than the operator, so what it has to remember is dropped: apply those that came with it";

/// Of a request to the API server.
pub(crate) fn by_kubernetes(error: &KubeError) -> Refusal {
    let why = error.to_string();
    match error {
        KubeError::NotFound(_) | KubeError::Conflict(_) | KubeError::AlreadyExists(_) => {
            Refusal::Outdated(why)
        }
        KubeError::Throttled(after) => Refusal::Busy { why, after: Some(*after) },
        KubeError::Denied(_) | KubeError::Invalid(_) | KubeError::UnknownKind(_) => Refusal::Forbidden(why),
        _ => Refusal::Unanswered(why),
    }
}

/// Of a request to etcd that was not answered.
pub(crate) fn on_the_way(error: &HttpError) -> Refusal {
    let why = error.message.clone();
    match error.kind {
        HttpErrorKind::Denied | HttpErrorKind::Invalid => Refusal::Forbidden(why),
        HttpErrorKind::Throttled => Refusal::Busy { why, after: None },
        HttpErrorKind::Timeout => Refusal::Late(why),
        _ => Refusal::Unanswered(why),
    }
}
