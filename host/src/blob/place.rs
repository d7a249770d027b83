//! Stores by URL, and which of them a grant means.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::egress::address::Reach;
use crate::egress::place as server;

/// Stands for the namespace of the object at hand.
const NAMESPACE: &str = "NAMESPACE";
/// Stands for the account of Azure that the Secret names. No account is called so: their names are in lower case.
const ACCOUNT: &str = "ACCOUNT";

/// Who keeps the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Amazon's, or a server that speaks like it.
    S3,
    /// Google's.
    Google,
    /// Azure's.
    Azure,
    /// A directory of the host.
    Directory,
}

/// A store, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Who keeps it.
    pub service: Service,
    /// A server of one's own.
    pub endpoint: Option<server::Target>,
    /// Bucket; of Azure account and container; of a directory nothing.
    pub container: Vec<String>,
    /// Parts of the prefix; of a directory all of its path.
    pub prefix: Vec<String>,
}

/// What is no store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no store; write s3://bucket/prefix, s3+https://host:port/bucket/prefix, gs://bucket/prefix, az://account/container/prefix, az+https://host:port/account/container/prefix or file:///directory"
)]
pub struct StoreError(String);

/// A URL's parts: service, server (with its scheme), and the rest of the path.
fn split(text: &str) -> Option<(Service, Option<String>, Vec<String>)> {
    let (scheme, rest) = text.split_once("://")?;
    let whole = |rest: &str| -> Option<Vec<String>> {
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let parts: Vec<String> = rest.split('/').map(str::to_owned).collect();
        let plain = |part: &String| {
            let odd = |c: char| c.is_control() || "\\?#@%".contains(c);
            !part.is_empty() && part != "." && part != ".." && !part.contains(odd)
        };
        parts.iter().all(plain).then_some(parts)
    };
    match scheme {
        "s3" => Some((Service::S3, None, whole(rest)?)),
        "gs" => Some((Service::Google, None, whole(rest)?)),
        "az" => Some((Service::Azure, None, whole(rest)?)),
        "file" => Some((Service::Directory, None, whole(rest.strip_prefix('/')?)?)),
        _ => {
            let (service, protocol) = match scheme.split_once('+')? {
                ("s3", protocol) => (Service::S3, protocol),
                ("az", protocol) => (Service::Azure, protocol),
                _ => return None,
            };
            let (host, rest) = rest.split_once('/').filter(|_| ["https", "http"].contains(&protocol))?;
            Some((service, Some(format!("{protocol}://{host}")), whole(rest)?))
        }
    }
}

/// How many parts name the container.
fn container_parts(service: Service) -> usize {
    match service {
        Service::S3 | Service::Google => 1,
        Service::Azure => 2,
        Service::Directory => 0,
    }
}

impl FromStr for Address {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || StoreError(crate::error_text::without_login(text));
        let (service, server, parts) = split(text).ok_or_else(wrong)?;
        let endpoint = match server {
            None => None,
            Some(server) => {
                let uri = server.parse().map_err(|_| wrong())?;
                Some(server::Target::of(&uri).map_err(|_| wrong())?)
            }
        };
        let (container, prefix) = parts.split_at_checked(container_parts(service)).ok_or_else(wrong)?;
        // They become parts of host names.
        let label = |part: &String| part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !container.iter().all(label) {
            return Err(wrong());
        }
        Ok(Self { service, endpoint, container: container.to_vec(), prefix: prefix.to_vec() })
    }
}

impl Address {
    /// Is the account the one that the Secret names?
    pub fn lacks_account(&self) -> bool {
        self.service == Service::Azure && self.container.first().is_some_and(|account| account == ACCOUNT)
    }

    /// The same with an account.
    ///
    /// # Errors
    /// When no account can be called so.
    pub fn with_account(mut self, account: &str) -> Result<Self, StoreError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        match self.container.first_mut().filter(|_| !account.is_empty() && account.chars().all(plain)) {
            Some(first) => account.clone_into(first),
            // It is of a Secret, and not told.
            None => return Err(StoreError(self.to_string())),
        }
        Ok(self)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.endpoint, self.service) {
            (Some(target), Service::Azure) => write!(f, "az+{target}")?,
            (Some(target), _) => write!(f, "s3+{target}")?,
            (None, Service::S3) => f.write_str("s3:/")?,
            (None, Service::Google) => f.write_str("gs:/")?,
            (None, Service::Azure) => f.write_str("az:/")?,
            (None, Service::Directory) => f.write_str("file://")?,
        }
        self.container.iter().chain(&self.prefix).try_for_each(|part| write!(f, "/{part}"))
    }
}

/// Stores of a grant: a store's URL and everything below it, whose server may be a pattern as in `egress`, whose bucket may be
/// `*`, and in which a part `NAMESPACE` is the namespace of the object at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    text: String,
    service: Service,
    endpoint: Option<server::Place>,
    container: Vec<String>,
    prefix: Vec<String>,
}

