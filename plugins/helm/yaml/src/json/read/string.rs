//! JSON strings and the characters that error messages name.

use std::borrow::Cow;

use super::{Error, Reader, unexpected_end};
use crate::utf8;

impl<'t> Reader<'t> {
    /// A string, the quote in front of it not yet passed. Bytes that are no UTF-8 become U+FFFD, and so do halves of
    /// surrogate pairs.
    pub(super) fn string(&mut self) -> Result<Cow<'t, str>, Error> {
        self.position += 1;
        let start = self.position;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            let text = self.bytes.get(start..self.position).unwrap_or_default();
            self.position += 1;
            return Ok(utf8::to_valid(text));
        }
        let mut text = Vec::new();
        let mut done = start;
        loop {
            text.extend_from_slice(self.bytes.get(done..self.position).unwrap_or_default());
            match self.peek() {
                None => return Err(unexpected_end()),
                Some(b'"') => break,
                Some(b'\\') => {
                    let character = self.escape()?;
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(_) => return self.invalid("in string"),
            }
            done = self.position;
            self.skip_plain();
        }
        self.position += 1;
        Ok(Cow::Owned(utf8::to_valid(&text).into_owned()))
    }

    /// Passes everything but quotes, backslashes and control characters.
    fn skip_plain(&mut self) {
        let plain = |byte: &&u8| !matches!(byte, b'"' | b'\\' | 0..=0x1F);
        self.position += self.rest().iter().take_while(plain).count();
    }

    fn escape(&mut self) -> Result<char, Error> {
        let character = match self.rest().get(1) {
            None => return Err(unexpected_end()),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\x08',
            Some(b'f') => '\x0C',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code(),
            Some(_) => return self.bad_escape(2),
        };
        self.position += 2;
        Ok(character)
    }

    /// `\uXXXX`, or two of them that make a surrogate pair.
    fn code(&mut self) -> Result<char, Error> {
        // Go asks for more of a stream only when the escape may still become one.
        let begins_well = |escape: &[u8]| escape.iter().skip(2).all(u8::is_ascii_hexdigit);
        let rest = match self.in_sight() {
            cut_off if cut_off.len() < 6 && begins_well(cut_off) => self.rest(),
            rest => rest,
        };
        if rest.len() < 6 {
            return if begins_well(rest) { Err(unexpected_end()) } else { self.bad_escape(rest.len()) };
        }
        let Some(first) = code_unit(rest) else { return self.bad_escape(6) };
        self.position += 6;
        if let Some(character) = char::from_u32(u32::from(first)) {
            return Ok(character);
        }
        let pair = code_unit(self.rest()).map(|second| char::decode_utf16([first, second]).next());
        match pair {
            Some(Some(Ok(character))) => {
                self.position += 6;
                Ok(character)
            }
            _ => Ok(char::REPLACEMENT_CHARACTER),
        }
    }

    /// Complains about an escape; the place of the error is its end.
    fn bad_escape<T>(&mut self, length: usize) -> Result<T, Error> {
        let escape = self.rest().get(..length).unwrap_or_default();
        let error = Error::Syntax(format!("invalid escape sequence {} in string", quote_escape(escape)));
        self.position += length.saturating_sub(1);
        Err(error)
    }
}

/// The four hexadecimal digits behind `\u`.
fn code_unit(bytes: &[u8]) -> Option<u16> {
    let [b'\\', b'u', digits @ ..] = bytes.get(..6)? else { return None };
    digits.iter().try_fold(0_u16, |value, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(value << 4 | u16::try_from(digit).ok()?)
    })
}

/// The bytes of the first character; one byte if that is no UTF-8.
pub(super) fn first_character(bytes: &[u8]) -> &[u8] {
    let length = match bytes.utf8_chunks().next() {
        Some(chunk) => chunk.valid().chars().next().map_or(1, char::len_utf8),
        None => 0,
    };
    bytes.get(..length).unwrap_or_default()
}

/// A character as `strconv.QuoteRune` prints it; a byte that is no UTF-8 as `'\xff'`.
pub(super) fn quote_character(character: &[u8]) -> String {
    match character {
        b"'" => r"'\''".to_owned(),
        b"\"" => "'\"'".to_owned(),
        _ => {
            let quoted = helm_template::fmt::quote(character);
            let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            format!("'{}'", inner.unwrap_or(&quoted))
        }
    }
}

/// An escape between backquotes, or quoted where that would not be readable.
fn quote_escape(escape: &[u8]) -> String {
    let quoted = helm_template::fmt::quote(escape);
    let readable = std::str::from_utf8(escape).is_ok_and(|text| {
        // What `quote` escapes beyond quotes and backslashes is not printable.
        !text.chars().any(|character| {
            character == '`'
                || character == char::REPLACEMENT_CHARACTER
                || character.is_whitespace()
                || !is_printable(character)
        })
    });
    match std::str::from_utf8(escape) {
        Ok(text) if readable => format!("`{text}`"),
        _ => quoted,
    }
}

/// Whether Go prints a character as it is.
fn is_printable(character: char) -> bool {
    matches!(character, '"' | '\\') || {
        let text = character.to_string();
        helm_template::fmt::quote(text.as_bytes()).len() == text.len() + 2
    }
}
