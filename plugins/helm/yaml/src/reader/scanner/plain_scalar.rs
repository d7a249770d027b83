//! Scalars without quotes.

use super::Scanner;
use crate::chars::Stops;
use crate::reader::cursor::Collected;
use crate::reader::failure::Failure;
use crate::reader::token::TokenKind;

impl Scanner<'_> {
    pub(super) fn fetch_plain_scalar(&mut self) -> Result<(), Failure> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;

        let line = self.cursor.line();
        let indent = self.indent + 1;
        let mut text = Collected::new(&self.cursor);
        let mut folds = Folds::default();
        // Where the last piece of text ended; blanks behind it count only if more text follows on the line.
        let mut end = self.cursor.position();
        loop {
            self.cursor.require(4)?;
            if self.cursor.at_document_indicator() || self.cursor.current() == b'#' {
                break;
            }
            let start = self.cursor.position();
            self.pass_plain_characters()?;
            let position = self.cursor.position();
            if position > start {
                if folds.open {
                    folds.close(&mut text);
                    text.take(start, position);
                } else {
                    text.take(end, position);
                }
                end = position;
            }
            if !(matches!(self.cursor.current(), b' ' | b'\t') || self.cursor.at_break()) {
                break;
            }
            self.pass_blanks_and_breaks(indent, &mut folds)?;
            if self.in_block() && self.column() < indent {
                break;
            }
        }
        // Behind a line break a key may start.
        if folds.open {
            self.simple_key_allowed = true;
        }
        self.push(TokenKind::Scalar { text: text.finish(), plain: true }, line);
        Ok(())
    }

    /// Passes what belongs to the scalar without blanks.
    #[inline]
    fn pass_plain_characters(&mut self) -> Result<(), Failure> {
        let in_block = self.in_block();
        let stops = if in_block { Stops::PLAIN } else { Stops::PLAIN_IN_FLOW };
        loop {
            self.cursor.skip_run(stops);
            match self.cursor.current() {
                b' ' | b'\t' | b'\n' | b'\r' | 0 => return Ok(()),
                b':' if self.cursor.is_blankz_at(1) => return Ok(()),
                b',' | b'?' | b'[' | b']' | b'{' | b'}' if !in_block => return Ok(()),
                _ if self.cursor.at_break() => return Ok(()),
                _ => {}
            }
            self.cursor.skip();
            self.cursor.require(2)?;
        }
    }

    fn pass_blanks_and_breaks(&mut self, indent: isize, folds: &mut Folds) -> Result<(), Failure> {
        self.cursor.require(1)?;
        loop {
            match self.cursor.current() {
                b'\t' if folds.open && self.column() < indent => {
                    return self.error("found a tab character that violates indentation");
                }
                b' ' | b'\t' => self.cursor.skip(),
                _ if self.cursor.at_break() => {
                    self.cursor.require(2)?;
                    folds.add(self.cursor.read_line());
                }
                _ => return Ok(()),
            }
            self.cursor.require(1)?;
        }
    }
}

/// The line breaks between two pieces of a scalar.
#[derive(Debug, Default)]
pub(super) struct Folds {
    /// Whether there was a line break since the last piece.
    pub(super) open: bool,
    first: &'static str,
    more: String,
}

impl Folds {
    pub(super) fn add(&mut self, line_break: &'static str) {
        if self.open {
            self.more.push_str(line_break);
        } else {
            self.open = true;
            self.first = line_break;
        }
    }

    /// Appends what the line breaks count for: a space for a single one, all but the first for several.
    pub(super) fn close(&mut self, text: &mut Collected<'_>) {
        if self.first != "\n" {
            text.push_str(self.first);
            text.push_str(&self.more);
        } else if self.more.is_empty() {
            text.push(' ');
        } else {
            text.push_str(&self.more);
        }
        self.open = false;
        self.first = "";
        self.more.clear();
    }
}
