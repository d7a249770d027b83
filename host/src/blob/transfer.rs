//! One task behind a call.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStoreExt as _};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::BlobError;
use super::content::{Decoder, Encoding, Proof, Scale};
use super::store::Store;
use super::upload::Upload;
use crate::egress::Egress;
use crate::egress::address::Reach;
use crate::egress::exchange::{Answer, BoxError, Order, Times, send};
use crate::egress::failure::Failure;
use crate::egress::identity::Tls;
use crate::egress::place::Target;

/// The longest transfer.
const LONGEST: Duration = Duration::from_secs(12 * 3600);
/// Nothing moved for so long.
const IDLE: Duration = Duration::from_secs(120);
/// Bytes of an answer that are kept for the hook.
const ANSWER: usize = 64 * 1024;
/// Characters of a server's words in a message.
const WORDS: usize = 512;

/// A request that may be sent: the grants were asked.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Its method.
    pub method: Method,
    /// Where it goes.
    pub uri: Uri,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// The server of it.
    pub target: Target,
    /// Where that may be.
    pub reach: Reach,
    /// Under which identity.
    pub tls: Option<Tls>,
}

/// What is to be done.
#[derive(Debug)]
pub enum Task {
    /// The answer to a request becomes an object.
    Fetch {
        /// The request.
        request: Box<Outgoing>,
        /// How content stands in the answer.
        encoding: Encoding,
        /// How it is known to be whole.
        proof: Proof,
        /// Where the object goes.
        store: Store,
        /// Its place.
        path: Path,
        /// Nothing is written over.
        absent: bool,
        /// No more than this.
        most: u64,
    },
    /// An object becomes the body of a request.
    Deliver {
        /// From where.
        store: Store,
        /// Its place.
        path: Path,
        /// The request, without a body.
        request: Box<Outgoing>,
        /// A longer object goes in pieces of so many bytes.
        piece: Option<u64>,
    },
    /// An object is held against a proof.
    Check {
        /// Where it is.
        store: Store,
        /// Its place.
        path: Path,
        /// What it should be.
        proof: Proof,
    },
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Of all content.
    pub sha256: Option<String>,
    /// Of the object that was written.
    pub etag: Option<String>,
    /// Status and beginning of the answer to a delivery.
    pub answer: Option<(u16, Vec<u8>)>,
}

/// What a transfer shares with those who look at it.
#[derive(Debug, Default)]
pub struct Sign {
    /// Bytes of content up to now.
    pub bytes: Arc<AtomicU64>,
    /// Somebody wants it to stop.
    pub stop: Notify,
}

/// Carries a task out.
#[derive(Clone, Debug)]
pub struct Carrier {
    /// What all exchanges share.
    pub egress: Arc<Egress>,
    /// On whose behalf.
    pub plugin: String,
}

impl Carrier {
    /// Does it.
    ///
    /// # Errors
    /// [`BlobError`]; then no object was written.
    pub async fn carry(&self, task: Task, sign: &Sign) -> Result<Outcome, BlobError> {
        match task {
            Task::Fetch { request, encoding, proof, store, path, absent, most } => {
                let answer = self.ask(*request, &proof).await?;
                let mut upload = Upload::begin(store, path, absent).await?;
                let flowing = flow(answer, encoding, &proof, most, &mut upload, &sign.bytes);
                let flowed = tokio::select! {
                    flowed = flowing => flowed,
                    () = sign.stop.notified() => Err(stopped()),
                };
                match flowed {
                    Ok(digest) => {
                        let written = upload.end().await?;
                        Ok(Outcome { sha256: Some(digest), etag: written.e_tag, answer: None })
                    }
                    Err(error) => {
                        upload.abandon().await;
                        Err(error)
                    }
                }
            }
            Task::Deliver { store, path, request, piece } => tokio::select! {
                delivered = self.deliver((&store, &path), &request, piece, &sign.bytes) => delivered,
                () = sign.stop.notified() => Err(stopped()),
                () = stalled(&sign.bytes) => Err(BlobError::Unavailable(format!("nothing moved for {IDLE:?}"))),
            },
            Task::Check { store, path, proof } => tokio::select! {
                digest = check(&store, &path, &proof, &sign.bytes) => {
                    Ok(Outcome { sha256: Some(digest?), ..Outcome::default() })
                }
                () = sign.stop.notified() => Err(stopped()),
            },
        }
    }

