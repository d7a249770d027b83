//! Packets (RFC 9580 §4): where they begin and end, and which of them matter.

use crate::{
    error::PgpError,
    key::PublicKey,
    secret,
    signature::Signature,
    source::{Source, Stop, array, array_or_end, byte, consume, rest},
};

/// A packet that something is done with.
#[derive(Debug)]
pub(crate) enum Packet {
    Signature(Box<Signature>),
    Key(Box<KeyPacket>),
    UserId(Vec<u8>),
    /// A packet that belongs neither to a key nor to a signature.
    Other,
}

/// A key as it stands in a keyring.
#[derive(Debug)]
pub(crate) struct KeyPacket {
    pub(crate) key: PublicKey,
    pub(crate) is_subkey: bool,
    pub(crate) is_secret: bool,
}

/// The packets of a source.
pub(crate) struct Packets<'a> {
    source: &'a mut dyn Source,
    put_back: Option<Packet>,
    ended: bool,
    newer: Option<PgpError>,
}

impl<'a> Packets<'a> {
    pub(crate) fn new(source: &'a mut dyn Source) -> Self {
        Self { source, put_back: None, ended: false, newer: None }
    }

    /// The next packet. What is of an unknown kind and may be skipped is skipped, and so is what uses an algorithm or
    /// version that is not known.
    pub(crate) fn next(&mut self) -> Result<Option<Packet>, PgpError> {
        if let Some(packet) = self.put_back.take() {
            return Ok(Some(packet));
        }
        while !self.ended {
            match read(self.source) {
                Ok(Some(packet)) => return Ok(Some(packet)),
                Ok(None) | Err(Stop::Error(PgpError::Unsupported(_))) => {}
                Err(Stop::Error(error @ PgpError::Version6(_))) => {
                    self.newer.get_or_insert(error);
                }
                Err(Stop::Error(error)) => return Err(error),
                Err(Stop::End) => self.ended = true,
            }
        }
        Ok(None)
    }

    /// Whether a packet was skipped that Helm would not skip: of version 6. When nothing is found that is why.
    pub(crate) fn newer(&self) -> Option<PgpError> {
        self.newer.clone()
    }

    /// Gives a packet back: it is the next one.
    pub(crate) fn put_back(&mut self, packet: Packet) {
        self.put_back = Some(packet);
    }
}

/// Reads one packet; none for one to skip. A packet with something wrong in it is read to its end. One that is well is
/// not: what is left in it is taken for packets, as go-crypto does.
fn read(source: &mut dyn Source) -> Result<Option<Packet>, Stop> {
    let (tag, mut content) = header(source)?;
    let packet = parse(tag, &mut content);
    if packet.is_err() {
        consume(&mut content);
    }
    packet
}

fn parse(tag: u8, content: &mut Content<'_>) -> Result<Option<Packet>, Stop> {
    Ok(Some(match tag {
        2 => Packet::Signature(Box::new(Signature::read(content)?)),
        5..=7 | 14 => {
            let is_secret = matches!(tag, 5 | 7);
            let key = PublicKey::read(content)?;
            if is_secret {
                secret::skip(content)?;
            }
            Packet::Key(Box::new(KeyPacket { key, is_subkey: matches!(tag, 7 | 14), is_secret }))
        }
        10 => {
            if array_or_end(content)? != *b"PGP" {
                return Err(PgpError::structural("invalid marker packet").into());
            }
            return Ok(None);
        }
        12 | 40.. => {
            consume(content);
            return Ok(None);
        }
        13 => Packet::UserId(rest(content)?),
        1 | 3 | 4 | 8 | 9 | 11 | 17 | 18 | 20 | 21 => {
            consume(content);
            Packet::Other
        }
        unknown => return Err(PgpError::CriticalPacket(unknown).into()),
    }))
}

/// How far a packet goes.
enum Extent {
    /// So many bytes.
    Span(u32),
    /// So many bytes, and then another length.
    Partial(u32),
    /// To the end of everything.
    Rest,
}

/// The content of a packet.
struct Content<'a> {
    source: &'a mut dyn Source,
    extent: Extent,
}

