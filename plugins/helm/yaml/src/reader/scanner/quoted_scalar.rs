//! Scalars in single or double quotes.

use super::Scanner;
use super::plain_scalar::Folds;
use crate::chars::Stops;
use crate::reader::cursor::Collected;
use crate::reader::failure::Failure;
use crate::reader::token::TokenKind;

impl<'t> Scanner<'t> {
    pub(super) fn fetch_quoted_scalar(&mut self, single: bool) -> Result<(), Failure> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;

        let line = self.cursor.line();
        self.cursor.skip();
        let mut text = Collected::new(&self.cursor);
        let quote = if single { b'\'' } else { b'"' };
        loop {
            self.cursor.require(4)?;
            if self.cursor.at_document_indicator() {
                return self.error("found unexpected document indicator");
            }
            if self.cursor.current() == 0 {
                return self.error("found unexpected end of stream");
            }
            let escaped_break = self.pass_quoted_characters(single, &mut text)?;
            self.cursor.require(1)?;
            if self.cursor.current() == quote {
                break;
            }
            self.pass_quoted_blanks(escaped_break, &mut text)?;
        }
        self.cursor.skip();
        self.push(TokenKind::Scalar { text: text.finish(), plain: false }, line);
        Ok(())
    }

    /// Passes everything up to a blank, a line break or the closing quote. Returns whether a line break that does not
    /// count was passed last.
    fn pass_quoted_characters(&mut self, single: bool, text: &mut Collected<'t>) -> Result<bool, Failure> {
        let stops = if single { Stops::SINGLE_QUOTED } else { Stops::DOUBLE_QUOTED };
        loop {
            let start = self.cursor.position();
            self.cursor.skip_run(stops);
            if self.cursor.position() > start {
                text.take(start, self.cursor.position());
            }
            match self.cursor.current() {
                b' ' | b'\t' | b'\n' | b'\r' | 0 => return Ok(false),
                _ if self.cursor.at_break() => return Ok(false),
                b'\'' if single && self.cursor.peek(1) == b'\'' => {
                    text.push('\'');
                    self.cursor.skip();
                    self.cursor.skip();
                }
                b'\'' if single => return Ok(false),
                b'"' if !single => return Ok(false),
                b'\\' if !single && self.cursor.is_break_at(1) => {
                    self.cursor.require(3)?;
                    self.cursor.skip();
                    self.cursor.skip_line();
                    return Ok(true);
                }
                b'\\' if !single => self.pass_escape(text)?,
                _ => {
                    let start = self.cursor.position();
                    self.cursor.skip();
                    text.take(start, self.cursor.position());
                }
            }
            self.cursor.require(2)?;
        }
    }

    fn pass_escape(&mut self, text: &mut Collected<'t>) -> Result<(), Failure> {
        let character = match self.cursor.peek(1) {
            b'0' => '\0',
            b'a' => '\x07',
            b'b' => '\x08',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\x0B',
            b'f' => '\x0C',
            b'r' => '\r',
            b'e' => '\x1B',
            b' ' => ' ',
            b'"' => '"',
            b'\'' => '\'',
            b'\\' => '\\',
            b'N' => '\u{85}',
            b'_' => '\u{A0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'x' => return self.pass_code(2, text),
            b'u' => return self.pass_code(4, text),
            b'U' => return self.pass_code(8, text),
            _ => return self.error("found unknown escape character"),
        };
        text.push(character);
        self.cursor.skip();
        self.cursor.skip();
        Ok(())
    }

    /// Passes an escape with a number of so many digits.
    fn pass_code(&mut self, digits: usize, text: &mut Collected<'t>) -> Result<(), Failure> {
        self.cursor.skip();
        self.cursor.skip();
        self.cursor.require(digits)?;
        let mut code = 0_u32;
        for at in 0..digits {
            let Some(digit) = char::from(self.cursor.peek(at)).to_digit(16) else {
                return self.error("did not find expected hexdecimal number");
            };
            code = (code << 4) | digit;
        }
        let Some(character) = char::from_u32(code) else {
            return self.error("found invalid Unicode character escape code");
        };
        text.push(character);
        for _ in 0..digits {
            self.cursor.skip();
        }
        Ok(())
    }

    /// Passes blanks and line breaks: blanks count on a line, line breaks are folded.
    fn pass_quoted_blanks(&mut self, escaped_break: bool, text: &mut Collected<'t>) -> Result<(), Failure> {
        let start = self.cursor.position();
        let mut folds = Folds::default();
        loop {
            match self.cursor.current() {
                b' ' | b'\t' => self.cursor.skip(),
                _ if self.cursor.at_break() => {
                    self.cursor.require(2)?;
                    folds.add_behind(self.cursor.read_line(), escaped_break);
                }
                _ => break,
            }
            self.cursor.require(1)?;
        }
        if folds.open || escaped_break {
            folds.close(text);
        } else if self.cursor.position() > start {
            text.take(start, self.cursor.position());
        }
        Ok(())
    }
}

impl Folds {
    /// Adds a line break that may follow one which does not count.
    fn add_behind(&mut self, line_break: &'static str, escaped_break: bool) {
        if escaped_break {
            self.open = true;
        }
        self.add(line_break);
    }
}
