//! `%YAML` and `%TAG` lines, and tags.

use super::Scanner;
use crate::chars::{is_alpha, width};
use crate::nodes::mark::{Mark, NodeError};
use crate::nodes::token::TokenKind;

/// How many digits go-yaml takes for a number of a `%YAML` line.
const MAX_VERSION_DIGITS: usize = 2;

impl Scanner<'_> {
    pub(super) fn fetch_directive(&mut self) -> Result<(), NodeError> {
        self.unroll_indent(-1, self.at.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at.mark();
        self.at.skip();
        let kind = match self.scan_directive_name(start)?.as_slice() {
            b"YAML" => self.scan_version(start)?,
            b"TAG" => self.scan_tag_prefix(start)?,
            _ => return self.error("found unknown directive name", start),
        };
        self.at.skip_blanks()?;
        if self.at.current() == b'#' {
            self.at.skip_to_line_end()?;
        }
        if !self.at.is_breakz_at(0) {
            return self.error("did not find expected comment or line break", start);
        }
        if self.at.is_break_at(0) {
            self.at.require(2)?;
            self.at.skip_line();
        }
        self.push(kind, start);
        Ok(())
    }

    fn scan_directive_name(&mut self, start: Mark) -> Result<Vec<u8>, NodeError> {
        self.at.require(1)?;
        let mut name = Vec::new();
        self.take_alpha(&mut name)?;
        if name.is_empty() {
            return self.error("could not find expected directive name", start);
        }
        if !self.at.is_blankz_at(0) {
            return self.error("found unexpected non-alphabetical character", start);
        }
        Ok(name)
    }

    fn scan_version(&mut self, start: Mark) -> Result<TokenKind, NodeError> {
        self.at.skip_blanks()?;
        let major = self.scan_version_number(start)?;
        if self.at.current() != b'.' {
            return self.error("did not find expected digit or '.' character", start);
        }
        self.at.skip();
        let minor = self.scan_version_number(start)?;
        Ok(TokenKind::VersionDirective(major, minor))
    }

    fn scan_version_number(&mut self, start: Mark) -> Result<u8, NodeError> {
        self.at.require(1)?;
        let (mut value, mut length) = (0, 0);
        while self.at.current().is_ascii_digit() {
            length += 1;
            if length > MAX_VERSION_DIGITS {
                return self.error("found extremely long version number", start);
            }
            value = value * 10 + (self.at.current() - b'0');
            self.at.skip();
            self.at.require(1)?;
        }
        if length == 0 {
            return self.error("did not find expected version number", start);
        }
        Ok(value)
    }

    fn scan_tag_prefix(&mut self, start: Mark) -> Result<TokenKind, NodeError> {
        self.at.skip_blanks()?;
        let handle = self.scan_tag_handle(true, start)?;
        self.at.require(1)?;
        if !self.at.is_blank_at(0) {
            return self.error("did not find expected whitespace", start);
        }
        self.at.skip_blanks()?;
        let prefix = self.scan_tag_uri(&[], start)?;
        self.at.require(1)?;
        if !self.at.is_blankz_at(0) {
            return self.error("did not find expected whitespace or line break", start);
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }

    pub(super) fn fetch_tag(&mut self) -> Result<(), NodeError> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at.mark();
        self.at.require(2)?;
        let (handle, suffix) = if self.at.peek(1) == b'<' {
            self.at.skip_all(2);
            let suffix = self.scan_tag_uri(&[], start)?;
            if self.at.current() != b'>' {
                return self.error("did not find the expected '>'", start);
            }
            self.at.skip();
            (Vec::new(), suffix)
        } else {
            self.scan_shorthand_tag(start)?
        };
        self.at.require(1)?;
        if !self.at.is_blankz_at(0) {
            return self.error("did not find expected whitespace or line break", start);
        }
        self.push(TokenKind::Tag { handle, suffix }, start);
        Ok(())
    }

    /// `!handle!suffix`, `!suffix` or `!`.
    fn scan_shorthand_tag(&mut self, start: Mark) -> Result<(Vec<u8>, Vec<u8>), NodeError> {
        let handle = self.scan_tag_handle(false, start)?;
        if handle.len() > 1 && handle.last() == Some(&b'!') {
            let suffix = self.scan_tag_uri(&[], start)?;
            return Ok((handle, suffix));
        }
        let suffix = self.scan_tag_uri(&handle, start)?;
        if suffix.is_empty() { Ok((Vec::new(), b"!".to_vec())) } else { Ok((b"!".to_vec(), suffix)) }
    }

    fn scan_tag_handle(&mut self, directive: bool, start: Mark) -> Result<Vec<u8>, NodeError> {
        self.at.require(1)?;
        if self.at.current() != b'!' {
            return self.error("did not find expected '!'", start);
        }
        let mut handle = vec![b'!'];
        self.at.skip();
        self.at.require(1)?;
        self.take_alpha(&mut handle)?;
        if self.at.current() == b'!' {
            handle.push(b'!');
            self.at.skip();
        } else if directive && handle != b"!" {
            return self.error("did not find expected '!'", start);
        }
        Ok(handle)
    }

    /// What follows a handle; `head` is what was taken for one and is not, without its `!`.
    fn scan_tag_uri(&mut self, head: &[u8], start: Mark) -> Result<Vec<u8>, NodeError> {
        let mut uri = head.get(1..).unwrap_or_default().to_vec();
        let mut found = !head.is_empty();
        self.at.require(1)?;
        loop {
            match self.at.current() {
                b'%' => self.take_uri_escape(&mut uri, start)?,
                byte if is_alpha(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte) => {
                    uri.push(byte);
                    self.at.skip();
                }
                _ => break,
            }
            self.at.require(1)?;
            found = true;
        }
        if !found {
            return self.error("did not find expected tag URI", start);
        }
        Ok(uri)
    }

    /// One character, each of its bytes as `%xx`.
    fn take_uri_escape(&mut self, uri: &mut Vec<u8>, start: Mark) -> Result<(), NodeError> {
        let mut left = None;
        while left != Some(0) {
            self.at.require(3)?;
            let digit = |at: usize| char::from(self.at.peek(at)).to_digit(16);
            let octet = match (self.at.current(), digit(1), digit(2)) {
                (b'%', Some(high), Some(low)) => u8::try_from(high << 4 | low).unwrap_or(0),
                _ => return self.error("did not find URI escaped octet", start),
            };
            left = match left {
                None if width(octet) == 0 => {
                    return self.error("found an incorrect leading UTF-8 octet", start);
                }
                None => Some(width(octet) - 1),
                Some(_) if octet & 0xC0 != 0x80 => {
                    return self.error("found an incorrect trailing UTF-8 octet", start);
                }
                Some(more) => Some(more - 1),
            };
            uri.push(octet);
            self.at.skip_all(3);
        }
        Ok(())
    }

    /// Takes letters, digits, `_` and `-`.
    fn take_alpha(&mut self, out: &mut Vec<u8>) -> Result<(), NodeError> {
        while is_alpha(self.at.current()) {
            out.push(self.at.current());
            self.at.skip();
            self.at.require(1)?;
        }
        Ok(())
    }
}
