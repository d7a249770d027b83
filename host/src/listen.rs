//! Where the host serves: addresses as Go programs take them, and the sockets they stand for.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use rustix::io::Errno;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// An address to serve at, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `0`: nothing is served.
    Off,
    /// `:8080`: every interface, of both families.
    Everywhere(u16),
    /// `127.0.0.1:8080`, `[::1]:8080`.
    At(SocketAddr),
    /// `localhost:8080`.
    Named {
        /// The name, resolved when it is bound.
        host: String,
        /// The port.
        port: u16,
    },
}

/// Text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no address such as :8080, 127.0.0.1:8080, [::1]:8080 or localhost:8080 (0: nothing is served)"
)]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if text == "0" {
            return Ok(Self::Off);
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::At(address));
        }
        let wrong = || AddressError(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        match host {
            "" => Ok(Self::Everywhere(port)),
            name if is_name(name) => Ok(Self::Named { host: name.to_owned(), port }),
            _ => Err(wrong()),
        }
    }
}

/// A host's name. A last part of digits alone is a mistyped IPv4 address: nobody's DNS is asked for it.
fn is_name(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() < 254 && text.split('.').all(is_part) && !last.bytes().all(|b| b.is_ascii_digit())
}

impl Address {
    /// Listens there. `None`: nothing is to be served.
    ///
    /// # Errors
    /// When the name does not resolve, or the address is taken or not this machine's.
    pub async fn bind(&self) -> io::Result<Option<TcpListener>> {
        let candidates = match self {
            Self::Off => return Ok(None),
            Self::At(address) => vec![*address],
            Self::Everywhere(port) => {
                let every: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
                every.map(|ip| (ip, *port).into()).to_vec()
            }
            Self::Named { host, port } => resolve(host, *port).await?,
        };
        listen_at_first(&candidates).map(Some)
    }
}

/// What a name stands for. As Go does, IPv4 comes first: whoever asks for `localhost` from beside us mostly means 127.0.0.1.
async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if host.eq_ignore_ascii_case("localhost") {
        // Also where no file and no server knows it (RFC 6761).
        let both: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        return Ok(both.map(|ip| (ip, port).into()).to_vec());
    }
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{host}: {error}"));
    let mut found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await.map_err(named)?.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    Ok(found)
}

/// The first of the addresses that this machine has.
fn listen_at_first(candidates: &[SocketAddr]) -> io::Result<TcpListener> {
    let mut failed = None;
    for address in candidates {
        match listen(*address) {
            Ok(listener) => return Ok(listener),
            // Taken, forbidden: another family would only hide it.
            Err(error) if !is_missing_here(&error) => return Err(error),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address")))
}

/// Whether the machine lacks the address or its whole family.
fn is_missing_here(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL))
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv6() { TcpSocket::new_v6()? } else { TcpSocket::new_v4()? };
    // A restart must not wait for what is left of old connections.
    socket.set_reuseaddr(true)?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        // IPv4 comes in by the same socket, whatever the machine's default is.
        rustix::net::sockopt::set_ipv6_v6only(&socket, false)?;
    }
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    async fn bound(text: &str) -> TcpListener {
        text.parse::<Address>().unwrap().bind().await.unwrap().unwrap()
    }

    #[test]
    fn addresses_are_written_as_go_writes_them() {
        let named = |host: &str, port| Address::Named { host: host.to_owned(), port };
        for (text, means) in [
            ("0", Address::Off),
            (":8080", Address::Everywhere(8080)),
            ("127.0.0.1:8080", Address::At(([127, 0, 0, 1], 8080).into())),
            ("0.0.0.0:8080", Address::At(([0, 0, 0, 0], 8080).into())),
            ("[::1]:8080", Address::At((Ipv6Addr::LOCALHOST, 8080).into())),
            ("[::]:8443", Address::At((Ipv6Addr::UNSPECIFIED, 8443).into())),
            ("localhost:8080", named("localhost", 8080)),
            ("metrics-1.example.com:9", named("metrics-1.example.com", 9)),
        ] {
            assert_eq!(text.parse(), Ok(means), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_answered_with_examples() {
        let wrong =
            ["", "x", "8080", ":", ":x", ":65536", "a b:1", "::1:80", "[::1]", "127.0.0:80", "a..b:1"];
        for text in wrong {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} is no address such as :8080")), "{error}");
        }
    }

    #[tokio::test]
    async fn a_port_alone_is_served_on_every_interface_of_both_families() {
        let listener = bound(":0").await;
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        if listen((Ipv6Addr::LOCALHOST, 0).into()).is_err() {
            return eprintln!("SKIPPED: this machine has no IPv6");
        }
        TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.unwrap();
    }

    #[tokio::test]
    async fn where_the_first_address_is_not_to_be_had_the_next_is_taken() {
        // Addresses of documentation: no machine has them.
        let missing: [SocketAddr; 2] = ["[2001:db8::1]:0".parse().unwrap(), "192.0.2.1:0".parse().unwrap()];
        let local: SocketAddr = ([127, 0, 0, 1], 0).into();
        let listener = listen_at_first(&[missing[0], local]).unwrap();
        assert_eq!(listener.local_addr().unwrap().ip(), Ipv4Addr::LOCALHOST);
        let error = listen_at_first(&missing).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
        assert!(is_missing_here(&Errno::AFNOSUPPORT.into()));
    }

    #[tokio::test]
    async fn a_port_that_is_taken_in_one_family_is_not_half_served_in_the_other() {
        let other = bound("127.0.0.1:0").await;
        let taken = Address::Everywhere(other.local_addr().unwrap().port());
        assert_eq!(taken.bind().await.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[tokio::test]
    async fn a_name_is_resolved_and_ipv4_comes_first() {
        let listener = bound("localhost:0").await;
        assert_eq!(listener.local_addr().unwrap().ip(), Ipv4Addr::LOCALHOST);
        let unknown: Address = "no-such-host.invalid:1".parse().unwrap();
        assert!(unknown.bind().await.unwrap_err().to_string().starts_with("no-such-host.invalid: "));
        assert!(Address::Off.bind().await.unwrap().is_none());
    }
}
