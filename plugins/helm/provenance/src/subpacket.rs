//! The parts of a signature that say something (RFC 9580 §5.2.3.7).

use crate::{
    error::PgpError,
    signature::{Signature, kind},
    source::Stop,
};

/// What the parts say.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) created: Option<u32>,
    pub(crate) lifetime: Option<u32>,
    pub(crate) key_lifetime: Option<u32>,
    pub(crate) issuer: Option<u64>,
    pub(crate) issuer_fingerprint: Option<Vec<u8>>,
    pub(crate) is_primary_id: bool,
    pub(crate) flags: Option<u8>,
    pub(crate) revocation_reason: Option<u8>,
    pub(crate) critical_notation: Option<Vec<u8>>,
    pub(crate) embedded: Option<Box<Signature>>,
}

const ISSUER: u8 = 16;
const EMBEDDED: u8 = 32;
const FINGERPRINT: u8 = 33;

/// Reads the parts of one of a signature's two areas. Of those that are not hashed anybody could have written any, so
/// only those count that prove themselves.
pub(crate) fn read(area: &[u8], hashed: bool, facts: Facts, depth: u8) -> Result<Facts, Stop> {
    let mut facts = facts;
    let mut area = area;
    while !area.is_empty() {
        let (part, rest) = part(area)?;
        area = rest;
        let [first, content @ ..] = part else {
            return Err(PgpError::structural("zero length signature subpacket").into());
        };
        let (number, critical) = (first & 0x7f, first & 0x80 != 0);
        if hashed || matches!(number, ISSUER | EMBEDDED | FINGERPRINT) {
            facts.take(number, critical, content, depth)?;
        }
    }
    if facts.created.is_none() {
        return Err(PgpError::structural("no creation time in signature").into());
    }
    Ok(facts)
}

/// Cuts a part off.
fn part(area: &[u8]) -> Result<(&[u8], &[u8]), PgpError> {
    let truncated = || PgpError::structural("signature subpacket truncated");
    let (length, rest) = match area {
        [length @ 0..=191, rest @ ..] => (u32::from(*length), rest),
        [high @ 192..=254, low, rest @ ..] => ((u32::from(high - 192) << 8) + u32::from(*low) + 192, rest),
        [255, a, b, c, d, rest @ ..] => (u32::from_be_bytes([*a, *b, *c, *d]), rest),
        _ => return Err(truncated()),
    };
    let length = usize::try_from(length).map_err(|_| truncated())?;
    rest.split_at_checked(length).ok_or_else(truncated)
}

impl Facts {
    fn take(&mut self, number: u8, critical: bool, content: &[u8], depth: u8) -> Result<(), Stop> {
        match number {
            2 => self.created = Some(word(content, "signature creation time not four bytes")?),
            3 => self.lifetime = Some(word(content, "expiration subpacket with bad length")?),
            9 => self.key_lifetime = Some(word(content, "key expiration subpacket with bad length")?),
            ISSUER => {
                let id = array(content, "issuer subpacket with bad length")?;
                self.issuer = Some(u64::from_be_bytes(id));
            }
            20 => {
                let name = notation(content)?;
                if critical && self.critical_notation.is_none() {
                    self.critical_notation = Some(name.to_owned());
                }
            }
            25 => {
                let [primary] = array(content, "primary user id subpacket with bad length")?;
                self.is_primary_id = primary > 0;
            }
            27 => {
                let flags = content.first().copied().unwrap_or_default();
                self.flags = Some(self.flags.unwrap_or_default() | flags);
            }
            29 => {
                let reason = content.first().copied();
                self.revocation_reason =
                    Some(reason.ok_or_else(|| PgpError::structural("empty revocation reason subpacket"))?);
            }
            EMBEDDED => self.embed(content, depth)?,
            FINGERPRINT => self.fingerprint(content)?,
            other => check(other, critical, content)?,
        }
        Ok(())
    }

    fn embed(&mut self, content: &[u8], depth: u8) -> Result<(), Stop> {
        if self.embedded.is_some() {
            return Err(PgpError::structural("Cannot have multiple embedded signatures").into());
        }
        let mut content = content;
        let signature = Signature::read_within(&mut content, depth + 1)?;
        if signature.kind != kind::PRIMARY_KEY_BINDING {
            let text = format!("cross-signature has unexpected type {}", signature.kind);
            return Err(PgpError::structural(text).into());
        }
        self.embedded = Some(Box::new(signature));
        Ok(())
    }

    fn fingerprint(&mut self, content: &[u8]) -> Result<(), PgpError> {
        let [version, fingerprint @ ..] = content else {
            return Err(PgpError::structural("empty issuer fingerprint subpacket"));
        };
        let id = if *version >= 5 { fingerprint.first_chunk() } else { fingerprint.last_chunk() };
        match id {
            Some(id) if fingerprint.len() == fingerprint_length(*version) => {
                self.issuer = Some(u64::from_be_bytes(*id));
                self.issuer_fingerprint = Some(fingerprint.to_owned());
                Ok(())
            }
            _ => Err(PgpError::structural("bad fingerprint length")),
        }
    }
}

fn fingerprint_length(version: u8) -> usize {
    if version >= 5 { 32 } else { 20 }
}

fn array<const N: usize>(content: &[u8], problem: &'static str) -> Result<[u8; N], PgpError> {
    content.try_into().map_err(|_| PgpError::structural(problem))
}

fn word(content: &[u8], problem: &'static str) -> Result<u32, PgpError> {
    array(content, problem).map(u32::from_be_bytes)
}

/// The name of a notation.
fn notation(content: &[u8]) -> Result<&[u8], PgpError> {
    let bad = || PgpError::structural("notation data subpacket with bad length");
    let [_, _, _, _, a, b, c, d, text @ ..] = content else { return Err(bad()) };
    let name = usize::from(u16::from_be_bytes([*a, *b]));
    let value = usize::from(u16::from_be_bytes([*c, *d]));
    if text.len() != name + value {
        return Err(bad());
    }
    text.get(..name).ok_or_else(bad)
}

/// Looks at a part that says nothing of interest: it may be wrong all the same.
fn check(number: u8, critical: bool, content: &[u8]) -> Result<(), PgpError> {
    let structural = |text: &'static str| Err(PgpError::structural(text));
    match (number, content) {
        (4, [0, ..]) => Err(PgpError::unsupported("signature with non-exportable certification")),
        // Go crashes here.
        (4, []) => structural("exportable certification subpacket with bad length"),
        (5, content) if content.len() != 2 => structural("trust subpacket with bad length"),
        (6, []) => structural("regexp subpacket with bad length"),
        (6, [.., end]) if *end != 0 => structural("expected regular expression to be null-terminated"),
        (35, []) => structural("invalid intended recipient fingerpring length"),
        (35, [version, fingerprint @ ..]) if fingerprint.len() != fingerprint_length(*version) => {
            structural("invalid fingerprint length")
        }
        (39, content) if !content.len().is_multiple_of(2) => structural("invalid aead cipher suite length"),
        (4..=6 | 11 | 21..=24 | 26 | 28 | 30 | 35 | 39, _) => Ok(()),
        _ if critical => {
            Err(PgpError::unsupported(format!("unknown critical signature subpacket type {number}")))
        }
        _ => Ok(()),
    }
}
