//! Private keys: made, read, written, and used for signatures.

use dsa::KeySize;
use helm_template::CallError;
use p256::pkcs8::EncodePublicKey;
use rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPrivateKey};
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use sha2::{Digest, Sha256};

use super::der::{self, Reader};
use super::elliptic::EllipticKey;
use super::generator::Generator;
use super::lattice::LatticeKey;
use super::{elliptic, pem, pkcs8};
use crate::register::fail;

/// What sprig can do something with.
pub(super) enum PrivateKey {
    Rsa(Box<RsaPrivateKey>),
    Elliptic(EllipticKey),
    Ed25519(Box<ed25519_dalek::SigningKey>),
    Lattice(LatticeKey),
    /// Of no use but as the key of a certificate that is given: it cannot sign.
    X25519,
    Dsa(Dsa),
}

/// `DSAKeyFormat`: p, q, g, y and x, each as its bytes.
pub(super) struct Dsa([Vec<u8>; 5]);

type Result<T> = std::result::Result<T, CallError>;

fn failed(what: &str, error: impl std::fmt::Display) -> CallError {
    fail(format!("{what}: {error}"))
}

/// Object identifiers of signature algorithms.
const SHA256_WITH_RSA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B];
pub(super) const ED25519: &[u8] = &[0x2B, 0x65, 0x70];

/// What Go says of keys that cannot sign.
const NO_SIGNER: &str = "x509: certificate private key does not implement crypto.Signer";

/// What stands before a SHA-256 digest in a signature of RSA (RFC 8017 §9.2).
const DIGEST_INFO: [u8; 19] = [
    0x30, 0x31, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
    0x04, 0x20,
];

impl PrivateKey {
    pub(super) fn rsa(generator: &mut Generator, bits: usize) -> Result<Self> {
        let key = RsaPrivateKey::new(generator, bits).map_err(|error| fail(error.to_string()))?;
        Ok(Self::Rsa(Box::new(key)))
    }

    pub(super) fn p256(generator: &mut Generator) -> Self {
        loop {
            if let Ok(key) = p256::SecretKey::from_slice(&generator.bytes::<32>()) {
                return Self::Elliptic(EllipticKey::P256(key));
            }
        }
    }

