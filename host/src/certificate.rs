//! Certificates: what everybody may know of them, and new ones.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// How long an authority holds.
const AUTHORITY: Duration = Duration::from_hours(10 * 365 * 24);
/// Clocks of other machines may be late by so much.
const LATE: Duration = Duration::from_mins(5);
/// The shortest and the longest time a certificate holds.
const SHORTEST: Duration = Duration::from_mins(1);
/// More names do not fit into a handshake that everybody takes.
const NAMES: usize = 64;

/// Why no certificate was made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The order makes no sense.
    #[error("{0}")]
    Order(String),
    /// What should be an authority is none.
    #[error("it is no authority: {0}")]
    Authority(String),
    /// The authority does not hold long enough for anything.
    #[error(
        "the authority has ended, or is about to: delete its Secret to have another one made, and restart who trusts it"
    )]
    Ended,
    /// The library refused.
    #[error("no certificate could be made: {0}")]
    Library(#[from] rcgen::Error),
}

/// What everybody may know of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// sha256 of its DER form, lower-case hex.
    pub sha256: String,
    /// The last moment at which it holds, in seconds since 1970.
    pub not_after: u64,
    /// It may sign others.
    pub authority: bool,
}

/// A certificate and its key, both PEM.
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair").finish_non_exhaustive()
    }
}

/// The certificates in a text; none when it holds none that can be read.
pub fn facts(text: &[u8]) -> Vec<Facts> {
    CertificateDer::pem_slice_iter(text).filter_map(|der| of_der(&der.ok()?)).collect()
}

fn of_der(der: &CertificateDer<'_>) -> Option<Facts> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    let sha256 = Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect();
    let not_after = u64::try_from(parsed.validity().not_after.timestamp()).unwrap_or(0);
    Some(Facts { sha256, not_after, authority: parsed.is_ca() })
}

/// A new authority.
///
/// # Errors
/// When the machine has no random numbers.
pub fn authority(name: &str, now: SystemTime) -> Result<Pair, CertificateError> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = (now - LATE).into();
    params.not_after = (now + AUTHORITY).into();
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// A new certificate for servers and clients of these names, signed by an authority.
///
/// It has no common name: etcd takes one for the name of a user, and refuses its own gateway under it.
///
/// # Errors
/// [`CertificateError`].
pub fn sign(
    authority: (&[u8], &[u8]),
    names: &[String],
    valid: Duration,
    now: SystemTime,
) -> Result<Pair, CertificateError> {
    let (certificate, key) = authority;
    let no_authority = |why: &dyn std::fmt::Display| CertificateError::Authority(why.to_string());
    let text = |bytes| std::str::from_utf8(bytes).map_err(|error| no_authority(&error));
    let known = facts(certificate);
    let [Facts { not_after, authority: true, .. }] = known.as_slice() else {
        return Err(no_authority(&"one certificate that may sign others is needed"));
    };
    let end = SystemTime::UNIX_EPOCH + Duration::from_secs(*not_after);
    let key = KeyPair::from_pem(text(key)?).map_err(|error| no_authority(&error))?;
    let issuer = Issuer::from_ca_cert_pem(text(certificate)?, key).map_err(|error| no_authority(&error))?;
    let mut params = params(names)?;
    let valid = valid.clamp(SHORTEST, AUTHORITY);
    params.not_before = (now - LATE).into();
    params.not_after = end.min(now + valid).into();
    if end <= now + SHORTEST {
        return Err(CertificateError::Ended);
    }
    let own = KeyPair::generate()?;
    let signed = params.signed_by(&own, &issuer)?;
    Ok(Pair { certificate: signed.pem(), key: own.serialize_pem() })
}

