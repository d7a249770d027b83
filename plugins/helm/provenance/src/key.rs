//! Public keys of version 4 (RFC 9580 §5.5.2).

use std::fmt::Write;

use sha1::{Digest, Sha1};

use crate::{
    curve::{Curve, Use},
    error::PgpError,
    field::{identifier, number},
    hash::Running,
    signature::{Signature, Value},
    source::{Recorder, Source, Stop, array, array_or_end},
};

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicKey {
    /// When it was made, in seconds since 1970.
    pub(crate) created: u32,
    pub(crate) algorithm: u8,
    pub(crate) fingerprint: [u8; 20],
    pub(crate) id: u64,
    material: Material,
    /// The packet's content, which signatures over the key are made of.
    body: Vec<u8>,
}

/// What the numbers of a key are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Material {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    Dsa {
        prime: Vec<u8>,
        order: Vec<u8>,
        generator: Vec<u8>,
        public: Vec<u8>,
    },
    Ecdsa {
        curve: Curve,
        point: Vec<u8>,
    },
    Ed25519([u8; 32]),
    /// A key whose signatures nothing here can verify.
    Foreign(&'static str),
    /// A key that makes no signatures.
    Encryption,
}

impl PublicKey {
    /// Reads a key, up to where the secret half would begin.
    pub(crate) fn read(source: &mut dyn Source) -> Result<Self, Stop> {
        let mut recorder = Recorder::new(source);
        let [version, a, b, c, d, algorithm] = array(&mut recorder)?;
        match version {
            4 => {}
            5 => return Err(PgpError::unsupported(VERSION_5).into()),
            6 => return Err(PgpError::Version6("public key").into()),
            other => return Err(PgpError::unsupported(format!("public key version {other}")).into()),
        }
        let material = material(algorithm, &mut recorder)?;
        let body = recorder.into_seen();
        let mut hash = Sha1::new();
        hash.update(prefix(&body));
        hash.update(&body);
        let fingerprint: [u8; 20] = hash.finalize().into();
        let [.., i, j, k, l, m, n, o, p] = fingerprint;
        let id = u64::from_be_bytes([i, j, k, l, m, n, o, p]);
        Ok(Self { created: u32::from_be_bytes([a, b, c, d]), algorithm, fingerprint, id, material, body })
    }

    /// Whether keys of this algorithm may stand at the beginning of an entity.
    pub(crate) fn can_be_primary(&self) -> bool {
        matches!(self.algorithm, 1 | 3 | 17 | 19 | 22 | 27 | 28)
    }

    /// What signatures over the key begin with.
    pub(crate) fn signed_form(&self) -> Vec<u8> {
        [&prefix(&self.body), self.body.as_slice()].concat()
    }

    /// Whether it has expired, or is from the future.
    pub(crate) fn expired(&self, signature: &Signature, now: i64) -> bool {
        crate::signature::expired(self.created, signature.key_lifetime, now)
    }

    /// Verifies a signature of what was hashed. The hash is changed by it.
    pub(crate) fn verify(&self, hash: &mut Running, signature: &Signature) -> Result<(), PgpError> {
        if matches!(self.algorithm, 2 | 16 | 18) {
            return Err(PgpError::InvalidArgument("public key cannot generate signatures".into()));
        }
        hash.update(&signature.hash_suffix);
        if self.algorithm != signature.algorithm {
            let text = "public key and signature use different algorithms";
            return Err(PgpError::InvalidArgument(text.into()));
        }
        let digest = hash.digest();
        let (good, name) = match (&self.material, &signature.value) {
            (Material::Rsa { modulus, exponent }, Value::Rsa(value)) => {
                (crate::algorithm::rsa(modulus, exponent, signature.hash, &digest, value), "RSA")
            }
            (Material::Dsa { prime, order, generator, public }, Value::Pair(r, s)) => {
                (crate::algorithm::dsa([prime, order, generator, public], &digest, r, s), "DSA")
            }
            (Material::Ecdsa { curve, point }, Value::Pair(r, s)) => {
                (crate::algorithm::ecdsa(*curve, point, &digest, r, s), "ECDSA")
            }
            (Material::Ed25519(point), Value::Pair(r, s)) => {
                (crate::algorithm::eddsa(point, &digest, r, s), "EdDSA")
            }
            (Material::Ed25519(point), Value::Ed25519(value)) => {
                (crate::algorithm::ed25519(point, &digest, value), "Ed25519")
            }
            (Material::Foreign(name), _) => {
                return Err(PgpError::unsupported(format!("signatures of {name} keys")));
            }
            _ => {
                let text = "Unsupported public key algorithm used in signature";
                return Err(PgpError::Signature(text.into()));
            }
        };
        if good { Ok(()) } else { Err(PgpError::Signature(format!("{name} verification failure").into())) }
    }
}