    pub(super) fn ed25519(generator: &mut Generator) -> Self {
        Self::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(&generator.bytes())))
    }

    pub(super) fn dsa(generator: &mut Generator) -> Self {
        let Ok(parts) =
            dsa::Components::try_generate_from_rng_with_key_size(generator, KeySize::DSA_2048_256);
        let Ok(key) = dsa::SigningKey::try_generate_from_rng_with_components(generator, parts);
        let public = key.verifying_key();
        let parts = public.components();
        let bytes = |number: &[u8]| number.to_vec();
        Self::Dsa(Dsa([
            bytes(&parts.p().to_be_bytes()),
            bytes(&parts.q().to_be_bytes()),
            bytes(&parts.g().to_be_bytes()),
            bytes(&public.y().to_be_bytes()),
            bytes(&key.x().to_be_bytes()),
        ]))
    }

    /// `parsePrivateKeyPEM`.
    pub(super) fn parse(source: &str) -> Result<Self> {
        let block = pem::decode(source).ok_or_else(|| fail("no PEM data in input"))?;
        if block.kind == "PRIVATE KEY" {
            return pkcs8::read(&block.content).map_err(|error| failed("decoding PEM as PKCS#8", error));
        }
        let Some(kind) = block.kind.strip_suffix(" PRIVATE KEY") else {
            return Err(fail(format!("no private key data in PEM block of type {}", block.kind)));
        };
        match kind {
            "RSA" => RsaPrivateKey::from_pkcs1_der(&block.content)
                .map(|key| Self::Rsa(Box::new(key)))
                .map_err(|error| failed("parsing RSA private key from PEM", error)),
            "EC" => elliptic::from_sec1(&block.content, None)
                .map(Self::Elliptic)
                .map_err(|error| failed("parsing EC private key from PEM", error)),
            "DSA" => from_dsa(&block.content).ok_or_else(|| {
                failed("parsing DSA private key from PEM", "asn1: syntax error: data truncated")
            }),
            other => Err(fail(format!("invalid private key type {other}"))),
        }
    }

    /// `pemBlockForKey`, encoded.
    pub(super) fn to_pem(&self) -> Result<String> {
        let wrong = |error: &dyn std::fmt::Display| failed("error pem-encoding key", error);
        Ok(match self {
            Self::Rsa(key) => {
                let key = key.to_pkcs1_der().map_err(|error| wrong(&error))?;
                pem::encode("RSA PRIVATE KEY", key.as_bytes())
            }
            Self::Elliptic(key) => pem::encode("EC PRIVATE KEY", &key.to_der()?),
            Self::Ed25519(key) => {
                let algorithm = der::sequence(&[&der::identifier(ED25519)]);
                wrapped(&algorithm, &der::element(der::OCTET_STRING, &key.to_bytes()))
            }
            Self::Lattice(key) => wrapped(&key.algorithm(), &key.content()),
            Self::Dsa(Dsa(numbers)) => {
                let mut content = der::unsigned(&[]);
                content.extend(numbers.iter().flat_map(|number| der::unsigned(number)));
                pem::encode("DSA PRIVATE KEY", &der::element(der::SEQUENCE, &content))
            }
            Self::X25519 => return Err(fail(NO_SIGNER)),
        })
    }

    /// The public key as a `SubjectPublicKeyInfo`.
    pub(super) fn public(&self) -> Result<Vec<u8>> {
        let encoded = match self {
            Self::Rsa(key) => key.to_public_key().to_public_key_der(),
            Self::Elliptic(key) => return key.public(),
            Self::Ed25519(key) => {
                let algorithm = der::sequence(&[&der::identifier(ED25519)]);
                let bits = der::bit_string(key.verifying_key().as_bytes());
                return Ok(der::sequence(&[&algorithm, &bits]));
            }
            Self::Lattice(key) => return Ok(key.public()),
            Self::Dsa(_) => return Err(fail("x509: unsupported public key type: *dsa.PublicKey")),
            Self::X25519 => return Err(fail(NO_SIGNER)),
        };
        encoded.map(p256::pkcs8::Document::into_vec).map_err(|error| fail(error.to_string()))
    }

    /// The identifier of the algorithm that [`Self::sign`] uses.
    pub(super) fn algorithm(&self) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Rsa(_) => {
                der::sequence(&[&der::identifier(SHA256_WITH_RSA), &der::element(der::NULL, &[])])
            }
            Self::Elliptic(key) => der::sequence(&[&der::identifier(key.algorithm())]),
            Self::Ed25519(_) => der::sequence(&[&der::identifier(ED25519)]),
            Self::Lattice(key) => key.algorithm(),
            Self::Dsa(_) | Self::X25519 => return Err(fail(NO_SIGNER)),
        })
    }

    /// Signs a message.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        let wrong = |error: &dyn std::fmt::Display| fail(error.to_string());
        match self {
            Self::Rsa(key) => {
                let digest = [&DIGEST_INFO[..], &Sha256::digest(message)].concat();
                key.sign(Pkcs1v15Sign::new_unprefixed(), &digest).map_err(|error| wrong(&error))
            }
            Self::Elliptic(key) => key.sign(message),
            Self::Ed25519(key) => {
                use ed25519_dalek::Signer as _;
                Ok(key.sign(message).to_bytes().to_vec())
            }
            Self::Lattice(key) => key.sign(message),
            Self::Dsa(_) | Self::X25519 => Err(fail(NO_SIGNER)),
        }
    }
}

/// A key as PKCS#8 wraps it, encoded.
fn wrapped(algorithm: &[u8], content: &[u8]) -> String {
    let content = der::element(der::OCTET_STRING, content);
    pem::encode("PRIVATE KEY", &der::sequence(&[&der::unsigned(&[]), algorithm, &content]))
}

fn from_dsa(content: &[u8]) -> Option<PrivateKey> {
    let mut numbers = Reader::new(content).expect(der::SEQUENCE)?.inside();
    numbers.expect(der::INTEGER)?;
    let mut next = || numbers.expect(der::INTEGER).map(|number| number.content.to_vec());
    Some(PrivateKey::Dsa(Dsa([next()?, next()?, next()?, next()?, next()?])))
}
