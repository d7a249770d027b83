//! Scalars in single or double quotes.

use super::Scanner;
use super::plain_scalar::Folds;
use crate::nodes::mark::{Mark, NodeError};
use crate::nodes::token::{ScalarStyle, TokenKind};

impl Scanner<'_> {
    pub(super) fn fetch_flow_scalar(&mut self, single: bool) -> Result<(), NodeError> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;

        let start = self.at.mark();
        self.at.skip();
        let mut text = String::new();
        let mut folds = Folds::default();
        let quote = if single { b'\'' } else { b'"' };
        loop {
            self.at.require(4)?;
            if self.at.at_document_indicator() {
                return self.error("found unexpected document indicator", start);
            }
            if self.at.current() == 0 {
                return self.error("found unexpected end of stream", start);
            }
            folds.open = self.pass_quoted_characters(single, start, &mut text)?;
            self.at.require(1)?;
            if self.at.current() == quote {
                break;
            }
            self.pass_quoted_blanks(&mut folds)?;
            folds.close(&mut text);
        }
        self.at.skip();
        let style = if single { ScalarStyle::SingleQuoted } else { ScalarStyle::DoubleQuoted };
        self.push(TokenKind::Scalar { text, style }, start);
        Ok(())
    }

    /// Passes everything up to a blank, a line break or the closing quote. Returns whether a line break that does not count
    /// was passed last.
    fn pass_quoted_characters(
        &mut self,
        single: bool,
        start: Mark,
        text: &mut String,
    ) -> Result<bool, NodeError> {
        while !self.at.is_blankz_at(0) {
            match self.at.current() {
                b'\'' if single && self.at.peek(1) == b'\'' => {
                    text.push('\'');
                    self.at.skip_all(2);
                }
                b'\'' if single => break,
                b'"' if !single => break,
                b'\\' if !single && self.at.is_break_at(1) => {
                    self.at.require(3)?;
                    self.at.skip();
                    self.at.skip_line();
                    return Ok(true);
                }
                b'\\' if !single => self.pass_escape(start, text)?,
                _ => self.at.read(text),
            }
            self.at.require(2)?;
        }
        Ok(false)
    }

    fn pass_escape(&mut self, start: Mark, text: &mut String) -> Result<(), NodeError> {
        let character = match self.at.peek(1) {
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
            b'x' => return self.pass_code(2, start, text),
            b'u' => return self.pass_code(4, start, text),
            b'U' => return self.pass_code(8, start, text),
            _ => return self.error("found unknown escape character", start),
        };
        text.push(character);
        self.at.skip_all(2);
        Ok(())
    }

    /// Passes an escape with a number of so many digits.
    fn pass_code(&mut self, digits: usize, start: Mark, text: &mut String) -> Result<(), NodeError> {
        self.at.skip_all(2);
        self.at.require(digits)?;
        let mut code = 0_u32;
        for at in 0..digits {
            let Some(digit) = char::from(self.at.peek(at)).to_digit(16) else {
                return self.error("did not find expected hexdecimal number", start);
            };
            code = (code << 4) | digit;
        }
        let Some(character) = char::from_u32(code) else {
            return self.error("found invalid Unicode character escape code", start);
        };
        text.push(character);
        self.at.skip_all(digits);
        Ok(())
    }

    /// Passes blanks and line breaks: blanks count on a line, line breaks are folded.
    fn pass_quoted_blanks(&mut self, folds: &mut Folds) -> Result<(), NodeError> {
        loop {
            if self.at.is_blank_at(0) {
                if folds.open {
                    self.at.skip();
                } else {
                    self.at.read(&mut folds.blanks);
                }
            } else if self.at.is_break_at(0) {
                self.at.require(2)?;
                self.pass_fold(folds);
            } else {
                return Ok(());
            }
            self.at.require(1)?;
        }
    }
}
