//! One request to the API server: account, deadline, size limit, and what its failure means.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::client::Body;
use serde_json::Value;
use tokio::time::Instant;
use tracing::Instrument as _;

mod conflict;
mod connect;

pub use conflict::FieldConflict;

use super::fence::Fence;
use crate::error_text::chain;
use crate::telemetry::ClientMetrics;

/// How long one request may take. Watches have their own client.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// A 429 with a wait up to this is waited out here; a longer one is the caller's.
const SHORT_WAIT: Duration = Duration::from_secs(1);

tokio::task_local! {
    static DEADLINE: Instant;
    static COUNTS: Arc<Counts>;
}

/// Requests that were answered, or not, each try counted.
#[derive(Debug, Default)]
pub struct Counts {
    reads: AtomicU32,
    writes: AtomicU32,
    /// Whether the last answer to an account was a refusal.
    refused: AtomicBool,
}

impl Counts {
    /// GETs.
    pub fn reads(&self) -> u32 {
        self.reads.load(Ordering::Relaxed)
    }

    /// All others.
    pub fn writes(&self) -> u32 {
        self.writes.load(Ordering::Relaxed)
    }

    fn add(&self, call: &Call, code: u16) {
        let counter = if call.method == Method::GET { &self.reads } else { &self.writes };
        counter.fetch_add(1, Ordering::Relaxed);
        if call.account.is_some() {
            self.refused.store(code == 403, Ordering::Relaxed);
        }
    }
}

/// Runs a future whose requests are counted.
pub async fn counted<T>(counts: &Arc<Counts>, future: impl Future<Output = T>) -> T {
    COUNTS.scope(Arc::clone(counts), future).await
}

/// Whether the last request on behalf of an account was refused for want of rights, as far as requests are [`counted`]: what
/// ends with it ends for it.
pub fn account_was_refused() -> bool {
    COUNTS.try_with(|counts| counts.refused.load(Ordering::Relaxed)).unwrap_or(false)
}

/// Runs a future whose requests all have to be over by then, answered or not.
pub async fn until<T>(deadline: Instant, future: impl Future<Output = T>) -> T {
    DEADLINE.scope(deadline, future).await
}

/// The end of what is to be done now, if it has one: [`until`].
pub fn deadline() -> Option<Instant> {
    DEADLINE.try_with(|deadline| *deadline).ok()
}

/// How long a request that begins now may take.
fn limit() -> Duration {
    deadline().map_or(TIMEOUT, |end| end.saturating_duration_since(Instant::now()).min(TIMEOUT))
}

/// What a failed request means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 409 of an update or an apply; 429 of an eviction that a disruption budget does not allow now.
    Conflict,
    /// 409 with reason `AlreadyExists`.
    AlreadyExists,
    /// 400, 405, 406, 413, 415, 422.
    Invalid,
    /// 429.
    Throttled,
    /// 401, 5xx, or no answer. A write may have happened.
    Unavailable,
    /// More bytes than the caller takes.
    TooLarge,
    /// Anything else.
    Other,
}

/// A failed request, in the server's words.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What it means.
    pub kind: ErrorKind,
    /// HTTP code, 0 without an answer.
    pub code: u16,
    /// The `Status`' reason.
    pub reason: String,
    /// The `Status`' message.
    pub message: String,
    /// The server asked to wait so long.
    pub retry_after: Option<Duration>,
    /// Whose fields stand in the way of an apply.
    pub conflicts: Vec<FieldConflict>,
}

impl ApiError {
    /// An error of the host's own making that stands for an invalid request.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Invalid,
            code: 400,
            reason: "BadRequest".to_owned(),
            message: message.into(),
            retry_after: None,
            conflicts: Vec::new(),
        }
    }

    fn no_answer(message: String) -> Self {
        Self {
            kind: ErrorKind::Unavailable,
            code: 0,
            reason: String::new(),
            message,
            retry_after: None,
            conflicts: Vec::new(),
        }
    }
}

