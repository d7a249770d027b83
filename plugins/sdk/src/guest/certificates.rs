//! Certificates by the imports of the world `plugin`.

use super::bindings::pilothouse::operator::{certificates, egress};
use crate::{CertificateFacts, CertificateOrder, IdentityError, SecretEntry, SecretFacts, blob::at_millis};

fn secret(namespace: &str, name: &str) -> egress::SecretRef {
    egress::SecretRef { namespace: namespace.to_owned(), name: name.to_owned() }
}

pub(crate) fn inspect(namespace: &str, name: &str) -> Result<Option<SecretFacts>, IdentityError> {
    let found = certificates::inspect(&secret(namespace, name))?;
    Ok(found.map(|facts| SecretFacts {
        entries: facts.entries.into_iter().map(entry).collect(),
        note: facts.note,
    }))
}

fn entry(entry: certificates::Entry) -> SecretEntry {
    let certificates = entry.certificates.into_iter().map(|certificate| CertificateFacts {
        sha256: certificate.sha256,
        not_after: at_millis(certificate.not_after_ms),
        authority: certificate.authority,
    });
    SecretEntry { key: entry.key, certificates: certificates.collect() }
}

pub(crate) fn issue(order: &CertificateOrder) -> Result<(), IdentityError> {
    let (namespace, name) = &order.secret;
    Ok(certificates::issue(&certificates::Order {
        secret: secret(namespace, name),
        entries: order.entries.clone(),
        authority: order.authority.clone(),
        names: order.names.clone(),
        valid_seconds: order.valid.as_secs(),
        note: order.note.clone(),
    })?)
}
