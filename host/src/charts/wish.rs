//! What a hook may wish for, and what a wish came to.

use std::fmt;

use oci_spec::distribution::Reference;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::places::{Address, Scheme};
use crate::chart_source::oci::{digest, is_exact};

/// Why a wish is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WishError {
    /// Neither a registry nor a repository.
    #[error(
        "repository {0:?} is no address such as oci://registry.example/charts or https://charts.example.com"
    )]
    Repository(String),
    /// It would stand where everybody reads it.
    #[error("the repository's address holds a login; give it by `secretRef`")]
    Login,
    /// No name of a chart.
    #[error("{0:?} is no name of a chart")]
    Name(String),
    /// Not a repository of a registry.
    #[error("oci://{0} is no chart of a registry: {1}")]
    Reference(String, String),
    /// No digest.
    #[error("digest {0:?} is not of the form sha256:… with 64 hexadecimal digits")]
    Digest(String),
    /// A range that nothing can be in, or a text far too long for one.
    #[error("version {0:?} is too long")]
    Version(String),
}

/// A Secret that holds credentials.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SecretName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A chart that somebody wants. Equal wishes are fetched once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wish {
    /// Whose commands say which version is meant.
    pub plugin: String,
    /// `oci://host/path`, or the address of a chart repository; without a slash at its end.
    pub repository: String,
    /// The chart's name.
    pub name: String,
    /// A version or a range; empty: the newest.
    pub version: String,
    /// Of the archive, or of the manifest in a registry. Nothing else is taken.
    pub digest: Option<String>,
    /// A registry without TLS.
    pub plain_http: bool,
    /// Credentials also go to other servers that a repository's index names.
    pub pass_credentials: bool,
    /// Where credentials are.
    pub secret: Option<SecretName>,
    /// Whether somebody named the host in full: then it is met wherever it is.
    pub named: bool,
}

/// By what a wish is known.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// For file names.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get(..12).unwrap_or(&self.0))
    }
}

/// The longest range that is worth reading.
const MOST_VERSION: usize = 512;

impl Wish {
    /// Checks it and brings it into the one form it has.
    ///
    /// # Errors
    /// [`WishError`].
    pub fn checked(mut self) -> Result<(Self, Address), WishError> {
        let trimmed = self.repository.trim().trim_end_matches('/').to_owned();
        let address = Address::parse(&trimmed)
            .ok_or_else(|| WishError::Repository(crate::error_text::without_login(&trimmed)))?;
        if address.has_login {
            return Err(WishError::Login);
        }
        self.repository = trimmed;
        self.version = self.version.trim().to_owned();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.name.is_empty()
            || self.name.len() > 250
            || !self.name.chars().all(plain)
            || self.name.starts_with('.')
        {
            return Err(WishError::Name(self.name.chars().take(250).collect()));
        }
        if self.version.len() > MOST_VERSION {
            return Err(WishError::Version(self.version.chars().take(40).collect()));
        }
        if let Some(digest) = &self.digest {
            let hex = digest.strip_prefix("sha256:").unwrap_or_default();
            if hex.len() != 64 || !hex.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')) {
                return Err(WishError::Digest(digest.chars().take(80).collect()));
            }
        }
        if address.scheme == Scheme::Oci {
            self.image()?;
        }
        Ok((self, address))
    }

    /// The repository of a registry.
    pub(super) fn image(&self) -> Result<Reference, WishError> {
        let text = format!("{}/{}", self.repository.trim_start_matches("oci://"), self.name);
        let wrong = |why: String| WishError::Reference(text.clone(), why);
        let parsed: Reference = text.parse().map_err(|error| wrong(format!("{error}")))?;
        if parsed.whole() != format!("{text}:latest") {
            return Err(wrong("a registry, a path and a name are needed, and nothing else".to_owned()));
        }
        Ok(parsed)
    }

    /// Whether it is a registry's.
    pub fn is_oci(&self) -> bool {
        self.repository.starts_with("oci://")
    }

    /// Whether it stands for one chart for ever.
    pub fn is_fixed(&self) -> bool {
        self.digest.is_some() || is_exact(&self.version)
    }

    /// By what it is known.
    pub fn key(&self) -> Key {
        let text = serde_json::to_vec(self).unwrap_or_default();
        Key(Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// `web >=1 <2 of oci://registry.example/charts`.
impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, version, repository, .. } = self;
        let space = if version.is_empty() { "" } else { " " };
        write!(f, "{name}{space}{version} of {repository}")
    }
}

/// What a wish came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// The chart's version.
    pub version: String,
    /// sha256 of its archive, `sha256:…`.
    pub digest: String,
    /// Where it is, as it may be told.
    pub location: String,
    /// When that was so, in seconds since 1970.
    pub at: i64,
}

impl Resolution {
    /// Whether it is another chart.
    pub(super) fn differs(&self, other: &Self) -> bool {
        (&self.version, &self.digest, &self.location) != (&other.version, &other.digest, &other.location)
    }
}

/// The digest of an archive.
pub(super) fn digest_of(bytes: &[u8]) -> String {
    digest(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn wish(repository: &str, name: &str) -> Wish {
        Wish {
            plugin: "helm".to_owned(),
            repository: repository.to_owned(),
            name: name.to_owned(),
            version: String::new(),
            digest: None,
            plain_http: false,
            pass_credentials: false,
            secret: None,
            named: false,
        }
    }

    #[test]
    fn a_wish_has_one_form_and_one_key() {
        let (one, _) = wish("oci://r.example/charts/", "web").checked().unwrap();
        let (other, _) = wish(" oci://r.example/charts", "web").checked().unwrap();
        assert_eq!(one.key(), other.key());
        assert_ne!(one.key(), Wish { version: "1".to_owned(), ..one.clone() }.key());
        assert_eq!(one.image().unwrap().repository(), "charts/web");
    }

    #[test]
    fn what_is_no_wish_is_told_without_the_login_in_it() {
        for (repository, name, said) in [
            ("charts.example.com", "web", "is no address such as"),
            ("ftp://c.example", "web", "is no address such as"),
            ("https://me:hidden@c.example", "web", "holds a login"),
            ("oci://me:hidden@r.example/charts", "web", "holds a login"),
            ("https://c.example", "../web", "is no name of a chart"),
            ("https://c.example", "", "is no name of a chart"),
            ("oci://r.example/Charts", "web", "is no chart of a registry"),
            ("oci://r.example/charts:1", "web", "is no chart of a registry"),
            ("https://c.example/a/../b", "web", "is no address such as"),
        ] {
            let error = wish(repository, name).checked().unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("hidden"), "{repository}: {error}");
        }
        let digest = Wish { digest: Some("sha256:ABC".to_owned()), ..wish("https://c.example", "web") };
        assert!(digest.checked().unwrap_err().to_string().contains("64 hexadecimal digits"));
    }

    #[test]
    fn versions_and_digests_are_fixed_and_ranges_are_not() {
        let of = |version: &str| Wish { version: version.to_owned(), ..wish("https://c.example", "web") };
        assert!(of("1.2.3").is_fixed() && of("1.2.3-rc.1").is_fixed());
        assert!(!of("").is_fixed() && !of("^1.2.3").is_fixed() && !of("1.2").is_fixed());
        assert!(Wish { digest: Some(String::new()), ..of("") }.is_fixed());
    }
}
