//! The secret half of a key (RFC 9580 §5.5.3), which is only read over. Its checksum is looked at, since go-crypto
//! refuses keys for it; the numbers themselves are not.

use crate::{
    error::PgpError,
    source::{Source, Stop, array_or_end, byte, bytes, rest},
};

/// How a secret is kept.
const PLAIN: u8 = 0;
const AEAD: u8 = 253;
const SHA1: u8 = 254;
const SUM: u8 = 255;

/// Reads over the secret half of a key.
pub(crate) fn skip(source: &mut dyn Source) -> Result<(), Stop> {
    let kind = byte(source)?;
    match kind {
        PLAIN => return Ok(plain(&rest(source)?)?),
        AEAD | SHA1 | SUM => {}
        _ => return Err(PgpError::unsupported("deprecated s2k function in private key").into()),
    }
    let cipher = byte(source)?;
    let block = match cipher {
        0 => 0,
        2 | 3 => 8,
        7..=9 => 16,
        _ => return Err(PgpError::unsupported("unsupported cipher function in private key").into()),
    };
    let nonce = match kind {
        AEAD => Some(nonce(byte(source)?)?),
        _ => None,
    };
    if derivation(kind, source)? == Derived::Elsewhere {
        return Ok(());
    }
    match nonce.unwrap_or(block) {
        0 => Err(PgpError::unsupported(format!("unsupported cipher in private key: {cipher}")).into()),
        length => {
            bytes(source, length)?;
            rest(source)?;
            Ok(())
        }
    }
}

fn nonce(mode: u8) -> Result<u16, PgpError> {
    match mode {
        1 => Ok(16),
        2 => Ok(15),
        3 => Ok(12),
        _ => Err(PgpError::unsupported("unsupported aead mode in private key")),
    }
}

/// Where the key of a secret comes from.
#[derive(PartialEq, Eq)]
enum Derived {
    Password,
    /// There is no secret in the packet (an extension of GnuPG).
    Elsewhere,
}

/// Reads how a secret's key is made of a password.
fn derivation(kind: u8, source: &mut dyn Source) -> Result<Derived, Stop> {
    let [mode] = array_or_end(source)?;
    let hash = match mode {
        0 => array_or_end::<1>(source)?[0],
        1 => array_or_end::<9>(source)?[0],
        3 => array_or_end::<10>(source)?[0],
        4 => {
            array_or_end::<19>(source)?;
            if kind != AEAD {
                return Err(PgpError::structural("using Argon2 S2K without AEAD is not allowed").into());
            }
            return Ok(Derived::Password);
        }
        101 => {
            let [_, extension @ ..] = array_or_end::<5>(source)?;
            if extension != *b"GNU\x01" {
                return Err(PgpError::unsupported("GNU S2K extension").into());
            }
            return Ok(Derived::Elsewhere);
        }
        _ => return Err(PgpError::unsupported("S2K function").into()),
    };
    if !matches!(hash, 2 | 8..=12 | 14) {
        return Err(PgpError::unsupported(format!("hash for S2K function: {hash}")).into());
    }
    Ok(Derived::Password)
}

/// Looks at the checksum of a secret without password.
fn plain(secret: &[u8]) -> Result<(), PgpError> {
    let Some((numbers, sum)) = secret.split_last_chunk::<2>() else {
        return Err(PgpError::structural("truncated private key data"));
    };
    let found = numbers.iter().fold(0_u16, |sum, byte| sum.wrapping_add(u16::from(*byte)));
    if found.to_be_bytes() != *sum {
        return Err(PgpError::structural("private key checksum failure"));
    }
    Ok(())
}
