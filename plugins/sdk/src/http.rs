//! HTTP to servers other than the cluster's API: short exchanges within a call. What is long goes by [`blob`](crate::Context::blob).

use std::{fmt, rc::Rc, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

use crate::Host;

/// Servers other than the cluster's API, as far as the grants reach (`rights.egress` of the manifest, `egress` of the grant).
///
/// HTTP/1.1, one connection for each request; nothing follows redirects. Everything ends with the call.
#[derive(Debug, Clone)]
pub struct Http {
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "a component has its imports"))]
    host: Rc<dyn Host>,
}

impl Http {
    pub(crate) fn new(host: Rc<dyn Host>) -> Self {
        Self { host }
    }

    /// Sends a request. Whatever the server answers is an answer: look at its status.
    ///
    /// # Errors
    /// [`HttpError`] when there is no answer.
    pub fn send(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        #[cfg(target_family = "wasm")]
        return crate::guest::http::send(request);
        #[cfg(not(target_family = "wasm"))]
        self.host.outside().ok_or_else(nobody)?.send(request)
    }

    /// Requests of this call to the identity's servers are sent under it. Secrets are read now, by the host: the plugin needs the right
    /// to `use` them. Of several identities for a server the last one holds.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn use_identity(&self, identity: &Identity) -> Result<(), IdentityError> {
        #[cfg(target_family = "wasm")]
        return crate::guest::http::use_identity(identity);
        #[cfg(not(target_family = "wasm"))]
        self.host
            .outside()
            .ok_or_else(|| IdentityError::Unavailable("this host reaches nothing".to_owned()))?
            .use_identity(identity)
    }
}

#[cfg(not(target_family = "wasm"))]
fn nobody() -> HttpError {
    HttpError::new(HttpErrorKind::Denied, "this host reaches nothing")
}

/// What the harness answers in place of a component's imports.
#[cfg(not(target_family = "wasm"))]
pub trait Outside: fmt::Debug {
    /// [`Http::send`].
    ///
    /// # Errors
    /// As there.
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError>;

    /// [`Http::use_identity`].
    ///
    /// # Errors
    /// As there.
    fn use_identity(&self, identity: &Identity) -> Result<(), IdentityError>;
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpRequest {
    /// `GET` and so on.
    pub method: String,
    /// `https://host[:port]/path?query`.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How long the connection, the head of the answer, and each piece of it may take. None: the host's own patience. The end of the call
    /// comes first in any case.
    pub timeout: Option<Duration>,
}

impl HttpRequest {
    /// A request without a body.
    pub fn new(method: &str, url: impl Into<String>) -> Self {
        Self { method: method.to_owned(), url: url.into(), ..Self::default() }
    }

    /// `GET`.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// `POST`.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the body as JSON.
    ///
    /// # Errors
    /// When the value has no JSON form.
    pub fn json(self, value: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(self.header("content-type", "application/json").body(serde_json::to_vec(value)?))
    }

    /// Sets the patience for each step.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

/// The pieces of an answer's body, one after the other.
pub trait HttpBody: fmt::Debug {
    /// The next piece; none: that was all.
    ///
    /// # Errors
    /// When the rest does not come. What came before is not whole.
    fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError>;
}

/// An answer. Letting it go closes its connection.
#[derive(Debug)]
pub struct HttpResponse {
    /// Such as 200.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    body: Box<dyn HttpBody>,
}

impl HttpResponse {
    /// An answer with a body that is still to come.
    pub fn new(status: u16, headers: Vec<(String, String)>, body: Box<dyn HttpBody>) -> Self {
        Self { status, headers, body }
    }

    /// The first header of a name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The next piece of the body; none: that was all. For bodies that are larger than the plugin's memory.
    ///
    /// # Errors
    /// [`HttpError`] when the rest does not come.
    pub fn chunk(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        self.body.next()
    }

    /// The whole body, if it has no more than `limit` bytes.
    ///
    /// # Errors
    /// [`HttpErrorKind::TooLarge`], and as for [`chunk`](Self::chunk).
    pub fn bytes(mut self, limit: usize) -> Result<Vec<u8>, HttpError> {
        let mut whole = Vec::new();
        while let Some(piece) = self.chunk()? {
            if whole.len() + piece.len() > limit {
                let message = format!("the answer has more than {limit} bytes");
                return Err(HttpError::new(HttpErrorKind::TooLarge, message));
            }
            whole.extend(piece);
        }
        Ok(whole)
    }

    /// The whole body as JSON, if it has no more than `limit` bytes.
    ///
    /// # Errors
    /// [`HttpErrorKind::Malformed`], and as for [`bytes`](Self::bytes).
    pub fn json<T: DeserializeOwned>(self, limit: usize) -> Result<T, HttpError> {
        let bytes = self.bytes(limit)?;
        serde_json::from_slice(&bytes)
            .map_err(|error| HttpError::new(HttpErrorKind::Malformed, format!("the answer: {error}")))
    }
}

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// The manifest or the grants do not allow the server, or it is where nobody may go.
    Denied,
    /// It is no request.
    Invalid,
    /// The name is unknown, nobody answers, or the connection ended: a write may or may not have happened.
    Unreachable,
    /// One side did not accept the other's certificate, or there is no TLS.
    Tls,
    /// A step took too long, or the call's time is up.
    Timeout,
    /// The plugin's own rate limit, or too many requests at once.
    Throttled,
    /// More bytes than wanted, or than the call's budget has.
    TooLarge,
    /// The answer is not what it should be.
    Malformed,
}

/// Why there is no answer, or not the whole of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HttpError {
    /// What kind of failure.
    pub kind: HttpErrorKind,
    /// A sentence for people, with the server in it.
    pub message: String,
}

impl HttpError {
    /// A failure.
    pub fn new(kind: HttpErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// UpperCamelCase, for conditions.
    pub fn reason(&self) -> &'static str {
        match self.kind {
            HttpErrorKind::Denied => "EgressDenied",
            HttpErrorKind::Invalid => "InvalidRequest",
            HttpErrorKind::Unreachable => "Unreachable",
            HttpErrorKind::Tls => "TLSFailed",
            HttpErrorKind::Timeout => "TimedOut",
            HttpErrorKind::Throttled => "Throttled",
            HttpErrorKind::TooLarge => "AnswerTooLarge",
            HttpErrorKind::Malformed => "AnswerInvalid",
        }
    }
}

/// A Secret by namespace and name, and the entry of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The entry.
    pub key: String,
}

impl SecretKey {
    /// An entry of a Secret.
    pub fn new(namespace: &str, name: &str, key: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned(), key: key.to_owned() }
    }
}

/// How TLS is spoken to some servers. Watch its Secrets to be called when they change; the next call uses what they hold then.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// `https://host[:port]`; the host may begin with `*.`, the port be `*`.
    pub servers: String,
    /// PEM of the authorities that may have signed the servers' certificates, and no others. None: those of the host's machine.
    pub authorities: Option<SecretKey>,
    /// Certificate and key of the plugin, PEM.
    pub client: Option<(SecretKey, SecretKey)>,
    /// The name the servers' certificate is for, where that is not the host's.
    pub server_name: Option<String>,
}

/// Why an identity cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The grants or RBAC do not let the plugin use the Secret; the sentence says what is missing.
    #[error("{0}")]
    Denied(String),
    /// The Secret or an entry of it is not there, or does not hold what it should.
    #[error("{0}")]
    Unusable(String),
    /// It is no identity.
    #[error("{0}")]
    Invalid(String),
    /// The Secret could not be read now.
    #[error("{0}")]
    Unavailable(String),
}
