//! The curves that keys may name.

/// What a curve is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// ECDSA and ECDH.
    General,
    /// ECDH only.
    Agreement,
    /// EdDSA only.
    Signatures,
}

/// A curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
    Curve25519,
    Ed25519,
    /// One that keys may have, but whose signatures nothing here can verify.
    Foreign(&'static str, Use),
}

impl Curve {
    /// The curve of an object identifier (RFC 9580 §9.2).
    pub(crate) fn from_identifier(identifier: &[u8]) -> Option<Self> {
        Some(match identifier {
            b"\x2a\x86\x48\xce\x3d\x03\x01\x07" => Self::P256,
            b"\x2b\x81\x04\x00\x22" => Self::P384,
            b"\x2b\x81\x04\x00\x23" => Self::P521,
            b"\x2b\x81\x04\x00\x0a" => Self::Foreign("secp256k1", Use::General),
            b"\x2b\x06\x01\x04\x01\x97\x55\x01\x05\x01" => Self::Curve25519,
            b"\x2b\x06\x01\x04\x01\xda\x47\x0f\x01" => Self::Ed25519,
            b"\x2b\x65\x6f" => Self::Foreign("X448", Use::Agreement),
            b"\x2b\x65\x71" => Self::Foreign("Ed448", Use::Signatures),
            b"\x2b\x24\x03\x03\x02\x08\x01\x01\x07" => Self::Foreign("brainpoolP256r1", Use::General),
            b"\x2b\x24\x03\x03\x02\x08\x01\x01\x0b" => Self::Foreign("brainpoolP384r1", Use::General),
            b"\x2b\x24\x03\x03\x02\x08\x01\x01\x0d" => Self::Foreign("brainpoolP512r1", Use::General),
            _ => return None,
        })
    }

    /// What it is for.
    pub(crate) fn purpose(self) -> Use {
        match self {
            Self::P256 | Self::P384 | Self::P521 => Use::General,
            Self::Curve25519 => Use::Agreement,
            Self::Ed25519 => Use::Signatures,
            Self::Foreign(_, purpose) => purpose,
        }
    }
}
