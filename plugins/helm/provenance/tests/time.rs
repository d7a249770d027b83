//! Keys and signatures at other times than now.

use std::path::PathBuf;

use helm_provenance::{Error, Keyring, PgpError, Verification};

const DAY: i64 = 24 * 60 * 60;
/// When the keys were made: 1 January 2025.
const MADE: i64 = 1_735_689_600;
/// When the charts were signed with gpg.
const SIGNED: i64 = MADE + 9 * DAY;
/// When the keys that expire do so.
const EXPIRED: i64 = MADE + 31 * DAY;

fn data(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn verify(keyring: &str, provenance: &str, now: i64) -> Result<Verification, Error> {
    let keyring = Keyring::read(&data(keyring), keyring).unwrap();
    keyring.verify(&data("signed-0.1.0.tgz"), &data(provenance), "signed-0.1.0.tgz", now)
}

#[test]
fn a_key_counts_until_it_expires() {
    let verify = |now| verify("subexp.gpg", "subexp-subkey.prov", now);
    let accepted: Vec<_> = (0..40).map(|day| verify(MADE + day * DAY).is_ok()).collect();
    let first = accepted.iter().position(|accepted| *accepted);
    assert_eq!(first, Some(9));
    assert_eq!(accepted.iter().filter(|accepted| **accepted).count(), 23, "{accepted:?}");
    assert_eq!(verify(EXPIRED + DAY), Err(PgpError::ExpiredKey.into()));
}

#[test]
fn a_key_from_the_future_has_expired() {
    assert_eq!(verify("rsa.gpg", "rsa-text.prov", MADE - 1), Err(PgpError::ExpiredKey.into()));
    assert_eq!(verify("certifier.gpg", "subkey.prov", MADE - 1), Err(PgpError::ExpiredKey.into()));
}

#[test]
fn a_signature_from_the_future_has_expired() {
    assert_eq!(verify("rsa.gpg", "rsa-text.prov", SIGNED - 1), Err(PgpError::ExpiredSignature.into()));
    assert!(verify("rsa.gpg", "rsa-text.prov", SIGNED + 60).is_ok());
}

#[test]
fn a_signature_counts_until_it_expires() {
    assert!(verify("ed25519.gpg", "expires.prov", SIGNED + 5 * DAY).is_ok());
    let late = verify("ed25519.gpg", "expires.prov", SIGNED + 5 * DAY + 60);
    assert_eq!(late, Err(PgpError::ExpiredSignature.into()));
}

#[test]
fn a_revocation_counts_from_when_it_was_made() {
    // The certificate was made with the key, before the chart was signed.
    assert_eq!(verify("revoked-key.gpg", "revoked.prov", SIGNED + DAY), Err(PgpError::RevokedKey.into()));
    // Whoever holds a key that is compromised can date what they sign: it never counted.
    let compromised = verify("certifier-revoked-subkey.gpg", "subkey.prov", SIGNED + DAY);
    assert_eq!(compromised, Err(PgpError::RevokedKey.into()));
}
