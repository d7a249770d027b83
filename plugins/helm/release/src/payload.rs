//! The payload of a release Secret: base64 of gzip of JSON (Helm's `pkg/storage/driver/util.go`). Kubernetes encodes
//! it a second time, which is not this module's business.

use std::io::{Read, Write};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use thiserror::Error;

use crate::Release;

/// A payload larger than this when unpacked is refused: no cluster stores one, so it was made to fill memory.
const LARGEST: u64 = 128 << 20;

const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// A payload that is no release record.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// Not base64.
    #[error("the release record is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not gzip, or cut off.
    #[error("the release record cannot be unpacked: {0}")]
    Gzip(#[from] std::io::Error),
    /// More than 128 MiB when unpacked.
    #[error("the release record is larger than 128 MiB when unpacked")]
    TooLarge,
    /// Not JSON, or not of the record's shape.
    #[error("the release record cannot be read: {0}")]
    Json(#[from] serde_json::Error),
}

/// Packs a record. The result is ASCII.
///
/// # Errors
/// [`PayloadError::Json`] or [`PayloadError::Gzip`] when it cannot be written, which takes a lack of memory.
pub fn encode(release: &Release) -> Result<String, PayloadError> {
    Ok(wrap(&pack(release)?))
}

/// The same without the base64 around it.
pub(crate) fn pack(release: &Release) -> Result<Vec<u8>, PayloadError> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&serde_json::to_vec(release)?)?;
    Ok(packed.finish()?)
}

/// The base64 around a packed record.
pub(crate) fn wrap(packed: &[u8]) -> String {
    STANDARD.encode(packed)
}

/// How long that is.
pub(crate) fn encoded_len(packed: &[u8]) -> usize {
    packed.len().div_ceil(3) * 4
}

/// Unpacks a record; one from before compression was introduced, too.
///
/// # Errors
/// [`PayloadError`] says at which layer it failed.
pub fn decode(payload: &[u8]) -> Result<Release, PayloadError> {
    unpack(&STANDARD.decode(payload)?)
}

/// The same without the base64 around it.
pub(crate) fn unpack(bytes: &[u8]) -> Result<Release, PayloadError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(serde_json::from_slice(bytes)?);
    }
    let mut json = Vec::new();
    let length = MultiGzDecoder::new(bytes).take(LARGEST + 1).read_to_end(&mut json)?;
    if length as u64 > LARGEST {
        return Err(PayloadError::TooLarge);
    }
    Ok(serde_json::from_slice(&json)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_unpacks_to_the_same() {
        let release =
            Release { name: "web".into(), version: 3, manifest: "---\nä\n".into(), ..Release::default() };
        let packed = encode(&release).unwrap();
        assert!(packed.starts_with("H4sI"), "gzip in base64");
        assert_eq!(decode(packed.as_bytes()).unwrap(), release);
        assert_eq!(encoded_len(&pack(&release).unwrap()), packed.len());
    }

    #[test]
    fn a_record_from_before_compression_is_read() {
        let plain = STANDARD.encode(r#"{"name":"old","version":1}"#);
        assert_eq!(decode(plain.as_bytes()).unwrap().name, "old");
    }

    #[test]
    fn each_broken_layer_is_named() {
        assert!(matches!(decode(b"%"), Err(PayloadError::Base64(_))));
        let cut = STANDARD.encode([0x1f, 0x8b, 0x08, 0]);
        assert!(matches!(decode(cut.as_bytes()), Err(PayloadError::Gzip(_))));
        assert!(matches!(decode(STANDARD.encode("[]").as_bytes()), Err(PayloadError::Json(_))));
    }
}
