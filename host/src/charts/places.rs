//! Where charts may come from: places in a grant, and addresses that are held against them.

use std::fmt;

use http::Uri;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// A registry.
    Oci,
    /// A repository.
    Https,
    /// A repository without TLS.
    Http,
}

impl Scheme {
    fn as_str(self) -> &'static str {
        match self {
            Self::Oci => "oci",
            Self::Https => "https",
            Self::Http => "http",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "oci" => Some(Self::Oci),
            "https" => Some(Self::Https),
            "http" => Some(Self::Http),
            _ => None,
        }
    }
}

/// An address, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// Lower case, without brackets.
    pub host: String,
    /// Where it is not the usual one.
    pub port: Option<u16>,
    /// With its slash; empty: none.
    pub path: String,
    /// Whether somebody's login stands in it.
    pub has_login: bool,
}

impl Address {
    /// Reads `scheme://host[:port][/path]`. None: it is something else, or leads elsewhere than it looks.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = Scheme::parse(scheme)?;
        let has_login = rest.split('/').next().unwrap_or_default().contains('@');
        // The library knows no `oci`.
        let uri: Uri = format!("https://{rest}").parse().ok()?;
        let bare = |host: &str| host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
        let host = bare(uri.host()?);
        // Whoever connects must understand the same: 0x7f.1 is an address for some.
        if bare(reqwest::Url::parse(&format!("https://{rest}")).ok()?.host_str()?) != host {
            return None;
        }
        let path = uri.path().trim_end_matches('/').to_owned();
        let lower = path.to_ascii_lowercase();
        let devious = path.split('/').any(|part| part == "." || part == "..")
            || ["%2e", "%2f", "%5c", "\\"].iter().any(|part| lower.contains(part));
        if host.is_empty() || devious || text.contains('#') {
            return None;
        }
        let usual = if scheme == Scheme::Http { 80 } else { 443 };
        let port = uri.port_u16().filter(|port| *port != usual);
        Some(Self { scheme, host, port, path, has_login })
    }

    /// The same with another segment.
    #[must_use]
    pub fn join(mut self, name: &str) -> Self {
        self.path = format!("{}/{name}", self.path);
        self
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, host, port, path, .. } = self;
        let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{}://{open}{host}{close}", scheme.as_str())?;
        if let Some(port) = port {
            write!(f, ":{port}")?;
        }
        f.write_str(path)
    }
}

/// A place that charts may come from: `*`, or `scheme://host[:port][/path]`, where the host may begin with `*.` and the port
/// be `*`, and everything below the path is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Every place.
    Anywhere,
    /// One server, or the servers of one domain.
    Server {
        /// As it was written.
        text: String,
        /// Taken apart; without the star of a domain.
        address: Address,
        /// All hosts below it.
        domain: bool,
        /// All its ports.
        any_port: bool,
    },
}

/// A place that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no place that charts may come from, such as oci://registry.example/charts, https://*.example.com or *"
)]
pub struct PlaceError(String);

impl Place {
    /// Reads one.
    ///
    /// # Errors
    /// [`PlaceError`].
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::Anywhere);
        }
        let wrong = || PlaceError(crate::error_text::without_login(text));
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let (rest, domain) = rest.strip_prefix("*.").map_or((rest, false), |rest| (rest, true));
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (authority, any_port) =
            authority.strip_suffix(":*").map_or((authority, false), |host| (host, true));
        let address = Address::parse(&format!("{scheme}://{authority}{path}")).ok_or_else(wrong)?;
        if address.has_login || address.host.contains('*') || path.contains('*') {
            return Err(wrong());
        }
        Ok(Self::Server { text: text.to_owned(), address, domain, any_port })
    }

    /// The place of one chart and nothing else.
    pub fn exactly(address: Address) -> Self {
        Self::Server { text: address.to_string(), address, domain: false, any_port: false }
    }

    /// Whether an address is there.
    pub fn holds(&self, wanted: &Address) -> bool {
        let Self::Server { address, domain, any_port, .. } = self else { return true };
        let below = |whole: &str, part: &str, separator: char| {
            whole.strip_suffix(part).is_some_and(|rest| rest.ends_with(separator))
        };
        let host =
            if *domain { below(&wanted.host, &address.host, '.') } else { wanted.host == address.host };
        let path = wanted.path.strip_prefix(&address.path);
        address.scheme == wanted.scheme
            && host
            && (*any_port || address.port == wanted.port)
            && path.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether it names its host in full.
    fn names_host(&self) -> bool {
        matches!(self, Self::Server { domain: false, .. })
    }
}

