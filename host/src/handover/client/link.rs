//! What is said to the host, and nothing to anybody else: its certificate is the one of the Secret.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Body, Frame};
use tokio::time::{Instant, sleep};

use super::ClientError;
use crate::egress::Egress;
use crate::egress::address::Reach;
use crate::egress::exchange::{Answer, BoxError, Order, Times, send};
use crate::egress::failure::Failure;
use crate::egress::identity::{Pem, Tls, tls};
use crate::egress::place::Target;
use crate::handover::receive::IDLE;
use crate::handover::table::LONGEST;
use crate::handover::{Refusal, Stored};

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(500);
/// Bytes of an answer that is no content.
const ANSWER: usize = 16 * 1024;

/// The host, as a Secret has it.
#[derive(Clone)]
pub struct Link {
    egress: Arc<Egress>,
    uri: Uri,
    target: Target,
    tls: Tls,
    token: header::HeaderValue,
    /// How long a host that does not answer is asked again.
    patience: Duration,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("uri", &self.uri).finish_non_exhaustive()
    }
}

impl Link {
    /// From the address, and the files of the mounted Secret.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn read(url: &str, token: &Path, authority: &Path, patience: Duration) -> Result<Self, ClientError> {
        let wrong = || ClientError::Address("the host's address is no https:// URL".to_owned());
        let uri: Uri = url.trim().parse().map_err(|_| wrong())?;
        let target = Target::of(&uri).ok().filter(|target| target.tls).ok_or_else(wrong)?;
        let text = std::fs::read(authority).map_err(ClientError::file(authority))?;
        let pem = Pem { place: authority.display().to_string(), text };
        let egress = Arc::new(Egress::default());
        let tls = tls(&egress.roots, Some(&pem), None, None)?;
        let secret = std::fs::read_to_string(token).map_err(ClientError::file(token))?;
        let mut value = header::HeaderValue::try_from(format!("Bearer {}", secret.trim()))
            .map_err(|_| ClientError::Address("the token is no text for a header".to_owned()))?;
        value.set_sensitive(true);
        Ok(Self { egress, uri, target, tls, token: value, patience })
    }

    /// Whether the host knows the token. One that cannot be reached yet is asked again: a new pod's network takes a while.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn greet(&self) -> Result<(), ClientError> {
        self.again(|| async { self.ask(Method::HEAD, Full::new(Bytes::new()), IDLE).await }).await.map(drop)
    }

    /// Sends content. The answer may come before all of it was sent.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn put<S>(&self, content: S) -> Result<Stored, ClientError>
    where
        S: Stream<Item = Result<Frame<Bytes>, BoxError>> + Send + Unpin + 'static,
    {
        let answer = self.ask(Method::PUT, StreamBody::new(content), LONGEST).await?;
        stored(answer).await
    }

    /// Makes an object of what was sent. Asked again where the answer is lost: the host says the same twice.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn commit(&self, sent: &Stored) -> Result<Stored, ClientError> {
        let text = serde_json::to_vec(sent).unwrap_or_default();
        let body = || Full::new(Bytes::from(text.clone()));
        let answer = self.again(|| async { self.ask(Method::POST, body(), IDLE).await }).await?;
        stored(answer).await
    }

    /// The object. Asked again until it begins: nothing of it was taken before.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn get(&self) -> Result<Response<Answer>, ClientError> {
        self.again(|| async { self.ask(Method::GET, Full::new(Bytes::new()), IDLE).await }).await
    }

    async fn again<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        let began = Instant::now();
        loop {
            match attempt().await {
                Err(ClientError::Host(failure)) if failure.may_pass() && began.elapsed() < self.patience => {
                    sleep(PAUSE).await;
                }
                other => return other,
            }
        }
    }

    async fn ask<B>(
        &self,
        method: Method,
        body: B,
        first_byte: Duration,
    ) -> Result<Response<Answer>, ClientError>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let order = Order {
            plugin: "handover".to_owned(),
            target: self.target.clone(),
            // The Secret names it, and its certificate proves it.
            reach: Reach { private: true, loopback: true },
            tls: Some(self.tls.clone()),
            times: Times { first_byte, between: IDLE, ..Times::default() },
            purse: None,
        };
        let request = Request::builder()
            .method(method)
            .uri(self.uri.clone())
            .header(header::AUTHORIZATION, self.token.clone())
            .body(body)
            .map_err(|error| Failure::Invalid(error.to_string()))?;
        let answer = send(&self.egress, order, request).await?;
        if answer.status().is_success() { Ok(answer) } else { Err(refused(answer).await) }
    }
}

async fn stored(answer: Response<Answer>) -> Result<Stored, ClientError> {
    let text = beginning(answer).await;
    serde_json::from_slice(&text)
        .map_err(|_| ClientError::Corrupt("the host's answer does not say what arrived".to_owned()))
}

async fn refused(answer: Response<Answer>) -> ClientError {
    let status = answer.status();
    let text = beginning(answer).await;
    let unknown = || Refusal { reason: reason_of(status), message: "it gives no reason".to_owned() };
    ClientError::Refused { status, refusal: serde_json::from_slice(&text).unwrap_or_else(|_| unknown()) }
}

fn reason_of(status: StatusCode) -> String {
    let reason = if status == StatusCode::UNAUTHORIZED { "Denied" } else { "Failed" };
    reason.to_owned()
}

async fn beginning(answer: Response<Answer>) -> Vec<u8> {
    let mut body = answer.into_body();
    let mut bytes = Vec::new();
    while bytes.len() < ANSWER
        && let Some(Ok(frame)) = body.frame().await
    {
        bytes.extend(frame.into_data().unwrap_or_default());
    }
    bytes
}
