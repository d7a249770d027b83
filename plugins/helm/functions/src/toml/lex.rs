//! The characters of a TOML document, with the lexer's view of where an error is (lex.go of BurntSushi/toml).

use helm_template::{IntType, Value, fmt};

use crate::runes::decode;

/// Where a document is wrong: line and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) message: String,
}

pub(super) type Lexed<T> = Result<T, Fault>;

/// What stands for the end of the document.
pub(super) const END: char = '\0';

/// A place in the document.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    line: usize,
}

/// Reads characters one after the other, and goes back over the last few.
pub(super) struct Lexer<'s> {
    source: &'s [u8],
    at: usize,
    line: usize,
    at_end: bool,
    before: Vec<Place>,
    /// Where what is being read begins.
    start: usize,
}

/// `%q` of a character.
pub(super) fn quoted(c: char) -> String {
    let rune = Value::Int(i64::from(u32::from(c)), IntType::Int32);
    fmt::sprintf("%q", &[rune]).map_or_else(|_| String::new(), |text| text.to_string())
}

/// A character in quotes, or the end in words.
pub(super) fn shown(c: char) -> String {
    if c == END { "end of file".to_owned() } else { format!("'{c}'") }
}

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s [u8]) -> Self {
        Self { source, at: 0, line: 1, at_end: false, before: Vec::new(), start: 0 }
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The next character; [`END`] at the end.
    pub(super) fn next(&mut self) -> Lexed<char> {
        let Some(first) = self.source.get(self.at) else {
            self.at_end = true;
            return Ok(END);
        };
        let place = Place { at: self.at, line: self.line };
        if *first == b'\n' {
            self.line += 1;
        }
        let (c, width) = decode(self.source.get(self.at..).unwrap_or_default());
        if c == char::REPLACEMENT_CHARACTER && width == 1 {
            return Err(self.fault_here(format!("invalid UTF-8 byte: 0x{first:02x}")));
        }
        let alone = c == '\r' && self.source.get(self.at + 1) != Some(&b'\n');
        if alone || (c.is_ascii_control() && !matches!(c, '\t' | '\r' | '\n')) {
            let code = u32::from(c);
            return Err(Fault {
                line: self.line,
                message: format!("TOML files cannot contain control characters: '0x{code:02x}'"),
            });
        }
        if self.before.len() >= 16 {
            self.before.drain(..8);
        }
        self.before.push(place);
        self.at += width;
        Ok(c)
    }

    /// Goes back over the last character, or over the end.
    pub(super) fn back(&mut self) {
        if self.at_end {
            self.at_end = false;
        } else if let Some(place) = self.before.pop() {
            (self.at, self.line) = (place.at, place.line);
        }
    }

    pub(super) fn peek(&mut self) -> Lexed<char> {
        let c = self.next()?;
        self.back();
        Ok(c)
    }

    pub(super) fn accept(&mut self, wanted: char) -> Lexed<bool> {
        let found = self.next()? == wanted;
        if !found {
            self.back();
        }
        Ok(found)
    }

    /// Passes over blanks.
    pub(super) fn skip_blanks(&mut self) -> Lexed<()> {
        while is_blank(self.next()?) {}
        self.back();
        self.ignore();
        Ok(())
    }

    /// Passes over characters of a kind.
    pub(super) fn skip_while(&mut self, belongs: impl Fn(char) -> bool) -> Lexed<()> {
        while belongs(self.next()?) {}
        self.back();
        Ok(())
    }

    /// What is read begins here.
    pub(super) fn ignore(&mut self) {
        self.start = self.at;
    }

    /// What was read since.
    pub(super) fn current(&self) -> &'s [u8] {
        self.source.get(self.start..self.at).unwrap_or_default()
    }

    pub(super) fn current_text(&self) -> String {
        String::from_utf8_lossy(self.current()).into_owned()
    }

    /// `errorf`: at the end of the document the last line that has something on it.
    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        let after_line = self.at_end && self.at >= 1 && self.source.get(self.at - 1) == Some(&b'\n');
        Fault { line: self.line - usize::from(after_line), message: message.into() }
    }

    /// `error`: at the end of the document the line before.
    pub(super) fn fault_here(&self, message: impl Into<String>) -> Fault {
        Fault { line: self.line - usize::from(self.at_end), message: message.into() }
    }

    /// `errorPrevLine`: a line end has been read already.
    pub(super) fn fault_before(&self, message: impl Into<String>) -> Fault {
        Fault { line: self.line - 1, message: message.into() }
    }

    /// The rest of a comment.
    pub(super) fn comment(&mut self) -> Lexed<()> {
        loop {
            let c = self.next()?;
            if is_line_end(c) || c == END {
                self.back();
                self.ignore();
                return Ok(());
            }
        }
    }
}
