//! One attempt to bring a chart here: which version is meant, and its archive, within bounds.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::StatusCode;
use serde_json::Value;

use super::secret::Credentials;
use super::wish::{Resolution, Wish, digest_of};
use crate::chart_source::guard::Guard;
use crate::chart_source::oci::{Registry, RegistryError, Visitor, is_exact, tag_of};
use crate::chart_source::web::{self, Client, FetchError, Terms};
use crate::error_text::{chain, without_login};

/// What one attempt may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Bytes of an archive.
    pub archive: u64,
    /// Bytes of a repository's index.
    pub index: u64,
}

impl Default for Limits {
    /// Two minutes; the largest charts have a few MiB, the largest indexes some tens.
    fn default() -> Self {
        Self { time: Duration::from_secs(120), archive: 32 << 20, index: 32 << 20 }
    }
}

/// Who says which version is meant.
#[async_trait]
pub trait Chooser: std::fmt::Debug + Send + Sync {
    /// One of a registry's tags, as a version. The error is a sentence.
    async fn pick_tag(&self, plugin: &str, tags: Vec<String>, version: &str) -> Result<String, String>;

    /// An entry of a repository's index: `url`, `digest`, `version`. The error is a sentence.
    async fn find_chart(
        &self,
        plugin: &str,
        index: Vec<u8>,
        name: &str,
        version: &str,
    ) -> Result<Value, String>;
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// UpperCamelCase.
    pub(super) reason: &'static str,
    /// For people: host, what it said, what to do.
    pub(super) message: String,
    /// How long the server wants to be left alone.
    pub(super) retry_after: Option<Duration>,
}

impl Failure {
    pub(super) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), retry_after: None }
    }
}

/// Says whether an archive of a digest is here.
pub(super) type Known<'a> = dyn for<'d> Fn(&'d str) -> bool + Send + Sync + 'a;

/// What an attempt brought.
#[derive(Debug)]
pub(super) struct Brought {
    pub(super) resolution: Resolution,
    /// None: the archive is known already.
    pub(super) archive: Option<Vec<u8>>,
}

/// Whoever makes attempts.
#[async_trait]
pub(super) trait Fetch: std::fmt::Debug + Send + Sync {
    /// Makes one. `known` says whether an archive of a digest is here.
    async fn fetch(
        &self,
        wish: &Wish,
        credentials: Option<&Credentials>,
        known: &Known<'_>,
    ) -> Result<Brought, Failure>;
}

/// Makes attempts over the network.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) chooser: std::sync::Arc<dyn Chooser>,
    pub(super) limits: Limits,
}

#[async_trait]
impl Fetch for Network {
    async fn fetch(
        &self,
        wish: &Wish,
        credentials: Option<&Credentials>,
        known: &Known<'_>,
    ) -> Result<Brought, Failure> {
        Attempt { wish, credentials, chooser: &*self.chooser, limits: self.limits, known }.run().await
    }
}

/// One attempt.
struct Attempt<'a> {
    wish: &'a Wish,
    credentials: Option<&'a Credentials>,
    chooser: &'a dyn Chooser,
    limits: Limits,
    known: &'a Known<'a>,
}

