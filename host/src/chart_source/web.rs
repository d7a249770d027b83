//! HTTP downloads, with bounds.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Uri, header};
use reqwest::redirect::Policy;
use reqwest::{Certificate, ClientBuilder, Identity, StatusCode};

use super::guard::{Guard, GuardedNames};
use crate::error_text::{chain, without_login};

/// The largest file that is fetched for a person: an index can have tens of megabytes.
pub(crate) const MAX_BYTES: u64 = 256 << 20;
/// Without a byte for so long, a server is taken to be gone.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);
/// What is read of an answer that is none: enough for the server's own sentence.
const EXPLANATION: u64 = 64 << 10;
/// Servers that send each other's visitors on.
const MOST_REDIRECTS: usize = 10;

/// Why something cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The server says no.
    #[error("failed to fetch {url} : {status}")]
    Status {
        /// What was asked for.
        url: String,
        /// Code and reason.
        status: StatusCode,
        /// How long the server wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// No server, or a broken connection.
    #[error("Get {url:?}: {message}")]
    Transport {
        /// What was asked for.
        url: String,
        /// What went wrong.
        message: String,
    },
    /// More than anybody needs.
    #[error("{url}: more than {}", size(*.most))]
    TooLarge {
        /// What was asked for.
        url: String,
        /// Bytes it may have.
        most: u64,
    },
    /// A certificate or a key cannot be used.
    #[error("can't create TLS config for client: {path}: {message}")]
    Tls {
        /// The file, or the entry of a Secret.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// The client cannot start.
    #[error("cannot fetch anything: {0}")]
    Start(String),
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{bytes} bytes") }
}

/// A name and a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Login {
    /// Who.
    pub(crate) name: String,
    /// The secret.
    pub(crate) password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

/// Something in PEM, and where it was found.
#[derive(Clone)]
pub(crate) struct Pem {
    /// For messages.
    pub(crate) place: String,
    /// The text.
    pub(crate) text: Vec<u8>,
}

impl std::fmt::Debug for Pem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pem").field("place", &self.place).finish_non_exhaustive()
    }
}

/// How servers are met.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// Certificates of authorities, beside the system's.
    pub(crate) authorities: Option<Pem>,
    /// A certificate of one's own, with its key.
    pub(crate) identity: Option<Pem>,
    /// Whoever answers is believed.
    pub(crate) insecure: bool,
    /// For servers that are asked directly.
    pub(crate) login: Option<Login>,
    /// Others are given it as well.
    pub(crate) everywhere: bool,
    /// Without a byte for so long, a server is taken to be gone.
    pub(crate) silence: Duration,
    /// Addresses that are not met.
    pub(crate) guard: Guard,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            authorities: None,
            identity: None,
            insecure: false,
            login: None,
            everywhere: false,
            silence: SILENCE,
            guard: Guard::default(),
        }
    }
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Fetches, on the terms it was given.
#[derive(Debug)]
pub(crate) struct Client {
    inner: reqwest::Client,
    login: Option<Login>,
    everywhere: bool,
    guard: Guard,
}

impl Client {
    /// A client.
    ///
    /// # Errors
    /// [`FetchError::Tls`], [`FetchError::Start`].
    pub(crate) fn new(terms: &Terms) -> Result<Self, FetchError> {
        // One that is there already is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = ClientBuilder::new()
            .user_agent(concat!("pilothouse/", env!("CARGO_PKG_VERSION")))
            .read_timeout(terms.silence)
            .connect_timeout(terms.silence)
            .referer(false)
            .redirect(redirects(terms.guard.clone()))
            .danger_accept_invalid_certs(terms.insecure);
        if terms.guard.is_strict() {
            builder = builder.dns_resolver(Arc::new(GuardedNames(terms.guard.clone())));
        }
        let inner = certificates(builder, terms)?.build();
        Ok(Self {
            inner: inner.map_err(|error| FetchError::Start(chain(&error)))?,
            login: terms.login.clone(),
            everywhere: terms.everywhere,
            guard: terms.guard.clone(),
        })
    }

    /// The bytes at a URL, at most so many. Credentials go to the server of `owner` only, unless that was said otherwise.
    pub(crate) async fn get(&self, url: &str, owner: &str, most: u64) -> Result<Vec<u8>, FetchError> {
        let accept = "application/gzip,application/octet-stream,application/yaml;q=0.9,*/*;q=0.1";
        let mut request = self.inner.get(url).header(header::ACCEPT, accept);
        if let Some(login) = &self.login
            && (self.everywhere || same_server(url, owner))
        {
            request = request.basic_auth(&login.name, Some(&login.password));
        }
        let reply = self.send(request, url, most).await?;
        if reply.status == StatusCode::OK { Ok(reply.body) } else { Err(self.refusal(&reply, url)) }
    }

    /// An answer as a refusal.
    pub(crate) fn refusal(&self, reply: &Reply, url: &str) -> FetchError {
        let seconds =
            reply.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let (url, status) = (self.told(url), reply.status);
        FetchError::Status { url, status, retry_after: seconds.map(Duration::from_secs) }
    }

    /// A URL as it may be told: without who logs in, and to others than the person who wrote it without what may be a
    /// signature.
    fn told(&self, url: &str) -> String {
        let url = without_login(url);
        match url.split_once('?') {
            Some((path, _)) if self.guard.is_strict() => format!("{path}?…"),
            _ => url,
        }
    }

