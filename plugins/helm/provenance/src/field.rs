//! The fields of keys and signatures: numbers and object identifiers with their lengths before them.

use crate::{
    error::PgpError,
    source::{Source, array, byte, bytes},
};

/// A number of any size, as its bytes.
pub(crate) fn number(source: &mut dyn Source) -> Result<Vec<u8>, PgpError> {
    let bits = u16::from_be_bytes(array(source)?);
    bytes(source, bits.div_ceil(8))
}

/// An object identifier, or another field with one byte of length.
pub(crate) fn identifier(source: &mut dyn Source) -> Result<Vec<u8>, PgpError> {
    match byte(source)? {
        0 | 0xff => Err(PgpError::unsupported("reserved for future extensions")),
        length => bytes(source, u16::from(length)),
    }
}
