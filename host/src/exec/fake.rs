//! An API server in memory that speaks the protocol of commands.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures::SinkExt as _;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::Command;
use crate::cluster::request::Api;
use crate::telemetry::ClientMetrics;

pub(super) const V4: &str = "v4.channel.k8s.io";
pub(super) const V5: &str = "v5.channel.k8s.io";
pub(super) const SUCCESS: &[u8] = br#"{"metadata":{},"status":"Success"}"#;

/// The server's end of a connection.
pub(super) struct Socket(pub(super) WebSocketStream<TokioIo<Upgraded>>);

impl Socket {
    /// Says something on a channel.
    pub(super) async fn say(&mut self, channel: u8, content: &[u8]) {
        let message = [&[channel], content].concat();
        // Whoever has hung up does not listen.
        let _ = self.0.send(Message::binary(message)).await;
    }
}

/// What a client asked with.
pub(super) struct Asked {
    pub(super) uri: String,
    pub(super) headers: HeaderMap,
}

/// A server that opens every connection, with this protocol, and does then what the script says.
pub(super) fn server<F, S>(protocol: &'static str, script: S) -> Api
where
    F: Future<Output = ()> + Send + 'static,
    S: Fn(Asked, Socket) -> F + Send + Sync + 'static,
{
    let script = Arc::new(script);
    let service = tower::service_fn(move |request: Request<Body>| {
        let script = Arc::clone(&script);
        async move {
            let (near, far) = tokio::io::duplex(64 * 1024);
            let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
                let script = Arc::clone(&script);
                async move { Ok::<_, Infallible>(open(protocol, request, script)) }
            });
            let serving = hyper::server::conn::http1::Builder::new();
            tokio::spawn(serving.serve_connection(TokioIo::new(far), answer).with_upgrades());
            let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(near)).await?;
            tokio::spawn(connection.with_upgrades());
            sender.send_request(request).await
        }
    });
    Api::new(kube::Client::new(service, "default"), ClientMetrics::default())
}

fn open<F, S>(
    protocol: &'static str,
    mut request: Request<Incoming>,
    script: Arc<S>,
) -> Response<Empty<Bytes>>
where
    F: Future<Output = ()> + Send + 'static,
    S: Fn(Asked, Socket) -> F + Send + Sync + 'static,
{
    let asked = Asked { uri: request.uri().to_string(), headers: request.headers().clone() };
    let accept = derive_accept_key(request.headers()[header::SEC_WEBSOCKET_KEY].as_bytes());
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let stream = TokioIo::new(upgraded.await.unwrap());
        script(asked, Socket(WebSocketStream::from_raw_socket(stream, Role::Server, None).await)).await;
    });
    let response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, accept)
        .header(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    response.body(Empty::new()).unwrap()
}

/// A command that the scripts take for any.
pub(super) fn command(arguments: &[&str]) -> Command {
    Command {
        namespace: "shop".to_owned(),
        pod: "db-0".to_owned(),
        container: "db".to_owned(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        stdin: None,
        timeout: std::time::Duration::from_secs(60),
        account: Some("system:serviceaccount:ops:backup".to_owned()),
    }
}