fn params(names: &[String]) -> Result<CertificateParams, CertificateError> {
    if names.is_empty() || names.len() > NAMES {
        return Err(CertificateError::Order(format!(
            "a certificate is for 1 to {NAMES} names, not {}",
            names.len()
        )));
    }
    if let Some(wrong) = names.iter().find(|name| !is_name(name)) {
        return Err(CertificateError::Order(format!("{wrong:?} is neither a DNS name nor an IP address")));
    }
    let mut params = CertificateParams::new(names.to_vec())?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn is_name(name: &str) -> bool {
    let labels = name.strip_prefix("*.").unwrap_or(name);
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.parse::<IpAddr>().is_ok() || name.len() <= 253 && labels.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio_rustls::rustls::client::WebPkiServerVerifier;
    use tokio_rustls::rustls::client::danger::ServerCertVerifier as _;
    use tokio_rustls::rustls::pki_types::{ServerName, UnixTime};
    use tokio_rustls::rustls::{RootCertStore, crypto::ring};

    use super::*;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 56)
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn holds(pair: &Pair, by: &Pair, name: &str, at: SystemTime) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(by.certificate.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap();
        let at = UnixTime::since_unix_epoch(at.duration_since(SystemTime::UNIX_EPOCH).unwrap());
        let name = ServerName::try_from(name.to_owned()).unwrap();
        verifier.verify_server_cert(&certificate, &[], &name, &[], at).is_ok()
    }

    fn signed(by: &Pair, name: &str, valid: Duration) -> Result<Pair, CertificateError> {
        sign((by.certificate.as_bytes(), by.key.as_bytes()), &names(&[name]), valid, now())
    }

    #[test]
    fn a_certificate_holds_for_its_names_under_its_authority_and_as_long_as_was_asked_for() {
        let own = authority("example", now()).unwrap();
        let pair = signed(&own, "*.example.apps.svc", Duration::from_hours(1)).unwrap();
        assert!(holds(&pair, &own, "a.example.apps.svc", now()));
        assert!(!holds(&pair, &own, "a.other.apps.svc", now()));
        assert!(!holds(&pair, &own, "a.example.apps.svc", now() + Duration::from_hours(2)));
        assert!(!holds(&pair, &authority("example", now()).unwrap(), "a.example.apps.svc", now()));
        let address = signed(&own, "127.0.0.1", Duration::from_hours(1)).unwrap();
        assert!(holds(&address, &own, "127.0.0.1", now()));
    }

    #[test]
    fn nothing_holds_longer_than_its_authority() {
        let own = authority("example", now()).unwrap();
        let late = now() + AUTHORITY - Duration::from_mins(30);
        let pair =
            sign((own.certificate.as_bytes(), own.key.as_bytes()), &names(&["a"]), AUTHORITY, late).unwrap();
        let end = facts(pair.certificate.as_bytes())[0].not_after;
        assert_eq!(end, facts(own.certificate.as_bytes())[0].not_after);
        let too_late = sign(
            (own.certificate.as_bytes(), own.key.as_bytes()),
            &names(&["a"]),
            AUTHORITY,
            now() + AUTHORITY,
        );
        assert!(matches!(too_late, Err(CertificateError::Ended)));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let own = authority("example", now()).unwrap();
        for wrong in ["", "a b", "a..b", "-", "*", "a.*.b", "x\ny"] {
            let refused = signed(&own, wrong, SHORTEST);
            assert!(matches!(refused, Err(CertificateError::Order(_))) || wrong == "-", "{wrong:?}");
        }
        let pair = signed(&own, "a", SHORTEST).unwrap();
        assert!(matches!(signed(&pair, "b", SHORTEST), Err(CertificateError::Authority(_))));
        let nonsense = Pair { certificate: "hidden".to_owned(), key: "hidden".to_owned() };
        assert!(!signed(&nonsense, "b", SHORTEST).unwrap_err().to_string().contains("hidden"));
    }

    #[test]
    fn facts_are_told_of_certificates_and_of_nothing_else() {
        let own = authority("example", now()).unwrap();
        let pair = signed(&own, "a", Duration::from_hours(1)).unwrap();
        let both = facts(format!("{}{}", pair.certificate, own.certificate).as_bytes());
        assert_eq!(both.iter().map(|facts| facts.authority).collect::<Vec<_>>(), [false, true]);
        let hour = now() + Duration::from_hours(1);
        assert_eq!(both[0].not_after, hour.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());
        assert_eq!(both[0].sha256.len(), 64);
        assert_eq!(facts(pair.key.as_bytes()), []);
        assert_eq!(facts(b"-----BEGIN CERTIFICATE-----\nbm9uc2Vuc2U=\n-----END CERTIFICATE-----\n"), []);
    }
}
