//! Entities: a primary key, the names it goes by and the keys it vouches for.

use std::collections::BTreeMap;

use crate::{
    error::PgpError,
    hash::Signed,
    key::PublicKey,
    packet::{Packet, Packets},
    signature::{Signature, kind},
};

/// Somebody who signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entity {
    pub(crate) primary: PublicKey,
    /// By name; only those that the primary key has signed.
    pub(crate) identities: BTreeMap<Vec<u8>, Identity>,
    pub(crate) subkeys: Vec<Subkey>,
    pub(crate) revocations: Vec<Signature>,
}

/// A name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The newest signature by the primary key.
    self_signature: Option<Signature>,
    pub(crate) revocations: Vec<Signature>,
}

/// A key that the primary key vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subkey {
    pub(crate) key: PublicKey,
    /// The newest signature that binds it.
    pub(crate) binding: Signature,
    pub(crate) revocations: Vec<Signature>,
}

impl Entity {
    /// Reads an entity: none when there is nothing more.
    pub(crate) fn read(packets: &mut Packets<'_>) -> Result<Option<Self>, PgpError> {
        let primary = match packets.next()? {
            None => return Ok(None),
            Some(Packet::Key(packet)) => packet.key,
            Some(other) => {
                packets.put_back(other);
                return Err(PgpError::structural("first packet was not a public/private key"));
            }
        };
        if !primary.can_be_primary() {
            return Err(PgpError::structural("primary key cannot be used for signatures"));
        }
        let (identities, subkeys, revocations) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut entity = Self { primary, identities, subkeys, revocations };
        entity.read_on(packets)?;
        if entity.identities.is_empty() {
            return Err(PgpError::structural("v4 entity without any identities"));
        }
        let mut signed = Signed::new(entity.primary.signed_form());
        for revocation in &entity.revocations {
            let verified = entity.primary.verify(&mut signed.hash(revocation.hash), revocation);
            verified.map_err(|_| PgpError::structural("revocation signature signed by alternate key"))?;
        }
        Ok(Some(entity))
    }

    /// Reads what follows a primary key, up to the next one.
    fn read_on(&mut self, packets: &mut Packets<'_>) -> Result<(), PgpError> {
        while let Some(packet) = packets.next()? {
            match packet {
                Packet::UserId(name) => self.read_identity(name, packets)?,
                Packet::Signature(signature) if signature.kind == kind::KEY_REVOCATION => {
                    self.revocations.push(*signature);
                }
                Packet::Key(key) if key.is_subkey => self.read_subkey(key.key, packets)?,
                Packet::Key(_) => {
                    packets.put_back(packet);
                    break;
                }
                Packet::Signature(_) | Packet::Other => {}
            }
        }
        Ok(())
    }

    fn read_identity(&mut self, name: Vec<u8>, packets: &mut Packets<'_>) -> Result<(), PgpError> {
        let mut content = self.primary.signed_form();
        content.push(0xb4);
        content.extend(u32::try_from(name.len()).unwrap_or(u32::MAX).to_be_bytes());
        content.extend_from_slice(&name);
        let mut signed = Signed::new(content);
        let mut identity = Identity::default();
        let mut is_signed = false;
        while let Some(signature) = next_signature(packets)? {
            let certifies = (kind::FIRST_CERTIFICATION..=kind::LAST_CERTIFICATION).contains(&signature.kind);
            let revokes = signature.kind == kind::CERTIFICATION_REVOCATION;
            if !certifies && !revokes {
                return Err(PgpError::structural("user ID signature with wrong type"));
            }
            if !signature.is_by(&self.primary) {
                continue;
            }
            let verified = self.primary.verify(&mut signed.hash(signature.hash), &signature);
            verified
                .map_err(|error| PgpError::structural(format!("user ID self-signature invalid: {error}")))?;
            is_signed = true;
            if revokes {
                identity.revocations.push(signature);
            } else if is_newer(&signature, identity.self_signature.as_ref()) {
                identity.self_signature = Some(signature);
            }
        }
        if is_signed {
            self.identities.insert(name, identity);
        }
        Ok(())
    }

    fn read_subkey(&mut self, key: PublicKey, packets: &mut Packets<'_>) -> Result<(), PgpError> {
        let invalid = |error: PgpError| PgpError::structural(format!("subkey signature invalid: {error}"));
        let mut signed = Signed::new([self.primary.signed_form(), key.signed_form()].concat());
        let (mut binding, mut revocations) = (None, Vec::new());
        while let Some(signature) = next_signature(packets).map_err(invalid)? {
            if !matches!(signature.kind, kind::SUBKEY_BINDING | kind::SUBKEY_REVOCATION) {
                return Err(PgpError::structural("subkey signature with wrong type"));
            }
            self.verify_binding(&key, &mut signed, &signature).map_err(invalid)?;
            if signature.kind == kind::SUBKEY_REVOCATION {
                revocations.push(signature);
            } else if is_newer(&signature, binding.as_ref()) {
                binding = Some(signature);
            }
        }
        let binding =
            binding.ok_or_else(|| PgpError::structural("subkey packet not followed by signature"))?;
        self.subkeys.push(Subkey { key, binding, revocations });
        Ok(())
    }

    /// Verifies that a subkey belongs to the primary key, and, when it may sign, that it says so itself: else anybody
    /// could claim somebody's subkey.
    fn verify_binding(
        &self,
        subkey: &PublicKey,
        signed: &mut Signed,
        signature: &Signature,
    ) -> Result<(), PgpError> {
        self.primary.verify(&mut signed.hash(signature.hash), signature)?;
        if !signature.allows_signing() {
            return Ok(());
        }
        let Some(embedded) = &signature.embedded else {
            return Err(PgpError::structural("signing subkey is missing cross-signature"));
        };
        subkey
            .verify(&mut signed.hash(embedded.hash), embedded)
            .map_err(|error| PgpError::structural(format!("error while verifying cross-signature: {error}")))
    }

    /// The name that is the first one: the signature of that name says what the primary key is for and how long.
    pub(crate) fn primary_identity(&self) -> Option<&Identity> {
        self.identities.values().reduce(|best, next| if next.is_better_than(best) { next } else { best })
    }

    /// The signature of the first name.
    pub(crate) fn self_signature(&self) -> Option<&Signature> {
        self.primary_identity()?.self_signature.as_ref()
    }
}

impl Identity {
    fn is_better_than(&self, other: &Self) -> bool {
        if self.revocations.len() != other.revocations.len() {
            return self.revocations.len() < other.revocations.len();
        }
        match (&self.self_signature, &other.self_signature) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(other)) if own.is_primary_id != other.is_primary_id => own.is_primary_id,
            (Some(own), Some(other)) => own.created > other.created,
        }
    }
}

fn is_newer(signature: &Signature, other: Option<&Signature>) -> bool {
    other.is_none_or(|other| signature.created > other.created)
}

/// The next packet, when it is a signature.
fn next_signature(packets: &mut Packets<'_>) -> Result<Option<Signature>, PgpError> {
    match packets.next()? {
        Some(Packet::Signature(signature)) => Ok(Some(*signature)),
        Some(other) => {
            packets.put_back(other);
            Ok(None)
        }
        None => Ok(None),
    }
}
