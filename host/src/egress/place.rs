//! Which servers a grant means: `scheme://host[:port]`.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::address::Reach;
use super::failure::Failure;

/// Stands in a place for the namespace of the object at hand.
const NAMESPACE: &str = "NAMESPACE";

/// One server, taken out of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// With TLS.
    pub tls: bool,
    /// Lower case, without brackets and without a dot at its end.
    pub host: String,
    /// Always there.
    pub port: u16,
}

impl Target {
    /// The server a request goes to.
    ///
    /// # Errors
    /// [`Failure::Invalid`] where it is no address, or holds a login.
    pub fn of(uri: &Uri) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::Invalid(format!("{why} in the address of a request"));
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong("neither http nor https")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("a login"));
        }
        let host = bare(authority.host());
        if host.is_empty() {
            return Err(wrong("no host"));
        }
        // `host:` and `host:99999` are read as if there were no port.
        let written = authority.as_str().len() > authority.host().len();
        if written && authority.port_u16().is_none() {
            return Err(wrong("no port"));
        }
        Ok(Self { tls, host, port: authority.port_u16().unwrap_or(if tls { 443 } else { 80 }) })
    }

    /// `host:port`.
    pub fn server(&self) -> String {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        format!("{open}{}{close}:{}", self.host, self.port)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.server())
    }
}

fn bare(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

/// Servers that may be reached: `https://etcd.example:2379`, `https://*.NAMESPACE.svc:2379`, `http://*.db.svc:*`. The host may begin
/// with `*.` (all names below) or be `*` (all names); `NAMESPACE` as a part of it is the namespace of the object at hand. Without a
/// port the scheme's own is meant; `:*` are all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    text: String,
    tls: bool,
    names: Names,
    /// None: all.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Names {
    All,
    /// Parts of a name; none of the first: one part is the object's namespace.
    Below(Vec<Option<String>>),
    One(Vec<Option<String>>),
}

/// A place that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no servers; write scheme://host[:port], such as https://*.NAMESPACE.svc:2379, https://s3.example.com or http://*.db.svc:*"
)]
pub struct PlaceError(String);

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let wrong = || PlaceError(crate::error_text::without_login(text));
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let tls = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(wrong()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = split_port(rest).ok_or_else(wrong)?;
        let port = match port {
            None => Some(if tls { 443 } else { 80 }),
            Some("*") => None,
            Some(port) => Some(port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?),
        };
        let names = match host.strip_prefix("*.") {
            Some(rest) => Names::Below(parts(rest).ok_or_else(wrong)?),
            None if host == "*" => Names::All,
            None => Names::One(parts(host).ok_or_else(wrong)?),
        };
        Ok(Self { text: text.to_owned(), tls, names, port })
    }
}

/// `host`, `host:port`, `[address]:port`.
fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
        return Some((address, port));
    }
    match text.split_once(':') {
        Some((host, port)) => Some((host, Some(port))),
        None => Some((text, None)),
    }
}

