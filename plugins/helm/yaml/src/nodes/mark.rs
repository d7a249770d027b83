//! Places in a text, and what is wrong at one.

use std::borrow::Cow;

use thiserror::Error;

use crate::reader::{Cursor, Failure};

/// A place, counted in characters from 0. Places of comments are calculated with, which can lead in front of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    pub(super) index: isize,
    pub(super) line: isize,
    pub(super) column: isize,
}

/// Why YAML cannot be read or written; the text is go-yaml's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("yaml: {0}")]
pub struct NodeError(pub(super) Cow<'static, str>);

impl NodeError {
    /// What the scanner finds while it reads what starts at `context`.
    pub(super) fn scanner(problem: impl Into<Cow<'static, str>>, context: Mark, place: Mark) -> Self {
        let line = if context.line != 0 { context.line } else { place.line };
        Self::at(problem.into(), if line == 0 { 0 } else { line + 1 })
    }

    /// What the parser finds. go-yaml counts its lines from 0.
    pub(super) fn parser(problem: &'static str, context: Option<Mark>, place: Mark) -> Self {
        let line = context.map_or(0, |context| context.line);
        Self::at(problem.into(), if line != 0 { line } else { place.line })
    }

    fn at(problem: Cow<'static, str>, line: isize) -> Self {
        if line == 0 { Self(problem) } else { Self(format!("line {line}: {problem}").into()) }
    }
}

impl From<Failure> for NodeError {
    /// What the reader of bytes says.
    fn from(failure: Failure) -> Self {
        let text = failure.to_string();
        Self(text.strip_prefix("yaml: ").unwrap_or(&text).to_owned().into())
    }
}

/// Where the scanner stands. Beside the cursor it counts the line breaks since the last character that is no blank.
#[derive(Debug)]
pub(super) struct Place<'t> {
    cursor: Cursor<'t>,
    /// Line breaks since the last character that is no blank.
    pub(super) newlines: isize,
}

impl<'t> Place<'t> {
    pub(super) fn new(cursor: Cursor<'t>) -> Self {
        Self { cursor, newlines: 0 }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { index: signed(self.cursor.index()), line: self.line(), column: self.column() }
    }

    pub(super) fn line(&self) -> isize {
        signed(self.cursor.line())
    }

    pub(super) fn column(&self) -> isize {
        signed(self.cursor.column())
    }

    /// Makes sure that so many characters can be looked at.
    ///
    /// # Errors
    /// When a byte among them cannot be read.
    pub(super) fn require(&mut self, characters: usize) -> Result<(), NodeError> {
        Ok(self.cursor.require(characters)?)
    }

    pub(super) fn peek(&self, ahead: usize) -> u8 {
        self.cursor.peek(ahead)
    }

    pub(super) fn current(&self) -> u8 {
        self.cursor.current()
    }

    pub(super) fn is_blank_at(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), b' ' | b'\t')
    }

    pub(super) fn is_break_at(&self, ahead: usize) -> bool {
        self.cursor.is_break_at(ahead)
    }

    pub(super) fn is_breakz_at(&self, ahead: usize) -> bool {
        self.peek(ahead) == 0 || self.is_break_at(ahead)
    }

    pub(super) fn is_blankz_at(&self, ahead: usize) -> bool {
        self.cursor.is_blankz_at(ahead)
    }

    pub(super) fn at_document_indicator(&self) -> bool {
        self.cursor.at_document_indicator()
    }

    pub(super) fn at_byte_order_mark(&self) -> bool {
        self.cursor.at_byte_order_mark()
    }

    /// Passes a character that does not end a line.
    pub(super) fn skip(&mut self) {
        if !self.is_blank_at(0) {
            self.newlines = 0;
        }
        self.cursor.skip();
    }

    /// Passes so many characters.
    pub(super) fn skip_all(&mut self, characters: usize) {
        for _ in 0..characters {
            self.skip();
        }
    }

    /// Passes a line break, if there is one.
    pub(super) fn skip_line(&mut self) {
        if self.is_break_at(0) {
            self.cursor.skip_line();
            self.newlines += 1;
        }
    }

    /// Passes a character and appends it.
    pub(super) fn read(&mut self, text: &mut String) {
        let start = self.cursor.position();
        self.skip();
        text.push_str(self.cursor.slice(start, self.cursor.position()));
    }

    /// Passes a line break and appends what it counts for.
    pub(super) fn read_line(&mut self, text: &mut String) {
        if self.is_break_at(0) {
            text.push_str(self.cursor.read_line());
            self.newlines += 1;
        }
    }

    /// Passes everything up to the end of the line and appends it.
    ///
    /// # Errors
    /// When a byte cannot be read.
    pub(super) fn read_to_line_end(&mut self, text: &mut String) -> Result<(), NodeError> {
        let start = self.cursor.position();
        self.skip_to_line_end()?;
        text.push_str(self.cursor.slice(start, self.cursor.position()));
        Ok(())
    }

    /// Passes everything up to the end of the line.
    ///
    /// # Errors
    /// When a byte cannot be read.
    pub(super) fn skip_to_line_end(&mut self) -> Result<(), NodeError> {
        while !self.is_breakz_at(0) {
            self.skip();
            self.require(1)?;
        }
        Ok(())
    }

    /// Passes blanks.
    ///
    /// # Errors
    /// When a byte cannot be read.
    pub(super) fn skip_blanks(&mut self) -> Result<(), NodeError> {
        self.require(1)?;
        while self.is_blank_at(0) {
            self.skip();
            self.require(1)?;
        }
        Ok(())
    }

    /// Ends a line that has no break: the end of the text.
    pub(super) fn force_line(&mut self) {
        self.cursor.force_line();
    }
}

fn signed(number: usize) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX)
}