/// What of an answer is needed. Whoever cannot leave the rest out sends all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// All of it.
    #[default]
    All,
    /// An object's metadata.
    Metadata,
    /// The metadata of a list's objects.
    MetadataOfList,
}

impl Wanted {
    fn accept(self) -> &'static str {
        match self {
            Self::All => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
            Self::MetadataOfList => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
        }
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// HTTP method.
    pub method: Method,
    /// Path with query.
    pub path: String,
    /// Body with its content type.
    pub body: Option<(&'static str, Vec<u8>)>,
    /// What of the answer is needed.
    pub wanted: Wanted,
    /// User to impersonate; none: the host itself.
    pub account: Option<&'a str>,
    /// The largest answer taken.
    pub max_bytes: usize,
}

impl<'a> Call<'a> {
    /// A call without a body.
    pub fn new(method: Method, path: String, account: Option<&'a str>) -> Self {
        Self { method, path, body: None, wanted: Wanted::All, account, max_bytes: 64 * 1024 * 1024 }
    }

    /// The same with a body.
    #[must_use]
    pub fn body(mut self, content_type: &'static str, body: Vec<u8>) -> Self {
        self.body = Some((content_type, body));
        self
    }

    /// Whether it changes something. Reviews are questions, though they are posted.
    fn writes(&self) -> bool {
        let reviews = ["/apis/authentication.k8s.io/", "/apis/authorization.k8s.io/"];
        self.method != Method::GET && !reviews.iter().any(|group| self.path.starts_with(group))
    }

    fn request(&self) -> Result<Request<Body>, ApiError> {
        let mut request = Request::builder().method(self.method.clone()).uri(&self.path);
        request = request.header(header::ACCEPT, self.wanted.accept());
        if let Some(account) = self.account {
            request = request.header("Impersonate-User", account);
        }
        let body = match &self.body {
            Some((content_type, body)) => {
                request = request.header(header::CONTENT_TYPE, *content_type);
                Body::from(body.clone())
            }
            None => Body::empty(),
        };
        request.body(body).map_err(|error| ApiError::invalid(format!("cannot form the request: {error}")))
    }
}

/// The API server's answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP code, 2xx.
    pub code: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends requests. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
    metrics: ClientMetrics,
    fence: Fence,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

impl Api {
    /// Requests through a client. The client should not retry by itself: a write that timed out may have happened, and
    /// only the caller knows what that means.
    pub fn new(client: kube::Client, metrics: ClientMetrics) -> Self {
        Self { client, metrics, fence: Fence::default() }
    }

    /// The same, whose writes end at a fence.
    #[must_use]
    pub fn behind(mut self, fence: Fence) -> Self {
        self.fence = fence;
        self
    }

    /// Sends one request. A 429 with a wait up to a second is waited out and sent again, twice.
    ///
    /// # Errors
    /// What the server said, or that it said nothing within [`TIMEOUT`] or before the end set by [`until`]; a write is not
    /// sent behind the fence.
    pub async fn send(&self, call: Call<'_>) -> Result<Reply, ApiError> {
        let span = span_of(&call);
        let result = self.send_patiently(&call).instrument(span.clone()).await;
        match &result {
            Ok(reply) => span.record("http.response.status_code", reply.code),
            // The message may quote what was sent.
            Err(error) => span
                .record("http.response.status_code", error.code)
                .record("error.type", &error.reason)
                .record("otel.status_code", "error"),
        };
        result
    }

