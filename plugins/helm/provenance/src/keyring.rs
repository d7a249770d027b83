//! Keyrings: packets, armored packets, or GnuPG's keybox.

use helm_template::fmt::quote;

use crate::{
    armor,
    entity::{Entity, Subkey},
    error::{KeyringError, PgpError},
    key::PublicKey,
    keybox,
    packet::{Packet, Packets},
    signature::Signature,
    source::Source,
    text::trim,
};

/// The keys whose signatures count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keyring {
    entities: Vec<Entity>,
}

/// A key that may sign.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SigningKey<'a> {
    pub(crate) entity: &'a Entity,
    pub(crate) key: &'a PublicKey,
    /// The subkey it is, when it is not the primary key.
    pub(crate) subkey: Option<&'a Subkey>,
}

impl<'a> SigningKey<'a> {
    /// The signature that says what the key is for.
    fn signature(&self) -> Option<&'a Signature> {
        match self.subkey {
            Some(subkey) => Some(&subkey.binding),
            None => self.entity.self_signature(),
        }
    }
}

impl Keyring {
    /// Reads a keyring as Helm does; `path` is only named in errors. Keys that are not understood are skipped, unless
    /// there is no other.
    ///
    /// # Errors
    /// [`KeyringError`] for what is no keyring, or when none of its keys is understood.
    pub fn read(bytes: &[u8], path: &str) -> Result<Self, KeyringError> {
        let entities = if keybox::is_keybox(bytes) {
            let keys = keybox::keys(bytes)
                .map_err(|reason| KeyringError::Keybox { path: path.to_owned(), reason })?;
            entities(&mut keys.as_slice())?
        } else if trim(bytes).starts_with(b"-----BEGIN PGP") {
            armored(bytes).map_err(|reason| KeyringError::Armored { path: path.to_owned(), reason })?
        } else {
            let mut bytes = bytes;
            entities(&mut bytes)?
        };
        Ok(Self { entities })
    }

    /// The keys of an id that may sign data.
    pub(crate) fn signing_keys(&self, id: u64) -> impl Iterator<Item = SigningKey<'_>> {
        let all = self.entities.iter().flat_map(|entity| {
            let primary = SigningKey { entity, key: &entity.primary, subkey: None };
            let subkeys = entity.subkeys.iter().map(move |subkey| SigningKey {
                entity,
                key: &subkey.key,
                subkey: Some(subkey),
            });
            std::iter::once(primary).chain(subkeys)
        });
        let may_sign = |key: &SigningKey<'_>| key.signature().is_some_and(Signature::allows_signing);
        all.filter(move |key| key.key.id == id && may_sign(key))
    }
}

fn armored(text: &[u8]) -> Result<Vec<Entity>, String> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(mut block) = armor::decode(rest) {
        if !matches!(block.kind(), b"PGP PUBLIC KEY BLOCK" | b"PGP PRIVATE KEY BLOCK") {
            return Err(format!("expected a public or private key block, got {}", quote(block.kind())));
        }
        all.append(&mut entities(&mut block).map_err(|error| error.to_string())?);
        rest = block.rest();
    }
    if all.is_empty() {
        return Err("no keys found".to_owned());
    }
    Ok(all)
}

/// Reads entities. Those with something wrong are left out.
fn entities(source: &mut dyn Source) -> Result<Vec<Entity>, PgpError> {
    let mut packets = Packets::new(source);
    let mut all = Vec::new();
    let mut skipped = None;
    loop {
        match Entity::read(&mut packets) {
            Ok(Some(entity)) => all.push(entity),
            Ok(None) => break,
            Err(error @ (PgpError::Structural(_) | PgpError::Unsupported(_))) => {
                skipped = Some(error);
                skip(&mut packets)?;
            }
            Err(error) => return Err(error),
        }
    }
    match packets.newer().or(skipped) {
        Some(error) if all.is_empty() => Err(error),
        _ => Ok(all),
    }
}

/// Reads on to the next public key. Secret keys are not looked for: they are skipped with what is before them.
fn skip(packets: &mut Packets<'_>) -> Result<(), PgpError> {
    while let Some(packet) = packets.next()? {
        if matches!(&packet, Packet::Key(key) if !key.is_subkey && !key.is_secret) {
            packets.put_back(packet);
            break;
        }
    }
    Ok(())
}
