//! Private keys of elliptic curves as SEC 1 has them (`parseECPrivateKey` of Go's crypto/x509).

use super::der::{self, Reader};
use super::key::PrivateKey;
use crate::register::fail;
use helm_template::CallError;

/// Object identifiers of curves.
const P256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x23];
/// Tag of the element that the curve's identifier is in.
const PARAMETERS: u8 = 0xA0;

struct Parts<'d> {
    version: &'d [u8],
    secret: &'d [u8],
    curve: &'d [u8],
}

pub(super) fn from_sec1(content: &[u8]) -> Result<PrivateKey, CallError> {
    let Some(Parts { version, secret, curve }) = parts(content) else { return Err(fail(no_key(content))) };
    if version != [1] {
        let version = version.iter().fold(0_u64, |version, byte| version << 8 | u64::from(*byte));
        return Err(fail(format!("x509: unknown EC private key version {version}")));
    }
    let wrong = || fail("x509: invalid private key length");
    match curve {
        P256 => {
            let key = p256::SecretKey::from_slice(&padded::<32>(secret).ok_or_else(wrong)?);
            key.map(PrivateKey::P256).map_err(|_| invalid(secret))
        }
        P384 => {
            let key = p384::SecretKey::from_slice(&padded::<48>(secret).ok_or_else(wrong)?);
            key.map(PrivateKey::P384).map_err(|_| invalid(secret))
        }
        P521 => {
            let key = p521::SecretKey::from_slice(&padded::<66>(secret).ok_or_else(wrong)?);
            key.map(PrivateKey::P521).map_err(|_| invalid(secret))
        }
        _ => Err(fail("x509: unknown elliptic curve")),
    }
}

/// Nought, or not below the order of the curve.
fn invalid(secret: &[u8]) -> CallError {
    let is_nought = secret.iter().all(|byte| *byte == 0);
    fail(if is_nought { "ecdsa: invalid public key encoding" } else { "input overflows the modulus" })
}

fn parts(content: &[u8]) -> Option<Parts<'_>> {
    let mut key = Reader::new(content).expect(der::SEQUENCE)?.inside();
    let version = key.expect(der::INTEGER)?.content;
    let secret = key.expect(der::OCTET_STRING)?.content;
    let parameters = key.optional(PARAMETERS);
    let curve = parameters.and_then(|curve| curve.inside().expect(der::OBJECT_IDENTIFIER));
    Some(Parts { version, secret, curve: curve.map_or(&[], |curve| curve.content) })
}

/// What to say about something else: keys in other clothes are known.
fn no_key(content: &[u8]) -> &'static str {
    let inside = || Some(Reader::new(content).expect(der::SEQUENCE)?.inside());
    let has = |tags: &[u8]| {
        inside().is_some_and(|mut elements| tags.iter().all(|tag| elements.expect(*tag).is_some()))
    };
    if has(&[der::INTEGER, der::SEQUENCE, der::OCTET_STRING]) {
        "x509: failed to parse private key (use ParsePKCS8PrivateKey instead for this key format)"
    } else if has(&[der::INTEGER; 9]) {
        "x509: failed to parse private key (use ParsePKCS1PrivateKey instead for this key format)"
    } else {
        "x509: failed to parse EC private key: asn1: syntax error: data truncated"
    }
}

/// The number with as many bytes as the curve has, whatever noughts stand before it.
fn padded<const SIZE: usize>(secret: &[u8]) -> Option<[u8; SIZE]> {
    let (surplus, secret) = secret.split_at(secret.len().saturating_sub(SIZE));
    let mut out = [0; SIZE];
    let (_, end) = out.split_at_mut(SIZE - secret.len());
    end.copy_from_slice(secret);
    surplus.iter().all(|byte| *byte == 0).then_some(out)
}
