//! The bytes of a YAML stream as text: go-yaml's `readerc.go`.
//!
//! go-yaml decodes its input in pieces of 512 bytes while it scans, so a bad byte is reported only once the scanner
//! comes near it: an earlier syntax error wins. Almost every stream is clean UTF-8 and needs none of this; for the
//! others a [`Window`] replays where the pieces ended.

use std::borrow::Cow;

use crate::chars::{is_continuation, width};

const CHUNK: usize = 512;
const BYTE_ORDER_MARK: &str = "\u{FEFF}";

/// A decoded stream.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    /// The text without its byte order mark, up to the first byte that cannot be read.
    pub(crate) text: Cow<'a, str>,
    /// Which line breaks there can be.
    pub(crate) lines: Lines,
    /// How go-yaml came to the text, where that can be told from outside.
    pub(crate) window: Option<Window>,
}

/// Which line breaks a text can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Line feeds only, as nearly all texts have.
    FeedsOnly,
    /// Any of YAML's.
    Any,
}

/// The pieces in which go-yaml would have decoded the text.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Where in the text each piece ends.
    frontiers: Vec<usize>,
    /// How many pieces were read.
    read: usize,
    /// How many NULs were put behind the end of the text.
    padding: usize,
    /// Where the scanner stood when the last piece was read: the start of go-yaml's buffer.
    start: usize,
    /// What is wrong behind the last piece.
    fault: Option<&'static str>,
}

impl Window {
    /// Where the part of the text ends that was read so far.
    fn frontier(&self) -> usize {
        self.read.checked_sub(1).and_then(|last| self.frontiers.get(last)).copied().unwrap_or(0)
    }

    /// Reads on until `characters` of them stand behind `position`; returns the new end of the part that was read.
    ///
    /// # Errors
    ///
    /// The reader's message when it comes upon a bad byte.
    pub(crate) fn require(
        &mut self,
        text: &str,
        position: usize,
        characters: usize,
    ) -> Result<usize, &'static str> {
        let unread = |window: &Self| {
            let known = text.get(position..window.frontier()).unwrap_or_default();
            known.chars().take(characters).count() + window.padding
        };
        if unread(self) >= characters {
            return Ok(self.frontier());
        }
        self.start = position;
        while unread(self) < characters {
            if self.read < self.frontiers.len() {
                self.read += 1;
            } else if let Some(fault) = self.fault {
                return Err(fault);
            } else {
                self.padding += 1;
                break;
            }
        }
        Ok(self.frontier())
    }

    /// go-yaml looks for a byte order mark at the start of its buffer instead of where it stands.
    pub(crate) fn starts_with_byte_order_mark(&self, text: &str) -> bool {
        text.get(self.start..).is_some_and(|rest| rest.starts_with(BYTE_ORDER_MARK))
    }
}

impl<'a> Input<'a> {
    /// Decodes UTF-8, or UTF-16 with a byte order mark. What is wrong comes up when the text is read.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        match clean_utf8(bytes) {
            // go-yaml turns an empty stream into an empty line.
            Some((text, lines)) => {
                let text = Cow::Borrowed(if bytes.is_empty() { "\n" } else { text });
                Self { text, lines, window: None }
            }
            None => Decoder::new(bytes).run(),
        }
    }
}

/// The text of bytes that go-yaml takes without any complaint and without coming upon a byte order mark.
fn clean_utf8(bytes: &[u8]) -> Option<(&str, Lines)> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).ok()?;
    let (mut control, mut returns) = (0, 0);
    // Without branches, so that the compiler takes many bytes at once.
    for byte in bytes {
        let blank = u8::from(*byte == b'\t') | u8::from(*byte == b'\n') | u8::from(*byte == b'\r');
        control |= (u8::from(*byte < 0x20) & (blank ^ 1)) | u8::from(*byte == 0x7F);
        returns |= u8::from(*byte == b'\r');
    }
    if control != 0 {
        return None;
    }
    let mut breaks = returns != 0;
    // The first bytes of all characters beyond ASCII that are breaks, or may not be there.
    for at in memchr::memchr3_iter(0xC2, 0xE2, 0xEF, bytes) {
        match bytes.get(at..).unwrap_or_default() {
            [0xC2, 0x85, ..] | [0xE2, 0x80, 0xA8 | 0xA9, ..] => breaks = true,
            [0xC2, ..0xA0, ..] | [0xEF, 0xBB, 0xBF, ..] | [0xEF, 0xBF, 0xBE | 0xBF, ..] => return None,
            _ => {}
        }
    }
    Some((text, if breaks { Lines::Any } else { Lines::FeedsOnly }))
}

