//! The part of the OCI distribution protocol that a chart needs: tags, a manifest, a layer
//! (<https://github.com/opencontainers/distribution-spec>), and the token that a registry may send its visitors for
//! (<https://distribution.github.io/distribution/spec/auth/token/>). Every answer has a bound.

use std::sync::Mutex;
use std::sync::PoisonError;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, header};
use http_auth::parse_challenges;
use oci_spec::distribution::Reference;
use reqwest::StatusCode;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::web::{Client, FetchError, Login, Reply};

/// Media types of a chart's layer: the one of today and the one of Helm's first versions.
const LAYERS: [&str; 2] = ["application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"];
/// Media type of the layer that vouches for the chart.
const PROVENANCE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";
/// What a manifest may be: of an image, not a list of images.
const MANIFESTS: &str =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
/// What the specification has registries limit manifests to. Lists of tags come in pages of about that size.
const MOST_MANIFEST: u64 = 4 << 20;
/// A token is a header's value.
const MOST_TOKEN: u64 = 64 << 10;
/// Tags that are asked for at once.
const PAGE: usize = 1000;
/// Tags that are looked at.
const MOST_TAGS: usize = 100_000;

/// Why a registry does not give something.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RegistryError {
    /// The server, or the way to it.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The server, in its own words.
    #[error("{error}: {words}")]
    Said {
        /// What it amounts to.
        #[source]
        error: FetchError,
        /// Of the server.
        words: String,
    },
    /// An answer that the protocol does not have.
    #[error("{url}: the answer is not a registry's: {message}")]
    Protocol {
        /// What was asked for.
        url: String,
        /// What is wrong with it.
        message: String,
    },
    /// Other bytes than promised.
    #[error("{what} has the digest {found}, not {promised}")]
    Digest {
        /// What was fetched.
        what: &'static str,
        /// What was asked for.
        promised: String,
        /// What came.
        found: String,
    },
    /// Something else than a chart lies there.
    #[error("it holds no {0}")]
    Lacks(&'static str),
    /// Larger than is wanted; nothing was fetched.
    #[error("more than {} MiB", most >> 20)]
    TooLarge {
        /// Bytes it may have.
        most: u64,
    },
}

/// Who one is for a registry.
#[derive(Clone, Debug, Default)]
pub(crate) enum Visitor {
    /// Nobody.
    #[default]
    Anonymous,
    /// Somebody with a password.
    Login(Login),
    /// Somebody with a token of the registry's.
    Token(String),
}

/// A manifest, as far as charts go.
#[derive(Debug, Deserialize)]
pub(crate) struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

/// A blob that a manifest names.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Layer {
    #[serde(rename = "mediaType", default)]
    media_type: String,
    /// `sha256:…`.
    pub(crate) digest: String,
    size: u64,
}

impl Manifest {
    fn layer(&self, types: &[&str], what: &'static str) -> Result<&Layer, RegistryError> {
        let found = self.layers.iter().find(|layer| types.contains(&layer.media_type.as_str()));
        found.ok_or(RegistryError::Lacks(what))
    }

    /// The chart's archive.
    pub(crate) fn chart(&self) -> Result<&Layer, RegistryError> {
        self.layer(&LAYERS, "chart")
    }

    /// What vouches for it.
    pub(crate) fn provenance(&self) -> Result<&Layer, RegistryError> {
        self.layer(&[PROVENANCE], "provenance file")
    }
}

/// One repository of a registry.
pub(crate) struct Registry<'a> {
    client: &'a Client,
    /// `https://host`.
    base: String,
    repository: String,
    visitor: Visitor,
    /// What the registry wants to see since it last refused.
    authorization: Mutex<Option<HeaderValue>>,
}

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: String,
    #[serde(default)]
    access_token: String,
}

/// What a registry says of a refusal.
#[derive(Deserialize)]
struct Refusal {
    errors: Vec<RefusalError>,
}

