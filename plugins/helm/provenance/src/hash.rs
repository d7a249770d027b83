//! The hash functions of signatures.

use sha2::digest::DynDigest;

use crate::error::PgpError;

/// A hash function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    /// The function of a number (RFC 9580 §9.5). SHA-1 is among them: go-crypto accepts it as Helm calls it.
    pub(crate) fn from_id(id: u8) -> Result<Self, PgpError> {
        Ok(match id {
            2 => Self::Sha1,
            8 => Self::Sha256,
            9 => Self::Sha384,
            10 => Self::Sha512,
            11 => Self::Sha224,
            other => return Err(PgpError::unsupported(format!("hash function {other}"))),
        })
    }

    /// What stands before a digest in a signature of RSA (RFC 8017 §9.2).
    pub(crate) fn digest_info(self) -> &'static [u8] {
        match self {
            Self::Sha1 => b"\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14",
            Self::Sha224 => b"\x30\x2d\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x04\x05\x00\x04\x1c",
            Self::Sha256 => b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20",
            Self::Sha384 => b"\x30\x41\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02\x05\x00\x04\x30",
            Self::Sha512 => b"\x30\x51\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03\x05\x00\x04\x40",
        }
    }

    fn hasher(self) -> Box<dyn DynDigest> {
        match self {
            Self::Sha1 => Box::new(sha1::Sha1::default()),
            Self::Sha224 => Box::new(sha2::Sha224::default()),
            Self::Sha256 => Box::new(sha2::Sha256::default()),
            Self::Sha384 => Box::new(sha2::Sha384::default()),
            Self::Sha512 => Box::new(sha2::Sha512::default()),
        }
    }
}

/// Something that signatures are made over. It is hashed once for each hash function, however many signatures follow
/// it: a long name with thousands of signatures must not cost their product.
pub(crate) struct Signed {
    content: Vec<u8>,
    states: Vec<(Hash, Box<dyn DynDigest>)>,
}

impl Signed {
    pub(crate) fn new(content: Vec<u8>) -> Self {
        Self { content, states: Vec::new() }
    }

    /// A hash that has seen the content.
    pub(crate) fn hash(&mut self, function: Hash) -> Running {
        if let Some((_, state)) = self.states.iter().find(|(known, _)| *known == function) {
            return Running(state.clone());
        }
        let mut state = function.hasher();
        state.update(&self.content);
        self.states.push((function, state.clone()));
        Running(state)
    }
}

/// A hash that goes on.
pub(crate) struct Running(Box<dyn DynDigest>);

impl Running {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of what was seen so far; more may follow.
    pub(crate) fn digest(&self) -> Box<[u8]> {
        self.0.clone().finalize()
    }
}