fn parts(host: &str) -> Option<Vec<Option<String>>> {
    if host.parse::<std::net::Ipv6Addr>().is_ok() {
        return Some(vec![Some(host.to_ascii_lowercase())]);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let part = |part: &str| {
        let whole = !part.is_empty() && part.chars().all(plain);
        whole.then(|| (part != NAMESPACE).then(|| part.to_ascii_lowercase()))
    };
    host.trim_end_matches('.').split('.').map(part).collect()
}

impl Place {
    /// Whether a server is there, for an object in a namespace (none: of the whole cluster).
    pub fn holds(&self, target: &Target, namespace: Option<&str>) -> bool {
        let spelled = |parts: &[Option<String>]| -> Option<String> {
            let parts: Option<Vec<&str>> =
                parts.iter().map(|part| part.as_deref().map_or(namespace, Some)).collect();
            Some(parts?.join("."))
        };
        let host = match &self.names {
            Names::All => true,
            Names::One(parts) => spelled(parts).is_some_and(|host| host == target.host),
            Names::Below(parts) => spelled(parts).is_some_and(|below| {
                target.host.strip_suffix(&below).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }),
        };
        host && self.tls == target.tls && self.port.is_none_or(|port| port == target.port)
    }

    /// Whether its servers are spoken to with TLS.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// How far whoever gave this place means to reach.
    fn reach(&self) -> Reach {
        let last = |parts: &[Option<String>], end: &[&str]| {
            parts.len() >= end.len()
                && parts.iter().rev().zip(end.iter().rev()).all(|(part, end)| part.as_deref() == Some(*end))
        };
        match &self.names {
            Names::All => Reach::default(),
            Names::One(_) => Reach { private: true, loopback: true },
            Names::Below(parts) => {
                let service = last(parts, &["svc"]) || last(parts, &["cluster", "local"]);
                Reach { private: service, loopback: false }
            }
        }
    }

    /// Whether a server is at one of the places, and how far they reach.
    pub fn found_in(places: &[Self], target: &Target, namespace: Option<&str>) -> Option<Reach> {
        let holding = places.iter().filter(|place| place.holds(target, namespace));
        holding.map(Self::reach).reduce(Reach::and)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        Target::of(&text.parse().unwrap()).unwrap()
    }

    fn holds(place: &str, address: &str) -> bool {
        place.parse::<Place>().unwrap().holds(&target(address), Some("shop"))
    }

    #[test]
    fn a_place_holds_its_servers_and_nothing_that_only_looks_like_them() {
        for (place, address) in [
            ("https://*.NAMESPACE.svc:2379", "https://etcd-0.etcd.shop.svc:2379/v3"),
            ("https://*.NAMESPACE.svc:2379", "https://ETCD.shop.svc.:2379"),
            ("http://NAMESPACE.example", "http://shop.example"),
            ("https://*", "https://any.example"),
            ("https://s3.example.com", "https://s3.example.com:443/x"),
            ("http://*.db.svc:*", "http://a.db.svc:8080"),
            ("http://[::1]:80", "http://[::1]"),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ] {
            assert!(holds(place, address), "{place} {address}");
        }
        for (place, address) in [
            ("https://*.NAMESPACE.svc:2379", "https://etcd.bank.svc:2379"),
            ("https://*.NAMESPACE.svc:2379", "https://etcd.shop.svc:2380"),
            ("https://*.NAMESPACE.svc:2379", "http://etcd.shop.svc:2379"),
            ("https://*.NAMESPACE.svc:2379", "https://shop.svc:2379"),
            ("https://*.NAMESPACE.svc:2379", "https://.shop.svc:2379"),
            ("https://*.NAMESPACE.svc:2379", "https://etcd.workshop.svc:2379"),
            ("https://*.NAMESPACE.svc:2379", "https://etcd.shop.svc.evil.example:2379"),
            ("https://*.NAMESPACE.svc:2379", "https://etcd.namespace.svc:2379"),
            ("https://s3.example.com", "https://xs3.example.com"),
        ] {
            assert!(!holds(place, address), "{place} {address}");
        }
        let place: Place = "https://*.NAMESPACE.svc".parse().unwrap();
        assert!(
            !place.holds(&target("https://etcd.shop.svc"), None),
            "an object of the whole cluster has no namespace"
        );
    }

    #[test]
    fn services_and_hosts_named_in_full_may_be_at_private_addresses() {
        let reach = |places: &[&str], address: &str| {
            let places: Vec<Place> = places.iter().map(|place| place.parse().unwrap()).collect();
            Place::found_in(&places, &target(address), Some("shop"))
        };
        let services = Some(Reach { private: true, loopback: false });
        assert_eq!(reach(&["https://*.NAMESPACE.svc"], "https://a.shop.svc"), services);
        assert_eq!(
            reach(&["https://*.shop.svc.cluster.local"], "https://a.shop.svc.cluster.local"),
            services
        );
        assert_eq!(reach(&["https://*", "https://*.example"], "https://a.example"), Some(Reach::default()));
        assert_eq!(
            reach(&["https://*", "https://a.example"], "https://a.example"),
            Some(Reach { private: true, loopback: true })
        );
        assert_eq!(reach(&["https://*.example"], "https://a.org"), None);
    }

    #[test]
    fn what_names_no_servers_is_refused_with_examples() {
        for text in [
            "",
            "*",
            "s3.example.com",
            "ftp://a",
            "https://",
            "https://a*b",
            "https://a..b",
            "https://me:hidden@a",
            "https://a:0",
            "https://a:99999",
            "https://a/path",
            "https://*.*.a",
        ] {
            let error = text.parse::<Place>().unwrap_err().to_string();
            assert!(error.contains("such as https://") && !error.contains("hidden"), "{text}: {error}");
        }
    }

    #[test]
    fn addresses_with_a_login_or_without_a_host_are_refused() {
        for text in
            ["https://good.example@evil.example/", "ftp://a", "/path", "https://a:99999/", "https://./"]
        {
            let Ok(uri) = text.parse::<Uri>() else { continue };
            assert!(matches!(Target::of(&uri), Err(Failure::Invalid(_))), "{text}");
        }
        assert_eq!(target("http://A.example").to_string(), "http://a.example:80");
    }
}
