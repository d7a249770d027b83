//! Failures on purpose.

use std::time::Duration;

use super::calls::{Call, Caller, Verb};
use crate::{ApiStatus, KubeError};

/// A failure on purpose, of the requests it describes; given to [`Cluster::fail`](super::Cluster::fail).
///
/// Without `verb`, `kind` and so on it meets every request of the plugin and of the host. By default it meets the first
/// one, before anything happens.
#[derive(Debug, Clone)]
#[must_use]
pub struct Fault {
    error: KubeError,
    verb: Option<Verb>,
    kind: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
    caller: Option<Caller>,
    having: Option<String>,
    skip: u32,
    times: u32,
    after_commit: bool,
}

impl Fault {
    /// Answers with this error.
    pub fn new(error: KubeError) -> Self {
        Self {
            error,
            verb: None,
            kind: None,
            name: None,
            subresource: None,
            caller: None,
            having: None,
            skip: 0,
            times: 1,
            after_commit: false,
        }
    }

    /// 500 from the API server.
    pub fn unavailable() -> Self {
        let message = "an error on the server has prevented the request from succeeding";
        Self::status(KubeError::Unavailable, 500, "InternalError", message)
    }

    /// Nobody answers, and the write has happened all the same.
    pub fn lost_answer() -> Self {
        let fault = Self::status(KubeError::Unavailable, 0, "", "the request timed out");
        Self { after_commit: true, ..fault }
    }

    /// 409, as if somebody had changed the object meanwhile.
    pub fn conflict() -> Self {
        Self::status(KubeError::Conflict, 409, "Conflict", "the object has been modified")
    }

    /// An eviction that a disruption budget does not allow now.
    pub fn disruption_budget() -> Self {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        Self::status(KubeError::Conflict, 429, "TooManyRequests", message).subresource("eviction")
    }

    /// 429 with this `Retry-After`.
    pub fn throttled(retry_after: Duration) -> Self {
        Self::new(KubeError::Throttled(retry_after))
    }

    /// The refusal of an admission webhook.
    pub fn webhook(message: &str) -> Self {
        let message = format!("admission webhook \"test.example.com\" denied the request: {message}");
        Self::status(KubeError::Invalid, 400, "BadRequest", &message)
    }

    fn status(error: fn(ApiStatus) -> KubeError, code: u16, reason: &str, message: &str) -> Self {
        Self::new(error(ApiStatus { code, reason: reason.to_owned(), message: message.to_owned() }))
    }

    /// Only requests of this verb.
    pub fn verb(mut self, verb: Verb) -> Self {
        self.verb = Some(verb);
        self
    }

    /// Only requests for this kind, by its name without group.
    pub fn kind(mut self, kind: &str) -> Self {
        self.kind = Some(kind.to_owned());
        self
    }

    /// Only requests for objects of this name.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only requests for this subresource (empty: the object itself).
    pub fn subresource(mut self, subresource: &str) -> Self {
        self.subresource = Some(subresource.to_owned());
        self
    }

    /// Only requests of the plugin, or of the host.
    pub fn caller(mut self, caller: Caller) -> Self {
        self.caller = Some(caller);
        self
    }

    /// Only requests with something at this JSON pointer of what they send.
    pub fn having(mut self, pointer: &str) -> Self {
        self.having = Some(pointer.to_owned());
        self
    }

    /// The n-th request of those described, counted from 1, and not the ones before.
    pub fn nth(mut self, nth: u32) -> Self {
        self.skip = nth.saturating_sub(1);
        self
    }

    /// So many requests in a row.
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// Every request, until [`Cluster::heal`](super::Cluster::heal).
    pub fn always(self) -> Self {
        self.times(u32::MAX)
    }

    /// The request is carried out and its answer replaced by the error.
    pub fn after_commit(mut self) -> Self {
        self.after_commit = true;
        self
    }

    fn describes(&self, call: &Call) -> bool {
        self.verb.is_none_or(|verb| verb == call.verb)
            && self.kind.as_ref().is_none_or(|kind| *kind == call.object.kind.kind)
            && self.name.as_ref().is_none_or(|name| *name == call.object.name)
            && self.subresource.as_ref().is_none_or(|subresource| *subresource == call.subresource)
            && self.caller.is_none_or(|caller| caller == call.caller)
            && self.having.as_ref().is_none_or(|pointer| call.body.pointer(pointer).is_some())
    }

    /// The error for a request, and whether it is carried out all the same.
    pub(super) fn strike(faults: &mut [Self], call: &Call) -> Option<(KubeError, bool)> {
        let mut struck = None;
        for fault in faults.iter_mut().filter(|fault| fault.describes(call)) {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if fault.times > 0 && struck.is_none() {
                fault.times = if fault.times == u32::MAX { u32::MAX } else { fault.times - 1 };
                struck = Some((fault.error.clone(), fault.after_commit));
            }
        }
        struck
    }
}