#[derive(Deserialize)]
struct RefusalError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl<'a> Registry<'a> {
    pub(crate) fn new(client: &'a Client, image: &Reference, visitor: Visitor, plain_http: bool) -> Self {
        let scheme = if plain_http { "http" } else { "https" };
        let authorization = match &visitor {
            Visitor::Token(token) => secret(&format!("Bearer {token}")),
            Visitor::Anonymous | Visitor::Login(_) => None,
        };
        Self {
            client,
            base: format!("{scheme}://{}", image.resolve_registry()),
            repository: image.repository().to_owned(),
            visitor,
            authorization: Mutex::new(authorization),
        }
    }

    /// All tags, page by page.
    pub(crate) async fn tags(&self) -> Result<Vec<String>, RegistryError> {
        let mut all: Vec<String> = Vec::new();
        let first = format!("{}/v2/{}/tags/list?n={PAGE}", self.base, self.repository);
        let mut next = Some(first.clone());
        while let Some(url) = next.take().filter(|_| all.len() < MOST_TAGS) {
            let reply = self.get(&url, "application/json", MOST_MANIFEST).await?;
            let page: Tags = self.read(&url, &reply)?;
            let tags = page.tags.unwrap_or_default();
            let (was_full, is_empty) = (tags.len() >= PAGE, tags.is_empty());
            all.extend(tags);
            // Registries may make pages smaller than was asked for, and say where the next one is.
            next = match self.next_page(&reply.headers) {
                Some(link) if !is_empty => Some(link),
                None if was_full => all.last().map(|last| format!("{first}&last={}", escape(last))),
                _ => None,
            };
        }
        Ok(all)
    }

    /// The next page, when it is this registry's.
    fn next_page(&self, headers: &HeaderMap) -> Option<String> {
        let link = headers.get(header::LINK)?.to_str().ok()?;
        let (target, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
        if !rest.contains("rel=\"next\"") && !rest.contains("rel=next") {
            return None;
        }
        if target.starts_with('/') {
            return Some(format!("{}{target}", self.base));
        }
        target.starts_with(&format!("{}/", self.base)).then(|| target.to_owned())
    }

    /// A manifest by tag or digest, and its digest.
    pub(crate) async fn manifest(&self, reference: &str) -> Result<(Manifest, String), RegistryError> {
        let url = format!("{}/v2/{}/manifests/{reference}", self.base, self.repository);
        let reply = self.get(&url, MANIFESTS, MOST_MANIFEST).await?;
        let found = digest(&reply.body);
        if reference.starts_with("sha256:") && reference != found {
            return Err(RegistryError::Digest {
                what: "the manifest",
                promised: reference.to_owned(),
                found,
            });
        }
        Ok((self.read(&url, &reply)?, found))
    }

    /// A layer, held against its digest.
    pub(crate) async fn blob(&self, layer: &Layer, most: u64) -> Result<Vec<u8>, RegistryError> {
        if layer.size > most {
            return Err(RegistryError::TooLarge { most });
        }
        let url = format!("{}/v2/{}/blobs/{}", self.base, self.repository, layer.digest);
        let reply = self.get(&url, "application/octet-stream, */*;q=0.1", most).await;
        let body = match reply {
            Err(RegistryError::Fetch(FetchError::TooLarge { .. })) => {
                return Err(RegistryError::TooLarge { most });
            }
            reply => reply?.body,
        };
        let found = digest(&body);
        if found != layer.digest {
            return Err(RegistryError::Digest { what: "the layer", promised: layer.digest.clone(), found });
        }
        Ok(body)
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, url: &str, reply: &Reply) -> Result<T, RegistryError> {
        serde_json::from_slice(&reply.body).map_err(|error| RegistryError::Protocol {
            url: url.to_owned(),
            message: format!("line {}, column {}: no such JSON", error.line(), error.column()),
        })
    }

    /// Asks, and once more with what the registry wants to see.
    async fn get(&self, url: &str, accept: &'static str, most: u64) -> Result<Reply, RegistryError> {
        let reply = self.ask(url, accept, most).await?;
        if reply.status != StatusCode::UNAUTHORIZED {
            return self.accepted(reply, url);
        }
        let Some(authorization) = self.authorize(&reply.headers).await? else {
            return self.accepted(reply, url);
        };
        *self.authorization.lock().unwrap_or_else(PoisonError::into_inner) = Some(authorization);
        let reply = self.ask(url, accept, most).await?;
        self.accepted(reply, url)
    }

    async fn ask(&self, url: &str, accept: &'static str, most: u64) -> Result<Reply, FetchError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        let authorization = self.authorization.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(authorization) = authorization {
            headers.insert(header::AUTHORIZATION, authorization);
        }
        self.client.ask(url, headers, most).await
    }

