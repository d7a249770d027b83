//! HTTP downloads.

use std::time::Duration;

use http::{Uri, header};
use reqwest::{Certificate, ClientBuilder, Identity, StatusCode};

use crate::cli::helm::ChartArgs;
use crate::error_text::{chain, without_login};

/// The largest file that is fetched: an index can have tens of megabytes.
pub(super) const MAX_BYTES: u64 = 256 << 20;
/// Without a byte for so long, a server is taken to be gone.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

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
    #[error("{url}: more than {} MiB", MAX_BYTES >> 20)]
    TooLarge {
        /// What was asked for.
        url: String,
    },
    /// A certificate or a key cannot be used.
    #[error("can't create TLS config for client: {path}: {message}")]
    Tls {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// The client cannot start.
    #[error("cannot fetch anything: {0}")]
    Start(String),
}

/// Fetches, with the credentials and certificates that a person gave.
pub(super) struct Client {
    inner: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    login: Option<(String, String)>,
    everywhere: bool,
}

impl Client {
    pub(super) fn new(args: &ChartArgs) -> Result<Self, FetchError> {
        // One that is there already is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = ClientBuilder::new()
            .user_agent(concat!("pilothouse/", env!("CARGO_PKG_VERSION")))
            .read_timeout(SILENCE)
            .connect_timeout(SILENCE)
            .danger_accept_invalid_certs(args.insecure_skip_tls_verify);
        let builder = certificates(builder, args)?;
        let start = |error: &dyn std::error::Error| FetchError::Start(chain(error));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let login = (!args.username.is_empty() && !args.password.is_empty())
            .then(|| (args.username.clone(), args.password.clone()));
        Ok(Self {
            inner: builder.build().map_err(|error| start(&error))?,
            runtime: runtime.map_err(|error| start(&error))?,
            login,
            everywhere: args.pass_credentials,
        })
    }

    /// The bytes at a URL. Credentials go to the server of `owner` only, unless the person said otherwise.
    pub(super) fn get(&self, url: &str, owner: &str) -> Result<Vec<u8>, FetchError> {
        self.runtime.block_on(self.fetch(url, owner))
    }

    async fn fetch(&self, url: &str, owner: &str) -> Result<Vec<u8>, FetchError> {
        let told = without_login(url);
        let broken = |error: reqwest::Error| FetchError::Transport {
            url: told.clone(),
            message: chain(&error.without_url()),
        };
        let mut request = self.inner.get(url).header(
            header::ACCEPT,
            "application/gzip,application/octet-stream,application/yaml;q=0.9,*/*;q=0.1",
        );
        if let Some((name, password)) = &self.login
            && (self.everywhere || same_server(url, owner))
        {
            request = request.basic_auth(name, Some(password));
        }
        let mut response = request.send().await.map_err(broken)?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status { url: told, status: response.status() });
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            bytes.extend_from_slice(&chunk);
            if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_BYTES {
                return Err(FetchError::TooLarge { url: told });
            }
        }
        Ok(bytes)
    }
}

fn certificates(mut builder: ClientBuilder, args: &ChartArgs) -> Result<ClientBuilder, FetchError> {
    let read = |path: &std::path::Path| {
        std::fs::read(path)
            .map_err(|error| FetchError::Tls { path: path.display().to_string(), message: error.to_string() })
    };
    if let Some(path) = &args.ca_file {
        let wrong = |error: reqwest::Error| FetchError::Tls {
            path: path.display().to_string(),
            message: chain(&error),
        };
        let bundle = Certificate::from_pem_bundle(&read(path)?).map_err(wrong)?;
        builder = builder.tls_certs_merge(bundle);
    }
    if let (Some(certificate), Some(key)) = (&args.cert_file, &args.key_file) {
        let wrong = |error: reqwest::Error| FetchError::Tls {
            path: key.display().to_string(),
            message: chain(&error),
        };
        let pem = [read(key)?, b"\n".to_vec(), read(certificate)?].concat();
        builder = builder.identity(Identity::from_pem(&pem).map_err(wrong)?);
    }
    Ok(builder)
}

/// Whether a reference is a URL of the web.
pub(super) fn is_url(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

/// The path in a URL.
pub(super) fn path_of(url: &str) -> &str {
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
pub(super) fn resolve(repository: &str, reference: &str) -> String {
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
