//! Signatures of version 4 (RFC 9580 §5.2.3).

use crate::{
    error::PgpError,
    field::number,
    hash::Hash,
    key::{PublicKey, VERSION_5},
    source::{Source, Stop, array, array_or_end, byte, bytes},
    subpacket,
};

/// What a signature says.
pub(crate) mod kind {
    pub(crate) const BINARY: u8 = 0x00;
    pub(crate) const TEXT: u8 = 0x01;
    pub(crate) const FIRST_CERTIFICATION: u8 = 0x10;
    pub(crate) const LAST_CERTIFICATION: u8 = 0x13;
    pub(crate) const SUBKEY_BINDING: u8 = 0x18;
    pub(crate) const PRIMARY_KEY_BINDING: u8 = 0x19;
    pub(crate) const KEY_REVOCATION: u8 = 0x20;
    pub(crate) const SUBKEY_REVOCATION: u8 = 0x28;
    pub(crate) const CERTIFICATION_REVOCATION: u8 = 0x30;
}

/// The flag of keys that may sign data.
pub(crate) const FLAG_SIGN: u8 = 2;
/// The reason of a revocation that makes a key worthless from the beginning.
const COMPROMISED: u8 = 2;
/// A signature holds another one at most; more of them are refused before they fill the stack.
const MAX_DEPTH: u8 = 4;

/// A signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) kind: u8,
    pub(crate) algorithm: u8,
    pub(crate) hash: Hash,
    /// What is hashed after what is signed.
    pub(crate) hash_suffix: Vec<u8>,
    pub(crate) value: Value,
    /// When it was made, in seconds since 1970.
    pub(crate) created: u32,
    pub(crate) lifetime: Option<u32>,
    /// How long the key lives that this is over.
    pub(crate) key_lifetime: Option<u32>,
    pub(crate) issuer: Option<u64>,
    pub(crate) issuer_fingerprint: Option<Vec<u8>>,
    pub(crate) is_primary_id: bool,
    /// What the key is for that this is over.
    pub(crate) flags: Option<u8>,
    pub(crate) revocation_reason: Option<u8>,
    /// The first critical notation: none is known, so whoever reads the signature must not accept it.
    pub(crate) critical_notation: Option<Vec<u8>>,
    /// The signature of a subkey that it belongs to the primary key.
    pub(crate) embedded: Option<Box<Signature>>,
}

/// The numbers of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Rsa(Vec<u8>),
    Pair(Vec<u8>, Vec<u8>),
    Ed25519([u8; 64]),
    /// One that nothing here can verify.
    Foreign,
}

impl Signature {
    /// Reads a signature.
    pub(crate) fn read(source: &mut dyn Source) -> Result<Self, Stop> {
        Self::read_within(source, 0)
    }

    /// Reads a signature that `depth` others hold.
    pub(crate) fn read_within(source: &mut dyn Source, depth: u8) -> Result<Self, Stop> {
        if depth > MAX_DEPTH {
            return Err(PgpError::structural("too many layers of packets").into());
        }
        match byte(source)? {
            4 => {}
            5 => return Err(PgpError::unsupported(VERSION_5).into()),
            6 => return Err(PgpError::Version6("signature packet").into()),
            other => return Err(PgpError::unsupported(format!("signature packet version {other}")).into()),
        }
        let [kind, algorithm, hash_id, high, low] = array(source)?;
        if !matches!(algorithm, 1 | 3 | 17 | 19 | 22 | 27 | 28) {
            return Err(PgpError::unsupported(format!("public key algorithm {algorithm}")).into());
        }
        let hash = Hash::from_id(hash_id)?;
        let hashed = bytes(source, u16::from_be_bytes([high, low]))?;
        let facts = subpacket::read(&hashed, true, subpacket::Facts::default(), depth)?;
        let unhashed_length = u16::from_be_bytes(array(source)?);
        let unhashed = bytes(source, unhashed_length)?;
        let facts = subpacket::read(&unhashed, false, facts, depth)?;
        let _tag: [u8; 2] = array(source)?;
        let value = value(algorithm, source)?;
        Ok(Self {
            kind,
            algorithm,
            hash,
            hash_suffix: hash_suffix([kind, algorithm, hash_id, high, low], &hashed),
            value,
            created: facts.created.unwrap_or_default(),
            lifetime: facts.lifetime,
            key_lifetime: facts.key_lifetime,
            issuer: facts.issuer,
            issuer_fingerprint: facts.issuer_fingerprint,
            is_primary_id: facts.is_primary_id,
            flags: facts.flags,
            revocation_reason: facts.revocation_reason,
            critical_notation: facts.critical_notation,
            embedded: facts.embedded,
        })
    }

    /// Whether it says to be made by a key.
    pub(crate) fn is_by(&self, key: &PublicKey) -> bool {
        match &self.issuer_fingerprint {
            Some(fingerprint) => *fingerprint == key.fingerprint,
            None => self.issuer == Some(key.id),
        }
    }

    /// Whether it has expired, or is from the future.
    pub(crate) fn expired(&self, now: i64) -> bool {
        expired(self.created, self.lifetime, now)
    }

    /// Whether the key that it is over may sign data.
    pub(crate) fn allows_signing(&self) -> bool {
        self.flags.is_some_and(|flags| flags & FLAG_SIGN != 0)
    }

    /// Whether it takes back what it is over.
    pub(crate) fn revokes(&self, now: i64) -> bool {
        self.revocation_reason == Some(COMPROMISED) || !self.expired(now)
    }
}

/// Whether something has expired, or is from the future. A lifetime of zero is for ever.
pub(crate) fn expired(created: u32, lifetime: Option<u32>, now: i64) -> bool {
    let created = i64::from(created);
    match lifetime.unwrap_or_default() {
        _ if created > now => true,
        0 => false,
        lifetime => now > created + i64::from(lifetime),
    }
}

/// What is hashed after what is signed: the signature itself up to its unhashed part, and its length.
fn hash_suffix(head: [u8; 5], hashed: &[u8]) -> Vec<u8> {
    let mut suffix = vec![4];
    suffix.extend(head);
    suffix.extend_from_slice(hashed);
    let length = u32::try_from(suffix.len()).unwrap_or(u32::MAX);
    suffix.extend([4, 0xff]);
    suffix.extend(length.to_be_bytes());
    suffix
}

fn value(algorithm: u8, source: &mut dyn Source) -> Result<Value, Stop> {
    Ok(match algorithm {
        1 | 3 => Value::Rsa(number(source)?),
        27 => Value::Ed25519(array_or_end(source)?),
        28 => {
            array_or_end::<114>(source)?;
            Value::Foreign
        }
        _ => Value::Pair(number(source)?, number(source)?),
    })
}
