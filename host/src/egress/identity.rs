//! Who one is for a server, and whom one trusts: keys and certificates out of PEM texts.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// Why texts are of no use. Never what stands in them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// One text.
    #[error("{place} holds no {what}")]
    Empty {
        /// Secret and key.
        place: String,
        /// What was looked for.
        what: &'static str,
    },
    /// Key and certificate.
    #[error("{place} and its key do not fit together: {said}")]
    Misfit {
        /// Secret and key of the certificate.
        place: String,
        /// The library's words.
        said: String,
    },
    /// The machine has no authorities.
    #[error("this machine has no certificate authorities to check servers by; name some with the identity")]
    NoRoots,
    /// The library refused.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
}

/// A PEM text and where it stands.
pub struct Pem {
    /// Secret and key, for messages.
    pub place: String,
    /// The text.
    pub text: Vec<u8>,
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pem").field("place", &self.place).finish_non_exhaustive()
    }
}

/// How TLS is spoken to some server.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Authorities, and who one is.
    pub config: Arc<ClientConfig>,
    /// The name its certificate is for, where that is not the host's.
    pub server_name: Option<String>,
}

/// The machine's authorities: many, and most plugins need none, so they are read when somebody asks.
#[derive(Debug, Default)]
pub struct Roots(Mutex<Option<Arc<RootCertStore>>>);

impl Roots {
    fn get(&self) -> Result<Arc<RootCertStore>, IdentityError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(roots) = &*known {
            return Ok(Arc::clone(roots));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(IdentityError::NoRoots);
        }
        let roots = Arc::new(roots);
        *known = Some(Arc::clone(&roots));
        Ok(roots)
    }
}

/// TLS with these authorities (none: the machine's) and this certificate with its key.
///
/// # Errors
/// [`IdentityError`].
pub fn tls(
    roots: &Roots,
    authorities: Option<&Pem>,
    certificate: Option<(&Pem, &Pem)>,
    server_name: Option<String>,
) -> Result<Tls, IdentityError> {
    let store = match authorities {
        None => roots.get()?,
        Some(pem) => Arc::new(store_of(pem)?),
    };
    let setup = |error: rustls::Error| IdentityError::Setup(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(setup)?;
    let builder = builder.with_root_certificates(store);
    let mut config = match certificate {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let place = chain.place.clone();
            let misfit = |error: rustls::Error| IdentityError::Misfit { place, said: error.to_string() };
            builder.with_client_auth_cert(chain_of(chain)?, key_of(key)?).map_err(misfit)?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Tls { config: Arc::new(config), server_name })
}

fn chain_of(pem: &Pem) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let empty = || IdentityError::Empty { place: pem.place.clone(), what: "certificate" };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem.text).collect();
    chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(empty)
}

fn key_of(pem: &Pem) -> Result<PrivateKeyDer<'static>, IdentityError> {
    PrivateKeyDer::from_pem_slice(&pem.text)
        .map_err(|_| IdentityError::Empty { place: pem.place.clone(), what: "private key" })
}

fn store_of(pem: &Pem) -> Result<RootCertStore, IdentityError> {
    let mut store = RootCertStore::empty();
    let (added, _) = store.add_parsable_certificates(chain_of(pem)?);
    if added == 0 {
        return Err(IdentityError::Empty { place: pem.place.clone(), what: "certificate of an authority" });
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(place: &str, text: &str) -> Pem {
        Pem { place: place.to_owned(), text: text.as_bytes().to_vec() }
    }

    fn pair() -> (String, String) {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(["a".to_owned()]).unwrap().self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    #[test]
    fn what_is_of_no_use_is_told_without_what_stands_in_it() {
        let ((one, key), (other, _)) = (pair(), pair());
        let certificate = pem("Secret shop/tls, key tls.crt", &one);
        let roots = Roots::default();
        let good = tls(&roots, Some(&certificate), Some((&certificate, &pem("k", &key))), None);
        assert!(good.is_ok());
        let nonsense = pem("Secret shop/tls, key ca.crt", "hidden");
        let error = tls(&roots, Some(&nonsense), None, None).unwrap_err().to_string();
        assert_eq!(error, "Secret shop/tls, key ca.crt holds no certificate");
        let error = tls(&roots, Some(&certificate), Some((&certificate, &nonsense)), None).unwrap_err();
        assert!(matches!(error, IdentityError::Empty { what: "private key", .. }), "{error}");
        let swapped = pem("Secret shop/tls, key tls.crt", &other);
        let error = tls(&roots, Some(&certificate), Some((&swapped, &pem("k", &key))), None).unwrap_err();
        assert!(error.to_string().contains("do not fit together"), "{error}");
        assert!(!format!("{nonsense:?}").contains("hidden"));
    }
}
