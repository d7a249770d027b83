//! Private keys of elliptic curves: as SEC 1 has them (`parseECPrivateKey` of Go's crypto/x509), and what they sign.

use helm_template::CallError;
use p256::ecdsa::signature::hazmat::PrehashSigner;
use p256::pkcs8::EncodePublicKey;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::der::{self, Reader};
use crate::register::fail;

/// Object identifiers of curves.
const P224: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x21];
const P256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x23];
/// And of what signs with them.
const ECDSA_WITH_SHA256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02];
const ECDSA_WITH_SHA384: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03];
const ECDSA_WITH_SHA512: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x04];
/// Tag of the element that the curve's identifier is in.
const PARAMETERS: u8 = 0xA0;

/// A key of one of the curves that Go knows.
pub(super) enum EllipticKey {
    P224(p224::SecretKey),
    P256(p256::SecretKey),
    P384(p384::SecretKey),
    P521(p521::SecretKey),
}

/// The same for each curve, whose types have nothing in common.
macro_rules! on_each {
    ($key:expr, $name:ident => $body:expr) => {
        match $key {
            Self::P224($name) => $body,
            Self::P256($name) => $body,
            Self::P384($name) => $body,
            Self::P521($name) => $body,
        }
    };
}

type Result<T> = std::result::Result<T, CallError>;

fn wrong(error: impl std::fmt::Display) -> CallError {
    fail(error.to_string())
}

/// A signature of a message's digest, in DER.
macro_rules! signed {
    ($curve:ident, $key:expr, $digest:expr) => {{
        let signer = $curve::ecdsa::SigningKey::from($key);
        let signature: $curve::ecdsa::Signature = signer.sign_prehash(&$digest).map_err(wrong)?;
        signature.to_der().as_bytes().to_vec()
    }};
}

impl EllipticKey {
    /// As SEC 1 has it.
    pub(super) fn to_der(&self) -> Result<Vec<u8>> {
        let encoded = on_each!(self, key => key.to_sec1_der().map_err(|error| error.to_string()));
        encoded
            .map(|content| content.to_vec())
            .map_err(|error| fail(format!("error pem-encoding key: {error}")))
    }

    /// The public key as a `SubjectPublicKeyInfo`.
    pub(super) fn public(&self) -> Result<Vec<u8>> {
        on_each!(self, key => key.public_key().to_public_key_der())
            .map(p256::pkcs8::Document::into_vec)
            .map_err(wrong)
    }

    /// The identifier of what [`Self::sign`] does.
    pub(super) fn algorithm(&self) -> &'static [u8] {
        match self {
            Self::P224(_) | Self::P256(_) => ECDSA_WITH_SHA256,
            Self::P384(_) => ECDSA_WITH_SHA384,
            Self::P521(_) => ECDSA_WITH_SHA512,
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        Ok(match self {
            Self::P224(key) => signed!(p224, key, Sha256::digest(message)),
            Self::P256(key) => signed!(p256, key, Sha256::digest(message)),
            Self::P384(key) => signed!(p384, key, Sha384::digest(message)),
            Self::P521(key) => signed!(p521, key, Sha512::digest(message)),
        })
    }
}

struct Parts<'d> {
    version: &'d [u8],
    secret: &'d [u8],
    curve: &'d [u8],
}

/// Reads a key; what wraps it may have said which curve it is of.
pub(super) fn from_sec1(content: &[u8], named: Option<&[u8]>) -> Result<EllipticKey> {
    let Some(Parts { version, secret, curve }) = parts(content) else { return Err(fail(no_key(content))) };
    if version != [1] {
        let version = version.iter().fold(0_u64, |version, byte| version << 8 | u64::from(*byte));
        return Err(fail(format!("x509: unknown EC private key version {version}")));
    }
    match named.unwrap_or(curve) {
        P224 => key::<28, _>(secret, p224::SecretKey::from_slice).map(EllipticKey::P224),
        P256 => key::<32, _>(secret, p256::SecretKey::from_slice).map(EllipticKey::P256),
        P384 => key::<48, _>(secret, p384::SecretKey::from_slice).map(EllipticKey::P384),
        P521 => key::<66, _>(secret, p521::SecretKey::from_slice).map(EllipticKey::P521),
        _ => Err(fail("x509: unknown elliptic curve")),
    }
}

fn key<const SIZE: usize, K>(
    secret: &[u8],
    read: impl FnOnce(&[u8]) -> std::result::Result<K, p256::elliptic_curve::Error>,
) -> Result<K> {
    let whole = padded::<SIZE>(secret).ok_or_else(|| fail("x509: invalid private key length"))?;
    read(&whole).map_err(|_| invalid(secret))
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
