//! Servers by pattern, as manifests name them: `https://*.NAMESPACE.svc:2379`.

/// A pattern of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    scheme: String,
    host: String,
    /// None: all.
    port: Option<u16>,
}

impl Place {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, host, port) = split(text)?;
        let port = match port {
            Some("*") => None,
            Some(port) => Some(port.parse().ok()?),
            None => Some(default_port(scheme)?),
        };
        default_port(scheme)?;
        Some(Self { scheme: scheme.to_owned(), host: host.to_owned(), port })
    }

    /// Whether a request to an address, for an object in a namespace, goes there.
    pub(super) fn holds(&self, url: &str, namespace: Option<&str>) -> bool {
        let Some((scheme, host, port)) = split(url) else { return false };
        let port = port.map_or(default_port(scheme), |port| port.parse().ok());
        let host = host.to_ascii_lowercase();
        let names_namespace = self.host.split('.').any(|part| part == "NAMESPACE");
        let own = self.host.replace("NAMESPACE", namespace.unwrap_or_default()).to_ascii_lowercase();
        let named = match own.strip_prefix('*') {
            Some("") => true,
            Some(end) => host.len() > end.len() && host.ends_with(end),
            None => host == own,
        };
        named
            && scheme == self.scheme
            && (self.port.is_none() || self.port == port)
            && (namespace.is_some() || !names_namespace)
    }
}

/// Scheme, host and port, without the path.
fn split(url: &str) -> Option<(&str, &str, Option<&str>)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().filter(|authority| !authority.is_empty())?;
    match authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, port)) => Some((scheme, host, Some(port))),
        None => Some((scheme, authority, None)),
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_holds_its_servers_and_no_others() {
        let services = Place::parse("https://*.NAMESPACE.svc:2379").unwrap();
        assert!(services.holds("https://etcd-0.etcd.shop.svc:2379/v3", Some("shop")));
        for url in [
            "https://etcd.bank.svc:2379",
            "http://etcd.shop.svc:2379",
            "https://etcd.shop.svc",
            "https://.shop.svc:2379x",
        ] {
            assert!(!services.holds(url, Some("shop")), "{url}");
        }
        assert!(!services.holds("https://a.shop.svc:2379", None));
        assert!(Place::parse("https://*:*").unwrap().holds("https://any.example:8443/x", None));
        assert!(Place::parse("https://a.example").unwrap().holds("https://A.example", None));
        assert_eq!(Place::parse("ftp://a"), None);
    }
}