/// What is said of keys and signatures of the version that never was.
pub(crate) const VERSION_5: &str =
    "support for parsing v5 entities is disabled; build with `-tags v5` if needed";

/// What stands before a key where it is hashed. The length is cut to 16 bits, as there are no more.
fn prefix(body: &[u8]) -> [u8; 3] {
    let [.., high, low] = body.len().to_be_bytes();
    [0x99, high, low]
}

fn material(algorithm: u8, source: &mut dyn Source) -> Result<Material, Stop> {
    Ok(match algorithm {
        1..=3 => {
            let (modulus, exponent) = (number(source)?, number(source)?);
            if exponent.len() > 3 {
                return Err(PgpError::unsupported("large public exponent").into());
            }
            Material::Rsa { modulus, exponent }
        }
        16 => {
            for _ in 0..3 {
                number(source)?;
            }
            Material::Encryption
        }
        17 => Material::Dsa {
            prime: number(source)?,
            order: number(source)?,
            generator: number(source)?,
            public: number(source)?,
        },
        18 => agreement(source)?,
        19 => elliptic(source)?,
        22 => edwards(source)?,
        25 => native::<32>(source).map(|_| Material::Encryption)?,
        26 => native::<56>(source).map(|_| Material::Encryption)?,
        27 => Material::Ed25519(native(source)?),
        28 => native::<57>(source).map(|_| Material::Foreign("Ed448"))?,
        other => return Err(PgpError::unsupported(format!("public key type: {other}")).into()),
    })
}

fn native<const N: usize>(source: &mut dyn Source) -> Result<[u8; N], Stop> {
    array_or_end(source)
}

/// Reads which curve it is, and the identifier for errors about it.
fn curve(source: &mut dyn Source) -> Result<(Curve, Vec<u8>), PgpError> {
    let identifier = identifier(source)?;
    let curve =
        Curve::from_identifier(&identifier).ok_or_else(|| bad_identifier("unknown oid", &identifier))?;
    Ok((curve, identifier))
}

/// Go prints the structure around the identifier as well.
fn bad_identifier(problem: &str, identifier: &[u8]) -> PgpError {
    let mut text = format!("{problem}: &{{");
    for byte in identifier {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('}');
    PgpError::unsupported(text)
}

fn elliptic(source: &mut dyn Source) -> Result<Material, PgpError> {
    let (curve, identifier) = curve(source)?;
    let point = number(source)?;
    match curve {
        _ if curve.purpose() != Use::General => Err(bad_identifier("unsupported oid", &identifier)),
        Curve::Foreign(name, _) => Ok(Material::Foreign(name)),
        _ if !crate::algorithm::is_point(curve, &point) => Err(PgpError::Point("ecdsa")),
        _ => Ok(Material::Ecdsa { curve, point }),
    }
}

fn edwards(source: &mut dyn Source) -> Result<Material, PgpError> {
    let (curve, identifier) = curve(source)?;
    if curve.purpose() != Use::Signatures {
        return Err(bad_identifier("unsupported oid", &identifier));
    }
    let point = number(source)?;
    match point.as_slice() {
        [] => Err(PgpError::structural("empty EdDSA public key")),
        [0x40, point @ ..] => match (curve, <[u8; 32]>::try_from(point)) {
            (Curve::Ed25519, Ok(point)) => Ok(Material::Ed25519(point)),
            (Curve::Ed25519, Err(_)) => Err(PgpError::Point("eddsa")),
            _ => Ok(Material::Foreign("Ed448")),
        },
        [flag, ..] => Err(PgpError::unsupported(format!("unsupported EdDSA compression: {flag}"))),
    }
}

fn agreement(source: &mut dyn Source) -> Result<Material, PgpError> {
    let (curve, identifier) = curve(source)?;
    let point = number(source)?;
    let derivation = self::identifier(source)?;
    if curve.purpose() == Use::Signatures {
        return Err(bad_identifier("unsupported oid", &identifier));
    }
    let [reserved, hash, cipher, ..] = derivation.as_slice() else {
        return Err(PgpError::unsupported(format!("unsupported ECDH KDF length: {}", derivation.len())));
    };
    if *reserved != 1 {
        return Err(PgpError::unsupported(format!("unsupported KDF reserved field: {reserved}")));
    }
    if !matches!(hash, 8..=12 | 14) {
        return Err(PgpError::unsupported(format!("unsupported ECDH KDF hash: {hash}")));
    }
    if !matches!(cipher, 2 | 3 | 7..=9) {
        return Err(PgpError::unsupported(format!("unsupported ECDH KDF cipher: {cipher}")));
    }
    if curve == Curve::Curve25519 && point.len() != 33 {
        return Err(PgpError::Point("ecdh"));
    }
    Ok(Material::Encryption)
}
