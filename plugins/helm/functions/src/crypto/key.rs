//! Private keys: made, read, written, and used for signatures.

use dsa::KeySize;
use helm_template::CallError;
use p256::ecdsa::signature::hazmat::PrehashSigner;
use p256::pkcs8::{DecodePrivateKey, EncodePublicKey};
use rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPrivateKey};
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::der::{self, Reader};
use super::elliptic;
use super::generator::Generator;
use super::pem;
use crate::register::fail;

/// What sprig can do something with.
pub(super) enum PrivateKey {
    Rsa(Box<RsaPrivateKey>),
    P256(p256::SecretKey),
    P384(p384::SecretKey),
    P521(p521::SecretKey),
    Ed25519(Box<ed25519_dalek::SigningKey>),
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
const ECDSA_WITH_SHA256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02];
const ECDSA_WITH_SHA384: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03];
const ECDSA_WITH_SHA512: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x04];
const ED25519: &[u8] = &[0x2B, 0x65, 0x70];

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
                return Self::P256(key);
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
            return from_pkcs8(&block.content).map_err(|error| failed("decoding PEM as PKCS#8", error));
        }
        let Some(kind) = block.kind.strip_suffix(" PRIVATE KEY") else {
            return Err(fail(format!("no private key data in PEM block of type {}", block.kind)));
        };
        match kind {
            "RSA" => RsaPrivateKey::from_pkcs1_der(&block.content)
                .map(|key| Self::Rsa(Box::new(key)))
                .map_err(|error| failed("parsing RSA private key from PEM", error)),
            "EC" => elliptic::from_sec1(&block.content)
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
            Self::P256(key) => {
                pem::encode("EC PRIVATE KEY", &key.to_sec1_der().map_err(|error| wrong(&error))?)
            }
            Self::P384(key) => {
                pem::encode("EC PRIVATE KEY", &key.to_sec1_der().map_err(|error| wrong(&error))?)
            }
            Self::P521(key) => {
                pem::encode("EC PRIVATE KEY", &key.to_sec1_der().map_err(|error| wrong(&error))?)
            }
            Self::Ed25519(key) => {
                let seed = der::element(der::OCTET_STRING, &der::element(der::OCTET_STRING, &key.to_bytes()));
                let algorithm = der::sequence(&[&der::identifier(ED25519)]);
                pem::encode("PRIVATE KEY", &der::sequence(&[&der::unsigned(&[]), &algorithm, &seed]))
            }
            Self::Dsa(Dsa(numbers)) => {
                let mut content = der::unsigned(&[]);
                content.extend(numbers.iter().flat_map(|number| der::unsigned(number)));
                pem::encode("DSA PRIVATE KEY", &der::element(der::SEQUENCE, &content))
            }
        })
    }

    /// The public key as a `SubjectPublicKeyInfo`.
    pub(super) fn public(&self) -> Result<Vec<u8>> {
        let encoded = match self {
            Self::Rsa(key) => key.to_public_key().to_public_key_der(),
            Self::P256(key) => key.public_key().to_public_key_der(),
            Self::P384(key) => key.public_key().to_public_key_der(),
            Self::P521(key) => key.public_key().to_public_key_der(),
            Self::Ed25519(key) => {
                let algorithm = der::sequence(&[&der::identifier(ED25519)]);
                let bits = der::bit_string(key.verifying_key().as_bytes());
                return Ok(der::sequence(&[&algorithm, &bits]));
            }
            Self::Dsa(_) => return Err(fail("x509: unsupported public key type: *dsa.PublicKey")),
        };
        encoded.map(p256::pkcs8::Document::into_vec).map_err(|error| fail(error.to_string()))
    }

    /// The identifier of the algorithm that [`Self::sign`] uses.
    pub(super) fn algorithm(&self) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Rsa(_) => {
                der::sequence(&[&der::identifier(SHA256_WITH_RSA), &der::element(der::NULL, &[])])
            }
            Self::P256(_) => der::sequence(&[&der::identifier(ECDSA_WITH_SHA256)]),
            Self::P384(_) => der::sequence(&[&der::identifier(ECDSA_WITH_SHA384)]),
            Self::P521(_) => der::sequence(&[&der::identifier(ECDSA_WITH_SHA512)]),
            Self::Ed25519(_) => der::sequence(&[&der::identifier(ED25519)]),
            Self::Dsa(_) => {
                return Err(fail("x509: certificate private key does not implement crypto.Signer"));
            }
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
            Self::P256(key) => {
                let signed: std::result::Result<p256::ecdsa::Signature, _> =
                    p256::ecdsa::SigningKey::from(key).sign_prehash(&Sha256::digest(message));
                Ok(signed.map_err(|error| wrong(&error))?.to_der().as_bytes().to_vec())
            }
            Self::P384(key) => {
                let signed: std::result::Result<p384::ecdsa::Signature, _> =
                    p384::ecdsa::SigningKey::from(key).sign_prehash(&Sha384::digest(message));
                Ok(signed.map_err(|error| wrong(&error))?.to_der().as_bytes().to_vec())
            }
            Self::P521(key) => {
                let signed: std::result::Result<p521::ecdsa::Signature, _> =
                    p521::ecdsa::SigningKey::from(key).sign_prehash(&Sha512::digest(message));
                Ok(signed.map_err(|error| wrong(&error))?.to_der().as_bytes().to_vec())
            }
            Self::Ed25519(key) => {
                use ed25519_dalek::Signer as _;
                Ok(key.sign(message).to_bytes().to_vec())
            }
            Self::Dsa(_) => Err(fail("x509: certificate private key does not implement crypto.Signer")),
        }
    }
}

/// A key of any kind in PKCS#8.
fn from_pkcs8(content: &[u8]) -> Result<PrivateKey> {
    if let Ok(key) = RsaPrivateKey::from_pkcs8_der(content) {
        return Ok(PrivateKey::Rsa(Box::new(key)));
    }
    if let Ok(key) = p256::SecretKey::from_pkcs8_der(content) {
        return Ok(PrivateKey::P256(key));
    }
    if let Ok(key) = p384::SecretKey::from_pkcs8_der(content) {
        return Ok(PrivateKey::P384(key));
    }
    if let Ok(key) = p521::SecretKey::from_pkcs8_der(content) {
        return Ok(PrivateKey::P521(key));
    }
    let key = ed25519_dalek::SigningKey::from_pkcs8_der(content);
    key.map(|key| PrivateKey::Ed25519(Box::new(key)))
        .map_err(|_| fail("x509: PKCS#8 wrapping contained private key with unknown algorithm"))
}

fn from_dsa(content: &[u8]) -> Option<PrivateKey> {
    let mut numbers = Reader::new(content).expect(der::SEQUENCE)?.inside();
    numbers.expect(der::INTEGER)?;
    let mut next = || numbers.expect(der::INTEGER).map(|number| number.content.to_vec());
    Some(PrivateKey::Dsa(Dsa([next()?, next()?, next()?, next()?, next()?])))
}
