//! What can be wrong with a keyring, a signature or what is signed, in the words of Helm and go-crypto.

use std::borrow::Cow;

use helm_template::fmt::quote;
use thiserror::Error;

type Text = Cow<'static, str>;

/// Why OpenPGP data is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PgpError {
    /// It is no OpenPGP.
    #[error("openpgp: invalid data: {0}")]
    Structural(Text),
    /// It is OpenPGP of a kind that is not known.
    #[error("openpgp: unsupported feature: {0}")]
    Unsupported(Text),
    /// It is of the newer version of OpenPGP, which go-crypto knows and we do not.
    #[error("openpgp: unsupported feature: {0} version 6")]
    Version6(&'static str),
    /// A key was asked for what it cannot do.
    #[error("openpgp: invalid argument: {0}")]
    InvalidArgument(Text),
    /// The signature is of something else, or by somebody else.
    #[error("openpgp: invalid signature: {0}")]
    Signature(Text),
    /// None of the keys made the signature.
    #[error("openpgp: signature made by unknown entity")]
    UnknownEntity,
    /// The key was revoked.
    #[error("openpgp: signature made by revoked key")]
    RevokedKey,
    /// The key is too old, or from the future.
    #[error("openpgp: key expired")]
    ExpiredKey,
    /// The signature is too old, or from the future.
    #[error("openpgp: signature expired")]
    ExpiredSignature,
    /// A packet that must not be skipped and is not known.
    #[error("openpgp: unknown critical packet type: {0}")]
    CriticalPacket(u8),
    /// The data ends within something.
    #[error("unexpected EOF")]
    UnexpectedEnd,
    /// The armor holds what is no base64.
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    /// A public key that is no point of its curve.
    #[error("{0}: failed to parse EC point")]
    Point(&'static str),
}

impl PgpError {
    pub(crate) fn structural(text: impl Into<Text>) -> Self {
        Self::Structural(text.into())
    }

    pub(crate) fn unsupported(text: impl Into<Text>) -> Self {
        Self::Unsupported(text.into())
    }
}

/// Why a keyring cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// What is in it is refused.
    #[error(transparent)]
    Pgp(#[from] PgpError),
    /// It looks like GnuPG's keybox but is none.
    #[error("reading keybox {path}: {reason}")]
    Keybox {
        /// Where it was read from.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// It looks like armored keys but is none.
    #[error("reading armored keyring {path}: {reason}")]
    Armored {
        /// Where it was read from.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

/// Why the list of checksums in a provenance file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SumsError {
    /// There is none.
    #[error("message block must have at least two parts")]
    Missing,
    /// It is no YAML.
    #[error("error converting YAML to JSON: {0}")]
    Yaml(#[from] helm_yaml::ConvertError),
    /// It is something else.
    #[error("error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into {target}")]
    Shape {
        /// JSON's name of what is there.
        found: &'static str,
        /// What was to be filled.
        target: String,
    },
}

/// Why a chart is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The keyring cannot be read.
    #[error("failed to load keyring: {0}")]
    Keyring(#[from] KeyringError),
    /// The provenance file holds no clear-signed message.
    #[error("signature block not found")]
    NoSignature,
    /// The signature is not accepted.
    #[error(transparent)]
    Pgp(#[from] PgpError),
    /// What is signed cannot be read.
    #[error(transparent)]
    Sums(#[from] SumsError),
    /// What is signed is another file.
    #[error("provenance does not contain a SHA for a file named {}", quote(.0.as_bytes()))]
    NotListed(String),
    /// The archive is not the one that was signed.
    #[error("sha256 sum does not match for {name}: {} != {}", quote(.listed.as_bytes()), quote(.found.as_bytes()))]
    Mismatch {
        /// The archive's name.
        name: String,
        /// What the provenance file lists.
        listed: String,
        /// What the archive has.
        found: String,
    },
}
