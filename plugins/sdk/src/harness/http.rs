//! Servers other than the cluster's API, as a test scripts them.

use std::{collections::VecDeque, fmt, rc::Rc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{cluster::Cluster, places::Place, rights::Access, session::Session, store::Key};
use crate::{
    Gvk, HttpBody, HttpError, HttpErrorKind, HttpRequest, HttpResponse, Identity, IdentityError, ObjectRef,
    Outside, SecretKey,
};

/// What a scripted server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct HttpAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    pieces: Vec<Vec<u8>>,
    end: Option<HttpError>,
    changed: bool,
}

impl HttpAnswer {
    /// A status with a body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), pieces: vec![body.into()], end: None, changed: false }
    }

    /// 200 with JSON.
    pub fn json(value: &Value) -> Self {
        Self::new(200, value.to_string()).header("content-type", "application/json")
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a piece of the body: a stream comes in several.
    pub fn piece(mut self, piece: impl Into<Vec<u8>>) -> Self {
        self.pieces.push(piece.into());
        self
    }

    /// The connection ends after the pieces.
    pub fn breaks_off(mut self) -> Self {
        self.end = Some(HttpError::new(HttpErrorKind::Unreachable, "the connection broke off"));
        self
    }

    pub(super) fn into_response(self) -> HttpResponse {
        let Self { status, headers, pieces, end, .. } = self;
        let body = Pieces { left: pieces.into_iter().filter(|piece| !piece.is_empty()).collect(), end };
        HttpResponse::new(status, headers, Box::new(body))
    }

    /// The server changed something by it: counted by [`Cluster::crash_after_write`] like a write to the cluster.
    pub fn changed(mut self) -> Self {
        self.changed = true;
        self
    }
}

/// One recorded request to a scripted server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpCall {
    /// What was sent.
    pub request: HttpRequest,
    /// Under which identity.
    pub identity: Option<Identity>,
    /// What was answered.
    pub status: Result<u16, HttpError>,
}

/// `POST https://etcd:2379/v3/kv/range -> 200`.
impl fmt::Display for HttpCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> ", self.request.method, self.request.url)?;
        match &self.status {
            Ok(status) => write!(f, "{status}"),
            Err(error) => write!(f, "{}", error.reason()),
        }
    }
}

pub(super) type Serve = dyn Fn(&HttpRequest, Option<&Identity>) -> Result<HttpAnswer, HttpError>;

/// Servers and what they were asked. Survives crashes of the host.
#[derive(Default)]
pub(super) struct Servers {
    servers: Vec<(Place, Rc<Serve>)>,
    calls: Vec<HttpCall>,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Servers").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Serves HTTP at `https://etcd.default.svc:2379` or `https://*.default.svc:2379`. The function is asked for every request with the
    /// identity in force; what it answers, or how it fails, is its affair. It may use the cluster. Of several for a server the
    /// one added last answers.
    ///
    /// # Panics
    /// When the address is none: a test has it in its text.
    pub fn serve(
        &self,
        servers: &str,
        answer: impl Fn(&HttpRequest, Option<&Identity>) -> Result<HttpAnswer, HttpError> + 'static,
    ) {
        let place = Place::parse(servers);
        assert!(place.is_some(), "{servers:?} names no servers, such as https://*.default.svc:2379");
        if let Some(place) = place {
            self.state().servers.servers.push((place, Rc::new(answer)));
        }
    }

    /// Who answers at an address. Nothing is borrowed: a server may look at the cluster.
    pub(super) fn server_of(&self, url: &str, namespace: Option<&str>) -> Option<Rc<Serve>> {
        let state = self.state();
        let mut servers = state.servers.servers.iter().rev();
        servers.find(|(place, _)| place.holds(url, namespace)).map(|(_, server)| Rc::clone(server))
    }

    /// Requests to scripted servers, in order.
    pub fn http_calls(&self) -> Vec<HttpCall> {
        self.state().servers.calls.clone()
    }
}

impl Session {
    pub(super) fn identity_for(&self, url: &str) -> Option<Identity> {
        let identities = self.identities.borrow();
        let namespace = self.namespace();
        let serves = |identity: &&Identity| {
            Place::parse(&identity.servers).is_some_and(|place| place.holds(url, namespace.as_deref()))
        };
        identities.iter().rev().find(serves).cloned()
    }

    pub(super) fn namespace(&self) -> Option<String> {
        self.owner.as_ref().and_then(|owner| owner.reference.namespace.clone())
    }

