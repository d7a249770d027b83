//! Where the scanner stands in the text, with the line, column and index that go-yaml counts in characters.

use std::borrow::Cow;

use super::failure::Failure;
use super::input::{Lines, Window};
use crate::chars::{Stops, is_continuation, width};

/// How far before the end of what was read a run of bytes stops, so that no character is passed unread.
const RUN_MARGIN: usize = 16;

/// A position in the text.
#[derive(Debug)]
pub(crate) struct Cursor<'t> {
    text: &'t str,
    position: usize,
    line: usize,
    /// Where the current line starts.
    line_start: usize,
    /// Continuation bytes before `position`: bytes minus characters.
    surplus: usize,
    /// Continuation bytes before `line_start`.
    line_surplus: usize,
    /// The text up to here was read; without a window all of it.
    frontier: usize,
    window: Option<Window>,
    lines: Lines,
    ascii: bool,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str, lines: Lines, window: Option<Window>) -> Self {
        let frontier = if window.is_some() { 0 } else { usize::MAX };
        Self {
            text,
            position: 0,
            line: 0,
            line_start: 0,
            surplus: 0,
            line_surplus: 0,
            frontier,
            window,
            lines,
            ascii: text.is_ascii(),
        }
    }

    /// go-yaml's `cache`: makes sure that so many characters can be looked at.
    ///
    /// # Errors
    ///
    /// The reader's, when a bad byte is among them.
    #[inline]
    pub(crate) fn require(&mut self, characters: usize) -> Result<(), Failure> {
        if self.frontier.saturating_sub(self.position) >= 4 * characters {
            return Ok(());
        }
        self.read_on(characters)
    }

    #[cold]
    fn read_on(&mut self, characters: usize) -> Result<(), Failure> {
        if let Some(window) = &mut self.window {
            self.frontier = window.require(self.text, self.position, characters).map_err(Failure::Reader)?;
        }
        Ok(())
    }

    /// The byte `ahead` of the current one; 0 behind the end.
    #[inline]
    pub(crate) fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.position + ahead).copied().unwrap_or(0)
    }

    /// The current byte; 0 at the end.
    #[inline]
    pub(crate) fn current(&self) -> u8 {
        self.peek(0)
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Characters since the start of the line.
    #[inline]
    pub(crate) fn column(&self) -> usize {
        (self.position - self.line_start) - (self.surplus - self.line_surplus)
    }

    /// Characters since the start of the text.
    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.position - self.surplus
    }

    pub(crate) fn at_break(&self) -> bool {
        self.is_break_at(0)
    }

    /// Whether a line break starts `ahead` bytes from here.
    #[inline]
    pub(crate) fn is_break_at(&self, ahead: usize) -> bool {
        match self.peek(ahead) {
            b'\n' | b'\r' => true,
            0xC2 => self.peek(ahead + 1) == 0x85,
            0xE2 => self.peek(ahead + 1) == 0x80 && matches!(self.peek(ahead + 2), 0xA8 | 0xA9),
            _ => false,
        }
    }

    /// Whether a blank, a line break or the end of the text is `ahead` bytes from here.
    #[inline]
    pub(crate) fn is_blankz_at(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), b' ' | b'\t' | 0) || self.is_break_at(ahead)
    }

    /// Whether a line break or the end of the text is here.
    #[inline]
    pub(crate) fn at_breakz(&self) -> bool {
        self.current() == 0 || self.at_break()
    }

    /// Passes one character that does not end a line.
    #[inline]
    pub(crate) fn skip(&mut self) {
        let width = width(self.current()).max(1);
        self.position += width;
        self.surplus += width - 1;
    }

    /// Passes all bytes up to the first of `stops`, or up to where more must be read first.
    #[inline]
    pub(crate) fn skip_run(&mut self, stops: Stops) {
        let limit = self.frontier.saturating_sub(RUN_MARGIN).min(self.text.len());
        let run = self.text.as_bytes().get(self.position..limit).unwrap_or_default();
        let mut length = 0;
        let mut surplus = 0;
        for byte in run {
            if stops.at(*byte) {
                break;
            }
            length += 1;
            surplus += usize::from(is_continuation(*byte));
        }
        self.position += length;
        self.surplus += surplus;
        // Never stop inside of a character.
        while is_continuation(self.current()) {
            self.position += 1;
            self.surplus += 1;
        }
    }

    /// Passes all bytes up to the end of the line, or up to where more must be read or looked at first.
    #[inline]
    pub(crate) fn skip_to_line_end(&mut self) {
        if self.lines == Lines::Any {
            return self.skip_run(Stops::LINE);
        }
        let rest = self.text.as_bytes().get(self.position..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        if !self.ascii {
            let line = rest.get(..length).unwrap_or_default();
            self.surplus += line.iter().filter(|byte| is_continuation(**byte)).count();
        }
        self.position += length;
    }

    /// Passes the line break here, if there is one; CR LF is one break.
    pub(crate) fn skip_line(&mut self) {
        if self.current() == b'\r' && self.peek(1) == b'\n' {
            self.position += 2;
        } else if self.at_break() {
            self.skip();
        } else {
            return;
        }
        self.start_line();
    }

    /// Passes a line break and returns what it counts for: LF, but for LS and PS, which stay themselves.
    pub(crate) fn read_line(&mut self) -> &'static str {
        let text = match (self.current(), self.peek(2)) {
            (0xE2, 0xA8) => "\u{2028}",
            (0xE2, _) => "\u{2029}",
            _ if self.at_break() => "\n",
            _ => "",
        };
        self.skip_line();
        text
    }

    /// Ends a line that has no break: the end of the text.
    pub(crate) fn force_line(&mut self) {
        if self.column() != 0 {
            self.start_line();
        }
    }

    fn start_line(&mut self) {
        self.line += 1;
        self.line_start = self.position;
        self.line_surplus = self.surplus;
    }

    /// Whether go-yaml takes what is here for a byte order mark.
    #[inline]
    pub(crate) fn at_byte_order_mark(&self) -> bool {
        self.window.as_ref().is_some_and(|window| window.starts_with_byte_order_mark(self.text))
    }

    /// Whether `---` or `...` stands alone at the start of this line.
    #[inline]
    pub(crate) fn at_document_indicator(&self) -> bool {
        let first = self.current();
        (first == b'-' || first == b'.')
            && self.column() == 0
            && self.peek(1) == first
            && self.peek(2) == first
            && self.is_blankz_at(3)
    }

    /// The text between two positions.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to).unwrap_or_default()
    }
}

