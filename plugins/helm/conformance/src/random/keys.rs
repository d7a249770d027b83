//! Private keys: of which kind they are, and which public key belongs to them.

use p256::pkcs8::{DecodePrivateKey, EncodePublicKey};
use rsa::{RsaPrivateKey, pkcs1::DecodeRsaPrivateKey, traits::PublicKeyParts};
use x509_parser::der_parser::{asn1_rs::Integer, der::parse_der_sequence};

/// A private key that has been read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// Algorithm and size.
    pub(super) kind: String,
    /// The public key as certificates contain it; `None` for algorithms that certificates do not take.
    pub(super) public: Option<Vec<u8>>,
}

/// Reads a private key from what a PEM block contains.
pub(super) fn read(label: &str, content: &[u8]) -> Result<Key, String> {
    match label {
        "RSA PRIVATE KEY" => {
            let key = RsaPrivateKey::from_pkcs1_der(content).map_err(|error| error.to_string())?;
            of_rsa(&key)
        }
        "EC PRIVATE KEY" => of_curve(
            p256::SecretKey::from_sec1_der(content).ok(),
            p384::SecretKey::from_sec1_der(content).ok(),
        ),
        "DSA PRIVATE KEY" => of_dsa(content),
        "PRIVATE KEY" => of_pkcs8(content),
        _ => Err(format!("{label} is of no kind that helm generates")),
    }
}

fn of_rsa(key: &RsaPrivateKey) -> Result<Key, String> {
    key.validate().map_err(|error| error.to_string())?;
    let public = key.to_public_key().to_public_key_der().map_err(|error| error.to_string())?;
    Ok(Key { kind: format!("RSA, {} bits", key.n().bits()), public: Some(public.into_vec()) })
}

fn of_curve(p256: Option<p256::SecretKey>, p384: Option<p384::SecretKey>) -> Result<Key, String> {
    let (curve, public) = match (p256, p384) {
        (Some(key), _) => ("P-256", key.public_key().to_public_key_der()),
        (None, Some(key)) => ("P-384", key.public_key().to_public_key_der()),
        (None, None) => return Err("not a key of P-256 or P-384".to_owned()),
    };
    let public = public.map_err(|error| error.to_string())?;
    Ok(Key { kind: format!("ECDSA, {curve}"), public: Some(public.into_vec()) })
}

fn of_pkcs8(content: &[u8]) -> Result<Key, String> {
    if let Ok(key) = ed25519_dalek::SigningKey::from_pkcs8_der(content) {
        let public = key.verifying_key().to_public_key_der().map_err(|error| error.to_string())?;
        return Ok(Key { kind: "Ed25519".to_owned(), public: Some(public.into_vec()) });
    }
    if let Ok(key) = RsaPrivateKey::from_pkcs8_der(content) {
        return of_rsa(&key);
    }
    of_curve(p256::SecretKey::from_pkcs8_der(content).ok(), p384::SecretKey::from_pkcs8_der(content).ok())
}

/// Version, p, q, g, y, x, one after the other.
fn of_dsa(content: &[u8]) -> Result<Key, String> {
    let (rest, sequence) = parse_der_sequence(content).map_err(|error| error.to_string())?;
    let numbers = sequence.as_sequence().map_err(|error| error.to_string())?;
    let sizes: Vec<usize> = numbers
        .iter()
        .filter_map(|number| number.as_slice().ok())
        .map(|bytes| Integer::new(bytes).as_ref().iter().skip_while(|byte| **byte == 0).count() * 8)
        .collect();
    match sizes.as_slice() {
        [_, p, q, _, _, _] if rest.is_empty() => {
            Ok(Key { kind: format!("DSA, {p} and {q} bits"), public: None })
        }
        _ => Err("not a key of DSA".to_owned()),
    }
}
