//! Certificates and keys that somebody else has made.

use super::{judge, refused};
use crate::compare::Verdict;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use time::{Duration, OffsetDateTime};

/// An authority, and a certificate signed by it with its key.
fn made(host: &str, since: Duration, of_this_key: bool, by_this_authority: bool) -> String {
    let params = |name: &str, hosts: Vec<String>| {
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = OffsetDateTime::now_utc() - since;
        params.not_after = params.not_before + Duration::days(30);
        params
    };
    let authority = || {
        let mut params = params("ca", Vec::new());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    let (shown, other) = (authority(), authority());
    let key = KeyPair::generate().unwrap();
    let signer = if by_this_authority { &shown } else { &other };
    let certificate = params("leaf", vec![host.to_owned()]).signed_by(&key, signer).unwrap();
    let shown_key = if of_this_key { key } else { KeyPair::generate().unwrap() };
    let lines = |pem: &str| pem.trim_end().replace("\r\n", "\n").replace('\n', "\n  ");
    format!(
        "ca: |\n  {}\ncert: |\n  {}\nkey: |\n  {}\n",
        lines(&shown.pem()),
        lines(&certificate.pem()),
        lines(&shown_key.serialize_pem())
    )
}

fn good() -> String {
    made("a.example", Duration::ZERO, true, true)
}

#[test]
fn certificates_that_say_and_prove_the_same_are_alike() {
    assert_eq!(judge(&good(), &[&good(), &good()]), Verdict::Identical);
}

#[test]
fn a_certificate_for_another_host_is_a_difference() {
    let other = made("b.example", Duration::ZERO, true, true);
    let why = refused(&good(), &[&other, &good()]);
    assert!(why.contains("generated") && why.contains("b.example"), "{why}");
}

#[test]
fn a_key_of_another_certificate_is_a_difference() {
    let bad = || made("a.example", Duration::ZERO, false, true);
    let why = refused(&good(), &[&bad(), &bad()]);
    assert!(why.contains("is of key"), "{why}");
}

#[test]
fn a_certificate_of_another_authority_is_a_difference() {
    let bad = || made("a.example", Duration::ZERO, true, false);
    let why = refused(&good(), &[&bad(), &bad()]);
    assert!(why.contains("is signed by"), "{why}");
}

#[test]
fn a_certificate_that_is_not_made_now_is_a_difference() {
    let bad = || made("a.example", Duration::days(2), true, true);
    let why = refused(&good(), &[&bad(), &bad()]);
    assert!(why.contains("valid from now on"), "{why}");
}

#[test]
fn a_key_that_cannot_be_read_is_a_difference() {
    let broken = good()
        .replace("BEGIN PRIVATE KEY", "BEGIN RSA PRIVATE KEY")
        .replace("END PRIVATE KEY", "END RSA PRIVATE KEY");
    assert!(matches!(judge(&broken, &[&good(), &good()]), Verdict::Different(_)));
    let junk = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let other = "-----BEGIN PRIVATE KEY-----\nAAAB\n-----END PRIVATE KEY-----\n";
    assert!(refused(junk, &[junk, other]).contains("rendering 0"));
}
