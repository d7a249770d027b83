//! Base64 from lines, as Go's streaming decoder reads it.
//!
//! It decodes pieces, and which pieces these are depends on how much is asked for. This shows: padding may stand within
//! the text when a piece ends with it, and errors name the byte of the piece.

use crate::{error::PgpError, source::Source};

const BUFFER: usize = 1024;

/// A decoder of what a source of characters gives.
pub(crate) struct Decoder<S> {
    characters: S,
    waiting: Vec<u8>,
    decoded: Vec<u8>,
    given: usize,
    /// What the characters ended with.
    end: Option<Result<(), PgpError>>,
    failed: Option<PgpError>,
}

/// Where characters come from, line ends left out: some, or none for now (an empty line), or no more.
pub(crate) trait Characters {
    /// Appends at most `most` characters.
    fn read(&mut self, into: &mut Vec<u8>, most: usize) -> Result<More, PgpError>;
}

/// Whether characters may follow.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum More {
    Yes,
    No,
}

impl<S: Characters> Decoder<S> {
    pub(crate) fn new(characters: S) -> Self {
        Self { characters, waiting: Vec::new(), decoded: Vec::new(), given: 0, end: None, failed: None }
    }

    pub(crate) fn characters(&self) -> &S {
        &self.characters
    }

    /// Gives what is decoded already.
    fn give(&mut self, into: &mut [u8]) -> usize {
        let left = self.decoded.get(self.given..).unwrap_or_default();
        let count = left.len().min(into.len());
        if let (Some(room), Some(bytes)) = (into.get_mut(..count), left.get(..count)) {
            room.copy_from_slice(bytes);
        }
        self.given += count;
        count
    }

    /// Waits for four characters at least. `wanted` is the number of bytes that were asked for.
    fn gather(&mut self, wanted: usize) {
        let most = (wanted / 3 * 4).clamp(4, BUFFER);
        while self.waiting.len() < 4 && self.end.is_none() {
            let room = most - self.waiting.len();
            match self.characters.read(&mut self.waiting, room) {
                Ok(More::Yes) => {}
                Ok(More::No) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
    }
}

impl<S: Characters> Source for Decoder<S> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PgpError> {
        let given = self.give(into);
        if given > 0 || into.is_empty() {
            return Ok(given);
        }
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.gather(into.len());
        if self.waiting.len() < 4 {
            let error = match &self.end {
                Some(Err(error)) => error.clone(),
                _ if self.waiting.is_empty() => return Ok(0),
                _ => PgpError::UnexpectedEnd,
            };
            self.failed = Some(error.clone());
            return Err(error);
        }
        let whole = self.waiting.len() / 4 * 4;
        let left = self.waiting.split_off(whole);
        let piece = std::mem::replace(&mut self.waiting, left);
        self.decoded.clear();
        self.given = 0;
        if let Err(at) = decode(&piece, &mut self.decoded) {
            self.failed = Some(PgpError::Base64(at));
        }
        match (self.give(into), &self.failed) {
            (0, Some(error)) => Err(error.clone()),
            (given, _) => Ok(given),
        }
    }
}

fn value(character: u8) -> Option<u8> {
    Some(match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// Decodes groups of four characters; an error is the offset of the character that is wrong.
fn decode(piece: &[u8], into: &mut Vec<u8>) -> Result<(), usize> {
    let (groups, _) = piece.as_chunks::<4>();
    for (index, group) in groups.iter().enumerate() {
        let at = index * 4;
        let mut bits = 0;
        let mut known = 0;
        for (place, character) in group.iter().enumerate() {
            let Some(value) = value(*character) else {
                if *character != b'=' || place < 2 {
                    return Err(at + place);
                }
                break;
            };
            bits = bits << 6 | u32::from(value);
            known = place + 1;
        }
        let [_, first, second, third] = (bits << (6 * (4 - known))).to_be_bytes();
        match known {
            4 => into.extend([first, second, third]),
            3 => into.extend([first, second]),
            // The third is a mark of padding, and so has the fourth to be; Go blames the third.
            _ if !group.ends_with(b"==") => return Err(at + 2),
            _ => into.push(first),
        }
        if known < 4 && at + 4 < piece.len() {
            return Err(at + 4);
        }
    }
    Ok(())
}
