//! Under which address handovers are served, and the certificate for it: made at each start by an authority whose key is forgotten at
//! once. Its certificate is in every Secret, so a Job trusts this one process and nobody else.

use std::time::{Duration, SystemTime};

use http::Uri;

use crate::certificate::{self, CertificateError};
use crate::health::tls::{Certificate, TlsError};

/// The certificate holds as long as its authority does.
const VALID: Duration = Duration::from_hours(10 * 365 * 24);

/// Why nothing can be served under an address.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// No address.
    #[error("{0:?} is no address such as https://10.0.0.7:8444 or https://handover.pilothouse.svc:8444")]
    Address(String),
    /// No certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// What Jobs are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// `https://host:port`, and what may be in front of this server's own paths.
    pub url: String,
    /// PEM of the certificate that Jobs trust.
    pub certificate: String,
}

impl Authority {
    /// A new one for an address, and the certificate to serve it with.
    ///
    /// # Errors
    /// [`AuthorityError`].
    pub fn new(url: &str) -> Result<(Self, Certificate), AuthorityError> {
        let url = url.trim_end_matches('/');
        let name = host_of(url)?;
        let now = SystemTime::now();
        let authority = certificate::authority("pilothouse handover", now)?;
        let by = (authority.certificate.as_bytes(), authority.key.as_bytes());
        let own = certificate::sign(by, &[name], VALID, now)?;
        let served = Certificate::from_pem(&own)?;
        Ok((Self { url: url.to_owned(), certificate: authority.certificate }, served))
    }
}

/// Whose certificate is shown under an address.
///
/// # Errors
/// [`AuthorityError::Address`].
pub fn host_of(url: &str) -> Result<String, AuthorityError> {
    let wrong = || AuthorityError::Address(url.to_owned());
    let parsed: Uri = url.parse().map_err(|_| wrong())?;
    let host = parsed.host().filter(|_| parsed.scheme_str() == Some("https")).ok_or_else(wrong)?;
    if parsed.query().is_some() || url.contains(['@', '#']) {
        return Err(wrong());
    }
    Ok(host.trim_start_matches('[').trim_end_matches(']').to_owned())
}

/// The address of this pod, where no other was named: its tokens are known to this process alone, so a Service over several
/// replicas would lead past them.
pub fn of_this_pod(address: std::net::IpAddr, port: u16) -> String {
    format!("https://{}", std::net::SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_with_tls_is_taken() {
        for wrong in [
            "",
            "x",
            "http://a:1",
            "https://",
            "https://u@a:1",
            "https://a:1/?q",
            "https://a..b:1",
            "10.0.0.7:1",
        ] {
            assert!(Authority::new(wrong).is_err(), "{wrong}");
        }
        for right in ["https://10.0.0.7:8444/", "https://[fd00::7]:8444", "https://a.b.svc:1/under"] {
            let (authority, _) = Authority::new(right).unwrap();
            assert_eq!(authority.url, right.trim_end_matches('/'));
            assert!(authority.certificate.starts_with("-----BEGIN CERTIFICATE-----"));
            assert!(!authority.certificate.contains("PRIVATE"));
        }
    }

    #[test]
    fn a_pod_of_either_family_has_an_address() {
        assert_eq!(of_this_pod("10.0.0.7".parse().unwrap(), 8444), "https://10.0.0.7:8444");
        assert_eq!(of_this_pod("fd00::7".parse().unwrap(), 8444), "https://[fd00::7]:8444");
    }
}
