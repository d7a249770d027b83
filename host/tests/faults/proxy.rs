//! Between the host and the real API server: passes requests on, counts them, and does to some of them what networks and
//! servers do.
//!
//! Plain HTTP towards the host, TLS with a user's certificate towards the API server: whoever talks to it is that user.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt, stream};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::bench::await_that;

type AnyError = Box<dyn std::error::Error + Send + Sync>;
type AnyBody = UnsyncBoxBody<Bytes, AnyError>;

/// What the host asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// With its query.
    pub(crate) path: String,
    pub(crate) body: Bytes,
    pub(crate) at: Instant,
}

impl Asked {
    /// Whether it changes something in the cluster. Events do not count: they are written beside the work, at any time.
    pub(crate) fn writes(&self) -> bool {
        self.method != Method::GET
            && !self.path.contains("dryRun=All")
            && !self.path.contains("subjectaccessreviews")
            && !self.path.contains("/events")
    }

    pub(crate) fn watches(&self) -> bool {
        self.path.contains("watch=true")
    }

    /// Whether it is about objects of this name, or of a name that begins with it.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.path.contains(name)
            || self.body.windows(name.len().max(1)).any(|window| window == name.as_bytes())
    }
}

/// Something that happens when a request was done.
pub(crate) type Act = Arc<dyn Fn() + Send + Sync>;

/// What happens to a request.
#[derive(Clone)]
pub(crate) enum Fault {
    /// The server answers this, and does nothing.
    Answer(u16, &'static str),
    /// 429 with `Retry-After` in seconds.
    Throttle(u64),
    /// The connection breaks before the request arrives.
    Cut,
    /// The request arrives and is done; the connection breaks before the answer comes.
    LoseAnswer,
    /// Nobody ever answers.
    Hang,
    /// A watch that begins with the event `ERROR` and code 410.
    Expire,
    /// The request is done; then this happens, and no answer comes.
    Then(Act),
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(code, reason) => write!(f, "{code} {reason}"),
            Self::Throttle(seconds) => write!(f, "429 after {seconds} s"),
            Self::Cut => f.write_str("cut"),
            Self::LoseAnswer => f.write_str("answer lost"),
            Self::Hang => f.write_str("hangs"),
            Self::Expire => f.write_str("expired"),
            Self::Then(_) => f.write_str("something happens"),
        }
    }
}

/// Decides about each request.
type Script = Box<dyn FnMut(&Asked) -> Option<Fault> + Send>;

/// The `nth` request (counted from one) that fits.
pub(crate) fn nth(
    nth: usize,
    fault: Fault,
    fits: impl Fn(&Asked) -> bool + Send + 'static,
) -> impl FnMut(&Asked) -> Option<Fault> + Send + 'static {
    let mut seen = 0;
    move |asked| {
        seen += usize::from(fits(asked));
        (fits(asked) && seen == nth).then(|| fault.clone())
    }
}

/// A proxy in the background. Gone with the test.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

struct Shared {
    upstream: Client,
    scripts: Mutex<Vec<Script>>,
    seen: Mutex<Vec<Asked>>,
    /// Requests that have come and are not answered yet; watches do not count.
    in_hand: AtomicUsize,
    /// Counts how often all streams were cut.
    cut: watch::Sender<u32>,
}

impl Proxy {
    /// A proxy for the user of this client.
    pub(crate) async fn start(upstream: Client) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            upstream,
            scripts: Mutex::default(),
            seen: Mutex::default(),
            in_hand: AtomicUsize::new(0),
            cut: watch::Sender::new(0),
        });
        let mut tasks = JoinSet::new();
        let serving = Arc::clone(&shared);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self { address, shared, _tasks: tasks }
    }

    /// A kubeconfig that leads here.
    pub(crate) fn kubeconfig(&self) -> String {
        let cluster = json!({"name": "c", "cluster": {"server": format!("http://{}", self.address)}});
        let context = json!({"name": "c", "context": {"cluster": "c", "user": "c"}});
        let user = json!({"name": "c", "user": {}});
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [cluster], "contexts": [context], "users": [user],
        })
        .to_string()
    }

    /// Asks the script about every request from now on, after those that are there.
    pub(crate) fn script(&self, script: impl FnMut(&Asked) -> Option<Fault> + Send + 'static) {
        lock(&self.shared.scripts).push(Box::new(script));
    }

    /// All goes well from now on.
    pub(crate) fn heal(&self) {
        lock(&self.shared.scripts).clear();
    }

    /// Every open stream ends.
    pub(crate) fn cut_streams(&self) {
        self.shared.cut.send_modify(|times| *times += 1);
    }

    /// Requests so far that fit.
    pub(crate) fn seen(&self, fits: impl Fn(&Asked) -> bool) -> Vec<Asked> {
        lock(&self.shared.seen).iter().filter(|asked| fits(asked)).cloned().collect()
    }

    /// Whether every request that came has been answered, but for watches and those nobody ever answers.
    fn is_idle(&self) -> bool {
        self.shared.in_hand.load(Ordering::SeqCst) == 0
    }

    /// Waits until nothing more is asked: what is written in the background (events, news of a status) has been.
    pub(crate) async fn settle(&self) {
        const QUIET: Duration = Duration::from_millis(300);
        let (mut requests, mut since) = (usize::MAX, Instant::now());
        await_that("no more requests", async || {
            let now = self.seen(|_| true).len();
            if now != std::mem::replace(&mut requests, now) || !self.is_idle() {
                since = Instant::now();
            }
            if since.elapsed() >= QUIET { Ok(()) } else { Err(format!("{now} requests")) }
        })
        .await;
    }

    /// Forgets what it has seen.
    pub(crate) fn forget(&self) {
        lock(&self.shared.seen).clear();
    }

    /// How many requests of each verb and kind there were, for people.
    pub(crate) fn tally(&self) -> String {
        let mut tally: HashMap<String, usize> = HashMap::new();
        for asked in lock(&self.shared.seen).iter() {
            *tally.entry(asked.summary()).or_default() += 1;
        }
        let mut lines: Vec<_> = tally.into_iter().map(|(what, times)| format!("{times:>6} {what}")).collect();
        lines.sort_by(|a, b| b.cmp(a));
        lines.join("\n")
    }
}

