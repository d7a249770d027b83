//! What a document of block style says, told line by line without building anything.
//!
//! A manifest is read for a few fields at its top, though all of it has to be YAML. Most manifests are written in a small
//! part of the language: mappings and sequences in block style, scalars of one line, literal and folded texts. [`outline`]
//! knows that part and nothing else; whatever it is not sure of, errors included, is left to the reader.

mod scalar;

use crate::resolve::{Scalar, resolve_plain};
use scalar::{End, block_header, scalar};

/// Deeper documents are left to the reader.
const MAX_DEPTH: usize = 64;
/// Longer keys may be none (go-yaml looks for the colon within 1024 bytes).
const MAX_KEY: usize = 1000;

/// An entry of a mapping or sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// How many collections hold the one it belongs to.
    pub depth: usize,
    /// Its key, always a string; none in a sequence.
    pub key: Option<&'a str>,
    /// Its value.
    pub value: Content<'a>,
}

/// The value of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// A collection whose entries follow, an empty mapping, or null.
    Open,
    /// A string.
    Text(&'a str),
    /// Something else, or a string that does not stand in the document as it is.
    Other,
}

/// Tells all entries in their order. `None` when the document is not surely of the part of YAML that this knows, or
/// when `tell` wants no more; what was told until then means nothing.
#[must_use]
pub fn outline<'a>(text: &'a str, mut tell: impl FnMut(Entry<'a>) -> Option<()>) -> Option<()> {
    if !text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) && !text.chars().all(is_plain_char) {
        return None;
    }
    let mut open = Open(Vec::new());
    let mut lines = Lines(text);
    while let Some(line) = lines.next() {
        let content = line.trim_start_matches(' ');
        if is_nothing(content) {
            continue;
        }
        let indent = line.len() - content.len();
        let dash = is_dash(content);
        open.enter(indent, dash)?;
        let (column, content) = if dash { open.item(indent, content, &mut tell)? } else { (indent, content) };
        let (key, value) = match key(content)? {
            Some((key, value)) => {
                open.at(column)?;
                (Some(key), value)
            }
            None if dash => (None, content),
            None => return None,
        };
        let value = lines.value(value, open.indent()?)?;
        open.awaits(value.is_none())?;
        tell(Entry { depth: open.0.len() - 1, key, value: value.unwrap_or(Content::Open) })?;
    }
    // A document without content is not of a kind to tell of.
    (!open.0.is_empty()).then_some(())
}

/// What go-yaml reads without a second thought beside the printable characters of ASCII and the line feed.
fn is_plain_char(char: char) -> bool {
    match char {
        '\n' | ' '..='~' => true,
        '\u{2028}' | '\u{2029}' | '\u{feff}' => false,
        char => matches!(char, '\u{a0}'..='\u{fffd}' | '\u{10000}'..),
    }
}

/// Whether a line holds no more than a comment.
fn is_nothing(content: &str) -> bool {
    content.is_empty() || content.starts_with('#')
}

/// The lines that are left.
struct Lines<'a>(&'a str);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let (line, rest) = self.0.split_once('\n').unwrap_or((self.0, ""));
        self.0 = rest;
        Some(line)
    }
}

impl<'a> Lines<'a> {
    /// The value that begins behind a key or a dash, in a collection at this indentation: `Some(None)` when it is a
    /// collection below, or null.
    fn value(&mut self, text: &'a str, parent: usize) -> Option<Option<Content<'a>>> {
        match text.as_bytes().first() {
            None | Some(b'#') => self.below(parent),
            Some(b'|' | b'>') => {
                block_header(text)?;
                self.skip_block(parent)?;
                Some(Some(Content::Other))
            }
            Some(_) => self.scalar(text, parent).map(Some),
        }
    }

    /// A scalar on a line of its own below its key.
    fn below(&mut self, parent: usize) -> Option<Option<Content<'a>>> {
        let mut ahead = Lines(self.0);
        let Some(line) = ahead.find(|line| !is_nothing(line.trim_start_matches(' '))) else {
            return Some(None);
        };
        let content = line.trim_start_matches(' ');
        if line.len() - content.len() <= parent || is_dash(content) || key(content)?.is_some() {
            return Some(None);
        }
        *self = ahead;
        self.scalar(content, parent).map(Some)
    }

