//! Connections with TLS, under a certificate that the host makes for itself at each start. It says nothing about who
//! serves; it keeps what is sent, tokens above all, from those who only listen.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rcgen::{CertificateParams, DnType, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

use crate::certificate::Pair;

/// How long a client may take to agree on a key.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Clients that may be at it at once; more wait to be accepted.
const HANDSHAKES: usize = 32;

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// No certificate.
    #[error("no certificate could be made: {0}")]
    Certificate(#[from] rcgen::Error),
    /// No configuration.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Certificate {
    /// A new one, for this machine's own names: scrapers reach the pod by an address that nobody knows beforehand, and
    /// have to skip the check.
    ///
    /// # Errors
    /// When the machine has no random numbers.
    pub fn of_ones_own() -> Result<Self, TlsError> {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "pilothouse");
        let pair = KeyPair::generate()?;
        let certificate = params.self_signed(&pair)?;
        let key = PrivatePkcs8KeyDer::from(pair.serialize_der());
        Ok(Self { chain: vec![certificate.der().clone()], key: key.into() })
    }

    /// One that somebody signed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn from_pem(pair: &Pair) -> Result<Self, TlsError> {
        let unreadable = |error: pem::Error| rustls::Error::General(format!("{error:?}"));
        let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).map_err(unreadable)?;
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).map_err(unreadable)?;
        Ok(Self { chain: vec![certificate], key })
    }

    fn config(self) -> Result<ServerConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth();
        let mut config = config.with_single_cert(self.chain, self.key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// A listener whose connections have agreed on a key.
#[derive(Debug)]
pub struct TlsListener {
    agreed: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: std::io::Result<SocketAddr>,
    _accepting: JoinSet<()>,
}

impl TlsListener {
    /// Accepts beside the one who serves: a client that says nothing holds up nobody.
    ///
    /// # Errors
    /// When the certificate and its key do not fit.
    pub fn new(mut listener: TcpListener, certificate: Certificate) -> Result<Self, TlsError> {
        let acceptor = TlsAcceptor::from(Arc::new(certificate.config()?));
        let (sender, agreed) = mpsc::channel(HANDSHAKES);
        let address = listener.local_addr();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let room = Arc::new(Semaphore::new(HANDSHAKES));
            let mut handshakes = JoinSet::new();
            // The semaphore is never closed.
            while let Ok(place) = Arc::clone(&room).acquire_owned().await {
                let (stream, peer) = Listener::accept(&mut listener).await;
                let (acceptor, sender) = (acceptor.clone(), sender.clone());
                handshakes.spawn(async move {
                    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
                        Ok(Ok(stream)) => drop(sender.send((stream, peer)).await),
                        Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS with this client"),
                        Err(_) => tracing::debug!(%peer, "a client did not agree on a key in time"),
                    }
                    drop(place);
                });
                while handshakes.try_join_next().is_some() {}
            }
        });
        Ok(Self { agreed, address, _accepting: accepting })
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.agreed.recv().await {
            Some(connection) => connection,
            // Nobody accepts any more: not while this value lives.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        match &self.address {
            Ok(address) => Ok(*address),
            Err(error) => Err(error.kind().into()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::Ipv4Addr;

    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    use super::*;

    /// What a client that trusts just this certificate is answered.
    pub(in crate::health) async fn ask(
        address: SocketAddr,
        trusted: CertificateDer<'static>,
        request: &str,
    ) -> std::io::Result<String> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(address).await?;
        let name = "localhost".try_into().unwrap();
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    impl Certificate {
        pub(in crate::health) fn public(&self) -> CertificateDer<'static> {
            self.chain[0].clone()
        }
    }

    const REQUEST: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

    async fn serve() -> (SocketAddr, CertificateDer<'static>) {
        let certificate = Certificate::of_ones_own().unwrap();
        let public = certificate.public();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let listener = TlsListener::new(listener, certificate).unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Router::new().route("/", get(|| async { "hi" }));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (address, public)
    }

    #[tokio::test]
    async fn what_is_served_can_be_read_with_tls_and_not_without() {
        let (address, certificate) = serve().await;
        let answer = ask(address, certificate, REQUEST).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hi"), "{answer}");
        let mut plain = TcpStream::connect(address).await.unwrap();
        plain.write_all(REQUEST.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = plain.read_to_end(&mut answer).await;
        assert!(!String::from_utf8_lossy(&answer).contains("hi"), "{answer:?}");
        // Every start has another certificate.
        let other = Certificate::of_ones_own().unwrap().public();
        assert!(ask(address, other, REQUEST).await.unwrap_err().to_string().contains("certificate"));
    }

    #[tokio::test]
    async fn clients_that_say_nothing_hold_up_nobody() {
        let (address, certificate) = serve().await;
        let mut silent = Vec::new();
        for _ in 0..HANDSHAKES - 1 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let answer = ask(address, certificate, REQUEST).await.unwrap();
        assert!(answer.ends_with("hi"), "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_agrees_loses_its_place() {
        let (address, certificate) = serve().await;
        let mut silent = Vec::new();
        for _ in 0..HANDSHAKES {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        // Virtual time goes on while nothing else does.
        let mut rest = Vec::new();
        assert_eq!(silent.remove(0).read_to_end(&mut rest).await.unwrap(), 0);
        tokio::time::resume();
        let answer = ask(address, certificate, REQUEST).await.unwrap();
        assert!(answer.ends_with("hi"), "{answer}");
    }
}
