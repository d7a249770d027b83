//! Literal (`|`) and folded (`>`) scalars.

use super::Scanner;
use crate::nodes::mark::{Mark, NodeError};
use crate::nodes::token::{ScalarStyle, TokenKind};

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

/// What stands behind the indicator.
struct Header {
    start: Mark,
    chomping: Chomping,
    /// The indentation, where it is given.
    indent: Option<isize>,
}

impl Scanner<'_> {
    pub(super) fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), NodeError> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let header = self.scan_block_header()?;
        let text = self.scan_block_content(literal, &header)?;
        let style = if literal { ScalarStyle::Literal } else { ScalarStyle::Folded };
        self.push(TokenKind::Scalar { text, style }, header.start);
        Ok(())
    }

    /// The indicator, chomping and indentation in either order, a comment, and the end of the line.
    fn scan_block_header(&mut self) -> Result<Header, NodeError> {
        let start = self.at.mark();
        self.at.skip();
        self.at.require(1)?;
        let mut chomping = self.scan_chomping()?;
        let increment = self.scan_increment(start)?;
        if chomping.is_none() && increment.is_some() {
            chomping = self.scan_chomping()?;
        }
        self.at.skip_blanks()?;
        if self.at.current() == b'#' {
            self.scan_line_comment(start)?;
            self.at.skip_to_line_end()?;
        }
        if !self.at.is_breakz_at(0) {
            return self.error("did not find expected comment or line break", start);
        }
        if self.at.is_break_at(0) {
            self.at.require(2)?;
            self.at.skip_line();
        }
        let indent = increment.map(|increment| self.indent.max(0) + increment);
        Ok(Header { start, chomping: chomping.unwrap_or(Chomping::Clip), indent })
    }

    fn scan_chomping(&mut self) -> Result<Option<Chomping>, NodeError> {
        let chomping = match self.at.current() {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return Ok(None),
        };
        self.at.skip();
        self.at.require(1)?;
        Ok(Some(chomping))
    }

    fn scan_increment(&mut self, start: Mark) -> Result<Option<isize>, NodeError> {
        let digit = self.at.current();
        if !digit.is_ascii_digit() {
            return Ok(None);
        }
        if digit == b'0' {
            return self.error("found an indentation indicator equal to 0", start);
        }
        self.at.skip();
        self.at.require(1)?;
        Ok(Some(isize::from(i16::from(digit - b'0'))))
    }

    fn scan_block_content(&mut self, literal: bool, header: &Header) -> Result<String, NodeError> {
        let (mut text, mut leading_break, mut breaks) = (String::new(), String::new(), String::new());
        let mut after_blank = false;
        let indent = self.scan_block_breaks(header.indent, &mut breaks, header.start)?;
        self.at.require(1)?;
        while self.at.column() == indent && self.at.current() != 0 {
            let blank = self.at.is_blank_at(0);
            // A single line break between two lines that do not start with a blank is folded to a space.
            if !literal && !after_blank && !blank && leading_break.starts_with('\n') {
                if breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(&leading_break);
            }
            leading_break.clear();
            text.push_str(&breaks);
            breaks.clear();
            after_blank = blank;

            self.at.read_to_line_end(&mut text)?;
            self.at.require(2)?;
            self.at.read_line(&mut leading_break);
            self.scan_block_breaks(Some(indent), &mut breaks, header.start)?;
        }
        if header.chomping != Chomping::Strip {
            text.push_str(&leading_break);
        }
        if header.chomping == Chomping::Keep {
            text.push_str(&breaks);
        }
        Ok(text)
    }

    /// Passes indentation and empty lines; settles the indentation if it is not given.
    fn scan_block_breaks(
        &mut self,
        given: Option<isize>,
        breaks: &mut String,
        start: Mark,
    ) -> Result<isize, NodeError> {
        let mut deepest = 0;
        loop {
            self.at.require(1)?;
            while self.at.current() == b' ' && given.is_none_or(|indent| self.at.column() < indent) {
                self.at.skip();
                self.at.require(1)?;
            }
            let column = self.at.column();
            deepest = deepest.max(column);
            if self.at.current() == b'\t' && given.is_none_or(|indent| column < indent) {
                return self.error("found a tab character where an indentation space is expected", start);
            }
            if !self.at.is_break_at(0) {
                break;
            }
            self.at.require(2)?;
            self.at.read_line(breaks);
        }
        Ok(given.unwrap_or_else(|| deepest.max(self.indent + 1).max(1)))
    }
}
