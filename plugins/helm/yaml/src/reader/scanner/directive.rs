//! `%YAML` and `%TAG` lines, and tags.

use super::Scanner;
use crate::chars::{is_alpha, width};
use crate::reader::failure::Failure;
use crate::reader::token::{Tag, TokenKind};

/// How many digits go-yaml takes for a number of a `%YAML` line.
const MAX_VERSION_DIGITS: usize = 2;

impl Scanner<'_> {
    pub(super) fn fetch_directive(&mut self) -> Result<(), Failure> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let line = self.cursor.line();
        self.cursor.skip();
        let token = match self.scan_directive_name()?.as_slice() {
            b"YAML" => self.scan_version()?,
            b"TAG" => self.scan_tag_prefix()?,
            _ => return self.error("found unknown directive name"),
        };
        self.skip_blanks()?;
        if self.cursor.current() == b'#' {
            self.skip_to_line_end()?;
        }
        if !self.cursor.at_breakz() {
            return self.error("did not find expected comment or line break");
        }
        if self.cursor.at_break() {
            self.cursor.require(2)?;
            self.cursor.skip_line();
        }
        self.push(token, line);
        Ok(())
    }

    fn scan_directive_name(&mut self) -> Result<Vec<u8>, Failure> {
        self.cursor.require(1)?;
        let mut name = Vec::new();
        self.take_alpha(&mut name)?;
        if name.is_empty() {
            return self.error("could not find expected directive name");
        }
        if !self.cursor.is_blankz_at(0) {
            return self.error("found unexpected non-alphabetical character");
        }
        Ok(name)
    }

    fn scan_version(&mut self) -> Result<TokenKind<'static>, Failure> {
        self.skip_blanks()?;
        let major = self.scan_version_number()?;
        if self.cursor.current() != b'.' {
            return self.error("did not find expected digit or '.' character");
        }
        self.cursor.skip();
        let minor = self.scan_version_number()?;
        Ok(TokenKind::VersionDirective(major, minor))
    }

    fn scan_version_number(&mut self) -> Result<u8, Failure> {
        self.cursor.require(1)?;
        let mut value = 0;
        let mut length = 0;
        while self.cursor.current().is_ascii_digit() {
            length += 1;
            if length > MAX_VERSION_DIGITS {
                return self.error("found extremely long version number");
            }
            value = value * 10 + (self.cursor.current() - b'0');
            self.cursor.skip();
            self.cursor.require(1)?;
        }
        if length == 0 {
            return self.error("did not find expected version number");
        }
        Ok(value)
    }

    fn scan_tag_prefix(&mut self) -> Result<TokenKind<'static>, Failure> {
        self.skip_blanks()?;
        let handle = self.scan_tag_handle(true)?;
        self.cursor.require(1)?;
        if !matches!(self.cursor.current(), b' ' | b'\t') {
            return self.error("did not find expected whitespace");
        }
        self.skip_blanks()?;
        let prefix = self.scan_tag_uri(&[])?;
        self.cursor.require(1)?;
        if !self.cursor.is_blankz_at(0) {
            return self.error("did not find expected whitespace or line break");
        }
        Ok(TokenKind::TagDirective(Box::new(Tag { handle, rest: prefix })))
    }

    pub(super) fn fetch_tag(&mut self) -> Result<(), Failure> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let line = self.cursor.line();
        self.cursor.require(2)?;
        let (handle, rest) = if self.cursor.peek(1) == b'<' {
            self.cursor.skip();
            self.cursor.skip();
            let suffix = self.scan_tag_uri(&[])?;
            if self.cursor.current() != b'>' {
                return self.error("did not find the expected '>'");
            }
            self.cursor.skip();
            (Vec::new(), suffix)
        } else {
            self.scan_shorthand_tag()?
        };
        self.cursor.require(1)?;
        if !self.cursor.is_blankz_at(0) {
            return self.error("did not find expected whitespace or line break");
        }
        self.push(TokenKind::Tag(Box::new(Tag { handle, rest })), line);
        Ok(())
    }

    /// `!handle!suffix`, `!suffix` or `!`.
    fn scan_shorthand_tag(&mut self) -> Result<(Vec<u8>, Vec<u8>), Failure> {
        let handle = self.scan_tag_handle(false)?;
        if handle.len() > 1 && handle.last() == Some(&b'!') {
            let suffix = self.scan_tag_uri(&[])?;
            return Ok((handle, suffix));
        }
        let suffix = self.scan_tag_uri(&handle)?;
        if suffix.is_empty() { Ok((Vec::new(), b"!".to_vec())) } else { Ok((b"!".to_vec(), suffix)) }
    }

    fn scan_tag_handle(&mut self, directive: bool) -> Result<Vec<u8>, Failure> {
        self.cursor.require(1)?;
        if self.cursor.current() != b'!' {
            return self.error("did not find expected '!'");
        }
        let mut handle = vec![b'!'];
        self.cursor.skip();
        self.cursor.require(1)?;
        self.take_alpha(&mut handle)?;
        if self.cursor.current() == b'!' {
            handle.push(b'!');
            self.cursor.skip();
        } else if directive && handle != b"!" {
            return self.error("did not find expected '!'");
        }
        Ok(handle)
    }

    /// What follows a handle; `head` is what was taken for one and is not, without its `!`.
    fn scan_tag_uri(&mut self, head: &[u8]) -> Result<Vec<u8>, Failure> {
        let mut uri = head.get(1..).unwrap_or_default().to_vec();
        let mut found = !head.is_empty();
        self.cursor.require(1)?;
        loop {
            match self.cursor.current() {
                b'%' => self.take_uri_escape(&mut uri)?,
                byte if is_alpha(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte) => {
                    uri.push(byte);
                    self.cursor.skip();
                }
                _ => break,
            }
            self.cursor.require(1)?;
            found = true;
        }
        if !found {
            return self.error("did not find expected tag URI");
        }
        Ok(uri)
    }

    /// One character, each of its bytes as `%xx`.
    fn take_uri_escape(&mut self, uri: &mut Vec<u8>) -> Result<(), Failure> {
        let mut left = None;
        while left != Some(0) {
            self.cursor.require(3)?;
            let digit = |at: usize| char::from(self.cursor.peek(at)).to_digit(16);
            let octet = match (self.cursor.current(), digit(1), digit(2)) {
                (b'%', Some(high), Some(low)) => u8::try_from(high << 4 | low).unwrap_or(0),
                _ => return self.error("did not find URI escaped octet"),
            };
            left = match left {
                None if width(octet) == 0 => return self.error("found an incorrect leading UTF-8 octet"),
                None => Some(width(octet) - 1),
                Some(_) if octet & 0xC0 != 0x80 => {
                    return self.error("found an incorrect trailing UTF-8 octet");
                }
                Some(more) => Some(more - 1),
            };
            uri.push(octet);
            for _ in 0..3 {
                self.cursor.skip();
            }
        }
        Ok(())
    }

    /// Takes letters, digits, `_` and `-`.
    fn take_alpha(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        while is_alpha(self.cursor.current()) {
            out.push(self.cursor.current());
            self.cursor.skip();
            self.cursor.require(1)?;
        }
        Ok(())
    }
}
