//! Failures of requests in the words of the plugin interface.

use crate::action::execute::WriteError;
use crate::capability::grants::Grants;
use crate::capability::rule::Access;
use crate::cluster::request::{ApiError, ErrorKind};
use crate::plugin::bindings::kube::Error;
use crate::plugin::bindings::{Denial, Status};

/// A server's sentence is cut to this many bytes.
const MAX_MESSAGE: usize = 32 * 1024;

/// A request the host itself refuses as malformed.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::Invalid(Status { code: 400, reason: "BadRequest".to_owned(), message: message.into() })
}

/// A refusal by the grants, before any request.
pub(super) fn not_granted(access: &Access<'_>, message: &str) -> Error {
    Error::Denied(denial(access, "grants".to_owned(), message.to_owned()))
}

/// A failed write.
pub(super) fn of_write(error: WriteError, access: &Access<'_>, grants: &Grants) -> Error {
    match error {
        WriteError::NotGranted(message) => not_granted(access, message),
        WriteError::Api(error) => of_api(error, access, grants),
    }
}

/// A failed request.
pub(super) fn of_api(error: ApiError, access: &Access<'_>, grants: &Grants) -> Error {
    let wait = error.retry_after;
    let (kind, message) = (error.kind, cut(error.message));
    let status = Status { code: error.code, reason: error.reason, message };
    match kind {
        ErrorKind::Forbidden if is_rbac(&status.message) => {
            let account = quoted_user(&status.message).unwrap_or_else(|| grants.account_name().to_owned());
            Error::Denied(denial(access, account, status.message))
        }
        // A webhook, a quota, a terminating namespace: the account has the right, the request is what is refused.
        ErrorKind::Forbidden | ErrorKind::Invalid => Error::Invalid(status),
        ErrorKind::NotFound => Error::NotFound(status),
        ErrorKind::Conflict => Error::Conflict(status),
        ErrorKind::AlreadyExists => Error::AlreadyExists(status),
        ErrorKind::Throttled => {
            let wait = wait.map_or(1_000, |wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            Error::Throttled(wait)
        }
        ErrorKind::Unavailable => Error::Unavailable(status),
        ErrorKind::TooLarge => Error::Exhausted(status.message),
        ErrorKind::Other => Error::Other(status),
    }
}

/// The API server's authorizer writes `User "x" cannot VERB resource …`; other 403s are of admission.
fn is_rbac(message: &str) -> bool {
    let after_user = message.split_once("User \"").and_then(|(_, rest)| rest.split_once('"'));
    after_user.is_some_and(|(_, rest)| rest.starts_with(" cannot "))
}

fn quoted_user(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("User \"")?;
    rest.split_once('"').map(|(user, _)| user.to_owned())
}

fn denial(access: &Access<'_>, account: String, message: String) -> Denial {
    Denial {
        verb: access.verb.to_owned(),
        group: access.group.to_owned(),
        resource: access.resource.to_owned(),
        namespace: access.namespace.map(ToOwned::to_owned),
        name: access.name.map(ToOwned::to_owned),
        account,
        message,
    }
}

fn cut(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(MAX_MESSAGE));
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS: Access<'_> = Access {
        verb: "patch",
        group: "networking.k8s.io",
        resource: "ingresses",
        namespace: Some("shop"),
        name: Some("web"),
    };

    fn forbidden(message: &str) -> ApiError {
        ApiError {
            kind: ErrorKind::Forbidden,
            code: 403,
            reason: "Forbidden".to_owned(),
            message: message.to_owned(),
            retry_after: None,
            conflicts: Vec::new(),
        }
    }

    #[test]
    fn a_refusal_by_rbac_names_verb_resource_namespace_and_account() {
        let message = "ingresses.networking.k8s.io \"web\" is forbidden: User \"system:serviceaccount:ops:helm\" cannot patch \
                       resource \"ingresses\" in API group \"networking.k8s.io\" in the namespace \"shop\"";
        let Error::Denied(denial) = of_api(forbidden(message), &ACCESS, &Grants::default()) else {
            panic!("not a denial")
        };
        assert_eq!(denial.account, "system:serviceaccount:ops:helm");
        assert_eq!((denial.verb.as_str(), denial.resource.as_str()), ("patch", "ingresses"));
        assert_eq!(denial.namespace.as_deref(), Some("shop"));
    }

    #[test]
    fn what_a_quota_or_a_webhook_refuses_is_no_missing_right() {
        for message in [
            "pods \"x\" is forbidden: exceeded quota: q",
            "admission webhook \"v.x\" denied the request: containers cannot run as root",
        ] {
            let error = of_api(forbidden(message), &ACCESS, &Grants::default());
            assert!(matches!(error, Error::Invalid(_)), "{error:?}");
        }
    }

    #[test]
    fn a_server_without_advice_is_asked_again_after_a_second() {
        let error = ApiError { kind: ErrorKind::Throttled, code: 429, ..forbidden("slow down") };
        assert!(matches!(of_api(error, &ACCESS, &Grants::default()), Error::Throttled(1_000)));
    }
}