impl Source for Content<'_> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PgpError> {
        while matches!(self.extent, Extent::Partial(0)) {
            self.extent = length(self.source)?;
        }
        let (Extent::Span(left) | Extent::Partial(left)) = &mut self.extent else {
            return self.source.read(into);
        };
        let most = usize::try_from(*left).unwrap_or(usize::MAX).min(into.len());
        let Some(room) = into.get_mut(..most).filter(|room| !room.is_empty()) else { return Ok(0) };
        let read = self.source.read(room)?;
        if read == 0 {
            return Err(PgpError::UnexpectedEnd);
        }
        *left = left.saturating_sub(u32::try_from(read).unwrap_or(u32::MAX));
        Ok(read)
    }
}

/// Reads a packet's first bytes: its kind and how far it goes.
fn header(source: &mut dyn Source) -> Result<(u8, Content<'_>), Stop> {
    let [first] = array_or_end(source)?;
    if first & 0x80 == 0 {
        return Err(PgpError::structural("tag byte does not have MSB set").into());
    }
    if first & 0x40 != 0 {
        let extent = length(source)?;
        return Ok((first & 0x3f, Content { source, extent }));
    }
    let extent = match first & 3 {
        0 => Extent::Span(u32::from(byte(source)?)),
        1 => Extent::Span(u32::from(u16::from_be_bytes(array(source)?))),
        2 => Extent::Span(u32::from_be_bytes(array(source)?)),
        _ => Extent::Rest,
    };
    Ok(((first & 0x3f) >> 2, Content { source, extent }))
}

/// Reads a length of the new format.
fn length(source: &mut dyn Source) -> Result<Extent, PgpError> {
    Ok(match byte(source)? {
        short @ 0..=191 => Extent::Span(u32::from(short)),
        first @ 192..=223 => Extent::Span((u32::from(first - 192) << 8) + u32::from(byte(source)?) + 192),
        partial @ 224..=254 => Extent::Partial(1 << (partial & 0x1f)),
        255 => Extent::Span(u32::from_be_bytes(array(source)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_ids(mut bytes: &[u8]) -> Result<Vec<String>, PgpError> {
        let mut packets = Packets::new(&mut bytes);
        let mut found = Vec::new();
        while let Some(packet) = packets.next()? {
            if let Packet::UserId(id) = packet {
                found.push(String::from_utf8(id).unwrap());
            }
        }
        Ok(found)
    }

    #[test]
    fn packets_of_all_lengths_are_read() {
        let bytes = b"\xb4\x02ab\xb5\x00\x02cd\xb6\x00\x00\x00\x02ef\xcd\x02gh\xcd\xff\x00\x00\x00\x02ij\xcd\xe1kl\xe0m\x01n\xb7op";
        assert_eq!(user_ids(bytes).unwrap(), ["ab", "cd", "ef", "gh", "ij", "klmn", "op"]);
    }

    #[test]
    fn what_may_be_skipped_is_skipped() {
        // Trust, a marker, a private kind.
        assert_eq!(user_ids(b"\xcc\x01x\xca\x03PGP\xfc\x02yy\xcd\x01a").unwrap(), ["a"]);
    }

    #[test]
    fn what_must_not_be_skipped_is_an_error() {
        assert_eq!(user_ids(b"\xcd\x01a\xe0\x01x"), Err(PgpError::CriticalPacket(32)));
        assert_eq!(user_ids(b"\xca\x03PGX"), Err(PgpError::structural("invalid marker packet")));
        assert_eq!(user_ids(b"a"), Err(PgpError::structural("tag byte does not have MSB set")));
        assert_eq!(user_ids(b"\xcd\x05ab"), Err(PgpError::UnexpectedEnd));
        assert_eq!(user_ids(b"\xcd\xff\xff\xff\xff\xff"), Err(PgpError::UnexpectedEnd));
        assert_eq!(user_ids(b"\xcd\xe1ab"), Err(PgpError::UnexpectedEnd));
        assert_eq!(user_ids(b"\xcd"), Err(PgpError::UnexpectedEnd));
    }
}