/// The text of a scalar: a piece of the stream as long as it stands there as it is, a copy from then on.
#[derive(Debug)]
pub(crate) struct Collected<'t> {
    text: &'t str,
    start: usize,
    end: usize,
    copy: Option<String>,
}

impl<'t> Collected<'t> {
    pub(crate) fn new(cursor: &Cursor<'t>) -> Self {
        Self { text: cursor.text, start: cursor.position, end: cursor.position, copy: None }
    }

    /// Appends the piece of the stream between two positions.
    #[inline]
    pub(crate) fn take(&mut self, from: usize, to: usize) {
        if self.copy.is_none() {
            if self.start == self.end {
                self.start = from;
                self.end = to;
                return;
            }
            if self.end == from {
                self.end = to;
                return;
            }
        }
        let piece = self.text.get(from..to).unwrap_or_default();
        self.copy().push_str(piece);
    }

    /// Appends a character that does not stand in the stream like this.
    pub(crate) fn push(&mut self, character: char) {
        self.copy().push(character);
    }

    /// Appends text that does not stand in the stream like this.
    pub(crate) fn push_str(&mut self, text: &str) {
        if !text.is_empty() {
            self.copy().push_str(text);
        }
    }

    fn copy(&mut self) -> &mut String {
        let (text, start, end) = (self.text, self.start, self.end);
        self.copy.get_or_insert_with(|| text.get(start..end).unwrap_or_default().to_owned())
    }

    pub(crate) fn finish(self) -> Cow<'t, str> {
        match self.copy {
            Some(copy) => Cow::Owned(copy),
            None => Cow::Borrowed(self.text.get(self.start..self.end).unwrap_or_default()),
        }
    }
}
