//! `wasi:http/outgoing-handler`: requests of plugins to servers other than the cluster's API. What may be reached, how fast and how
//! much is decided here; `egress` carries it out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpHooks};

use crate::cluster::request;
use crate::egress::exchange::{self, Order, Times};
use crate::egress::failure::Failure;
use crate::egress::identity::Tls;
use crate::egress::place::{Place, Target};
use crate::plugin::context::HookContext;
use crate::plugin::limits::Purse;

/// Requests of one call that may be under way at once: each is a connection.
const AT_ONCE: usize = 16;
/// How long a request waits for its plugin's share before it is told to come back.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the engine keeps for the requests of one call; made with the first of them.
pub(crate) struct Web {
    ctx: WasiHttpCtx,
    hooks: Hooks,
}

/// What decides about requests.
pub(crate) struct Hooks {
    call: Arc<HookContext>,
    purse: Purse,
    identities: Vec<(Place, Tls)>,
    open: Arc<Semaphore>,
    why: Why,
}

/// The last failure, in a sentence.
#[derive(Clone, Default)]
struct Why(Arc<Mutex<Option<String>>>);

impl Why {
    fn note(&self, failure: &Failure) -> Error {
        tracing::debug!(reason = failure.reason(), "{failure}");
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure.to_string());
        in_wasis_words(failure)
    }
}

impl Web {
    pub(crate) fn new(call: &Arc<HookContext>, purse: Purse) -> Box<Self> {
        let hooks = Hooks {
            call: Arc::clone(call),
            purse,
            identities: Vec::new(),
            open: Arc::new(Semaphore::new(AT_ONCE)),
            why: Why::default(),
        };
        Box::new(Self { ctx: WasiHttpCtx::new(), hooks })
    }

    pub(crate) fn parts(&mut self) -> (&mut WasiHttpCtx, &mut Hooks) {
        (&mut self.ctx, &mut self.hooks)
    }

    /// How many identities there are.
    pub(super) fn identities(&self) -> usize {
        self.hooks.identities.len()
    }

    /// Requests to these servers are sent under an identity.
    pub(super) fn identify(&mut self, servers: Place, tls: Tls) {
        self.hooks.identities.push((servers, tls));
    }

    /// The identity that holds for a server.
    pub(super) fn identity(&self, target: &Target, namespace: Option<&str>) -> Option<Tls> {
        let mut identities = self.hooks.identities.iter().rev();
        identities.find(|(servers, _)| servers.holds(target, namespace)).map(|(_, tls)| tls.clone())
    }

    /// Why the last request failed.
    pub(super) fn why(&self) -> Option<String> {
        self.hooks.why.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Hooks {
    /// What a request needs, if it may be sent.
    fn admit(
        &self,
        request: &Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<(Order, OwnedSemaphorePermit), Failure> {
        let headers: usize =
            request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
        self.purse.take(headers + path).map_err(Failure::Exhausted)?;
        let target = Target::of(request.uri())?;
        let namespace = self.call.owner.key.namespace.as_deref();
        let reach = self.call.grants.may_connect(&target, namespace).map_err(Failure::Denied)?;
        let full =
            "too many requests of this call are under way at once; read their answers first, or let them go";
        let permit = Arc::clone(&self.open).try_acquire_owned().map_err(|_| Failure::Exhausted(full))?;
        let tls = self.identities.iter().rev().find(|(servers, _)| servers.holds(&target, namespace));
        let order = Order {
            plugin: self.call.plugin.name.to_string(),
            reach,
            tls: tls.map(|(_, tls)| tls.clone()),
            times: times(options),
            purse: Some(self.purse.clone()),
            target,
        };
        Ok((order, permit))
    }
}

/// The guest's wishes, never longer than the call.
fn times(options: Option<RequestOptions>) -> Times {
    let options = options.unwrap_or_default();
    let usual = Times::default();
    Times {
        connect: options.connect_timeout.unwrap_or(usual.connect),
        first_byte: options.first_byte_timeout.unwrap_or(usual.first_byte),
        between: options.between_bytes_timeout.unwrap_or(usual.between),
        end: Some(request::deadline().unwrap_or_else(|| Instant::now() + request::TIMEOUT)),
    }
}

type Rest = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Sent = Result<(Response<WasiBody>, Rest), Error>;

impl WasiHttpHooks for Hooks {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Rest,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let admitted = self.admit(&request, options);
        let (call, why) = (Arc::clone(&self.call), self.why.clone());
        // Under the span of the call, and not under that of whoever polls.
        let span = tracing::Span::current();
        let sending = async move {
            let sent = match admitted {
                Ok((order, permit)) => paced(&call, order, request).await.map(|response| (response, permit)),
                Err(failure) => {
                    call.egress.metrics.refused(&call.plugin.name, &failure);
                    Err(failure)
                }
            };
            let (response, permit) = sent.map_err(|failure| why.note(&failure))?;
            let response = response.map(|answer| {
                answer
                    .map_err(move |failure| {
                        // Held as long as the connection is.
                        let _held = &permit;
                        why.note(&failure)
                    })
                    .boxed_unsync()
            });
            // The body drives its connection itself.
            let rest: Rest = Box::new(async { Ok(()) });
            Ok((response, rest))
        };
        Box::new(tracing::Instrument::instrument(sending, span))
    }
}

async fn paced(
    call: &HookContext,
    order: Order,
    request: Request<WasiBody>,
) -> Result<Response<exchange::Answer>, Failure> {
    let patience = Instant::now() + PATIENCE;
    let end = order.times.end.map_or(patience, |end| end.min(patience));
    let share = call.egress.throttle(&call.plugin.name).acquire(end).await;
    if let Err(late) = share {
        let failure = Failure::Throttled(late.retry_after);
        call.egress.metrics.refused(&call.plugin.name, &failure);
        return Err(failure);
    }
    exchange::send(&call.egress, order, request).await
}

/// The nearest word that guests know.
fn in_wasis_words(failure: &Failure) -> Error {
    match failure {
        Failure::Denied(_) => Error::HttpRequestDenied,
        Failure::Invalid(_) => Error::HttpRequestUriInvalid,
        Failure::Prohibited { .. } => Error::DestinationIpProhibited,
        Failure::Unknown { said, .. } => Error::DnsError { rcode: Some(said.clone()), info_code: None },
        Failure::Connect { .. } => Error::ConnectionRefused,
        Failure::Certificate { .. } => Error::TlsCertificateError,
        Failure::Tls { said, .. } => {
            Error::TlsAlertReceived { alert_id: None, alert_message: Some(said.clone()) }
        }
        Failure::Slow { step: "connecting", .. } => Error::ConnectionTimeout,
        Failure::Slow { step: "the answer", .. } | Failure::Deadline { .. } => Error::HttpResponseTimeout,
        Failure::Slow { .. } => Error::ConnectionReadTimeout,
        Failure::Broken { .. } => Error::ConnectionTerminated,
        Failure::Protocol { .. } => Error::HttpProtocolError,
        Failure::Throttled(_) => Error::ConnectionLimitReached,
        Failure::Exhausted(_) => Error::InternalError(Some(failure.to_string())),
    }
}