    fn order(&self, request: &Outgoing, first_byte: Duration) -> Order {
        let end = Some(Instant::now() + LONGEST);
        Order {
            plugin: self.plugin.clone(),
            target: request.target.clone(),
            reach: request.reach,
            tls: request.tls.clone(),
            times: Times { first_byte, between: IDLE, end, ..Times::default() },
            purse: None,
        }
    }

    /// An answer that can be known to be whole.
    async fn ask(&self, request: Outgoing, proof: &Proof) -> Result<Response<Answer>, BlobError> {
        let order = self.order(&request, IDLE);
        let server = order.target.to_string();
        let request = head(&request)?.body(Full::new(request.body)).map_err(|error| invalid(&error))?;
        let answer = send(&self.egress, order, request).await?;
        if !answer.status().is_success() {
            return Err(refused(&server, answer).await);
        }
        let framed = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
        if !proof.is_some() && !framed.iter().any(|name| answer.headers().contains_key(name)) {
            let message =
                format!("{server} says neither the length of its answer nor its end, and there is no proof");
            return Err(BlobError::Invalid(message));
        }
        Ok(answer)
    }

    async fn deliver(
        &self,
        (store, path): (&Store, &Path),
        request: &Outgoing,
        piece: Option<u64>,
        bytes: &Arc<AtomicU64>,
    ) -> Result<Outcome, BlobError> {
        let size = store.objects().head(path).await?.size;
        let piece = piece.filter(|piece| *piece > 0 && *piece < size);
        let mut offset = 0_u64;
        loop {
            let end = piece.map_or(size, |piece| offset.saturating_add(piece).min(size));
            let uri = match piece {
                Some(_) => with_query(&request.uri, &format!("offset={offset}&size={size}"))?,
                None => request.uri.clone(),
            };
            let request = Outgoing { uri, ..request.clone() };
            let answer = self.send_part((store, path), offset..end, &request, bytes).await?;
            if end == size || !answer.status().is_success() {
                let status = answer.status().as_u16();
                let body = beginning(answer, ANSWER).await;
                return Ok(Outcome { answer: Some((status, body)), ..Outcome::default() });
            }
            offset = end;
        }
    }

    /// Sends some of an object.
    async fn send_part(
        &self,
        (store, path): (&Store, &Path),
        range: Range<u64>,
        request: &Outgoing,
        bytes: &Arc<AtomicU64>,
    ) -> Result<Response<Answer>, BlobError> {
        let length = range.end - range.start;
        // Stores refuse a range of nothing.
        let range = (length > 0).then(|| range.into());
        let found = store.objects().get_opts(path, GetOptions { range, ..GetOptions::default() }).await?;
        let moved = Arc::clone(bytes);
        let pieces = found.into_stream().map(move |piece| {
            let piece = piece.map_err(|error| Box::new(error) as BoxError)?;
            moved.fetch_add(u64::try_from(piece.len()).unwrap_or(u64::MAX), Ordering::Relaxed);
            Ok::<_, BoxError>(Frame::data(piece))
        });
        let order = self.order(request, LONGEST);
        let head = head(request)?.header(header::CONTENT_LENGTH, length);
        let request = head.body(StreamBody::new(pieces.boxed())).map_err(|error| invalid(&error))?;
        Ok(send(&self.egress, order, request).await?)
    }
}

