//! Strings: which style they get, and how each style is written (`encode.go` and `emitterc.go` of go-yaml).

use super::Dialect;
use super::analysis::{Analysis, analyze, is_break, is_printable};
use super::emitter::{Emitter, INDENT, push_code};
use crate::resolve::{is_octal_of_v3, reads_back_as_string};

/// How many bytes a key without `?` may have.
pub(super) const LONGEST_SIMPLE_KEY: usize = 128;

impl Emitter {
    /// Writes a string.
    pub(super) fn text(&mut self, text: &str) {
        if is_simple_word(text) && self.reads_back(text) {
            self.word(text);
            return;
        }
        let analysis = if text.is_empty() {
            Analysis { multiline: false, plain: true, single_quoted: true, block: false }
        } else {
            analyze(text, self.dialect)
        };
        if text.contains('\n') {
            if analysis.block && self.may_fold() { self.literal(text) } else { self.double_quoted(text) }
        } else if !self.reads_back(text) {
            self.double_quoted(text);
        } else if analysis.plain {
            self.plain(text);
        } else if analysis.single_quoted {
            self.single_quoted(text);
        } else {
            self.double_quoted(text);
        }
    }

    /// Writes bytes that are no text, given in base64.
    pub(super) fn binary(&mut self, base64: &str) {
        self.separate();
        self.write("!!binary");
        self.end_scalar();
        if base64.contains('\n') && self.may_fold() {
            self.literal(base64);
        } else {
            self.plain(base64);
        }
    }

    /// Whether the text, if plain, is read as a string by this version and by parsers of YAML 1.1.
    fn reads_back(&self, text: &str) -> bool {
        reads_back_as_string(text)
            && !is_base_60(text)
            && !(self.dialect == Dialect::V3 && is_octal_of_v3(text))
    }

    pub(super) fn is_simple_key(text: &str) -> bool {
        text.len() <= LONGEST_SIMPLE_KEY && !text.contains(is_break)
    }

    fn plain(&mut self, text: &str) {
        self.separate();
        self.folded(text, |_, _| true, |_, _| {});
        self.end_scalar();
    }

    fn single_quoted(&mut self, text: &str) {
        self.separate();
        self.put(b'\'');
        self.whitespace = false;
        self.indention = false;
        let last = text.len().saturating_sub(1);
        self.folded(
            text,
            |at, _| at > 0 && at < last,
            |emitter, character| {
                if character == '\'' {
                    emitter.put(b'\'');
                }
            },
        );
        self.put(b'\'');
        self.end_scalar();
    }

    /// Writes a plain or single quoted scalar: blanks behind the width become line breaks where `may_break` agrees,
    /// and `escape` may put something in front of a character.
    fn folded(
        &mut self,
        text: &str,
        may_break: impl Fn(usize, &str) -> bool,
        escape: impl Fn(&mut Self, char),
    ) {
        let mut after_space = false;
        let mut after_break = false;
        for (at, character) in text.char_indices() {
            let rest = text.get(at + character.len_utf8()..).unwrap_or_default();
            if character == ' ' {
                let fold = self.may_fold()
                    && !after_space
                    && self.column > self.width()
                    && may_break(at, rest)
                    && !rest.starts_with(' ');
                if fold {
                    self.write_indent(self.scalar_indent());
                } else {
                    self.put(b' ');
                }
                after_space = true;
            } else if is_break(character) {
                // Of the line breaks only LS and PS get here, which are written as they are.
                self.write_break(character);
                after_break = true;
            } else {
                if after_break {
                    self.write_indent(self.scalar_indent());
                }
                escape(self, character);
                self.put_char(character);
                self.indention = false;
                after_space = false;
                after_break = false;
            }
        }
    }

    fn put_char(&mut self, character: char) {
        self.out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        self.column += 1;
    }

    /// Writes a line break as it stands in a scalar.
    fn write_break(&mut self, character: char) {
        self.put_char(character);
        self.column = 0;
        self.indention = true;
    }

    fn double_quoted(&mut self, text: &str) {
        self.separate();
        self.put(b'"');
        self.whitespace = false;
        self.indention = false;
        // go-yaml looks for a byte order mark at the start of the text instead of where it stands.
        let escape_all = text.starts_with('\u{FEFF}');
        let last = text.len().saturating_sub(1);
        let mut after_space = false;
        for (at, character) in text.char_indices() {
            if escape_all
                || !is_printable(character)
                || is_break(character)
                || matches!(character, '"' | '\\')
            {
                self.escaped(character);
                after_space = false;
            } else if character == ' ' {
                if self.may_fold() && !after_space && self.column > self.width() && at > 0 && at < last {
                    self.write_indent(self.scalar_indent());
                    if text.get(at + 1..).is_some_and(|rest| rest.starts_with(' ')) {
                        self.put(b'\\');
                    }
                } else {
                    self.put(b' ');
                }
                after_space = true;
            } else {
                self.put_char(character);
                after_space = false;
            }
        }
        self.put(b'"');
        self.end_scalar();
    }

    fn escaped(&mut self, character: char) {
        self.put(b'\\');
        let letter = match character {
            '\0' => b'0',
            '\x07' => b'a',
            '\x08' => b'b',
            '\t' => b't',
            '\n' => b'n',
            '\x0B' => b'v',
            '\x0C' => b'f',
            '\r' => b'r',
            '\x1B' => b'e',
            '"' => b'"',
            '\\' => b'\\',
            '\u{85}' => b'N',
            '\u{A0}' => b'_',
            '\u{2028}' => b'L',
            '\u{2029}' => b'P',
            _ => return push_code(self, u32::from(character)),
        };
        self.put(letter);
    }

    fn literal(&mut self, text: &str) {
        self.separate();
        self.put(b'|');
        // An indentation that starts with blanks or breaks cannot be guessed.
        if text.starts_with(|character: char| character == ' ' || is_break(character)) {
            self.put(b'0' + u8::try_from(INDENT).unwrap_or(0));
        }
        let mut tail = text.chars().rev();
        if !tail.next().is_some_and(is_break) {
            self.put(b'-');
        } else if tail.next().is_none_or(is_break) {
            self.put(b'+');
        }
        self.put_break();
        self.whitespace = true;
        let indent = self.scalar_indent();
        for line in text.split_inclusive(is_break) {
            let (content, line_break) = match line.chars().next_back() {
                Some(last) if is_break(last) => (line.strip_suffix(last).unwrap_or(line), Some(last)),
                _ => (line, None),
            };
            if !content.is_empty() {
                self.write_indent(indent);
                self.write(content);
                self.indention = false;
            }
            match line_break {
                Some('\n') => self.put_break(),
                Some(other) => self.write_break(other),
                None => {}
            }
        }
    }
}

/// Whether the text has nothing in it that any style would treat in a special way.
fn is_simple_word(text: &str) -> bool {
    let first =
        text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'/' || byte == b'_');
    first
        && text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+' | b'=')
        })
}

/// Numbers in base 60, which parsers of YAML 1.1 know: `^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let Some((whole, rest)) = unsigned.split_once(':') else { return false };
    let (sexagesimals, fraction) = match rest.split_once('.') {
        Some((sexagesimals, fraction)) => (sexagesimals, fraction),
        None => (rest, ""),
    };
    let digit_or_underscore = |byte: u8| byte.is_ascii_digit() || byte == b'_';
    whole.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
        && whole.bytes().all(digit_or_underscore)
        && fraction.bytes().all(digit_or_underscore)
        && sexagesimals
            .split(':')
            .all(|digits| matches!(digits.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
}
