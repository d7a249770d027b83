//! HTTP as a component sends it: `wasi:http/outgoing-handler`, and the host's `egress` for identities and sentences. Plain functions and
//! no methods of [`Host`](crate::Host): a plugin that does not call them does not import them.

use wasip2::{
    http::{
        outgoing_handler,
        types::{
            ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
            RequestOptions, Scheme,
        },
    },
    io::streams::{InputStream, StreamError},
};

use super::bindings::pilothouse::operator::egress;
use crate::{
    HttpBody, HttpError, HttpErrorKind, HttpRequest, HttpResponse, Identity, IdentityError, SecretKey,
};

/// Bytes of one piece.
const PIECE: u64 = 64 * 1024;

pub(crate) fn send(request: &HttpRequest) -> Result<HttpResponse, HttpError> {
    let outgoing = head(request)?;
    let body = outgoing.body().map_err(|()| invalid("its body is taken"))?;
    let options = request.timeout.map(options);
    let answer = outgoing_handler::handle(outgoing, options).map_err(|code| failed(&code))?;
    write(body, &request.body)?;
    let ready = answer.subscribe();
    ready.block();
    let response = answer.get().and_then(Result::ok).ok_or_else(|| invalid("its answer was taken"))?;
    read(response.map_err(|code| failed(&code))?)
}

fn head(request: &HttpRequest) -> Result<OutgoingRequest, HttpError> {
    let (scheme, rest) = request.url.split_once("://").ok_or_else(|| invalid("its address has no scheme"))?;
    let scheme = match scheme {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        other => Scheme::Other(other.to_owned()),
    };
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let mut headers: Vec<(String, Vec<u8>)> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
    if !request.body.is_empty() {
        headers.push(("content-length".to_owned(), request.body.len().to_string().into_bytes()));
    }
    let headers = Fields::from_list(&headers).map_err(|error| invalid(&format!("its headers: {error:?}")))?;
    let outgoing = OutgoingRequest::new(headers);
    let refused = |what: &'static str| move |()| invalid(what);
    outgoing.set_method(&method(&request.method)).map_err(refused("its method"))?;
    outgoing.set_scheme(Some(&scheme)).map_err(refused("its scheme"))?;
    outgoing.set_authority(Some(authority)).map_err(refused("its host"))?;
    outgoing.set_path_with_query(Some(path)).map_err(refused("its path"))?;
    Ok(outgoing)
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "PATCH" => Method::Patch,
        "OPTIONS" => Method::Options,
        other => Method::Other(other.to_owned()),
    }
}

fn options(timeout: std::time::Duration) -> RequestOptions {
    let options = RequestOptions::new();
    let nanoseconds = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    // All of them are served.
    let _ = options.set_connect_timeout(Some(nanoseconds));
    let _ = options.set_first_byte_timeout(Some(nanoseconds));
    let _ = options.set_between_bytes_timeout(Some(nanoseconds));
    options
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), HttpError> {
    if !bytes.is_empty() {
        let stream = body.write().map_err(|()| invalid("its body is taken"))?;
        // At most 4096 bytes fit into one of these calls.
        for piece in bytes.chunks(4096) {
            if stream.blocking_write_and_flush(piece).is_err() {
                // The server does not listen any more; its answer says why, or that there is none.
                return Ok(());
            }
        }
    }
    // The same: what is wrong is told by the answer.
    let _ = OutgoingBody::finish(body, None);
    Ok(())
}

fn read(response: IncomingResponse) -> Result<HttpResponse, HttpError> {
    let headers = response.headers().entries();
    let headers =
        headers.into_iter().map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned()));
    let headers = headers.collect();
    let status = response.status();
    let body = response.consume().map_err(|()| invalid("its answer was taken"))?;
    let stream = body.stream().map_err(|()| invalid("its answer was taken"))?;
    Ok(HttpResponse::new(status, headers, Box::new(Pieces { stream, _body: body, _response: response })))
}

/// A body on its way. Children go before their parents.
struct Pieces {
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
}

impl std::fmt::Debug for Pieces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pieces")
    }
}

impl HttpBody for Pieces {
    fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        match self.stream.blocking_read(PIECE) {
            Ok(piece) => Ok(Some(piece)),
            Err(StreamError::Closed) => Ok(None),
            Err(StreamError::LastOperationFailed(error)) => {
                let code = wasip2::http::types::http_error_code(&error);
                Err(code.map_or_else(
                    || HttpError::new(HttpErrorKind::Unreachable, told(error.to_debug_string())),
                    |code| failed(&code),
                ))
            }
        }
    }
}

fn invalid(why: &str) -> HttpError {
    HttpError::new(HttpErrorKind::Invalid, format!("the request cannot be sent: {why}"))
}

/// The host's sentence, or what there is instead.
fn told(otherwise: String) -> String {
    egress::why().unwrap_or(otherwise)
}

fn failed(code: &ErrorCode) -> HttpError {
    let kind = match code {
        ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => HttpErrorKind::Denied,
        ErrorCode::HttpRequestUriInvalid
        | ErrorCode::HttpRequestMethodInvalid
        | ErrorCode::HttpRequestBodySize(_) => HttpErrorKind::Invalid,
        ErrorCode::TlsCertificateError | ErrorCode::TlsProtocolError | ErrorCode::TlsAlertReceived(_) => {
            HttpErrorKind::Tls
        }
        ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout
        | ErrorCode::DnsTimeout => HttpErrorKind::Timeout,
        ErrorCode::ConnectionLimitReached => HttpErrorKind::Throttled,
        // The host has no word for its own budgets.
        ErrorCode::InternalError(_) | ErrorCode::HttpResponseBodySize(_) => HttpErrorKind::TooLarge,
        ErrorCode::HttpProtocolError => HttpErrorKind::Malformed,
        _ => HttpErrorKind::Unreachable,
    };
    HttpError::new(kind, told(format!("{code:?}")))
}

pub(crate) fn use_identity(identity: &Identity) -> Result<(), IdentityError> {
    let key = |key: &SecretKey| egress::SecretKey {
        secret: egress::SecretRef { namespace: key.namespace.clone(), name: key.name.clone() },
        key: key.key.clone(),
    };
    let pair = |(certificate, private): &(SecretKey, SecretKey)| egress::KeyPair {
        certificate: key(certificate),
        key: key(private),
    };
    let identity = egress::Identity {
        servers: identity.servers.clone(),
        authorities: identity.authorities.as_ref().map(key),
        client: identity.client.as_ref().map(pair),
        server_name: identity.server_name.clone(),
    };
    Ok(egress::use_identity(&identity)?)
}

impl From<egress::Error> for IdentityError {
    fn from(error: egress::Error) -> Self {
        match error {
            egress::Error::Denied(why) => Self::Denied(why),
            egress::Error::Unusable(why) => Self::Unusable(why),
            egress::Error::Invalid(why) => Self::Invalid(why),
            egress::Error::Unavailable(why) => Self::Unavailable(why),
        }
    }
}
