//! Scalars in all styles.

use super::{Emitter, INDENT};
use crate::nodes::token::ScalarStyle;
use crate::strconv;
use crate::writer::{is_break, is_printable};

impl Emitter<'_> {
    pub(super) fn scalar(&mut self, value: &str, style: ScalarStyle) {
        match style {
            ScalarStyle::Plain => self.plain(value),
            ScalarStyle::SingleQuoted => self.single_quoted(value),
            ScalarStyle::DoubleQuoted => self.double_quoted(value),
            ScalarStyle::Literal => self.literal(value),
            ScalarStyle::Folded => self.folded(value),
        }
    }

    fn plain(&mut self, value: &str) {
        if !value.is_empty() {
            self.page.separate();
        }
        self.lines(value, |emitter, character| emitter.page.put(character));
        if !value.is_empty() {
            self.page.whitespace = false;
        }
        self.page.indention = false;
    }

    fn single_quoted(&mut self, value: &str) {
        self.page.indicator("'", true, false, false);
        self.lines(value, |emitter, character| {
            if character == '\'' {
                emitter.page.put('\'');
            }
            emitter.page.put(character);
        });
        self.page.indicator("'", false, false, false);
        self.page.whitespace = false;
        self.page.indention = false;
    }

    /// Writes text whose line breaks are doubled.
    fn lines(&mut self, value: &str, put: impl Fn(&mut Self, char)) {
        let mut breaks = false;
        for character in value.chars() {
            if character == ' ' {
                self.page.put(' ');
            } else if is_break(character) {
                if !breaks && character == '\n' {
                    self.page.put_break();
                }
                self.page.write_break(character);
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                put(self, character);
                self.page.indention = false;
                breaks = false;
            }
        }
    }

    fn double_quoted(&mut self, value: &str) {
        self.page.indicator("\"", true, false, false);
        // go-yaml looks for a byte order mark at the start of the text instead of where it stands.
        let marked = value.starts_with('\u{FEFF}');
        for character in value.chars() {
            let escaped =
                marked || !is_printable(character) || is_break(character) || matches!(character, '"' | '\\');
            if escaped { self.escape(character) } else { self.page.put(character) }
        }
        self.page.indicator("\"", false, false, false);
        self.page.whitespace = false;
        self.page.indention = false;
    }

    fn escape(&mut self, character: char) {
        self.page.put('\\');
        let short = match character {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0B' => 'v',
            '\x0C' => 'f',
            '\r' => 'r',
            '\x1B' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{A0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => return self.escape_code(character),
        };
        self.page.put(short);
    }

    fn escape_code(&mut self, character: char) {
        let code = u32::from(character);
        let (letter, digits) = match code {
            0..=0xFF => ('x', 2),
            0x100..=0xFFFF => ('u', 4),
            _ => ('U', 8),
        };
        self.page.put(letter);
        for digit in (0..digits).rev() {
            self.page.put(strconv::upper_hex(code >> (4 * digit)).into());
        }
    }

    fn literal(&mut self, value: &str) {
        self.block_start("|", value);
        let mut breaks = true;
        for character in value.chars() {
            if is_break(character) {
                self.page.write_break(character);
                breaks = true;
                continue;
            }
            if breaks {
                self.write_indent();
            }
            self.page.put(character);
            self.page.indention = false;
            breaks = false;
        }
    }

    fn folded(&mut self, value: &str) {
        self.block_start(">", value);
        // go-yaml looks at what follows the breaks at the start of the text, wherever it is.
        let behind_first_breaks = value.chars().find(|character| !is_break(*character));
        let text_behind = behind_first_breaks.is_some_and(|next| !matches!(next, ' ' | '\t' | '\0'));
        let (mut breaks, mut leading_blank) = (true, true);
        for character in value.chars() {
            if is_break(character) {
                if !breaks && !leading_blank && character == '\n' && text_behind {
                    self.page.put_break();
                }
                self.page.write_break(character);
                breaks = true;
                continue;
            }
            if breaks {
                self.write_indent();
                leading_blank = matches!(character, ' ' | '\t');
            }
            self.page.put(character);
            self.page.indention = false;
            breaks = false;
        }
    }

    /// The indicator with its hints, and a comment.
    fn block_start(&mut self, indicator: &str, value: &str) {
        self.page.indicator(indicator, true, false, false);
        if value.starts_with(|first| first == ' ' || is_break(first)) {
            self.page.indicator(&INDENT.to_string(), false, false, false);
        }
        let mut last = value.chars().rev();
        let hint = match (last.next(), last.next()) {
            (Some(last), _) if !is_break(last) => "-",
            (None, _) => "-",
            (Some(_), None) => "+",
            (Some(_), Some(before)) if is_break(before) => "+",
            _ => "",
        };
        if !hint.is_empty() {
            self.page.indicator(hint, false, false, false);
        }
        if self.waiting.line.is_empty() {
            self.page.put_break();
        } else {
            self.line_comment();
        }
        self.page.whitespace = true;
    }
}
