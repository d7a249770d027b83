//! Requests of a store's library, sent as all others are: guarded, timed and counted.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};

use crate::egress::Egress;
use crate::egress::address::Reach;
use crate::egress::exchange::{Order, Times, send};
use crate::egress::failure::Failure;
use crate::egress::identity::Tls;
use crate::egress::place::Target;

/// How one store is spoken to.
#[derive(Clone, Debug)]
pub struct Connector {
    /// What all exchanges share.
    pub egress: Arc<Egress>,
    /// On whose behalf.
    pub plugin: String,
    /// Where the store may be.
    pub reach: Reach,
    /// The one server there is; none: where the library of a public store goes.
    pub server: Option<Target>,
    /// Other authorities than the machine's.
    pub tls: Option<Tls>,
    /// What requests may take.
    pub times: Times,
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Connector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let target = Target::of(request.uri()).map_err(in_their_words)?;
        // A bucket may be a part of the host's name; nothing else may differ.
        if let Some(server) = &self.server {
            let below = target.host == server.host || target.host.ends_with(&format!(".{}", server.host));
            if !below || (target.tls, target.port) != (server.tls, server.port) {
                let refused = Failure::Denied(format!("{target} is not the store's server {server}"));
                return Err(in_their_words(refused));
            }
        }
        let order = Order {
            plugin: self.plugin.clone(),
            target,
            reach: self.reach,
            tls: self.tls.clone(),
            times: self.times,
            purse: None,
        };
        let response = send(&self.egress, order, request).await.map_err(in_their_words)?;
        Ok(response.map(|answer| HttpResponseBody::new(answer.map_err(in_their_words))))
    }
}

fn in_their_words(failure: Failure) -> HttpError {
    let kind = match &failure {
        Failure::Connect { .. } | Failure::Unknown { .. } => HttpErrorKind::Connect,
        Failure::Slow { .. } | Failure::Deadline { .. } => HttpErrorKind::Timeout,
        Failure::Broken { .. } => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, failure)
}

/// Whether an error is a refusal that no other attempt changes.
pub(super) fn is_final(error: &(dyn Error + 'static)) -> bool {
    let mut source = Some(error);
    while let Some(cause) = source {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return !failure.may_pass();
        }
        source = cause.source();
    }
    false
}