impl FromStr for Place {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let wrong = || StoreError(crate::error_text::without_login(text));
        let (service, server, parts) = split(text).ok_or_else(wrong)?;
        let endpoint = server.map(|server| server.parse()).transpose().map_err(|_| wrong())?;
        let (container, prefix) = parts.split_at_checked(container_parts(service)).ok_or_else(wrong)?;
        let star = |part: &String| part.contains('*');
        if prefix.iter().any(star) || container.iter().any(|part| star(part) && part != "*") {
            return Err(wrong());
        }
        let (container, prefix) = (container.to_vec(), prefix.to_vec());
        Ok(Self { text: text.to_owned(), service, endpoint, container, prefix })
    }
}

impl Place {
    /// How far the place reaches, if a store is in it, for an object in a namespace.
    pub fn holds(&self, store: &Address, namespace: Option<&str>) -> Option<Reach> {
        let same = |own: &String, part: &String| {
            own == "*" || if own == NAMESPACE { namespace == Some(part) } else { own == part }
        };
        let all = |own: &[String], parts: &[String]| {
            own.len() <= parts.len() && own.iter().zip(parts).all(|(own, part)| same(own, part))
        };
        let held = self.service == store.service
            && self.container.len() == store.container.len()
            && all(&self.container, &store.container)
            && all(&self.prefix, &store.prefix);
        match (&self.endpoint, &store.endpoint) {
            _ if !held => None,
            (None, None) => Some(Reach::default()),
            (Some(place), Some(target)) => {
                server::Place::found_in(std::slice::from_ref(place), target, namespace)
            }
            _ => None,
        }
    }

    /// How far the places reach that hold a store; none: none does.
    pub fn found_in(places: &[Self], store: &Address, namespace: Option<&str>) -> Option<Reach> {
        places.iter().filter_map(|place| place.holds(store, namespace)).reduce(Reach::and)
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

    fn holds(place: &str, store: &str) -> bool {
        let place: Place = place.parse().unwrap();
        place.holds(&store.parse().unwrap(), Some("shop")).is_some()
    }

    #[test]
    fn a_place_holds_stores_below_it_and_nothing_that_only_begins_like_it() {
        for (place, store) in [
            ("s3://backups", "s3://backups/shop/etcd"),
            ("s3://backups/NAMESPACE", "s3://backups/shop/etcd"),
            ("s3://*", "s3://any/x"),
            ("s3+http://*.NAMESPACE.svc:9000/*", "s3+http://minio.shop.svc:9000/b"),
            ("gs://backups/", "gs://backups"),
            ("az://account/backups", "az://account/backups/a"),
            (
                "az+https://azure.shop.svc:10000/account/*",
                "az+https://azure.shop.svc:10000/account/backups/a",
            ),
            ("file:///var/backups", "file:///var/backups/etcd"),
        ] {
            assert!(holds(place, store), "{place} {store}");
        }
        for (place, store) in [
            ("s3://backups/NAMESPACE", "s3://backups/bank"),
            ("s3://backups/NAMESPACE", "s3://backups"),
            ("s3://backups/shop", "s3://backups/shopping"),
            ("s3://backups", "gs://backups"),
            ("s3://backups", "s3+https://evil.example/backups"),
            ("s3+https://a.example/b", "s3+http://a.example/b"),
            ("s3+https://a.example/b", "az+https://a.example/b/c"),
            ("az://account/backups", "az+https://evil.example/account/backups"),
            ("s3+http://*.NAMESPACE.svc:9000/*", "s3+http://minio.bank.svc:9000/b"),
            ("file:///var/backups", "file:///var/backups-of-others"),
        ] {
            assert!(!holds(place, store), "{place} {store}");
        }
    }

    #[test]
    fn an_account_may_be_left_to_the_secret_and_is_held_to_the_grant_then() {
        let left: Address = "az://ACCOUNT/backups/shop".parse().unwrap();
        assert!(left.lacks_account() && !"s3://ACCOUNT".parse::<Address>().unwrap().lacks_account());
        let whole = left.clone().with_account("account7").unwrap();
        assert_eq!(whole.to_string(), "az://account7/backups/shop");
        assert!(!whole.lacks_account() && holds("az://account7/*", &whole.to_string()));
        for wrong in ["", "ACCOUNT", "a.evil.example", "a/b"] {
            assert!(left.clone().with_account(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_store_is_written_as_it_is_read_and_what_is_none_is_refused() {
        for text in [
            "s3://b/p/q",
            "s3+https://a.example:9000/b",
            "gs://b",
            "az://a/c/p",
            "az+http://a.example:10000/a/c",
            "file:///var/x",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "s3://",
            "s3://b/../c",
            "s3://b//c",
            "az://only",
            "az+ftp://a.example/a/c",
            "gs+https://a.example/b",
            "file://x",
            "http://b",
            "s3+https:///b",
            "s3+https://me:hidden@a/b",
            "s3://b.evil.example%2f/x",
            "s3://a@b/c",
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("write s3://") && !error.contains("hidden"), "{text}: {error}");
        }
        assert!("s3://b*".parse::<Place>().is_err() && "s3://b/*".parse::<Place>().is_err());
    }
}