    fn accepted(&self, reply: Reply, url: &str) -> Result<Reply, RegistryError> {
        if reply.status == StatusCode::OK {
            return Ok(reply);
        }
        let error = self.client.refusal(&reply, url);
        let said = serde_json::from_slice::<Refusal>(&reply.body).ok();
        let words = said
            .and_then(|said| said.errors.into_iter().next())
            .map(|first| if first.message.is_empty() { first.code } else { first.message });
        match words.filter(|words| !words.is_empty()) {
            Some(words) => Err(RegistryError::Said { error, words: words.chars().take(256).collect() }),
            None => Err(error.into()),
        }
    }

    /// What to show a registry that refused; none: there is nothing.
    async fn authorize(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, RegistryError> {
        for value in headers.get_all(header::WWW_AUTHENTICATE) {
            let challenges = value.to_str().ok().and_then(|text| parse_challenges(text).ok());
            for challenge in challenges.unwrap_or_default() {
                let param = |name: &str| {
                    let found = challenge.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                    found.map(|(_, value)| value.to_unescaped())
                };
                if challenge.scheme.eq_ignore_ascii_case("basic") {
                    return Ok(self.basic());
                }
                if challenge.scheme.eq_ignore_ascii_case("bearer")
                    && !matches!(self.visitor, Visitor::Token(_))
                    && let Some(realm) = param("realm")
                {
                    return self
                        .token(&realm, param("service").as_deref(), param("scope").as_deref())
                        .await
                        .map(Some);
                }
            }
        }
        Ok(None)
    }

    fn basic(&self) -> Option<HeaderValue> {
        let Visitor::Login(Login { name, password }) = &self.visitor else { return None };
        secret(&format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))))
    }

    /// The registry names who gives out its tokens. That is who the login is for; it has to be as safe as the registry.
    async fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        scope: Option<&str>,
    ) -> Result<HeaderValue, RegistryError> {
        let protocol =
            |message: &str| RegistryError::Protocol { url: self.base.clone(), message: message.to_owned() };
        let is_safe = realm.starts_with("https://")
            || (self.base.starts_with("http://") && realm.starts_with("http://"));
        if !is_safe {
            return Err(protocol("it sends its visitors to a server without TLS for a token"));
        }
        let own = format!("repository:{}:pull", self.repository);
        let mut url = format!(
            "{realm}{}scope={}",
            if realm.contains('?') { '&' } else { '?' },
            escape(scope.unwrap_or(&own))
        );
        if let Some(service) = service {
            url.push_str(&format!("&service={}", escape(service)));
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(basic) = self.basic() {
            headers.insert(header::AUTHORIZATION, basic);
        }
        let reply = self.accepted(self.client.ask(&url, headers, MOST_TOKEN).await?, &url)?;
        let Token { token, access_token } = self.read(realm, &reply)?;
        let token = if token.is_empty() { access_token } else { token };
        secret(&format!("Bearer {token}")).ok_or_else(|| protocol("its token is none"))
    }
}

/// A header's value that is not shown.
fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// `sha256:…`.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// For a query.
fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if plain(byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
        escaped
    })
}

/// Whether a version is one and no range: three numbers, and what may follow.
pub(crate) fn is_exact(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<_> = core.trim_start_matches('v').split('.').collect();
    numbers.len() == 3 && numbers.iter().all(|number| number.parse::<u64>().is_ok())
}

/// A version as a tag, which cannot hold a plus.
pub(crate) fn tag_of(version: &str) -> String {
    version.replace('+', "_")
}

#[cfg(test)]
#[path = "oci/tests.rs"]
mod tests;