    /// A scalar with the lines on which it goes on.
    fn scalar(&mut self, text: &'a str, parent: usize) -> Option<Content<'a>> {
        let (content, end) = scalar(text.trim_end_matches(' '))?;
        Some(if end == End::Open && self.skip_plain(parent)? { Content::Other } else { content })
    }

    /// Skips the lines on which a plain scalar goes on; whether there are any.
    fn skip_plain(&mut self, parent: usize) -> Option<bool> {
        let mut skipped = false;
        loop {
            let mut ahead = Lines(self.0);
            let Some(line) = ahead.find(|line| !line.trim_start_matches(' ').is_empty()) else {
                return Some(skipped);
            };
            let content = line.trim_start_matches(' ');
            if line.len() - content.len() <= parent || content.starts_with('#') {
                return Some(skipped);
            }
            let content = content.trim_end_matches(' ');
            if content.ends_with(':') || content.contains(": ") || content.contains(" #") {
                return None;
            }
            *self = ahead;
            skipped = true;
        }
    }

    /// Skips the lines of a literal or folded text in a collection at this indentation.
    fn skip_block(&mut self, parent: usize) -> Option<()> {
        let mut own = None;
        let mut blank = 0;
        loop {
            let rest = self.0;
            let Some(line) = self.next() else { return Some(()) };
            let indent = line.len() - line.trim_start_matches(' ').len();
            if indent == line.len() {
                blank = blank.max(indent);
                continue;
            }
            // Blank lines in front count for the indentation too.
            if own.is_none() && (indent <= parent || blank > indent) {
                self.0 = rest;
                return (blank <= parent).then_some(());
            }
            if indent < *own.get_or_insert(indent) {
                self.0 = rest;
                return Some(());
            }
        }
    }
}

/// A collection that is not at its end.
struct Collection {
    indent: usize,
    sequence: bool,
    /// Its last entry has no value yet.
    awaits: bool,
}

/// The collections around a place, outermost first.
struct Open(Vec<Collection>);

impl Open {
    /// Closes and opens what a line at this indentation closes and opens.
    fn enter(&mut self, indent: usize, dash: bool) -> Option<()> {
        while let Some(last) = self.0.last() {
            let ends = last.indent > indent || (last.indent == indent && last.sequence && !dash);
            if !ends {
                break;
            }
            self.0.pop();
        }
        match self.0.last() {
            Some(last) if last.indent == indent && last.sequence == dash => Some(()),
            // A sequence may stand right below its key; anything else stands further in.
            Some(last) if last.awaits => self.push(indent, dash),
            // One that closed everything, or a root somewhere else, is for the reader to judge.
            None if indent == 0 && !dash => self.push(indent, dash),
            _ => None,
        }
    }

    fn push(&mut self, indent: usize, sequence: bool) -> Option<()> {
        if let Some(last) = self.0.last_mut() {
            last.awaits = false;
        }
        self.0.push(Collection { indent, sequence, awaits: false });
        (self.0.len() <= MAX_DEPTH).then_some(())
    }

    /// What stands behind a dash, with its column.
    fn item<'a>(
        &mut self,
        indent: usize,
        line: &'a str,
        tell: &mut impl FnMut(Entry<'a>) -> Option<()>,
    ) -> Option<(usize, &'a str)> {
        let content = line.get(1..)?.trim_start_matches(' ');
        let column = indent + line.len() - content.len();
        if is_dash(content) {
            return None;
        }
        if key(content)?.is_some() {
            tell(Entry { depth: self.0.len() - 1, key: None, value: Content::Open })?;
            self.push(column, false)?;
        }
        Some((column, content))
    }

    /// That a key stands where those before it stand.
    fn at(&self, column: usize) -> Option<()> {
        self.0.last().filter(|last| last.indent == column && !last.sequence).map(|_| ())
    }

    fn indent(&self) -> Option<usize> {
        Some(self.0.last()?.indent)
    }

    fn awaits(&mut self, awaits: bool) -> Option<()> {
        self.0.last_mut()?.awaits = awaits;
        Some(())
    }
}

fn is_dash(content: &str) -> bool {
    content == "-" || content.starts_with("- ")
}

/// Key and value of a line: `Some(None)` for a line without a key, `None` for a key that may not be a string, or may be
/// none.
fn key(content: &str) -> Option<Option<(&str, &str)>> {
    let first = content.bytes().next();
    let (key, rest) = match first {
        Some(quote @ (b'"' | b'\'')) => {
            let (key, rest) = content.get(1..)?.split_once(char::from(quote))?;
            if !rest.starts_with(':') {
                return Some(None);
            }
            if key.contains('\\') {
                return None;
            }
            (key, rest)
        }
        _ => {
            let end = content.bytes().position(|byte| !is_key(byte)).unwrap_or(content.len());
            let (key, rest) = content.split_at_checked(end)?;
            if !rest.starts_with(':') || key.is_empty() {
                return Some(None);
            }
            let text = key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && resolve_plain(key) == Scalar::Text;
            // It still may be something like an address: `http://…`.
            if !text && (rest == ":" || rest.starts_with(": ")) {
                return None;
            }
            (key, rest)
        }
    };
    let value = rest.get(1..)?;
    if !value.is_empty() && !value.starts_with(' ') {
        return if matches!(first, Some(b'"' | b'\'')) { None } else { Some(None) };
    }
    (key.len() <= MAX_KEY).then_some(Some((key, value.trim_matches(' '))))
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/')
}

#[cfg(test)]
mod tests;
