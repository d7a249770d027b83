//! One request and its answer: checked, timed, counted, and bounded while the bodies flow.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Uri, header};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tracing::Instrument as _;

use super::Egress;
use super::address::Reach;
use super::alerted::is_tls;
use super::connect::{connect, no_tls};
use super::failure::Failure;
use super::identity::Tls;
use super::place::Target;
use crate::error_text::chain;
use crate::plugin::limits::Purse;

/// Memory for the head of an answer and what is read ahead.
const BUFFER: usize = 128 * 1024;

/// What the steps of an exchange may take.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Name, connection and TLS.
    pub connect: Duration,
    /// From the request to the head of its answer.
    pub first_byte: Duration,
    /// From one piece of the answer to the next.
    pub between: Duration,
    /// Everything has to be over by then.
    pub end: Option<Instant>,
}

impl Default for Times {
    fn default() -> Self {
        let patience = Duration::from_secs(30);
        Self { connect: Duration::from_secs(10), first_byte: patience, between: patience, end: None }
    }
}

impl Times {
    /// The end of a step that begins now.
    fn end_of(&self, limit: Duration) -> Instant {
        let own = Instant::now() + limit;
        self.end.map_or(own, |end| end.min(own))
    }

    /// Why a step was not over in time.
    fn over(&self, target: &Target, step: &'static str, limit: Duration) -> Failure {
        let server = target.server();
        match self.end {
            Some(end) if Instant::now() >= end => Failure::Deadline { server },
            _ => Failure::Slow { server, step, limit },
        }
    }
}

/// How a request is sent.
#[derive(Debug)]
pub struct Order {
    /// On whose behalf: a label of metrics and spans.
    pub plugin: String,
    /// To which server.
    pub target: Target,
    /// Where it may be.
    pub reach: Reach,
    /// How TLS is spoken to it; the machine's authorities when absent.
    pub tls: Option<Tls>,
    /// What it may take.
    pub times: Times,
    /// Bytes of both bodies are taken from here.
    pub purse: Option<Purse>,
}

/// A boxed error of a body.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Sends a request to the server of the order. The answer's body holds the connection: dropping it closes that.
///
/// # Errors
/// [`Failure`]; whatever the server answers is an answer.
pub async fn send<B>(egress: &Egress, order: Order, request: Request<B>) -> Result<Response<Answer>, Failure>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let span = tracing::debug_span!(
        "http",
        otel.name = format_args!("{} {}", request.method(), order.target.host),
        otel.kind = "client",
        otel.status_code = tracing::field::Empty,
        http.request.method = request.method().as_str(),
        http.response.status_code = tracing::field::Empty,
        server.address = order.target.host,
        server.port = order.target.port,
        error.type = tracing::field::Empty,
        plugin = order.plugin,
    );
    let (plugin, started) = (order.plugin.clone(), Instant::now());
    let result = ask(egress, order, request).instrument(span.clone()).await;
    match &result {
        Ok(response) => {
            egress.metrics.answered(&plugin, response.status(), started.elapsed());
            span.record("http.response.status_code", response.status().as_u16());
        }
        Err(failure) => {
            egress.metrics.failed(&plugin, failure.reason());
            span.record("error.type", failure.reason()).record("otel.status_code", "error");
        }
    }
    result
}

async fn ask<B>(egress: &Egress, order: Order, request: Request<B>) -> Result<Response<Answer>, Failure>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let Order { target, reach, tls, times, purse, .. } = order;
    if request.method() == Method::CONNECT {
        return Err(Failure::Invalid("CONNECT would lead past what may be reached".to_owned()));
    }
    let tls = match (target.tls, tls) {
        (false, _) => None,
        (true, Some(tls)) => Some(tls),
        (true, None) => Some(of_this_machine(egress)?),
    };
    let connected = connect(egress.network.as_ref(), &target, reach, tls.as_ref());
    let stream = timeout_at(times.end_of(times.connect), connected)
        .await
        .map_err(|_| times.over(&target, "connecting", times.connect))??;
    let mut connection = JoinSet::new();
    let request = in_origin_form(request, &target)?.map(|body| Counted { body, purse: purse.clone() });
    let mut handshake = http1::Builder::new();
    handshake.max_buf_size(BUFFER);
    let (mut sender, driver) =
        handshake.handshake(TokioIo::new(stream)).await.map_err(|error| broken(&target, &error))?;
    // An error of the connection reaches the request or its answer's body as well.
    connection.spawn(async move { drop(driver.await) });
    let answered = timeout_at(times.end_of(times.first_byte), sender.send_request(request)).await;
    let answered = answered.map_err(|_| times.over(&target, "the answer", times.first_byte))?;
    let (head, incoming) = answered.map_err(|error| broken(&target, &error))?.into_parts();
    let timer = Box::pin(sleep_until(times.end_of(times.between)));
    Ok(Response::from_parts(head, Answer { incoming, target, times, timer, purse, _connection: connection }))
}

