//! Private keys of any kind as PKCS#8 wraps them (`ParsePKCS8PrivateKey` of Go's crypto/x509).

use std::fmt::Write as _;

use helm_template::CallError;
use rsa::RsaPrivateKey;
use rsa::pkcs1::DecodeRsaPrivateKey;

use super::der::{self, Element, Reader};
use super::elliptic;
use super::key::{ED25519, PrivateKey};
use super::lattice::{LatticeKey, Size};
use crate::register::fail;

/// Object identifiers of algorithms.
const RSA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01];
const ELLIPTIC: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01];
const X25519: &[u8] = &[0x2B, 0x65, 0x6E];

type Result<T> = std::result::Result<T, CallError>;

struct Parts<'d> {
    algorithm: &'d [u8],
    parameters: Option<Element<'d>>,
    key: &'d [u8],
}

fn parts(content: &[u8]) -> Option<Parts<'_>> {
    let mut outer = Reader::new(content).expect(der::SEQUENCE)?.inside();
    outer.expect(der::INTEGER)?;
    let mut algorithm = outer.expect(der::SEQUENCE)?.inside();
    let identifier = algorithm.expect(der::OBJECT_IDENTIFIER)?.content;
    let parameters = algorithm.next();
    Some(Parts { algorithm: identifier, parameters, key: outer.expect(der::OCTET_STRING)?.content })
}

pub(super) fn read(content: &[u8]) -> Result<PrivateKey> {
    let Some(Parts { algorithm, parameters, key }) = parts(content) else {
        return Err(fail(other_clothes(content)));
    };
    match algorithm {
        RSA => {
            RsaPrivateKey::from_pkcs1_der(key).map(|key| PrivateKey::Rsa(Box::new(key))).map_err(|error| {
                fail(format!("x509: failed to parse RSA private key embedded in PKCS#8: {error}"))
            })
        }
        ELLIPTIC => {
            let curve = parameters.filter(|curve| curve.tag == der::OBJECT_IDENTIFIER);
            elliptic::from_sec1(key, curve.map(|curve| curve.content))
                .map(PrivateKey::Elliptic)
                .map_err(|error| error.context("x509: failed to parse EC private key embedded in PKCS#8: "))
        }
        ED25519 => {
            let seed = seed(key, parameters, "Ed25519")?;
            let length = seed.len();
            let seed = seed
                .try_into()
                .map_err(|_| fail(format!("x509: invalid Ed25519 private key length: {length}")))?;
            Ok(PrivateKey::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(&seed))))
        }
        X25519 if seed(key, parameters, "X25519")?.len() == 32 => Ok(PrivateKey::X25519),
        X25519 => Err(fail("crypto/ecdh: invalid private key size")),
        other => match Size::of(other) {
            Some(_) if parameters.is_some() => Err(fail("x509: invalid ML-DSA private key parameters")),
            Some(size) => LatticeKey::read(size, key).map(PrivateKey::Lattice),
            None => Err(fail(format!(
                "x509: PKCS#8 wrapping contained private key with unknown algorithm: {}",
                dotted(other)
            ))),
        },
    }
}

/// The bytes of a key that has no parts.
fn seed<'d>(key: &'d [u8], parameters: Option<Element<'_>>, name: &str) -> Result<&'d [u8]> {
    if parameters.is_some() {
        return Err(fail(format!("x509: invalid {name} private key parameters")));
    }
    Reader::new(key)
        .expect(der::OCTET_STRING)
        .map(|seed| seed.content)
        .ok_or_else(|| fail(format!("x509: invalid {name} private key: asn1: syntax error: data truncated")))
}

/// What to say about something else: keys in other clothes are known.
fn other_clothes(content: &[u8]) -> &'static str {
    let has = |tags: &[u8]| {
        let inside = Reader::new(content).expect(der::SEQUENCE).map(|sequence| sequence.inside());
        inside.is_some_and(|mut elements| tags.iter().all(|tag| elements.expect(*tag).is_some()))
    };
    if has(&[der::INTEGER, der::OCTET_STRING]) {
        "x509: failed to parse private key (use ParseECPrivateKey instead for this key format)"
    } else if has(&[der::INTEGER; 9]) {
        "x509: failed to parse private key (use ParsePKCS1PrivateKey instead for this key format)"
    } else {
        "asn1: syntax error: data truncated"
    }
}

/// An object identifier as people write it.
fn dotted(arcs: &[u8]) -> String {
    let mut out = String::new();
    let mut arc = 0_u64;
    for byte in arcs {
        arc = arc << 7 | u64::from(byte & 0x7F);
        if byte & 0x80 != 0 {
            continue;
        }
        if out.is_empty() {
            // The first two share a number.
            let first = (arc / 40).min(2);
            let _ = write!(out, "{first}.{}", arc - first * 40);
        } else {
            let _ = write!(out, ".{arc}");
        }
        arc = 0;
    }
    out
}
