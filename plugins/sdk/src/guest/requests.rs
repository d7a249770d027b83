//! From the bindings' request to the SDK's, and errors of imports.

use std::time::Duration;

use super::bindings::{
    exports::pilothouse::operator::reconciler as wit,
    pilothouse::operator::{assets, kube, types},
};
use crate::{ApiStatus, AssetError, Denial, Gvk, KubeError, ObjectRef, Reason, Request};

impl From<types::Gvk> for Gvk {
    fn from(types::Gvk { group, version, kind }: types::Gvk) -> Self {
        Self { group, version, kind }
    }
}

impl From<&Gvk> for types::Gvk {
    fn from(gvk: &Gvk) -> Self {
        Self { group: gvk.group.clone(), version: gvk.version.clone(), kind: gvk.kind.clone() }
    }
}

impl From<types::ObjectRef> for ObjectRef {
    fn from(types::ObjectRef { kind, namespace, name }: types::ObjectRef) -> Self {
        Self { kind: kind.into(), namespace, name }
    }
}

impl From<&ObjectRef> for types::ObjectRef {
    fn from(object: &ObjectRef) -> Self {
        Self { kind: (&object.kind).into(), namespace: object.namespace.clone(), name: object.name.clone() }
    }
}

impl From<wit::Request> for Request {
    fn from(request: wit::Request) -> Self {
        Self {
            kind: request.kind.into(),
            object: request.object,
            reasons: request.reasons.into_iter().map(Into::into).collect(),
            failures: request.failures,
            deadline: Duration::from_millis(request.deadline_ms.into()),
        }
    }
}

impl From<wit::Reason> for Reason {
    fn from(reason: wit::Reason) -> Self {
        match reason {
            wit::Reason::Start => Self::Start,
            wit::Reason::Changed => Self::Changed,
            wit::Reason::Child(object) => Self::Child(object.into()),
            wit::Reason::Related(object) => Self::Related(object.into()),
            wit::Reason::Timer => Self::Timer,
            wit::Reason::Resync => Self::Resync,
            wit::Reason::Configuration => Self::Configuration,
            wit::Reason::Retry => Self::Retry,
            wit::Reason::Manual => Self::Manual,
        }
    }
}

impl From<types::Status> for ApiStatus {
    fn from(types::Status { code, reason, message }: types::Status) -> Self {
        Self { code, reason, message }
    }
}

impl From<kube::Error> for KubeError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Denied(denial) => Self::Denied(Box::new(denial.into())),
            kube::Error::NotFound(status) => Self::NotFound(status.into()),
            kube::Error::Conflict(status) => Self::Conflict(status.into()),
            kube::Error::AlreadyExists(status) => Self::AlreadyExists(status.into()),
            kube::Error::Invalid(status) => Self::Invalid(status.into()),
            kube::Error::UnknownKind(kind) => Self::UnknownKind(kind.into()),
            kube::Error::Throttled(millis) => Self::Throttled(Duration::from_millis(millis)),
            kube::Error::Unavailable(status) => Self::Unavailable(status.into()),
            kube::Error::Exhausted(message) => Self::Exhausted(message),
            kube::Error::Other(status) => Self::Other(status.into()),
        }
    }
}

impl From<types::Denial> for Denial {
    fn from(denial: types::Denial) -> Self {
        let types::Denial { verb, group, resource, namespace, name, account, message } = denial;
        Self { verb, group, resource, namespace, name, account, message }
    }
}

impl From<assets::Error> for AssetError {
    fn from(error: assets::Error) -> Self {
        match error {
            assets::Error::Unknown => Self::Unknown,
            assets::Error::Unreadable(message) => Self::Unreadable(message),
            assets::Error::TooLarge(message) => Self::TooLarge(message),
        }
    }
}