impl Attempt<'_> {
    async fn run(&self) -> Result<Brought, Failure> {
        let limit = self.limits.time;
        let late = || {
            let message = format!(
                "{}: the chart is not here after {} s; the server is too slow, or away",
                self.server(),
                limit.as_secs()
            );
            Failure::new("Timeout", message)
        };
        let running = async {
            if self.wish.is_oci() { self.ask_registry().await } else { self.ask_repository().await }
        };
        tokio::time::timeout(limit, running).await.unwrap_or_else(|_| Err(late()))
    }

    fn server(&self) -> String {
        let rest = self.wish.repository.split_once("://").map_or("", |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default().to_owned()
    }

    fn client(&self) -> Result<Client, Failure> {
        let named = if self.wish.named {
            web::host(&self.wish.repository.replacen("oci://", "https://", 1))
        } else {
            None
        };
        let server = self.server();
        let terms = Terms {
            authorities: self.credentials.and_then(|given| given.authorities.clone()),
            identity: self.credentials.and_then(|given| given.identity.clone()),
            login: self.credentials.and_then(|given| given.login(&server)),
            everywhere: self.wish.pass_credentials,
            silence: self.limits.time.min(Duration::from_secs(30)),
            guard: Guard::except(named.map(|host| host.trim_matches(['[', ']']).to_owned())),
            ..Terms::default()
        };
        Client::new(&terms).map_err(|error| self.explain(&error))
    }

    async fn ask_registry(&self) -> Result<Brought, Failure> {
        let wish = self.wish;
        let image = wish.image().map_err(|error| Failure::new("InvalidChart", error.to_string()))?;
        let client = self.client()?;
        let visitor =
            self.credentials.map_or(Visitor::Anonymous, |given| given.visitor(image.resolve_registry()));
        let registry = Registry::new(&client, &image, visitor, wish.plain_http);
        let refused = |error: RegistryError| self.explain_registry(&error);
        let tag = match (wish.version.as_str(), &wish.digest) {
            ("", Some(digest)) => digest.clone(),
            // Not every registry lets everybody list tags.
            (version, _) if is_exact(version) => tag_of(version),
            (version, _) => {
                let tags = registry.tags().await.map_err(refused)?;
                if tags.is_empty() {
                    return Err(self.none(&format!("{} has no tags", wish.repository)));
                }
                let picked = self.chooser.pick_tag(&wish.plugin, tags, version).await;
                tag_of(&picked.map_err(|why| self.none(&why))?)
            }
        };
        let (manifest, found) = registry.manifest(&tag).await.map_err(refused)?;
        let layer = manifest.chart().map_err(refused)?;
        if let Some(promised) = &wish.digest
            && *promised != found
            && *promised != layer.digest
        {
            return Err(
                self.other(promised, &format!("the manifest is {found}, the archive {}", layer.digest))
            );
        }
        let is_digest = tag.starts_with("sha256:");
        let location = format!("{}/{}{}{tag}", wish.repository, wish.name, if is_digest { '@' } else { ':' });
        let archive = if (self.known)(&layer.digest) {
            None
        } else {
            Some(self.checked(registry.blob(layer, self.limits.archive).await.map_err(refused)?)?)
        };
        let version = if is_digest { String::new() } else { tag.replace('_', "+") };
        Ok(Brought { resolution: resolved(version, layer.digest.clone(), location), archive })
    }

    async fn ask_repository(&self) -> Result<Brought, Failure> {
        let wish = self.wish;
        let client = self.client()?;
        let refused = |error: FetchError| self.explain(&error);
        let address = web::resolve(&wish.repository, "index.yaml");
        let index = client.get(&address, &wish.repository, self.limits.index).await.map_err(refused)?;
        let found = self.chooser.find_chart(&wish.plugin, index, &wish.name, &wish.version).await;
        let found = found.map_err(|why| self.none(&why))?;
        let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default();
        let url = web::resolve(&wish.repository, text("url"));
        if !web::is_url(&url) {
            return Err(Failure::new(
                "InvalidRepository",
                format!(
                    "{}: the index names {:?} for {}, which is no address of the web",
                    self.server(),
                    without_login(&url),
                    wish.name
                ),
            ));
        }
        let promised = text("digest").trim_start_matches("sha256:").to_ascii_lowercase();
        let promised = (!promised.is_empty()).then(|| format!("sha256:{promised}"));
        let known = promised.as_deref().is_some_and(|digest| (self.known)(digest));
        let archive =
            if known {
                None
            } else {
                Some(self.checked(
                    client.get(&url, &wish.repository, self.limits.archive).await.map_err(refused)?,
                )?)
            };
        let digest = match (&archive, &promised) {
            (Some(bytes), _) => digest_of(bytes),
            (None, promised) => promised.clone().unwrap_or_default(),
        };
        if promised.as_ref().is_some_and(|promised| *promised != digest) {
            let message = format!(
                "{}: the archive is not what the repository's index promises: it was replaced, or the index is wrong ({digest})",
                self.server()
            );
            return Err(Failure::new("DigestMismatch", message));
        }
        if let Some(wanted) = &wish.digest
            && *wanted != digest
        {
            return Err(self.other(wanted, &format!("it is {digest}")));
        }
        let location = without_login(url.split(['?', '#']).next().unwrap_or(&url));
        Ok(Brought { resolution: resolved(text("version").to_owned(), digest, location), archive })
    }

    /// An archive as far as its first bytes go: servers answer with pages.
    fn checked(&self, archive: Vec<u8>) -> Result<Vec<u8>, Failure> {
        if archive.starts_with(&[0x1f, 0x8b]) {
            return Ok(archive);
        }
        let message = format!(
            "{}: what came for {} is no archive; is that the address of a repository?",
            self.server(),
            self.wish.name
        );
        Err(Failure::new("InvalidChart", message))
    }

    fn none(&self, why: &str) -> Failure {
        let Wish { name, version, .. } = self.wish;
        let wanted = if version.is_empty() { String::new() } else { format!(" {version:?}") };
        Failure::new("ChartNotFound", format!("{}: no chart {name}{wanted}: {why}", self.server()))
    }

    fn other(&self, wanted: &str, is: &str) -> Failure {
        let message = format!(
            "{}: the chart {} is not the one that is named by its digest ({wanted}): {is}",
            self.server(),
            self.wish.name
        );
        Failure::new("DigestMismatch", message)
    }

    fn explain_registry(&self, error: &RegistryError) -> Failure {
        match error {
            RegistryError::Fetch(error) => self.explain(error),
            RegistryError::Said { error, words } => {
                let failure = self.explain(error);
                Failure { message: format!("{} (the registry says: {words})", failure.message), ..failure }
            }
            RegistryError::TooLarge { .. } => Failure::new(
                "TooLarge",
                format!("{}: the chart {} has {error}", self.server(), self.wish.name),
            ),
            RegistryError::Lacks(_) => {
                Failure::new("InvalidChart", format!("{}/{}: {error}", self.wish.repository, self.wish.name))
            }
            RegistryError::Protocol { .. } | RegistryError::Digest { .. } => {
                Failure::new("InvalidRepository", format!("{}: {}", self.server(), chain(error)))
            }
        }
    }

    fn explain(&self, error: &FetchError) -> Failure {
        match error {
            FetchError::Status { url, status, retry_after } => {
                let (reason, hint) = self.hint(*status, url);
                Failure { reason, message: format!("{status} for {url}{hint}"), retry_after: *retry_after }
            }
            FetchError::Transport { url, message } => {
                Failure::new("Unreachable", format!("{url}: {message}"))
            }
            FetchError::TooLarge { .. } => Failure::new("TooLarge", error.to_string()),
            FetchError::Tls { path, message } => {
                Failure::new("InvalidCredentials", format!("{path}: {message}"))
            }
            FetchError::Start(message) => {
                Failure::new("Unreachable", format!("{}: {message}", self.server()))
            }
        }
    }

    fn hint(&self, status: StatusCode, url: &str) -> (&'static str, String) {
        let own = url.split("://").nth(1).is_some_and(|rest| rest.split('/').next() == Some(&self.server()));
        match status.as_u16() {
            401 | 403 => {
                let hint = match self.credentials {
                    Some(given) if own => given.refused(&self.server()),
                    Some(_) => "credentials are for the repository's own server; passCredentials gives them to this one too".to_owned(),
                    None => "it wants credentials: name a Secret with `secretRef`".to_owned(),
                };
                ("Unauthorized", format!("; {hint}"))
            }
            404 => ("ChartNotFound", "; are repository, name and version right?".to_owned()),
            429 => ("TooManyRequests", "; it is asked again later".to_owned()),
            _ => ("Unreachable", String::new()),
        }
    }
}

fn resolved(version: String, digest: String, location: String) -> Resolution {
    Resolution { version, digest, location, at: jiff::Timestamp::now().as_second() }
}

#[cfg(test)]
#[path = "fetch/tests.rs"]
mod tests;
