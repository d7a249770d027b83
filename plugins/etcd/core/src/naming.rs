//! Names of members and objects, and where members are found.

use etcd_api::names;
use sha2::{Digest, Sha256};

/// Letters of the suffixes of members: without vowels and what looks like them, so that no words come about.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Where a cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// Name of the cluster.
    pub cluster: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
}

impl Place<'_> {
    /// The headless Service of the members.
    pub fn member_service(self) -> String {
        self.cluster.to_owned()
    }

    /// The Service for clients.
    pub fn client_service(self) -> String {
        format!("{}-client", self.cluster)
    }

    /// The name that a member's certificate and its peers know it by.
    pub fn host(self, member: &str) -> String {
        format!("{member}.{}.{}.svc", self.cluster, self.namespace)
    }

    /// Where peers find a member.
    pub fn peer_url(self, member: &str, secure: bool) -> String {
        format!("{}://{}:{}", scheme(secure), self.host(member), names::PEER_PORT)
    }

    /// Where clients find a member.
    pub fn client_url(self, member: &str, secure: bool) -> String {
        format!("{}://{}:{}", scheme(secure), self.host(member), names::CLIENT_PORT)
    }

    /// The member of this cluster that an address of peers stands for; none when it is not one of ours.
    pub fn member_at(self, peer_url: &str) -> Option<&str> {
        let (_, rest) = peer_url.split_once("://")?;
        let (host, _) = rest.rsplit_once(':')?;
        let (member, domain) = host.split_once('.')?;
        let own = domain.strip_prefix(self.cluster)?.strip_prefix('.')?.strip_prefix(self.namespace)?;
        (own == ".svc" || own.starts_with(".svc.")).then_some(member)
    }
}

fn scheme(secure: bool) -> &'static str {
    if secure { "https" } else { "http" }
}

/// The name of a member: the cluster's, and ten letters that follow from the cluster's uid and the member's number. The
/// same number gives the same name, so nothing that was begun under it is lost track of.
pub fn member_name(cluster: &str, uid: &str, serial: u32) -> String {
    let digest = Sha256::digest(format!("{uid}/{serial}"));
    let suffix = digest.iter().take(10).filter_map(|byte| LETTERS.get(usize::from(*byte) % LETTERS.len()));
    let suffix: String = suffix.map(|letter| char::from(*letter)).collect();
    format!("{cluster}-{suffix}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PLACE: Place<'static> = Place { cluster: "example", namespace: "apps" };

    #[test]
    fn a_member_has_one_name_of_ten_letters_for_each_number() {
        let names: BTreeSet<String> = (0..500).map(|serial| member_name("example", "u-1", serial)).collect();
        assert_eq!(names.len(), 500);
        assert!(names.iter().all(|name| name.len() == "example-".len() + 10));
        assert_eq!(member_name("example", "u-1", 7), member_name("example", "u-1", 7));
        assert_ne!(member_name("example", "u-1", 7), member_name("example", "u-2", 7));
        let longest = "a".repeat(names::LONGEST_NAME);
        assert_eq!(member_name(&longest, "u", 0).len(), 63);
    }

    #[test]
    fn a_member_is_known_again_by_the_address_of_its_peers() {
        let url = PLACE.peer_url("example-b2", false);
        assert_eq!(url, "http://example-b2.example.apps.svc:2380");
        assert_eq!(PLACE.member_at(&url), Some("example-b2"));
        assert_eq!(
            PLACE.member_at("https://example-b2.example.apps.svc.cluster.local:2380"),
            Some("example-b2")
        );
        for other in [
            "http://10.0.0.1:2380",
            "http://example-b2.example.apps2.svc:2380",
            "http://example-b2.example2.apps.svc:2380",
            "http://example-b2.example.apps.svcx:2380",
            "example-b2",
            "",
        ] {
            assert_eq!(PLACE.member_at(other), None, "{other}");
        }
    }
}
