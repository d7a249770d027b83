//! The signature algorithms. Whatever is odd about a key or a signature makes it a bad one.

use dsa::{Components, VerifyingKey};
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use rsa::{BoxedUint, Pkcs1v15Sign, RsaPublicKey};

use crate::{curve::Curve, hash::Hash};

/// Moduli that are accepted: Go's crypto/rsa refuses shorter ones, and longer ones only cost time.
const RSA_BITS: std::ops::RangeInclusive<usize> = 1024..=16384;
/// The longest prime of a DSA key, in bytes; longer ones only cost time.
const DSA_BYTES: usize = 1024;

fn without_zeros(number: &[u8]) -> &[u8] {
    let mut number = number;
    while let [0, rest @ ..] = number {
        number = rest;
    }
    number
}

fn integer(number: &[u8]) -> BoxedUint {
    BoxedUint::from_be_slice_vartime(without_zeros(number))
}

/// A number in so many bytes; none when it is too large.
fn padded<const N: usize>(number: &[u8]) -> Option<[u8; N]> {
    let number = without_zeros(number);
    let mut bytes = [0; N];
    bytes.get_mut(N.checked_sub(number.len())?..)?.copy_from_slice(number);
    Some(bytes)
}

/// PKCS #1 v1.5.
pub(crate) fn rsa(modulus: &[u8], exponent: &[u8], hash: Hash, digest: &[u8], signature: &[u8]) -> bool {
    let modulus = without_zeros(modulus);
    if modulus.len() > RSA_BITS.end() / 8 || signature.len() > modulus.len() {
        return false;
    }
    let Ok(key) = RsaPublicKey::new_with_size_limits(integer(modulus), integer(exponent), RSA_BITS) else {
        return false;
    };
    let mut value = vec![0; modulus.len() - signature.len()];
    value.extend_from_slice(signature);
    let encoded = [hash.digest_info(), digest].concat();
    key.verify(Pkcs1v15Sign::new_unprefixed(), &encoded, &value).is_ok()
}

/// DSA; the key is its prime, order, generator and public number.
pub(crate) fn dsa(key: [&[u8]; 4], digest: &[u8], r: &[u8], s: &[u8]) -> bool {
    let key = key.map(without_zeros);
    let [prime, order, ..] = key;
    // Go refuses orders that are no whole number of bytes.
    let whole = order.first().is_some_and(|byte| byte & 0x80 != 0);
    if !whole || prime.len() > DSA_BYTES || key.iter().any(|number| number.len() > prime.len()) {
        return false;
    }
    if [r, s].iter().any(|number| without_zeros(number).len() > order.len()) {
        return false;
    }
    let [prime, order, generator, public] = key.map(integer);
    let Ok(components) = Components::from_components(prime, order, generator) else { return false };
    let Ok(key) = VerifyingKey::from_components(components, public) else { return false };
    let Some(signature) = dsa::Signature::from_components(integer(r), integer(s)) else { return false };
    key.verify_prehash(digest, &signature).is_ok()
}

/// Whether it is a point of the curve, written out in full: go-crypto knows no compressed ones.
pub(crate) fn is_point(curve: Curve, point: &[u8]) -> bool {
    point.first() == Some(&4)
        && match curve {
            Curve::P256 => p256::ecdsa::VerifyingKey::from_sec1_bytes(point).is_ok(),
            Curve::P384 => p384::ecdsa::VerifyingKey::from_sec1_bytes(point).is_ok(),
            Curve::P521 => p521::ecdsa::VerifyingKey::from_sec1_bytes(point).is_ok(),
            Curve::Curve25519 | Curve::Ed25519 | Curve::Foreign(..) => false,
        }
}

/// ECDSA.
pub(crate) fn ecdsa(curve: Curve, point: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> bool {
    macro_rules! verify {
        ($curve:ident, $bytes:literal) => {{
            let parts = (padded::<$bytes>(r), padded::<$bytes>(s));
            let (Some(r), Some(s)) = parts else { return false };
            let signature = $curve::ecdsa::Signature::from_scalars(r, s);
            let key = $curve::ecdsa::VerifyingKey::from_sec1_bytes(point);
            let (Ok(signature), Ok(key)) = (signature, key) else { return false };
            key.verify_prehash(digest, &signature).is_ok()
        }};
    }
    match curve {
        Curve::P256 => verify!(p256, 32),
        Curve::P384 => verify!(p384, 48),
        Curve::P521 => verify!(p521, 66),
        Curve::Curve25519 | Curve::Ed25519 | Curve::Foreign(..) => false,
    }
}

/// The older form of Ed25519: its two halves are numbers, which lose their leading zeros.
pub(crate) fn eddsa(point: &[u8; 32], digest: &[u8], r: &[u8], s: &[u8]) -> bool {
    if r.len() > 32 || s.len() > 32 {
        return false;
    }
    let (Some(r), Some(s)) = (padded::<32>(r), padded::<32>(s)) else { return false };
    let mut signature = [0; 64];
    let (first, second) = signature.split_at_mut(32);
    first.copy_from_slice(&r);
    second.copy_from_slice(&s);
    ed25519(point, digest, &signature)
}

/// Ed25519, with the digest for a message.
pub(crate) fn ed25519(point: &[u8; 32], digest: &[u8], signature: &[u8; 64]) -> bool {
    use ed25519_dalek::Verifier;
    let signature = ed25519_dalek::Signature::from_bytes(signature);
    ed25519_dalek::VerifyingKey::from_bytes(point).is_ok_and(|key| key.verify(digest, &signature).is_ok())
}