impl std::str::FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anywhere => f.write_str("*"),
            Self::Server { text, .. } => f.write_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

/// Whether an address is at one of the places: `Some(true)` where one of them names its host in full.
pub fn found_in(places: &[Place], wanted: &Address) -> Option<bool> {
    let holding: Vec<&Place> = places.iter().filter(|place| place.holds(wanted)).collect();
    (!holding.is_empty()).then(|| holding.iter().any(|place| place.names_host()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(place: &str, address: &str) -> bool {
        Place::parse(place).unwrap().holds(&Address::parse(address).unwrap())
    }

    #[test]
    fn a_place_holds_what_is_below_it_and_nothing_that_only_begins_like_it() {
        for (place, address) in [
            ("*", "http://10.0.0.1/x"),
            ("oci://ghcr.io/acme", "oci://ghcr.io/acme/charts/web"),
            ("oci://ghcr.io/acme/", "oci://GHCR.io./acme"),
            ("https://*.example.com", "https://charts.a.example.com/stable"),
            ("https://c.example:443", "https://c.example/x"),
            ("oci://127.0.0.1:*", "oci://127.0.0.1:5000/charts"),
            ("http://[::1]:8080", "http://[::1]:8080/x"),
        ] {
            assert!(allows(place, address), "{place} {address}");
        }
        for (place, address) in [
            ("oci://ghcr.io/acme", "oci://ghcr.io/acme-evil/web"),
            ("oci://ghcr.io/acme", "https://ghcr.io/acme/web"),
            ("https://*.example.com", "https://example.com/x"),
            ("https://*.example.com", "https://evilexample.com/x"),
            ("https://c.example", "https://c.example:8443/x"),
            ("https://c.example", "https://c.example.evil.org/x"),
            ("oci://127.0.0.1", "oci://127.0.0.1:5000/charts"),
        ] {
            assert!(!allows(place, address), "{place} {address}");
        }
    }

    #[test]
    fn addresses_that_lead_elsewhere_than_they_look_are_none() {
        for text in [
            "https://c.example/a/../b",
            "https://c.example/%2e%2e/b",
            "https://c.example/a%2Fb",
            "https://c.example\\@evil",
            "c.example",
            "file:///etc",
            "https://",
            "https://c.example/#x",
            "http://0x7f000001/x",
            "http://2130706433",
            "http://127.1/x",
            "http://0251.0376.0251.0376",
        ] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
        assert!(Address::parse("https://good.example@evil.example/x").unwrap().has_login);
    }

    #[test]
    fn who_names_a_host_in_full_means_it() {
        let places =
            |texts: &[&str]| texts.iter().map(|text| Place::parse(text).unwrap()).collect::<Vec<_>>();
        let metadata = Address::parse("http://169.254.169.254/latest").unwrap();
        assert_eq!(found_in(&places(&["*"]), &metadata), Some(false));
        assert_eq!(found_in(&places(&["*", "http://169.254.169.254"]), &metadata), Some(true));
        assert_eq!(found_in(&places(&["oci://a.example"]), &metadata), None);
    }

    #[test]
    fn what_is_no_place_is_refused_with_examples() {
        for text in [
            "",
            "ghcr.io/acme",
            "oci://*",
            "oci://gh*.io",
            "https://me:hidden@c.example",
            "https://c.example/*",
        ] {
            let error = Place::parse(text).unwrap_err().to_string();
            assert!(error.contains("such as oci://") && !error.contains("hidden"), "{text}: {error}");
        }
    }
}
