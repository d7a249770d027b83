//! The verification of an archive with its provenance file.

use sha2::{Digest, Sha256};

use crate::{
    clearsign::{self, Message},
    entity::Entity,
    error::{Error, PgpError},
    hash::Signed,
    keyring::{Keyring, SigningKey},
    packet::{Packet, Packets},
    signature::{Signature, kind},
    sums::Sums,
};

/// What was found out about an archive that is what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The names of the entity that signed it, in order. (Helm prints them in any order.)
    pub signed_by: Vec<String>,
    /// The fingerprint of the entity's primary key.
    pub fingerprint: [u8; 20],
    /// The archive's hash, with the name of the function before it: `sha256:…`.
    pub file_hash: String,
}

/// Verifies an archive at a time (seconds since 1970) as `helm verify` does: reads the keyring, which `keyring_path`
/// names in errors, and calls [`Keyring::verify`].
///
/// # Errors
/// See [`Error`]; the texts are Helm's.
pub fn verify(
    archive: &[u8],
    provenance: &[u8],
    keyring: &[u8],
    keyring_path: &str,
    file_name: &str,
    now: i64,
) -> Result<Verification, Error> {
    Keyring::read(keyring, keyring_path)?.verify(archive, provenance, file_name, now)
}

impl Keyring {
    /// Verifies an archive at a time (seconds since 1970): its provenance file has to be signed by a key of the keyring
    /// and to list the archive's hash under `file_name`, which is its name without directories.
    ///
    /// # Errors
    /// See [`Error`]; the texts are Helm's.
    pub fn verify(
        &self,
        archive: &[u8],
        provenance: &[u8],
        file_name: &str,
        now: i64,
    ) -> Result<Verification, Error> {
        let message = clearsign::decode(provenance).ok_or(Error::NoSignature)?;
        let plain = message.plain.clone();
        let entity = self.signer(message, now)?;
        let file_hash = format!("sha256:{:x}", Sha256::digest(archive));
        let sums = Sums::read(&plain)?;
        let listed = sums.files.get(file_name).ok_or_else(|| Error::NotListed(file_name.to_owned()))?;
        if *listed != file_hash {
            let (name, listed) = (file_name.to_owned(), listed.clone());
            return Err(Error::Mismatch { name, listed, found: file_hash });
        }
        let name = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
        let signed_by = entity.identities.keys().map(name).collect();
        Ok(Verification { signed_by, fingerprint: entity.primary.fingerprint, file_hash })
    }

    /// Who signed a message. Of several signatures the first counts whose key is known.
    fn signer(&self, message: Message<'_>, now: i64) -> Result<&Entity, PgpError> {
        let mut source = message.signature;
        let mut packets = Packets::new(&mut source);
        loop {
            let signature = match packets.next()? {
                None => return Err(packets.newer().unwrap_or(PgpError::UnknownEntity)),
                Some(Packet::Signature(signature)) => signature,
                Some(_) => return Err(PgpError::structural("non signature packet found")),
            };
            let Some(issuer) = signature.issuer else {
                return Err(PgpError::structural("signature doesn't have an issuer"));
            };
            let mut keys = self.signing_keys(issuer).peekable();
            if keys.peek().is_some() {
                let key = signing_key(keys, &signature, message.signed)?;
                check(&key, &signature, now)?;
                return Ok(key.entity);
            }
        }
    }
}

/// Which of some keys made a signature.
fn signing_key<'a>(
    keys: impl Iterator<Item = SigningKey<'a>>,
    signature: &Signature,
    signed: Vec<u8>,
) -> Result<SigningKey<'a>, PgpError> {
    let signed = match signature.kind {
        kind::BINARY => signed,
        kind::TEXT => canonical(&signed),
        other => return Err(PgpError::unsupported(format!("unsupported signature type: {other}"))),
    };
    // go-crypto goes on with one hash for all keys, so that only the first of them can be the one.
    let mut hash = Signed::new(signed).hash(signature.hash);
    let mut error = PgpError::UnknownEntity;
    for key in keys {
        match key.key.verify(&mut hash, signature) {
            Ok(()) => return Ok(key),
            Err(failed) => error = failed,
        }
    }
    Err(error)
}

/// A text with the line ends of mail. A carriage return hides the next character, as go-crypto has it.
fn canonical(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut hidden = false;
    for byte in text {
        if *byte == b'\n' && !hidden {
            out.push(b'\r');
        }
        out.push(*byte);
        hidden = *byte == b'\r' && !hidden;
    }
    out
}

/// Whether a signature that is of the message and by the key counts: nothing may have been revoked or have expired.
fn check(key: &SigningKey<'_>, signature: &Signature, now: i64) -> Result<(), PgpError> {
    let entity = key.entity;
    let Some(self_signature) = entity.self_signature() else {
        // Go crashes here: there are names, but all that is signed of them is that they were revoked.
        return Err(PgpError::RevokedKey);
    };
    let mut signatures = vec![signature, self_signature];
    if let Some(subkey) = key.subkey {
        signatures.push(&subkey.binding);
        signatures.extend(subkey.binding.embedded.as_deref());
    }
    if let Some(name) = signatures.iter().find_map(|signature| signature.critical_notation.as_ref()) {
        let name = String::from_utf8_lossy(name);
        return Err(PgpError::Signature(format!("unknown critical notation: {name}").into()));
    }
    let revoked = |revocations: &[Signature]| revocations.iter().any(|revocation| revocation.revokes(now));
    if revoked(&entity.revocations)
        || key.subkey.is_some_and(|subkey| revoked(&subkey.revocations))
        || entity.primary_identity().is_some_and(|identity| revoked(&identity.revocations))
    {
        return Err(PgpError::RevokedKey);
    }
    if entity.primary.expired(self_signature, now)
        || key.subkey.is_some_and(|subkey| subkey.key.expired(&subkey.binding, now))
    {
        return Err(PgpError::ExpiredKey);
    }
    if signatures.iter().any(|signature| signature.expired(now)) {
        return Err(PgpError::ExpiredSignature);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn line_ends_become_those_of_mail() {
        assert_eq!(canonical(b"a\nb\r\nc\r"), b"a\r\nb\r\nc\r");
        assert_eq!(canonical(b"a\r\r\nb"), b"a\r\r\r\nb");
    }
}