    /// Whatever a server answers, with headers of one's own. Of answers that are none only the beginning is read.
    pub(crate) async fn ask(&self, url: &str, headers: HeaderMap, most: u64) -> Result<Reply, FetchError> {
        self.send(self.inner.get(url).headers(headers), url, most).await
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        url: &str,
        most: u64,
    ) -> Result<Reply, FetchError> {
        let told = self.told(url);
        let broken = |error: reqwest::Error| FetchError::Transport {
            url: told.clone(),
            message: chain(&error.without_url()),
        };
        let request = request.build().map_err(broken)?;
        // As it was understood: an address has more spellings than one.
        if let Some(host) = request.url().host_str() {
            self.guard.check_literal(host).map_err(|refused| FetchError::Transport {
                url: told.clone(),
                message: refused.to_string(),
            })?;
        }
        let mut response = self.inner.execute(request).await.map_err(broken)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let too_large = || FetchError::TooLarge { url: told.clone(), most };
        if status.is_success() && response.content_length().is_some_and(|length| length > most) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            body.extend_from_slice(&chunk);
            let bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
            if !status.is_success() && bytes > EXPLANATION {
                break;
            }
            if bytes > most {
                return Err(too_large());
            }
        }
        Ok(Reply { status, headers, body })
    }
}

/// Nobody is sent to where they may not go, nor, on guarded terms, out of TLS. Headers with credentials do not go along to
/// another server.
fn redirects(guard: Guard) -> Policy {
    Policy::custom(move |attempt| {
        if attempt.previous().len() > MOST_REDIRECTS {
            return attempt.error("too many redirects");
        }
        if let Some(host) = attempt.url().host_str()
            && let Err(refused) = guard.check_literal(host)
        {
            return attempt.error(refused);
        }
        let was_secure = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
        if guard.is_strict() && was_secure && attempt.url().scheme() != "https" {
            return attempt.error("it sends on to a server without TLS");
        }
        attempt.follow()
    })
}

fn certificates(mut builder: ClientBuilder, terms: &Terms) -> Result<ClientBuilder, FetchError> {
    let wrong = |place: &str| {
        let path = place.to_owned();
        move |error: reqwest::Error| FetchError::Tls { path, message: chain(&error) }
    };
    if let Some(Pem { place, text }) = &terms.authorities {
        builder = builder.tls_certs_merge(Certificate::from_pem_bundle(text).map_err(wrong(place))?);
    }
    if let Some(Pem { place, text }) = &terms.identity {
        builder = builder.identity(Identity::from_pem(text).map_err(wrong(place))?);
    }
    Ok(builder)
}

/// Whether a reference is a URL of the web.
pub(crate) fn is_url(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

/// The host in a URL.
pub(crate) fn host(url: &str) -> Option<String> {
    Some(url.parse::<Uri>().ok()?.host()?.to_owned())
}

/// The path in a URL.
pub(crate) fn path_of(url: &str) -> &str {
    let without = url.split(['?', '#']).next().unwrap_or(url);
    without.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path)
}

/// Scheme, host and port are the same.
fn same_server(one: &str, other: &str) -> bool {
    let server = |url: &str| {
        let uri = url.parse::<Uri>().ok()?;
        Some((uri.scheme_str()?.to_owned(), uri.authority()?.as_str().to_ascii_lowercase()))
    };
    server(one).is_some() && server(one) == server(other)
}

/// A reference in an index as a URL (`ResolveReferenceURL`): relative ones start at the repository.
pub(crate) fn resolve(repository: &str, reference: &str) -> String {
    if reference.contains("://") {
        return reference.to_owned();
    }
    let (base, query) = match repository.split_once('?') {
        Some((base, query)) => (base, format!("?{query}")),
        None => (repository, String::new()),
    };
    if let Some(absolute) = reference.strip_prefix('/') {
        let root = base.find("://").map_or(0, |at| at + 3);
        let host_end = base.get(root..).and_then(|rest| rest.find('/')).map_or(base.len(), |at| root + at);
        return format!("{}/{absolute}{query}", base.get(..host_end).unwrap_or(base));
    }
    let mut base = base.trim_end_matches('/');
    let mut reference = reference;
    while let Some(rest) = reference.strip_prefix("../") {
        base = base.rsplit_once('/').map_or(base, |(parent, _)| parent);
        reference = rest;
    }
    format!("{base}/{}{query}", reference.trim_start_matches("./"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_an_index_start_at_the_repository() {
        for (repository, reference, url) in [
            ("https://c.example/stable", "web-1.0.0.tgz", "https://c.example/stable/web-1.0.0.tgz"),
            ("https://c.example/stable/", "charts/web.tgz", "https://c.example/stable/charts/web.tgz"),
            ("https://c.example/a/stable", "../web.tgz", "https://c.example/a/web.tgz"),
            ("https://c.example/stable", "/web.tgz", "https://c.example/web.tgz"),
            ("https://c.example/s?sig=1", "web.tgz", "https://c.example/s/web.tgz?sig=1"),
            ("https://c.example", "https://d.example/w.tgz", "https://d.example/w.tgz"),
        ] {
            assert_eq!(resolve(repository, reference), url);
        }
    }

    #[test]
    fn credentials_are_for_one_server() {
        assert!(same_server("https://c.example/a", "https://C.example/b"));
        for other in ["http://c.example/a", "https://c.example:8443/a", "https://d.example/a", "nonsense"] {
            assert!(!same_server("https://c.example/a", other), "{other}");
        }
    }

    #[test]
    fn a_file_is_named_as_its_url_ends() {
        assert_eq!(path_of("https://c.example/a/web-1.0.0.tgz?sig=/x"), "a/web-1.0.0.tgz");
        assert_eq!(path_of("https://c.example"), "");
    }
}
