//! Where a server may be, once its name was resolved: a name is in nobody's hand but its owner's, and may lead anywhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::failure::Failure;
use crate::chart_source::guard::{CLOUDS, within};

/// How far a grant reaches. Public addresses are always within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Addresses that are private: pods, Services, machines beside the cluster.
    pub private: bool,
    /// This machine's own.
    pub loopback: bool,
}

impl Reach {
    /// Everything that anybody may reach.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { private: self.private || other.private, loopback: self.loopback || other.loopback }
    }

    /// Whether a host may be at an address.
    ///
    /// # Errors
    /// [`Failure::Prohibited`].
    pub fn check(self, host: &str, address: IpAddr) -> Result<(), Failure> {
        let why = match class_of(address) {
            Class::Public => return Ok(()),
            Class::Private if self.private => return Ok(()),
            Class::Loopback if self.loopback => return Ok(()),
            Class::Private => {
                "a private address; only a grant that names the host in full, or Services by their names (*.NAMESPACE.svc), \
                 reaches those"
            }
            Class::Loopback => "this machine; only a grant that names the host in full reaches it",
            Class::Never => {
                "an address of the link or the cloud, where credentials are kept; no grant reaches it"
            }
        };
        Err(Failure::Prohibited { host: host.to_owned(), address, why })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Public,
    Private,
    Loopback,
    Never,
}

fn class_of(address: IpAddr) -> Class {
    if CLOUDS.contains(&address) {
        return Class::Never;
    }
    match address {
        IpAddr::V4(v4) => class_of_v4(v4),
        IpAddr::V6(v6) => class_of_v6(v6),
    }
}

fn class_of_v4(v4: Ipv4Addr) -> Class {
    let [a, b, ..] = v4.octets();
    // 0.x leads to this machine on Linux.
    if v4.is_link_local() || v4.is_multicast() || a >= 240 || a == 0 {
        return Class::Never;
    }
    if v4.is_loopback() {
        return Class::Loopback;
    }
    let carrier = a == 100 && (64..128).contains(&b);
    let benchmark = a == 198 && (b == 18 || b == 19);
    if v4.is_private() || carrier || benchmark { Class::Private } else { Class::Public }
}

fn class_of_v6(v6: Ipv6Addr) -> Class {
    if v6.is_loopback() {
        return Class::Loopback;
    }
    let site_local = v6.segments().first().is_some_and(|first| first & 0xffc0 == 0xfec0);
    if v6.is_unspecified() || v6.is_unicast_link_local() || v6.is_multicast() {
        return Class::Never;
    }
    if v6.is_unique_local() || site_local {
        return Class::Private;
    }
    // 6to4 also carries an address of the older family.
    let carried = match v6.segments() {
        [0x2002, high, low, ..] => Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))),
        _ => within(v6),
    };
    carried.map_or(Class::Public, |v4| class_of(IpAddr::V4(v4)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(address: &str) -> Class {
        class_of(address.parse().unwrap())
    }

    #[test]
    fn every_spelling_of_an_address_is_of_its_class() {
        for (class_wanted, addresses) in [
            (Class::Public, &["8.8.8.8", "100.128.0.1", "2001:db8::1", "64:ff9b::808:808"][..]),
            (
                Class::Private,
                &[
                    "10.96.0.1",
                    "172.16.0.1",
                    "192.168.1.1",
                    "100.64.0.1",
                    "fd00::1",
                    "fec0::1",
                    "::ffff:10.0.0.1",
                    "64:ff9b::a00:1",
                ],
            ),
            (Class::Loopback, &["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]),
            (
                Class::Never,
                &[
                    "169.254.169.254",
                    "169.254.170.2",
                    "100.100.100.200",
                    "168.63.129.16",
                    "0.0.0.0",
                    "224.0.0.1",
                    "255.255.255.255",
                    "240.0.0.1",
                    "::",
                    "fe80::1",
                    "ff02::1",
                    "fd00:ec2::254",
                    "::ffff:169.254.169.254",
                    "64:ff9b::a9fe:a9fe",
                    "2002:a9fe:a9fe::1",
                    "::169.254.169.254",
                ],
            ),
        ] {
            for address in addresses {
                assert_eq!(class(address), class_wanted, "{address}");
            }
        }
    }

    #[test]
    fn the_metadata_address_is_out_of_reach_of_every_grant() {
        let all = Reach { private: true, loopback: true };
        let refused = all.check("169.254.169.254", "169.254.169.254".parse().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("no grant reaches it"), "{refused}");
        assert!(Reach::default().check("a.example", "10.0.0.1".parse().unwrap()).is_err());
        assert!(Reach::default().check("a.example", "8.8.8.8".parse().unwrap()).is_ok());
    }
}
