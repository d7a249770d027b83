//! ASCII armor (RFC 9580 §6), as go-crypto reads it: whatever stands before a block is skipped, checksums are not
//! looked at, and a block ends at its checksum, its last line or the end of the text.

use crate::{
    base64::{Characters, Decoder, More},
    error::PgpError,
    source::Source,
    text::trim,
};

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";
/// What is read at a time; a longer line is no armor.
const WINDOW: usize = 100;
/// Longer lines of base64 are refused.
const MAX_LINE: usize = 96;

/// An armored block.
pub(crate) struct Block<'a> {
    kind: &'a [u8],
    body: Decoder<Body<'a>>,
}

impl<'a> Block<'a> {
    /// What stands between the dashes of its first line: `PGP SIGNATURE`.
    pub(crate) fn kind(&self) -> &'a [u8] {
        self.kind
    }

    /// What follows after what was read of the block. Go reads ahead and throws away what it has read, which can be
    /// the beginning of the next block: that block is then skipped, by Helm and so by us.
    pub(crate) fn rest(&self) -> &'a [u8] {
        let lines = &self.body.characters().lines;
        lines.text.get(lines.filled..).unwrap_or_default()
    }
}

impl Source for Block<'_> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PgpError> {
        self.body.read(into)
    }
}

/// The first block of a text, read up to its content.
pub(crate) fn decode(text: &[u8]) -> Option<Block<'_>> {
    let mut lines = Lines::new(text);
    // Whether the last piece that was looked at was cut off, so that the next one is no line of its own.
    let mut cut = false;
    loop {
        let kind = first_line(&mut lines, &mut cut)?;
        if headers(&mut lines)? {
            return Some(Block { kind, body: Decoder::new(Body { lines, waiting: &[], ended: false }) });
        }
    }
}

/// Looks for a block's first line, and gives what it says.
fn first_line<'a>(lines: &mut Lines<'a>, cut: &mut bool) -> Option<&'a [u8]> {
    loop {
        let goes_on = *cut;
        let line = lines.next()?;
        *cut = line.cut;
        if line.cut || goes_on {
            continue;
        }
        let line = trim(line.text);
        if line.len() > BEGIN.len() + DASHES.len() && line.starts_with(BEGIN) {
            return line.get(BEGIN.len()..line.len() - DASHES.len());
        }
    }
}

/// Reads over the headers; false when there is something else.
fn headers(lines: &mut Lines<'_>) -> Option<bool> {
    let mut cut = false;
    loop {
        let goes_on = cut;
        let line = lines.next()?;
        cut = line.cut;
        if goes_on {
            continue;
        }
        let line = trim(line.text);
        if line.is_empty() {
            return Some(true);
        }
        if !line.contains(&b':') {
            return Some(false);
        }
    }
}

/// A line, or the piece of one.
struct Line<'a> {
    text: &'a [u8],
    /// Whether it goes on.
    cut: bool,
}

/// The lines of a text, as Go's `bufio.Reader` finds them with a buffer of [`WINDOW`] bytes.
struct Lines<'a> {
    text: &'a [u8],
    /// What was given out.
    at: usize,
    /// What was read into the buffer.
    filled: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, filled: 0 }
    }

    fn next(&mut self) -> Option<Line<'a>> {
        let window = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        let mut end = memchr::memchr(b'\n', window(self.at, self.filled));
        if end.is_none() && self.filled < self.at + WINDOW {
            self.filled = self.text.len().min(self.at + WINDOW);
            end = memchr::memchr(b'\n', window(self.at, self.filled));
        }
        let piece = window(self.at, self.filled);
        if let Some(end) = end {
            self.at += end + 1;
            let line = piece.get(..end).unwrap_or_default();
            return Some(Line { text: line.strip_suffix(b"\r").unwrap_or(line), cut: false });
        }
        if piece.len() >= WINDOW {
            // A line end of two bytes is not torn apart.
            let text = piece.strip_suffix(b"\r").unwrap_or(piece);
            self.at += text.len();
            return Some(Line { text, cut: true });
        }
        self.at = self.filled;
        (!piece.is_empty()).then_some(Line { text: piece, cut: false })
    }
}

/// The characters of a block's content.
struct Body<'a> {
    lines: Lines<'a>,
    waiting: &'a [u8],
    ended: bool,
}

impl Characters for Body<'_> {
    fn read(&mut self, into: &mut Vec<u8>, most: usize) -> Result<More, PgpError> {
        if self.ended {
            return Ok(More::No);
        }
        if self.waiting.is_empty() {
            let Some(line) = self.lines.next() else { return Ok(More::No) };
            if line.cut {
                return Err(PgpError::structural("armor invalid"));
            }
            let line = trim(line.text);
            if line.starts_with(END) || (line.len() == 5 && line.starts_with(b"=")) {
                self.ended = true;
                return Ok(More::No);
            }
            if line.len() > MAX_LINE {
                return Err(PgpError::structural("armor invalid"));
            }
            self.waiting = line;
        }
        let (now, later) = self.waiting.split_at(self.waiting.len().min(most));
        into.extend(now.iter().filter(|character| **character != b'\r'));
        self.waiting = later;
        Ok(More::Yes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::rest;

    fn content(text: &str) -> Result<Vec<u8>, PgpError> {
        rest(&mut decode(text.as_bytes()).expect("a block"))
    }

    #[test]
    fn a_block_is_found_and_decoded() {
        let text = "garbage\n-----BEGIN X-----\nno header\n-----BEGIN PGP MESSAGE-----\nVersion: 1\n\naGVsbG8g\nd29y\r\n bGQ=\n=abcd\n-----END";
        let mut block = decode(text.as_bytes()).unwrap();
        assert_eq!(block.kind(), b"PGP MESSAGE");
        assert_eq!(rest(&mut block).unwrap(), b"hello world");
    }

    #[test]
    fn a_text_without_a_block_has_none() {
        for text in ["", "\n\n", "-----BEGIN -----\n\n", "-----BEGIN X-----\n", "-----BEGIN X-----\nA: b"] {
            assert!(decode(text.as_bytes()).is_none(), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        assert_eq!(content("-----BEGIN X-----\n\naGVs*G8g\n"), Err(PgpError::Base64(4)));
        assert_eq!(content("-----BEGIN X-----\n\na===\n"), Err(PgpError::Base64(1)));
        assert_eq!(content("-----BEGIN X-----\n\naG=s\n"), Err(PgpError::Base64(2)));
        assert_eq!(content("-----BEGIN X-----\n\naGVsb\n"), Err(PgpError::UnexpectedEnd));
        assert_eq!(content("-----BEGIN X-----\n\naGVsbG8=aGVs\n"), Err(PgpError::Base64(8)));
    }

    #[test]
    fn lines_that_are_too_long_are_refused() {
        let long = |length| format!("-----BEGIN X-----\n\n{}\n", "A".repeat(length));
        assert_eq!(content(&long(96)).map(|bytes| bytes.len()), Ok(72));
        for length in [97, 99, 100, 101, 300] {
            assert_eq!(content(&long(length)), Err(PgpError::structural("armor invalid")), "{length}");
        }
    }
}
