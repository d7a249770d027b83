//! Where things go on the page: the indentation of go-yaml's `emitterc.go`.

use super::Dialect;
use crate::strconv;

/// How far a level is indented.
pub(super) const INDENT: usize = 2;

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    Root,
    Sequence,
    Mapping,
}

/// Writes text and keeps track of the column.
#[derive(Debug)]
pub(super) struct Emitter {
    pub(super) out: Vec<u8>,
    pub(super) dialect: Dialect,
    /// Characters on the current line.
    pub(super) column: usize,
    /// The column of the current collection; `None` outside of all.
    indent: Option<usize>,
    indents: Vec<Option<usize>>,
    /// Whether the last character was a blank that separates.
    pub(super) whitespace: bool,
    /// Whether there is nothing but indentation on the line, `-`, `?` and `:` included.
    pub(super) indention: bool,
    /// The key being written is one of those without a `?`.
    simple_key: bool,
}

impl Emitter {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            out: Vec::new(),
            dialect,
            column: 0,
            indent: None,
            indents: Vec::new(),
            whitespace: true,
            indention: true,
            simple_key: false,
        }
    }

    /// The text, which ends with a line break.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.write_indent(0);
        self.out
    }

    /// The column behind which lines are folded.
    pub(super) fn width(&self) -> usize {
        match self.dialect {
            Dialect::V2 => 80,
            Dialect::V3 => usize::MAX,
        }
    }

    /// The column of lines inside of a scalar.
    pub(super) fn scalar_indent(&self) -> usize {
        self.indent.map_or(INDENT, |indent| indent + INDENT)
    }

    pub(super) fn put(&mut self, byte: u8) {
        self.out.push(byte);
        self.column += 1;
    }

    pub(super) fn put_break(&mut self) {
        self.out.push(b'\n');
        self.column = 0;
        self.indention = true;
    }

    /// Copies text without line breaks.
    pub(super) fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
        self.column += if text.is_ascii() { text.len() } else { text.chars().count() };
    }

    /// Goes to the column `indent` of a fresh line, or of this one if there is nothing on it yet.
    pub(super) fn write_indent(&mut self, indent: usize) {
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        if self.column < indent {
            self.out.resize(self.out.len() + indent - self.column, b' ');
            self.column = indent;
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// Puts a blank in front of a scalar, unless there is one.
    pub(super) fn separate(&mut self) {
        if !self.whitespace {
            self.put(b' ');
        }
    }

    /// `-`, `?` or the `:` of a key with `?`: part of the indentation.
    fn write_block_indicator(&mut self, indicator: u8) {
        self.separate();
        self.put(indicator);
        self.whitespace = false;
    }

    fn push_indent(&mut self, indent: usize) {
        self.indents.push(self.indent);
        self.indent = Some(indent);
    }

    pub(super) fn open_mapping(&mut self) {
        self.push_indent(self.indent.map_or(0, |indent| indent + INDENT));
    }

    pub(super) fn open_sequence(&mut self, context: Context) {
        let indentless = self.dialect == Dialect::V2 && context == Context::Mapping && !self.indention;
        let deeper = if indentless { 0 } else { INDENT };
        self.push_indent(self.indent.map_or(0, |indent| indent + deeper));
    }

    pub(super) fn close(&mut self) {
        self.indent = self.indents.pop().flatten();
    }

    /// Starts the line of a key.
    pub(super) fn start_entry(&mut self) {
        self.write_indent(self.indent.unwrap_or(0));
    }

    /// Starts the line of an item.
    pub(super) fn start_item(&mut self) {
        self.write_indent(self.indent.unwrap_or(0));
        self.write_block_indicator(b'-');
    }

    /// Writes a key with its `:`.
    pub(super) fn key(&mut self, text: &str) {
        self.key_with(Self::is_simple_key(text), |emitter| emitter.text(text));
    }

    /// Writes a key that is no text, in base64.
    pub(super) fn binary_key(&mut self, base64: &str) {
        let simple =
            !base64.contains('\n') && base64.len() + "!!binary".len() <= super::scalars::LONGEST_SIMPLE_KEY;
        self.key_with(simple, |emitter| emitter.binary(base64));
    }

    fn key_with(&mut self, simple: bool, write: impl FnOnce(&mut Self)) {
        if simple {
            self.simple_key = true;
            write(self);
            self.simple_key = false;
            self.put(b':');
            self.whitespace = false;
            self.indention = false;
        } else {
            self.write_block_indicator(b'?');
            write(self);
            self.write_indent(self.indent.unwrap_or(0));
            self.write_block_indicator(b':');
        }
    }

    /// Whether a scalar may be folded where it stands.
    pub(super) fn may_fold(&self) -> bool {
        !self.simple_key
    }

    /// Writes something that has no blanks and needs no quotes.
    pub(super) fn word(&mut self, word: &str) {
        self.separate();
        self.out.extend_from_slice(word.as_bytes());
        self.column += word.len();
        self.end_scalar();
    }

    /// Writes a number.
    pub(super) fn digits(&mut self, push: impl FnOnce(&mut Vec<u8>)) {
        self.separate();
        let before = self.out.len();
        push(&mut self.out);
        self.column += self.out.len() - before;
        self.end_scalar();
    }

    pub(super) fn end_scalar(&mut self) {
        self.whitespace = false;
        self.indention = false;
    }
}

/// Appends a character as an escape of its code point.
pub(super) fn push_code(emitter: &mut Emitter, code: u32) {
    let (letter, digits) = match code {
        0..=0xFF => (b'x', 2),
        0x100..=0xFFFF => (b'u', 4),
        _ => (b'U', 8),
    };
    emitter.put(letter);
    for digit in (0..digits).rev() {
        emitter.put(strconv::upper_hex(code >> (4 * digit)));
    }
}
