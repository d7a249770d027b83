//! Which addresses a download may come from: not from this machine and its link, where clouds answer for their machines'
//! credentials, unless somebody named the host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Addresses that clouds keep for themselves outside of the link.
pub(crate) const CLOUDS: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Why a host is not met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{host} leads to {address}, an address of this machine or of its link, where clouds keep credentials; whoever means it names \
     the host among the places that charts may come from"
)]
pub(crate) struct Guarded {
    host: String,
    address: IpAddr,
}

/// Which hosts may be met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    /// Hosts that may be anywhere; none: every host may.
    named: Option<Arc<[String]>>,
}

impl Guard {
    /// Special addresses only for these hosts.
    pub(crate) fn except(hosts: impl IntoIterator<Item = String>) -> Self {
        Self { named: Some(hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect()) }
    }

    /// Whether it refuses anything.
    pub(crate) fn is_strict(&self) -> bool {
        self.named.is_some()
    }

    /// Whether a host may be at an address.
    pub(crate) fn check(&self, host: &str, address: IpAddr) -> Result<(), Guarded> {
        let Some(named) = &self.named else { return Ok(()) };
        let name = host.trim_matches(['[', ']']).to_ascii_lowercase();
        if !is_special(address) || named.contains(&name) {
            return Ok(());
        }
        Err(Guarded { host: host.to_owned(), address })
    }

    /// The same for a host that is written as an address; names are checked when they are resolved.
    pub(crate) fn check_literal(&self, host: &str) -> Result<(), Guarded> {
        match host.trim_matches(['[', ']']).parse() {
            Ok(address) => self.check(host, address),
            Err(_) => Ok(()),
        }
    }
}

/// Whether an address is this machine's, its link's or its cloud's.
fn is_special(address: IpAddr) -> bool {
    if CLOUDS.contains(&address) {
        return true;
    }
    match address {
        IpAddr::V4(v4) => {
            v4.is_loopback()
                || v4.is_unspecified()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast()
                || v4.octets().first() == Some(&0)
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unicast_link_local()
                || v6.is_multicast()
                || within(v6).is_some_and(|v4| is_special(IpAddr::V4(v4)))
        }
    }
}

/// The address of the older family that one of the newer stands for: mapped, compatible, or behind NAT64.
pub(crate) fn within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let nat64 = matches!(segments, [0x64, 0xff9b, 0, 0, 0, 0, _, _]);
    if nat64 {
        let [.., high, low] = segments;
        return Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    }
    address.to_ipv4()
}

/// Resolves names, and leaves out what may not be met.
#[derive(Clone, Debug)]
pub(super) struct GuardedNames(pub(super) Guard);

impl Resolve for GuardedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0.clone();
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let mut refused = None;
            let mut allowed = Vec::new();
            for address in found {
                match guard.check(&host, address.ip()) {
                    Ok(()) => allowed.push(address),
                    Err(why) => refused = Some(why),
                }
            }
            match refused {
                // One bad address is enough: which one is met would be a matter of luck.
                Some(why) => Err(why.into()),
                None => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn special(address: &str) -> bool {
        is_special(address.parse().unwrap())
    }

    #[test]
    fn addresses_of_the_machine_its_link_and_its_cloud_are_special_in_every_spelling() {
        for address in [
            "127.0.0.1",
            "127.8.9.1",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.170.2",
            "255.255.255.255",
            "224.0.0.1",
            "100.100.100.200",
            "168.63.129.16",
            "::1",
            "::",
            "fe80::1",
            "ff02::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "::ffff:127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "::169.254.169.254",
        ] {
            assert!(special(address), "{address}");
        }
        for address in [
            "10.0.0.1",
            "192.168.1.1",
            "8.8.8.8",
            "100.100.100.201",
            "2001:db8::1",
            "fd00::1",
            "64:ff9b::808:808",
        ] {
            assert!(!special(address), "{address}");
        }
    }

    #[test]
    fn who_is_named_in_full_is_met_wherever_it_is_and_nobody_else() {
        let guard = Guard::except(["LocalHost".to_owned(), "::1".to_owned()]);
        assert!(guard.check("localhost", "127.0.0.1".parse().unwrap()).is_ok());
        assert!(guard.check_literal("[::1]").is_ok());
        let refused =
            guard.check("evil.example", "169.254.169.254".parse().unwrap()).unwrap_err().to_string();
        assert!(refused.starts_with("evil.example leads to 169.254.169.254,"), "{refused}");
        assert!(guard.check_literal("169.254.169.254").is_err() && guard.check_literal("a.example").is_ok());
        assert!(Guard::default().check_literal("169.254.169.254").is_ok(), "a person may ask for anything");
    }

    #[tokio::test]
    async fn a_name_is_refused_after_it_was_resolved() {
        let names = |guard| GuardedNames(guard);
        let resolved = |guard: Guard| async move {
            names(guard).resolve("localhost".parse().unwrap()).await.map(Iterator::count)
        };
        assert!(resolved(Guard::except([])).await.unwrap_err().to_string().contains("localhost leads to"));
        assert!(resolved(Guard::except(["localhost".to_owned()])).await.unwrap() > 0);
    }
}