/// An address with more in its query.
fn with_query(uri: &Uri, more: &str) -> Result<Uri, BlobError> {
    let path = match uri.query() {
        Some(query) => format!("{}?{query}&{more}", uri.path()),
        None => format!("{}?{more}", uri.path()),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path.parse().map_err(|error: http::uri::InvalidUri| invalid(&error.into()))?);
    Uri::from_parts(parts).map_err(|error| invalid(&error.into()))
}

fn head(request: &Outgoing) -> Result<http::request::Builder, BlobError> {
    let mut builder = Request::builder().method(request.method.clone()).uri(request.uri.clone());
    let headers = builder.headers_mut().ok_or_else(|| BlobError::Invalid("it is no request".to_owned()))?;
    headers.extend(request.headers.clone());
    Ok(builder)
}

fn invalid(error: &http::Error) -> BlobError {
    BlobError::Invalid(format!("it is no request: {error}"))
}

fn stopped() -> BlobError {
    BlobError::Other("it was stopped".to_owned())
}

async fn flow(
    answer: Response<Answer>,
    encoding: Encoding,
    proof: &Proof,
    most: u64,
    upload: &mut Upload,
    bytes: &AtomicU64,
) -> Result<String, BlobError> {
    let (mut decoder, mut scale) = (Decoder::new(encoding), Scale::new(proof, most));
    let mut body = answer.into_body();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        for content in decoder.piece(piece)? {
            scale.add(&content)?;
            upload.write(&content).await?;
            bytes.store(scale.bytes, Ordering::Relaxed);
        }
    }
    if let Some(content) = decoder.end()? {
        scale.add(&content)?;
        upload.write(&content).await?;
    }
    bytes.store(scale.bytes, Ordering::Relaxed);
    scale.weigh(proof)
}

async fn check(store: &Store, path: &Path, proof: &Proof, bytes: &AtomicU64) -> Result<String, BlobError> {
    let mut scale = Scale::new(proof, u64::MAX);
    let mut pieces = store.objects().get(path).await?.into_stream();
    loop {
        let next = tokio::time::timeout(IDLE, pieces.try_next()).await;
        let next = next.map_err(|_| BlobError::Unavailable(format!("nothing moved for {IDLE:?}")))?;
        let Some(piece) = next? else { return scale.weigh(proof) };
        scale.add(&piece)?;
        bytes.store(scale.bytes, Ordering::Relaxed);
    }
}

/// Ends when nothing has moved for a while.
async fn stalled(bytes: &AtomicU64) {
    let mut last = None;
    loop {
        let now = bytes.load(Ordering::Relaxed);
        if last == Some(now) {
            return;
        }
        last = Some(now);
        tokio::time::sleep(IDLE).await;
    }
}

async fn refused(server: &str, answer: Response<Answer>) -> BlobError {
    let status = answer.status();
    let words = beginning(answer, 4 * WORDS).await;
    let words: String = String::from_utf8_lossy(&words).chars().take(WORDS).collect();
    let said = format!("{server} answered {status}: {words}");
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => BlobError::Denied(said),
        StatusCode::NOT_FOUND => BlobError::NotFound(said),
        _ if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => BlobError::Invalid(said),
        _ => BlobError::Unavailable(said),
    }
}

/// The first bytes of a body; what does not come any more is left out.
async fn beginning(answer: Response<Answer>, most: usize) -> Vec<u8> {
    let mut body = answer.into_body();
    let mut bytes = Vec::new();
    while bytes.len() < most
        && let Some(Ok(frame)) = body.frame().await
    {
        bytes.extend(frame.into_data().unwrap_or_default());
    }
    bytes.truncate(most);
    bytes
}

impl From<Failure> for BlobError {
    fn from(failure: Failure) -> Self {
        let said = failure.to_string();
        match failure {
            Failure::Denied(_) | Failure::Prohibited { .. } => Self::Denied(said),
            Failure::Invalid(_) => Self::Invalid(said),
            Failure::Exhausted(_) => Self::TooLarge(said),
            _ => Self::Unavailable(said),
        }
    }
}
