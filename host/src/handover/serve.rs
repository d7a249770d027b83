//! The server: HTTP/1.1 over TLS, and under each address nothing but one object.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener as _;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::time::timeout;

use super::give::{self, Going};
use super::receive;
use super::table::{Handover, Handovers};
use super::{Refusal, Stored, status_of};
use crate::blob::BlobError;
use crate::health::tls::TlsListener;

/// Connections at once; more wait to be accepted.
const CONNECTIONS: usize = 64;
/// From a connection, or the answer before, to the head of a request.
const HEAD: Duration = Duration::from_secs(15);
/// Bytes of memory for what is read and written of a connection.
const BUFFER: usize = 64 * 1024;
/// Bytes of a commit.
const COMMIT: usize = 4 * 1024;
/// How long a refused sender is listened to, so that it can hear why.
const LINGER: Duration = Duration::from_secs(5);

type Answer = Response<UnsyncBoxBody<Bytes, BlobError>>;

/// Serves until the process ends.
pub async fn serve(mut listener: TlsListener, table: Arc<Handovers>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&room).acquire_owned().await {
        let (stream, peer) = listener.accept().await;
        let table = Arc::clone(&table);
        tokio::spawn(async move {
            let cut = Arc::new(Notify::new());
            let answers = service_fn(|request| {
                let (table, cut) = (Arc::clone(&table), Arc::clone(&cut));
                async move { Ok::<_, Infallible>(answer(table, cut, request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(BUFFER)
                .serve_connection(TokioIo::new(stream), answers);
            tokio::select! {
                ended = connection => {
                    if let Err(error) = ended {
                        tracing::debug!(%peer, %error, "a connection ended early");
                    }
                }
                () = cut.notified() => tracing::debug!(%peer, "a connection was cut"),
            }
            drop(place);
        });
    }
}

async fn answer(table: Arc<Handovers>, cut: Arc<Notify>, request: Request<Incoming>) -> Answer {
    let address = address_of(request.uri().path());
    let authorization = request.headers().get(header::AUTHORIZATION).map(http::HeaderValue::as_bytes);
    let Some(handover) = address.and_then(|address| table.admit(address, authorization)) else {
        return nobody();
    };
    let result = match *request.method() {
        Method::PUT => received(table, handover, request.into_body()).await,
        Method::POST => committed(table, handover, request.into_body()).await,
        Method::HEAD => Ok(nothing()),
        Method::GET => give::get(table, handover, cut).await.map(object),
        _ => return refusal(StatusCode::METHOD_NOT_ALLOWED, "Invalid", "there is HEAD, PUT, POST and GET"),
    };
    result.unwrap_or_else(|error| json(status_of(&error), &Refusal::from(&error)))
}

/// `…/handover/ADDRESS`, whatever a proxy has in front of it.
fn address_of(path: &str) -> Option<&str> {
    let (before, address) = path.rsplit_once('/')?;
    before.ends_with("/handover").then_some(address)
}

/// Content and commit are carried out to their end, whether somebody still listens or not: what was begun is taken back or done.
async fn received(
    table: Arc<Handovers>,
    handover: Arc<Handover>,
    mut body: Incoming,
) -> Result<Answer, BlobError> {
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        let declared = body.size_hint().exact();
        let result = receive::put(table, handover, declared, &mut body).await;
        let refused = result.is_err();
        let _ = tell.send(result);
        if refused {
            let _ = timeout(LINGER, async { while let Some(Ok(_)) = body.frame().await {} }).await;
        }
    });
    outcome(told).await
}

async fn committed(
    table: Arc<Handovers>,
    handover: Arc<Handover>,
    body: Incoming,
) -> Result<Answer, BlobError> {
    let invalid = || BlobError::Invalid("a commit is JSON with size and sha256".to_owned());
    let body = timeout(HEAD, Limited::new(body, COMMIT).collect()).await;
    let body = body.map_err(|_| invalid())?.map_err(|_| invalid())?;
    let claimed: Stored = serde_json::from_slice(&body.to_bytes()).map_err(|_| invalid())?;
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        let _ = tell.send(receive::commit(table, handover, claimed).await);
    });
    outcome(told).await
}

async fn outcome(told: oneshot::Receiver<Result<Stored, BlobError>>) -> Result<Answer, BlobError> {
    let stored = told.await.map_err(|_| BlobError::Other("the host is ending".to_owned()))??;
    Ok(json(StatusCode::OK, &stored))
}

fn object(Going { size, mut pieces }: Going) -> Answer {
    let frames = futures::stream::poll_fn(move |cx| {
        pieces.poll_recv(cx).map(|next| next.map(|piece| piece.map(Frame::data)))
    });
    let mut answer = Response::new(StreamBody::new(frames).boxed_unsync());
    answer.headers_mut().insert(header::CONTENT_LENGTH, size.into());
    answer
}

/// Whoever asks beforehand has the right address and token.
fn nothing() -> Answer {
    let mut answer = Response::new(Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer
}

/// Whoever guesses is told nothing of what there is.
fn nobody() -> Answer {
    let message = "no open handover has this address and token; it was closed, or the host was begun anew";
    let mut answer = refusal(StatusCode::UNAUTHORIZED, "Denied", message);
    let scheme = http::HeaderValue::from_static("Bearer");
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    answer
}

fn refusal(status: StatusCode, reason: &str, message: &str) -> Answer {
    json(status, &Refusal { reason: reason.to_owned(), message: message.to_owned() })
}

fn json<T: Serialize>(status: StatusCode, value: &T) -> Answer {
    // Both kinds of answers are plain records.
    let text = serde_json::to_vec(value).unwrap_or_default();
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let kind = http::HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}