    async fn send_patiently(&self, call: &Call<'_>) -> Result<Reply, ApiError> {
        let mut again = 2_u8;
        loop {
            let left = if call.writes() { self.fence.left() } else { Some(Duration::MAX) };
            let left = left.ok_or_else(ApiError::behind_the_fence)?;
            let limit = limit().min(left);
            let result = match tokio::time::timeout(limit, self.send_once(call)).await {
                Ok(result) => result,
                Err(_) => {
                    Err(ApiError::no_answer(format!("the API server did not answer within {limit:.1?}")))
                }
            };
            let code = result.as_ref().map_or_else(|error| error.code, |reply| reply.code);
            self.metrics.count(call.method.as_str(), code);
            let _ = COUNTS.try_with(|counts| counts.add(call, code));
            match result {
                Err(ApiError { kind: ErrorKind::Throttled, retry_after: Some(wait), .. })
                    if again > 0 && wait <= SHORT_WAIT =>
                {
                    again -= 1;
                    tokio::time::sleep(wait).await;
                }
                other => return other,
            }
        }
    }

    /// The same, the answer read as JSON.
    ///
    /// # Errors
    /// Also when the answer is not JSON.
    pub async fn send_json(&self, call: Call<'_>) -> Result<(u16, Value), ApiError> {
        let reply = self.send(call).await?;
        let value = serde_json::from_slice(&reply.body)
            .map_err(|error| ApiError::no_answer(format!("the API server's answer is not JSON: {error}")))?;
        Ok((reply.code, value))
    }

    async fn send_once(&self, call: &Call<'_>) -> Result<Reply, ApiError> {
        let sent = self.client.send(call.request()?).await;
        let response = sent.map_err(|error| {
            ApiError::no_answer(format!("no answer from the API server: {}", chain(&error)))
        })?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, call.max_bytes).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                let message = format!("the answer is larger than {} bytes", call.max_bytes);
                ApiError { kind: ErrorKind::TooLarge, ..ApiError::no_answer(message) }
            } else {
                ApiError::no_answer(format!("the API server's answer broke off: {error}"))
            }
        })?;
        let body = body.to_bytes().to_vec();
        if head.status.is_success() {
            return Ok(Reply { code: head.status.as_u16(), body });
        }
        Err(failure(head.status, &head.headers, &body))
    }
}

/// Named as OpenTelemetry's conventions for HTTP clients have it.
fn span_of(call: &Call<'_>) -> tracing::Span {
    let path = call.path.split('?').next().unwrap_or_default();
    tracing::debug_span!(
        "request",
        otel.name = format_args!("{} {path}", call.method),
        otel.kind = "client",
        otel.status_code = tracing::field::Empty,
        http.request.method = call.method.as_str(),
        http.response.status_code = tracing::field::Empty,
        url.path = path,
        error.type = tracing::field::Empty,
        account = call.account,
    )
}

fn failure(code: StatusCode, headers: &http::HeaderMap, body: &[u8]) -> ApiError {
    let status: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let field = |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (reason, mut message) = (field("reason"), field("message"));
    if let Some(budget) = conflict::of_budget(&status) {
        message = format!("{message} {budget}");
    }
    if message.is_empty() {
        message = String::from_utf8_lossy(body).chars().take(1024).collect();
    }
    if message.is_empty() {
        message = code.to_string();
    }
    let kind = match code.as_u16() {
        403 => ErrorKind::Forbidden,
        404 => ErrorKind::NotFound,
        409 if reason == "AlreadyExists" => ErrorKind::AlreadyExists,
        409 => ErrorKind::Conflict,
        // It is no load that the server complains of: whoever waits for it has not to let all other requests rest.
        429 if conflict::of_budget(&status).is_some() => ErrorKind::Conflict,
        400 | 405 | 406 | 413 | 415 | 422 => ErrorKind::Invalid,
        429 => ErrorKind::Throttled,
        // What server-side apply cannot read is the object's fault, not the server's (kubernetes#122480).
        500 if message.starts_with("failed to create typed patch object") => ErrorKind::Invalid,
        401 | 500..=599 => ErrorKind::Unavailable,
        _ => ErrorKind::Other,
    };
    let seconds = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let details = status.pointer("/details/retryAfterSeconds").and_then(Value::as_u64);
    let retry_after = seconds.or(details).map(Duration::from_secs);
    ApiError { kind, code: code.as_u16(), reason, message, retry_after, conflicts: conflict::all(&status) }
}

#[cfg(test)]
mod tests;
