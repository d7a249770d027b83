//! Servers on this machine, and a network in which they are where a test says.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pilothouse::egress::connect::Network;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto};

pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Names that lead where a test says, and addresses behind which are servers of this machine.
#[derive(Debug, Default)]
pub struct Scripted {
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    doors: Mutex<HashMap<SocketAddr, SocketAddr>>,
    pub resolved: AtomicUsize,
    pub met: Mutex<Vec<SocketAddr>>,
}

impl Scripted {
    /// A name leads to these addresses.
    pub fn name(&self, host: &str, addresses: &[&str]) {
        self.name_in_turn(host, &[addresses]);
    }

    /// A name leads elsewhere with every look at it; the last answer stays.
    pub fn name_in_turn(&self, host: &str, answers: &[&[&str]]) {
        let parsed = answers.iter().map(|all| all.iter().map(|one| one.parse().unwrap()).collect()).collect();
        self.names.lock().unwrap().insert(host.to_owned(), parsed);
    }

    /// Behind an address is a server of this machine.
    pub fn door(&self, address: &str, server: SocketAddr) {
        self.doors.lock().unwrap().insert(address.parse().unwrap(), server);
    }
}

#[async_trait]
impl Network for Scripted {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        self.resolved.fetch_add(1, Ordering::Relaxed);
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let mut names = self.names.lock().unwrap();
        let answers = names.get_mut(host).ok_or_else(|| io::Error::other("no such host"))?;
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        Ok(answer.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.met.lock().unwrap().push(address);
        let door = self.doors.lock().unwrap().get(&address).copied();
        TcpStream::connect(door.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?).await
    }
}

/// An authority and what it signs.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key as PEM.
#[derive(Clone)]
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer }
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    pub fn signs(&self, name: &str) -> Pair {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// A server's side of TLS; with clients' authority, clients need a certificate of it.
pub fn acceptor(pair: &Pair, clients: Option<&Authority>) -> TlsAcceptor {
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    let provider = Arc::new(crypto::ring::default_provider());
    let certificates = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(certificates(&authority.pem())).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let config = builder.with_single_cert(vec![certificates(&pair.certificate)], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Serves HTTP for the rest of the test.
pub async fn serve<F, R>(tls: Option<TlsAcceptor>, answer: F) -> SocketAddr
where
    F: Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response<Body>> + Send + 'static,
{
    serve_streams(move |stream| {
        let (tls, answer) = (tls.clone(), answer.clone());
        async move {
            match tls {
                None => talk(stream, answer).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        talk(stream, answer).await;
                    }
                }
            }
        }
    })
    .await
}

/// Hands every connection to a function.
pub async fn serve_streams<F, R>(serve: F) -> SocketAddr
where
    F: Fn(TcpStream) -> R + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

async fn talk<S, F, R>(stream: S, answer: F)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Fn(Request<Incoming>) -> R + Send + 'static,
    R: Future<Output = Response<Body>> + Send + 'static,
{
    let service = service_fn(move |request| {
        let answered = answer(request);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// A body that is there.
pub fn full(text: impl Into<Bytes>) -> Body {
    use http_body_util::BodyExt as _;
    http_body_util::Full::new(text.into()).boxed_unsync()
}

/// A body of so many MiB, made while it is read.
pub fn mebibytes(count: usize) -> Body {
    use futures::StreamExt as _;
    use http_body_util::BodyExt as _;
    let piece = Bytes::from(vec![7_u8; 1 << 20]);
    let pieces = futures::stream::iter((0..count).map(move |_| Ok(hyper::body::Frame::data(piece.clone()))));
    http_body_util::StreamBody::new(pieces.boxed()).boxed_unsync()
}