fn of_this_machine(egress: &Egress) -> Result<Tls, Failure> {
    super::identity::tls(&egress.roots, None, None, None).map_err(|error| Failure::Invalid(error.to_string()))
}

/// Only proxies are sent the whole address.
fn in_origin_form<B>(mut request: Request<B>, target: &Target) -> Result<Request<B>, Failure> {
    let wrong = |error: http::Error| Failure::Invalid(error.to_string());
    let path = request.uri().path_and_query().cloned();
    let path = path.unwrap_or_else(|| http::uri::PathAndQuery::from_static("/"));
    if !request.headers().contains_key(header::HOST) {
        let authority = request.uri().authority().map_or_else(|| target.server(), ToString::to_string);
        let host = authority.parse().map_err(|error: header::InvalidHeaderValue| wrong(error.into()))?;
        request.headers_mut().insert(header::HOST, host);
    }
    *request.uri_mut() = Uri::builder().path_and_query(path).build().map_err(wrong)?;
    Ok(request)
}

/// What it means that hyper gave up.
fn broken(target: &Target, error: &hyper::Error) -> Failure {
    let server = target.server();
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if let Some(own) = cause.downcast_ref::<Failure>() {
            return own.clone();
        }
        // With TLS 1.3 a server refuses a client's certificate after the handshake.
        if let Some(io) = cause.downcast_ref::<std::io::Error>()
            && is_tls(io)
        {
            return no_tls(server, io);
        }
        source = cause.source();
    }
    let said = chain(error);
    if error.is_parse() { Failure::Protocol { server, said } } else { Failure::Broken { server, said } }
}

/// The body of a request, whose bytes are counted.
struct Counted<B> {
    body: B,
    purse: Option<Purse>,
}

impl<B> Body for Counted<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        polled.map(|frame| {
            frame.map(|frame| {
                let frame = frame.map_err(Into::into)?;
                take(self.purse.as_ref(), &frame)?;
                Ok(frame)
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn take(purse: Option<&Purse>, frame: &Frame<Bytes>) -> Result<(), Failure> {
    match (purse, frame.data_ref()) {
        (Some(purse), Some(data)) => purse.take_bytes(data.len()).map_err(Failure::Exhausted),
        _ => Ok(()),
    }
}

/// The body of an answer: bounded in bytes, in time between its pieces and in time altogether.
#[derive(Debug)]
pub struct Answer {
    incoming: Incoming,
    target: Target,
    times: Times,
    timer: Pin<Box<Sleep>>,
    purse: Option<Purse>,
    /// Ends with the body.
    _connection: JoinSet<()>,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let this = &mut *self;
        // A server that never pauses must not outlive the call either.
        if this.times.end.is_some_and(|end| Instant::now() >= end) {
            return Poll::Ready(Some(Err(Failure::Deadline { server: this.target.server() })));
        }
        match Pin::new(&mut this.incoming).poll_frame(cx) {
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(broken(&this.target, &error)))),
            Poll::Ready(Some(Ok(frame))) => {
                this.timer.as_mut().reset(this.times.end_of(this.times.between));
                Poll::Ready(Some(take(this.purse.as_ref(), &frame).map(|()| frame)))
            }
            Poll::Pending => this.timer.as_mut().poll(cx).map(|()| {
                Some(Err(this.times.over(&this.target, "the next piece of the answer", this.times.between)))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
