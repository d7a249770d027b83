//! Certificates: what they say, and how they belong together.

use super::keys::Key;
use std::time::{SystemTime, UNIX_EPOCH};
use x509_parser::{
    certificate::X509Certificate, extensions::ParsedExtension, prelude::FromDer, public_key::PublicKey,
};

/// How old a certificate that has just been made may be, in seconds.
const JUST_NOW: i64 = 3600;

/// Reads a certificate.
pub(super) fn read(content: &[u8]) -> Result<X509Certificate<'_>, String> {
    match X509Certificate::from_der(content) {
        Ok(([], certificate)) => Ok(certificate),
        Ok(_) => Err("something follows the certificate".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether it is valid from now on.
pub(super) fn is_fresh(certificate: &X509Certificate<'_>) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let age = i64::try_from(now).unwrap_or(i64::MAX) - certificate.validity().not_before.timestamp();
    (-1..JUST_NOW).contains(&age)
}

/// Everything in it that is not random, a line for each.
pub(super) fn facts(certificate: &X509Certificate<'_>) -> Vec<String> {
    let validity = certificate.validity();
    let seconds = validity.not_after.timestamp() - validity.not_before.timestamp();
    let mut facts = vec![
        format!("version {}", certificate.version()),
        format!("subject {}", certificate.subject()),
        format!("issuer {}", certificate.issuer()),
        format!("valid for {seconds} s"),
        format!("signed with {}", certificate.signature_algorithm.algorithm),
        format!("parameters {:?}", certificate.signature_algorithm.parameters),
        public_key(certificate),
    ];
    for extension in certificate.extensions() {
        let value = match extension.parsed_extension() {
            // Digests of keys: whose they are is seen in how certificates belong together.
            ParsedExtension::SubjectKeyIdentifier(_) | ParsedExtension::AuthorityKeyIdentifier(_) => {
                String::new()
            }
            parsed => format!("{parsed:?}"),
        };
        facts.push(format!("extension {} critical {} {value}", extension.oid, extension.critical));
    }
    facts
}

fn public_key(certificate: &X509Certificate<'_>) -> String {
    let public = certificate.public_key();
    let size = match public.parsed() {
        Ok(PublicKey::RSA(key)) => format!("{} bits", key.key_size()),
        Ok(PublicKey::EC(point)) => format!("{} bits", point.key_size()),
        _ => String::new(),
    };
    format!("key {} {size}", public.algorithm.algorithm)
}

/// How certificates and keys of one rendering belong together, a line for each pair that does.
pub(super) fn relations(certificates: &[X509Certificate<'_>], keys: &[Key]) -> Vec<String> {
    let mut relations = Vec::new();
    for (child, certificate) in certificates.iter().enumerate() {
        for (parent, issuer) in certificates.iter().enumerate() {
            if certificate.verify_signature(Some(issuer.public_key())).is_ok() {
                relations.push(format!("certificate {child} is signed by certificate {parent}"));
            }
            if identifier(certificate, false).is_some()
                && identifier(certificate, false) == identifier(issuer, true)
            {
                relations.push(format!("certificate {child} names the key of certificate {parent}"));
            }
        }
        for (number, key) in keys.iter().enumerate() {
            if key.public.as_deref() == Some(certificate.public_key().raw) {
                relations.push(format!("certificate {child} is of key {number}"));
            }
        }
    }
    relations
}

/// The identifier of its own key, or of the one that signed it.
fn identifier<'a>(certificate: &'a X509Certificate<'_>, own: bool) -> Option<&'a [u8]> {
    certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectKeyIdentifier(key) if own => Some(key.0),
        ParsedExtension::AuthorityKeyIdentifier(key) if !own => key.key_identifier.as_ref().map(|key| key.0),
        _ => None,
    })
}
