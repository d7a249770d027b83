//! Literal (`|`) and folded (`>`) scalars.

use std::borrow::Cow;

use super::{Indent, Scanner};
use crate::reader::failure::Failure;
use crate::reader::token::TokenKind;

/// What happens to the line breaks at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomping {
    /// `-`: all of them go.
    Strip,
    /// The first stays.
    Clip,
    /// `+`: all of them stay.
    Keep,
}

impl Scanner<'_> {
    pub(super) fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), Failure> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let line = self.cursor.line();
        self.cursor.skip();
        let (chomping, increment) = self.scan_block_header()?;
        let given = increment.map(|increment| self.indent.max(0) + increment);
        let text = self.scan_block_content(literal, chomping, given)?;
        self.push(TokenKind::Scalar { text: Cow::Owned(text), plain: false }, line);
        Ok(())
    }

    /// Chomping and indentation indicators in either order, then the end of the line.
    fn scan_block_header(&mut self) -> Result<(Chomping, Option<Indent>), Failure> {
        self.cursor.require(1)?;
        let mut chomping = self.scan_chomping()?;
        let increment = self.scan_increment()?;
        if chomping.is_none() && increment.is_some() {
            chomping = self.scan_chomping()?;
        }
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
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn scan_chomping(&mut self) -> Result<Option<Chomping>, Failure> {
        let chomping = match self.cursor.current() {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return Ok(None),
        };
        self.cursor.skip();
        self.cursor.require(1)?;
        Ok(Some(chomping))
    }

    fn scan_increment(&mut self) -> Result<Option<Indent>, Failure> {
        let digit = self.cursor.current();
        if !digit.is_ascii_digit() {
            return Ok(None);
        }
        if digit == b'0' {
            return self.error("found an indentation indicator equal to 0");
        }
        self.cursor.skip();
        self.cursor.require(1)?;
        Ok(Some(Indent::from(i16::from(digit - b'0'))))
    }

    fn scan_block_content(
        &mut self,
        literal: bool,
        chomping: Chomping,
        given: Option<Indent>,
    ) -> Result<String, Failure> {
        let mut text = String::new();
        let mut leading_break = "";
        let mut trailing_breaks = String::new();
        let mut after_blank = false;
        let indent = self.scan_block_breaks(given, &mut trailing_breaks)?;
        self.cursor.require(1)?;
        while self.column() == indent && self.cursor.current() != 0 {
            let blank = matches!(self.cursor.current(), b' ' | b'\t');
            // A single line break between two lines that do not start with a blank is folded to a space.
            if !literal && leading_break == "\n" && !after_blank && !blank {
                if trailing_breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(leading_break);
            }
            text.push_str(&trailing_breaks);
            trailing_breaks.clear();
            after_blank = blank;

            let start = self.cursor.position();
            self.skip_to_line_end()?;
            text.push_str(self.cursor.slice(start, self.cursor.position()));
            self.cursor.require(2)?;
            leading_break = self.cursor.read_line();
            self.scan_block_breaks(Some(indent), &mut trailing_breaks)?;
        }
        if chomping != Chomping::Strip {
            text.push_str(leading_break);
        }
        if chomping == Chomping::Keep {
            text.push_str(&trailing_breaks);
        }
        Ok(text)
    }

    /// Passes indentation and empty lines; settles the indentation if it is not given.
    fn scan_block_breaks(&mut self, given: Option<Indent>, breaks: &mut String) -> Result<Indent, Failure> {
        let mut deepest = 0;
        loop {
            self.cursor.require(1)?;
            while self.cursor.current() == b' ' && given.is_none_or(|indent| self.column() < indent) {
                self.cursor.skip();
                self.cursor.require(1)?;
            }
            let column = self.column();
            deepest = deepest.max(column);
            if self.cursor.current() == b'\t' && given.is_none_or(|indent| column < indent) {
                return self.error("found a tab character where an indentation space is expected");
            }
            if !self.cursor.at_break() {
                break;
            }
            self.cursor.require(2)?;
            breaks.push_str(self.cursor.read_line());
        }
        Ok(given.unwrap_or_else(|| deepest.max(self.indent + 1).max(1)))
    }
}