    pub(super) fn may_reach(&self, url: &str) -> Result<(), HttpError> {
        let Some(egress) = self.rights.as_ref().and_then(|rights| rights.egress.as_ref()) else {
            return Ok(());
        };
        let namespace = self.namespace();
        if egress.iter().any(|place| place.holds(url, namespace.as_deref())) {
            return Ok(());
        }
        let message =
            format!("{url} may not be reached: the plugin's manifest does not ask for it (`rights.egress`)");
        Err(HttpError::new(HttpErrorKind::Denied, message))
    }

    /// A Secret that the plugin may use, if it is there.
    pub(super) fn used(&self, namespace: &str, name: &str) -> Result<Option<Value>, IdentityError> {
        let access = |verb| Access {
            verb,
            group: String::new(),
            resource: "secrets".to_owned(),
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
        };
        let state = self.cluster.state();
        let said = format!("Secret {namespace}/{name}");
        if let Some(rights) = &self.rights {
            let granted = rights
                .check(&access("use"))
                .or_else(|refused| rights.check(&access("get")).map_err(|_| refused));
            granted.map_err(|error| IdentityError::Denied(format!("{said} cannot be used: {error}")))?;
            if state.forbidden.iter().any(|(verb, resource)| verb == "get" && resource == "secrets") {
                let error = rights.forbidden(&access("get"));
                return Err(IdentityError::Denied(format!("{said} cannot be used: {error}")));
            }
        }
        let secret = ObjectRef::new(Gvk::new("", "v1", "Secret"), namespace, name);
        Ok(state.store.objects.get(&Key::of(&secret)).map(|stored| stored.object.clone()))
    }

    /// Whether an entry of a Secret can be used.
    pub(super) fn entry(&self, wanted: &SecretKey) -> Result<(), IdentityError> {
        let SecretKey { namespace, name, key } = wanted;
        let said = format!("Secret {namespace}/{name}");
        let stored = self.used(namespace, name)?;
        let stored = stored.ok_or_else(|| IdentityError::Unusable(format!("{said} is not there")))?;
        let entry = |part: &str| stored.get(part)?.get(key)?.as_str();
        let decodes = |text: &str| STANDARD.decode(text).is_ok_and(|bytes| !bytes.is_empty());
        if entry("data").is_some_and(decodes) || entry("stringData").is_some() {
            return Ok(());
        }
        Err(IdentityError::Unusable(format!("{said} has no entry {key}")))
    }
}

impl Outside for Session {
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        let over = |error: crate::KubeError| HttpError::new(HttpErrorKind::TooLarge, error.to_string());
        self.budget.borrow_mut().call(request.url.len() + request.body.len()).map_err(over)?;
        self.may_reach(&request.url)?;
        let identity = self.identity_for(&request.url);
        let namespace = self.namespace();
        let server = self.cluster.server_of(&request.url, namespace.as_deref());
        let answer = match server {
            Some(server) => server(request, identity.as_ref()),
            None => {
                Err(HttpError::new(HttpErrorKind::Unreachable, format!("nobody answers at {}", request.url)))
            }
        };
        let status = answer.as_ref().map(|answer| answer.status).map_err(Clone::clone);
        let mut state = self.cluster.state();
        state.servers.calls.push(HttpCall { request: request.clone(), identity, status });
        state.crash.after_call(answer.as_ref().is_ok_and(|answer| answer.changed));
        drop(state);
        let answer = answer?;
        let bytes = answer.pieces.iter().map(Vec::len).sum();
        self.budget.borrow_mut().bytes(bytes).map_err(over)?;
        Ok(answer.into_response())
    }

    fn use_identity(&self, identity: &Identity) -> Result<(), IdentityError> {
        let over = |error: crate::KubeError| IdentityError::Unavailable(error.to_string());
        self.budget.borrow_mut().call(identity.servers.len()).map_err(over)?;
        let tls = identity.servers.starts_with("https://") && Place::parse(&identity.servers).is_some();
        if !tls {
            let message = format!("{:?} names no servers with TLS", identity.servers);
            return Err(IdentityError::Invalid(message));
        }
        for key in
            identity.authorities.iter().chain(identity.client.iter().flat_map(|(one, other)| [one, other]))
        {
            self.entry(key)?;
        }
        self.identities.borrow_mut().push(identity.clone());
        Ok(())
    }
}

#[derive(Debug)]
struct Pieces {
    left: VecDeque<Vec<u8>>,
    end: Option<HttpError>,
}

impl HttpBody for Pieces {
    fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        match (self.left.pop_front(), &self.end) {
            (None, Some(error)) => Err(error.clone()),
            (piece, _) => Ok(piece),
        }
    }
}
