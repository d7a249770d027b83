//! Scalars without quotes.

use super::Scanner;
use crate::nodes::mark::{Mark, NodeError};
use crate::nodes::token::{ScalarStyle, TokenKind};

/// Line breaks and blanks between two pieces of a scalar.
#[derive(Debug, Default)]
pub(super) struct Folds {
    /// Whether there was a line break since the last piece.
    pub(super) open: bool,
    pub(super) first: String,
    pub(super) more: String,
    pub(super) blanks: String,
}

impl Folds {
    /// Appends what line breaks and blanks count for.
    pub(super) fn close(&mut self, text: &mut String) {
        if !self.open {
            text.push_str(&self.blanks);
            self.blanks.clear();
            return;
        }
        if !self.first.starts_with('\n') {
            text.push_str(&self.first);
            text.push_str(&self.more);
        } else if self.more.is_empty() {
            text.push(' ');
        } else {
            text.push_str(&self.more);
        }
        self.open = false;
        self.first.clear();
        self.more.clear();
    }
}

impl Scanner<'_> {
    pub(super) fn fetch_plain_scalar(&mut self) -> Result<(), NodeError> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;

        let indent = self.indent + 1;
        let start = self.at.mark();
        let mut text = String::new();
        let mut folds = Folds::default();
        loop {
            self.at.require(4)?;
            if self.at.at_document_indicator() || self.at.current() == b'#' {
                break;
            }
            while !self.at.is_blankz_at(0) && !self.ends_plain_scalar() {
                folds.close(&mut text);
                self.at.read(&mut text);
                self.at.require(2)?;
            }
            if !(self.at.is_blank_at(0) || self.at.is_break_at(0)) {
                break;
            }
            self.at.require(1)?;
            self.pass_plain_blanks(indent, start, &mut folds)?;
            if self.in_block() && self.at.column() < indent {
                break;
            }
        }
        // Behind a line break a key may start.
        if folds.open {
            self.simple_key_allowed = true;
        }
        self.push(TokenKind::Scalar { text, style: ScalarStyle::Plain }, start);
        Ok(())
    }

    fn ends_plain_scalar(&self) -> bool {
        match self.at.current() {
            b':' => self.at.is_blankz_at(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => !self.in_block(),
            _ => false,
        }
    }

    fn pass_plain_blanks(&mut self, indent: isize, start: Mark, folds: &mut Folds) -> Result<(), NodeError> {
        loop {
            if self.at.is_blank_at(0) {
                if folds.open && self.at.column() < indent && self.at.current() == b'\t' {
                    return self.error("found a tab character that violates indentation", start);
                }
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

    /// Passes a line break inside of a scalar.
    pub(super) fn pass_fold(&mut self, folds: &mut Folds) {
        if folds.open {
            self.at.read_line(&mut folds.more);
        } else {
            folds.blanks.clear();
            self.at.read_line(&mut folds.first);
            folds.open = true;
        }
    }
}
