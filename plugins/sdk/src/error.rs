//! Why a hook failed.

use std::{fmt, time::Duration};

use serde::Serialize;

use crate::{
    AssetError, BlobError, ChartError, Condition, Event, HttpError, IdentityError, KubeError, Watch,
};

/// A failed hook: whether it is worth retrying, a reason for machines, a sentence for people, and what should be
/// told about it all the same. The host writes it to the object's conditions.
///
/// `?` turns what the SDK's own calls return into it; see the `From` implementations for what becomes of what.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inner {
    pub(crate) class: ErrorClass,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) drop_conditions: Vec<String>,
    pub(crate) status: Option<serde_json::Value>,
    pub(crate) events: Vec<Event>,
    pub(crate) watches: Vec<Watch>,
}

/// Is it worth trying again?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// Yes, with the host's back-off.
    Retry,
    /// Yes, but not before this time has passed.
    RetryAfter(Duration),
    /// Not until the object or the plugin's configuration changes.
    Permanent,
}

impl Error {
    /// A failure that may heal by itself. `reason` is UpperCamelCase, from a small set.
    pub fn retry(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Retry, reason.into(), message.into())
    }

    /// The same, not before `after` has passed.
    pub fn retry_after(after: Duration, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorClass::RetryAfter(after), reason.into(), message.into())
    }

    /// A failure that only a change of the object or of the plugin's configuration can heal.
    pub fn permanent(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Permanent, reason.into(), message.into())
    }

    fn new(class: ErrorClass, reason: String, message: String) -> Self {
        Self(Box::new(Inner {
            class,
            reason,
            message,
            conditions: Vec::new(),
            drop_conditions: Vec::new(),
            status: None,
            events: Vec::new(),
            watches: Vec::new(),
        }))
    }

    /// Puts words before the message, as `context: message`: what was being done when it failed.
    #[must_use]
    pub fn context(mut self, doing: impl fmt::Display) -> Self {
        self.0.message = format!("{doing}: {}", self.0.message);
        self
    }

    /// Sets a condition beside the ones the host sets for the failure.
    #[must_use]
    pub fn condition(mut self, condition: Condition) -> Self {
        self.0.conditions.push(condition);
        self
    }

    /// Removes a condition.
    #[must_use]
    pub fn drop_condition(mut self, kind: impl Into<String>) -> Self {
        self.0.drop_conditions.push(kind.into());
        self
    }

    /// A JSON merge patch for `status`, as for [`Outcome::status`](crate::Outcome::status). A value that cannot be
    /// serialised is left out and said in the message.
    #[must_use]
    pub fn status(mut self, status: &impl Serialize) -> Self {
        match crate::outcome::status_patch(status) {
            Ok(patch) => self.0.status = Some(patch),
            Err(error) => self.0.message = format!("{} (status was not written: {error})", self.0.message),
        }
        self
    }

    /// Publishes an event.
    #[must_use]
    pub fn event(mut self, event: Event) -> Self {
        self.0.events.push(event);
        self
    }

    /// Asks to be called when another object moves. It heals a permanent failure; after one that is tried again anyway,
    /// the back-off still holds.
    #[must_use]
    pub fn watch(mut self, watch: Watch) -> Self {
        self.0.watches.push(watch);
        self
    }

    /// The same failure, but tried again: something beside it did not come to its end either.
    #[must_use]
    pub fn worth_retrying(mut self) -> Self {
        if self.0.class == ErrorClass::Permanent {
            self.0.class = ErrorClass::Retry;
        }
        self
    }

    /// Is it worth retrying?
    pub fn class(&self) -> ErrorClass {
        self.0.class
    }

    /// The reason for machines.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The sentence for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    #[cfg_attr(
        not(any(target_family = "wasm", feature = "harness")),
        expect(dead_code, reason = "for transports")
    )]
    pub(crate) fn into_inner(self) -> Inner {
        *self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.reason, self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

/// Everything the cluster refuses is tried again: rights are granted, webhooks come back and kinds get defined
/// without anybody touching the object. What was throttled waits as long as it was told to.
impl From<KubeError> for Error {
    fn from(error: KubeError) -> Self {
        let (reason, message) = (error.reason(), error.to_string());
        match error {
            KubeError::Throttled(after) => Self::retry_after(after, reason, message),
            _ => Self::retry(reason, message),
        }
    }
}

/// A tree that was not given, or is too large, needs another configuration; an unreadable one is tried again.
impl From<AssetError> for Error {
    fn from(error: AssetError) -> Self {
        let message = error.to_string();
        match error {
            AssetError::Unreadable(_) => Self::retry("AssetUnreadable", message),
            AssetError::Unknown => Self::permanent("AssetUnknown", message),
            AssetError::TooLarge(_) => Self::permanent("AssetTooLarge", message),
        }
    }
}

/// What may not be fetched, or is no wish, needs another configuration or other grants; a Secret may come to be there.
impl From<ChartError> for Error {
    fn from(error: ChartError) -> Self {
        let message = error.to_string();
        match error {
            ChartError::Denied(_) => Self::permanent("ChartDenied", message),
            ChartError::Invalid(_) => Self::permanent("InvalidChart", message),
            ChartError::Credentials(_) => Self::retry("InvalidCredentials", message),
        }
    }
}

/// Servers come back and are granted without anybody touching the object.
impl From<HttpError> for Error {
    fn from(error: HttpError) -> Self {
        Self::retry(error.reason(), error.message)
    }
}

/// A Secret may come to be there, and so may a right; what is no identity stays none.
impl From<IdentityError> for Error {
    fn from(error: IdentityError) -> Self {
        let message = error.to_string();
        match error {
            IdentityError::Denied(_) => Self::retry("IdentityDenied", message),
            IdentityError::Unusable(_) => Self::retry("InvalidCredentials", message),
            IdentityError::Unavailable(_) => Self::retry("IdentityUnavailable", message),
            IdentityError::Invalid(_) => Self::permanent("InvalidIdentity", message),
        }
    }
}

/// Stores come back, are granted and emptied without anybody touching the object.
impl From<BlobError> for Error {
    fn from(error: BlobError) -> Self {
        Self::retry(error.reason(), error.message)
    }
}

/// A value that cannot be written or read as JSON stays so until somebody changes it.
impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::permanent("InvalidData", error.to_string())
    }
}
