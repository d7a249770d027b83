//! Connections: a name becomes addresses, every address is held against the grant, and then one of them is met, not another one
//! that a second look at the name would find.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::address::Reach;
use super::alerted::Alerted;
use super::failure::Failure;
use super::identity::Tls;
use super::place::Target;

/// Where names and connections come from.
#[async_trait]
pub trait Network: std::fmt::Debug + Send + Sync {
    /// All addresses of a host.
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;

    /// A connection to one of them.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// The system's.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

#[async_trait]
impl Network for System {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }
}

/// One of several addresses is given up after so long.
const ONE_OF_MANY: Duration = Duration::from_secs(2);

/// A stream of bytes with or without TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects to a server.
pub(super) async fn connect(
    network: &dyn Network,
    target: &Target,
    reach: Reach,
    tls: Option<&Tls>,
) -> Result<Box<dyn Stream>, Failure> {
    let stream = open(network, target, reach).await?;
    // Requests and answers are small, and somebody waits for each.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return Ok(Box::new(stream)) };
    let server = target.server();
    let name = tls.server_name.as_deref().unwrap_or(&target.host);
    let name = ServerName::try_from(name.to_owned())
        .map_err(|_| Failure::Invalid(format!("{name} is no name that a certificate may be for")))?;
    match TlsConnector::from(tls.config.clone()).connect(name, stream).await {
        Ok(stream) => Ok(Box::new(Alerted(stream))),
        Err(error) => Err(no_tls(server, &error)),
    }
}

async fn open(network: &dyn Network, target: &Target, reach: Reach) -> Result<TcpStream, Failure> {
    let host = &target.host;
    let unknown = |said: String| Failure::Unknown { host: host.clone(), said };
    let addresses = network
        .resolve(host, target.port)
        .await
        .map_err(|error| unknown(crate::error_text::go_words(&error)))?;
    // One bad address is enough: which one is met would be a matter of luck.
    for address in &addresses {
        reach.check(host, address.ip())?;
    }
    let mut last = unknown("it has no address".to_owned());
    for address in &addresses {
        let attempt = network.connect(*address);
        let opened = if addresses.len() > 1 {
            timeout(ONE_OF_MANY, attempt).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        } else {
            attempt.await
        };
        match opened {
            Ok(stream) => return Ok(stream),
            Err(error) => {
                let said = crate::error_text::go_words(&error);
                last = Failure::Connect { server: target.server(), said };
            }
        }
    }
    Err(last)
}

/// Why there is no TLS: the server's certificate, or the server.
pub(super) fn no_tls(server: String, error: &io::Error) -> Failure {
    use tokio_rustls::rustls::Error;
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(
            wrong @ (Error::InvalidCertificate(_)
            | Error::NoCertificatesPresented
            | Error::InvalidCertRevocationList(_)),
        ) => Failure::Certificate { server, said: wrong.to_string() },
        Some(other) => Failure::Tls { server, said: other.to_string() },
        None => Failure::Tls { server, said: crate::error_text::go_words(error) },
    }
}
