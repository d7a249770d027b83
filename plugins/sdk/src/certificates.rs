//! Certificates in Secrets: what everybody may know of them, and new ones that the host makes. The plugin sees no key.

use std::{
    rc::Rc,
    time::{Duration, SystemTime},
};

use crate::{Host, IdentityError};

/// Certificates in Secrets that the plugin may `use`.
#[derive(Debug, Clone)]
pub struct Certificates {
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "a component has its imports"))]
    host: Rc<dyn Host>,
}

impl Certificates {
    pub(crate) fn new(host: Rc<dyn Host>) -> Self {
        Self { host }
    }

    /// What everybody may know of a Secret; none: it is not there.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn inspect(&self, namespace: &str, name: &str) -> Result<Option<SecretFacts>, IdentityError> {
        #[cfg(target_family = "wasm")]
        return crate::guest::certificates::inspect(namespace, name);
        #[cfg(not(target_family = "wasm"))]
        self.host.issuer().ok_or_else(nobody)?.inspect(namespace, name)
    }

    /// Has the host make a key and a certificate for it, in the place of those before. Watch the Secret to be called when it is there.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn issue(&self, order: &CertificateOrder) -> Result<(), IdentityError> {
        #[cfg(target_family = "wasm")]
        return crate::guest::certificates::issue(order);
        #[cfg(not(target_family = "wasm"))]
        self.host.issuer().ok_or_else(nobody)?.issue(order)
    }
}

#[cfg(not(target_family = "wasm"))]
fn nobody() -> IdentityError {
    IdentityError::Unavailable("this host makes no certificates".to_owned())
}

/// What the harness answers in place of a component's imports.
#[cfg(not(target_family = "wasm"))]
pub trait IssuerOfTests: std::fmt::Debug {
    /// [`Certificates::inspect`].
    ///
    /// # Errors
    /// As there.
    fn inspect(&self, namespace: &str, name: &str) -> Result<Option<SecretFacts>, IdentityError>;

    /// [`Certificates::issue`].
    ///
    /// # Errors
    /// As there.
    fn issue(&self, order: &CertificateOrder) -> Result<(), IdentityError>;
}

/// A Secret, without what stands in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretFacts {
    /// Its entries.
    pub entries: Vec<SecretEntry>,
    /// The note of the order it was made by.
    pub note: Option<String>,
}

/// An entry of a Secret, without what stands in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretEntry {
    /// Its name.
    pub key: String,
    /// The certificates in it, if there are any.
    pub certificates: Vec<CertificateFacts>,
}

/// What everybody may know of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    /// sha256 of it (DER), lower-case hex.
    pub sha256: String,
    /// The last moment at which it holds.
    pub not_after: SystemTime,
    /// It may sign others.
    pub authority: bool,
}

/// A certificate that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CertificateOrder {
    /// Namespace and name of the Secret. Created if it is not there, and collected with the object at hand then.
    pub secret: (String, String),
    /// Names of the entries for the certificate, its key, and the certificate of the authority.
    pub entries: (String, String, String),
    /// Name of the Secret of the authority, in the same namespace. Made, for ten years, if it is not there.
    pub authority: String,
    /// DNS names and IP addresses.
    pub names: Vec<String>,
    /// How long it holds.
    pub valid: Duration,
    /// Kept beside it in the open: what it was made for.
    pub note: String,
}