/// A request in hand, until this is dropped.
struct InHand(Arc<Shared>);

impl InHand {
    fn take(shared: &Arc<Shared>) -> Self {
        shared.in_hand.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        self.0.in_hand.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Asked {
    fn summary(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        let kind = match parts.iter().position(|part| *part == "namespaces") {
            Some(at) => parts.get(at + 2).copied().unwrap_or("namespaces"),
            None => parts.last().copied().unwrap_or_default(),
        };
        let status = if path.ends_with("/status") { "/status" } else { "" };
        let how = if self.watches() {
            " (watch)"
        } else if self.path.contains("dryRun=All") {
            " (dry run)"
        } else {
            ""
        };
        format!("{} {kind}{status}{how}", self.method)
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| answer(Arc::clone(&shared), request));
    // A service that fails ends the connection without an answer, which is what some faults are.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<AnyBody>, AnyError> {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let body = body.collect().await?.to_bytes();
    let asked = Asked { method: head.method, path, body, at: Instant::now() };
    let in_hand = (!asked.watches()).then(|| InHand::take(&shared));
    lock(&shared.seen).push(asked.clone());
    let fault = lock(&shared.scripts).iter_mut().find_map(|script| script(&asked));
    match fault {
        None => pass_on(&shared, &asked, &head.headers).await,
        Some(Fault::Answer(code, reason)) => Ok(refusal(code, reason, None)),
        Some(Fault::Throttle(seconds)) => Ok(refusal(429, "TooManyRequests", Some(seconds))),
        Some(Fault::Cut) => Err("cut".into()),
        Some(Fault::LoseAnswer) => {
            pass_on(&shared, &asked, &head.headers).await?.into_body().collect().await?;
            Err("the answer was lost".into())
        }
        Some(Fault::Hang) => {
            drop(in_hand);
            std::future::pending().await
        }
        Some(Fault::Expire) => {
            let event = json!({"type": "ERROR", "object": status(410, "Expired")});
            Ok(Response::new(whole(format!("{event}\n"))))
        }
        Some(Fault::Then(act)) => {
            pass_on(&shared, &asked, &head.headers).await?.into_body().collect().await?;
            act();
            Err("the answer was lost".into())
        }
    }
}

async fn pass_on(shared: &Shared, asked: &Asked, headers: &HeaderMap) -> Result<Response<AnyBody>, AnyError> {
    let mut request = Request::builder().method(&asked.method).uri(&asked.path);
    for (name, value) in headers {
        let is_meant_for_us = [header::HOST, header::CONNECTION, header::CONTENT_LENGTH].contains(name);
        if !is_meant_for_us {
            request = request.header(name, value);
        }
    }
    let answer = shared.upstream.send(request.body(Body::from(asked.body.clone()))?).await?;
    let (mut head, body) = answer.into_parts();
    head.headers.remove(header::TRANSFER_ENCODING);
    head.headers.remove(header::CONNECTION);
    if !asked.watches() {
        return Ok(Response::from_parts(head, body.map_err(AnyError::from).boxed_unsync()));
    }
    let mut cut = shared.cut.subscribe();
    let until = async move {
        let _ = cut.changed().await;
    };
    let frames = TryStreamExt::map_err(BodyStream::new(body), AnyError::from).take_until(Box::pin(until));
    let broken = stream::once(async { Err::<Frame<Bytes>, AnyError>("cut".into()) });
    Ok(Response::from_parts(head, StreamBody::new(frames.chain(broken)).boxed_unsync()))
}

fn refusal(code: u16, reason: &str, retry_after: Option<u64>) -> Response<AnyBody> {
    let mut answer = Response::builder()
        .status(StatusCode::from_u16(code).unwrap())
        .header(header::CONTENT_TYPE, "application/json");
    if let Some(seconds) = retry_after {
        answer = answer.header(header::RETRY_AFTER, seconds);
    }
    answer.body(whole(status(code, reason).to_string())).unwrap()
}

fn status(code: u16, reason: &str) -> serde_json::Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason,
        "message": format!("the proxy says {reason}"),
    })
}

fn whole(text: String) -> AnyBody {
    Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed_unsync()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pause between the first two requests, for what was asked to wait.
pub(crate) fn first_pause(requests: &[Asked]) -> Option<Duration> {
    Some(requests.get(1)?.at - requests.first()?.at)
}