/// Whether a YAML stream may contain the character.
fn is_allowed(value: u32) -> bool {
    matches!(value, 0x09 | 0x0A | 0x0D | 0x20..=0x7E | 0x85 | 0xA0..=0xD7FF | 0xE000..=0xFFFD | 0x1_0000..=0x10_FFFF)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16 { little: bool },
}

/// A step of decoding: a character and its length, too few bytes for one, or an error.
enum Step {
    Character(char, usize),
    Incomplete(&'static str),
    Fault(&'static str),
}

struct Decoder<'a> {
    bytes: &'a [u8],
    encoding: Encoding,
    position: usize,
    text: String,
    window: Window,
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let (encoding, position) = match bytes {
            [0xFF, 0xFE, ..] => (Encoding::Utf16 { little: true }, 2),
            [0xFE, 0xFF, ..] => (Encoding::Utf16 { little: false }, 2),
            [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
            _ => (Encoding::Utf8, 0),
        };
        Self {
            bytes,
            encoding,
            position,
            text: String::with_capacity(bytes.len()),
            window: Window::default(),
        }
    }

    fn run(mut self) -> Input<'a> {
        // The byte order mark counts for the first piece.
        let mut end = CHUNK;
        while self.position < self.bytes.len() {
            let before = self.position;
            match self.decode_chunk(end.min(self.bytes.len())) {
                Ok(_) if self.position > before => self.window.frontiers.push(self.text.len()),
                Ok(incomplete) => {
                    self.window.fault = incomplete;
                    break;
                }
                Err(fault) => {
                    self.window.fault = Some(fault);
                    break;
                }
            }
            end = self.position + CHUNK;
        }
        let clean = self.window.fault.is_none() && !self.text.contains(BYTE_ORDER_MARK);
        Input { text: Cow::Owned(self.text), lines: Lines::Any, window: (!clean).then_some(self.window) }
    }

    /// Decodes whole characters up to `end`; returns what to say when the bytes left over are the last of all.
    fn decode_chunk(&mut self, end: usize) -> Result<Option<&'static str>, &'static str> {
        while self.position < end {
            let rest = self.bytes.get(self.position..end).unwrap_or_default();
            let step = match self.encoding {
                Encoding::Utf8 => decode_utf8(rest),
                Encoding::Utf16 { little } => decode_utf16(rest, little),
            };
            match step {
                Step::Character(character, length) => {
                    if !is_allowed(character as u32) {
                        return Err("control characters are not allowed");
                    }
                    self.text.push(character);
                    self.position += length;
                }
                Step::Incomplete(message) => return Ok(Some(message)),
                Step::Fault(message) => return Err(message),
            }
        }
        Ok(None)
    }
}

fn decode_utf8(bytes: &[u8]) -> Step {
    let Some(&first) = bytes.first() else { return Step::Incomplete("") };
    let length = width(first);
    if length == 0 {
        return Step::Fault("invalid leading UTF-8 octet");
    }
    let Some(sequence) = bytes.get(..length) else {
        return Step::Incomplete("incomplete UTF-8 octet sequence");
    };
    let lead = match length {
        1 => u32::from(first),
        2 => u32::from(first & 0x1F),
        3 => u32::from(first & 0x0F),
        _ => u32::from(first & 0x07),
    };
    let mut value = lead;
    for byte in sequence.iter().skip(1) {
        if !is_continuation(*byte) {
            return Step::Fault("invalid trailing UTF-8 octet");
        }
        value = (value << 6) | u32::from(byte & 0x3F);
    }
    let shortest = match length {
        1 => 0,
        2 => 0x80,
        3 => 0x800,
        _ => 0x1_0000,
    };
    if value < shortest {
        return Step::Fault("invalid length of a UTF-8 sequence");
    }
    match char::from_u32(value) {
        Some(character) => Step::Character(character, length),
        None => Step::Fault("invalid Unicode character"),
    }
}

fn decode_utf16(bytes: &[u8], little: bool) -> Step {
    let unit = |at: usize| {
        let pair = [bytes.get(at).copied()?, bytes.get(at + 1).copied()?];
        Some(if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    };
    let Some(first) = unit(0) else { return Step::Incomplete("incomplete UTF-16 character") };
    match first & 0xFC00 {
        0xDC00 => Step::Fault("unexpected low surrogate area"),
        0xD800 => {
            let Some(second) = unit(2) else {
                return Step::Incomplete("incomplete UTF-16 surrogate pair");
            };
            if second & 0xFC00 != 0xDC00 {
                return Step::Fault("expected low surrogate area");
            }
            let value = 0x1_0000 + (u32::from(first & 0x3FF) << 10) + u32::from(second & 0x3FF);
            Step::Character(char::from_u32(value).unwrap_or('\u{FFFD}'), 4)
        }
        _ => Step::Character(char::from_u32(u32::from(first)).unwrap_or('\u{FFFD}'), 2),
    }
}
