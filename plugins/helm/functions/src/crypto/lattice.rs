//! Keys of ML-DSA (FIPS 204). Go takes those that are seeds and nothing else (RFC 9881).

use helm_template::CallError;
use ml_dsa::{Keypair as _, MlDsa44, MlDsa65, MlDsa87, MlDsaParams, Signer as _, SigningKey};

use super::der;
use crate::register::fail;

/// What the object identifiers of all three sizes begin with; the last number says which it is.
const FAMILY: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03];
/// Tag and length of a seed, as it stands alone.
const SEED: [u8; 2] = [0x80, 32];

type Result<T> = std::result::Result<T, CallError>;

/// A private key.
pub(super) struct LatticeKey {
    size: Size,
    seed: [u8; 32],
}

/// How much of everything a key has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Small = 17,
    Medium = 18,
    Large = 19,
}

impl Size {
    /// The size that an object identifier means.
    pub(super) fn of(identifier: &[u8]) -> Option<Self> {
        let sizes = [Self::Small, Self::Medium, Self::Large];
        let last = identifier.strip_prefix(FAMILY)?;
        sizes.into_iter().find(|size| last == [*size as u8])
    }
}

impl LatticeKey {
    /// Reads what PKCS#8 wraps.
    pub(super) fn read(size: Size, content: &[u8]) -> Result<Self> {
        let length = content.len();
        match content.first() {
            None => return Err(fail(format!("x509: invalid ML-DSA private key length: {length}"))),
            Some(tag) if *tag == SEED[0] => {}
            Some(&der::OCTET_STRING) => {
                return Err(fail("x509: semi-expanded ML-DSA private keys without seed are not supported"));
            }
            Some(&der::SEQUENCE) => {
                return Err(fail(
                    "x509: ML-DSA private keys with both seed and expanded key are not supported, use e.g. \"openssl pkey -provparam ml-dsa.output_formats=seed-only\" to convert to a seed-only key",
                ));
            }
            Some(tag) => {
                return Err(fail(format!("x509: invalid ML-DSA private key: invalid ASN.1 tag {tag:02x}")));
            }
        }
        let Ok([_, said, seed @ ..]) = <[u8; 34]>::try_from(content) else {
            return Err(fail(format!("x509: invalid ML-DSA private key length: {length}")));
        };
        if said != SEED[1] {
            return Err(fail("x509: invalid ML-DSA private key ASN.1 encoding"));
        }
        Ok(Self { size, seed })
    }

    /// What PKCS#8 wraps.
    pub(super) fn content(&self) -> Vec<u8> {
        [&SEED[..], &self.seed].concat()
    }

    /// The identifier of key and signature: they share it.
    pub(super) fn algorithm(&self) -> Vec<u8> {
        der::sequence(&[&der::identifier(&[FAMILY, &[self.size as u8]].concat())])
    }

    /// The public key as a `SubjectPublicKeyInfo`.
    pub(super) fn public(&self) -> Vec<u8> {
        let bytes = match self.size {
            Size::Small => public::<MlDsa44>(&self.seed),
            Size::Medium => public::<MlDsa65>(&self.seed),
            Size::Large => public::<MlDsa87>(&self.seed),
        };
        der::sequence(&[&self.algorithm(), &der::bit_string(&bytes)])
    }

    /// Signs a message.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        match self.size {
            Size::Small => sign::<MlDsa44>(&self.seed, message),
            Size::Medium => sign::<MlDsa65>(&self.seed, message),
            Size::Large => sign::<MlDsa87>(&self.seed, message),
        }
    }
}

fn public<P: MlDsaParams>(seed: &[u8; 32]) -> Vec<u8> {
    SigningKey::<P>::from_seed(&(*seed).into()).verifying_key().encode().to_vec()
}

fn sign<P: MlDsaParams>(seed: &[u8; 32], message: &[u8]) -> Result<Vec<u8>> {
    let signature = SigningKey::<P>::from_seed(&(*seed).into()).try_sign(message);
    signature.map(|signature| signature.encode().to_vec()).map_err(|error| fail(error.to_string()))
}
