//! Where things go on the page.

use crate::chars::is_alpha;
use crate::strconv;
use crate::writer::is_break;

/// Text, and where its last line ends.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) out: String,
    /// Characters on the current line.
    pub(super) column: isize,
    /// Whether the last character was a blank that separates.
    pub(super) whitespace: bool,
    /// Whether there is nothing but indentation on the line, `-`, `?` and `:` included.
    pub(super) indention: bool,
    /// The column of a comment below something, which an empty line sets apart from what follows in it; -1: none.
    pub(super) foot_indent: isize,
}

impl Default for Page {
    fn default() -> Self {
        Self { out: String::new(), column: 0, whitespace: true, indention: true, foot_indent: -1 }
    }
}

impl Page {
    pub(super) fn put(&mut self, character: char) {
        self.out.push(character);
        self.column += 1;
    }

    pub(super) fn put_all(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += isize::try_from(text.chars().count()).unwrap_or(isize::MAX);
    }

    pub(super) fn put_break(&mut self) {
        self.out.push('\n');
        self.start_line();
    }

    /// Writes a line break of a scalar or comment: LF, or one of the others as it is.
    pub(super) fn write_break(&mut self, character: char) {
        self.out.push(character);
        self.start_line();
    }

    fn start_line(&mut self) {
        self.column = 0;
        self.indention = true;
    }

    /// Goes to a column of a fresh line, or of this one if there is nothing on it yet.
    pub(super) fn write_indent(&mut self, indent: isize) {
        let indent = indent.max(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        if self.foot_indent == indent {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.foot_indent = -1;
    }

    /// Puts a blank, unless there is one.
    pub(super) fn separate(&mut self) {
        if !self.whitespace {
            self.put(' ');
        }
    }

    pub(super) fn indicator(&mut self, text: &str, separate: bool, whitespace: bool, indention: bool) {
        if separate {
            self.separate();
        }
        self.put_all(text);
        self.whitespace = whitespace;
        self.indention = self.indention && indention;
    }

    /// Writes what has no blanks.
    pub(super) fn word(&mut self, text: &str) {
        self.put_all(text);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes a tag's suffix, with `%xx` for what may not stand there.
    pub(super) fn tag_content(&mut self, text: &str) {
        let mut buffer = [0; 4];
        for character in text.chars() {
            let plain =
                u8::try_from(character).is_ok_and(is_alpha) || ";/?:@&=+$,_.~*'()[]".contains(character);
            if plain {
                self.put(character);
                continue;
            }
            for byte in character.encode_utf8(&mut buffer).bytes() {
                self.put('%');
                self.put(strconv::upper_hex(u32::from(byte) >> 4).into());
                self.put(strconv::upper_hex(u32::from(byte)).into());
            }
        }
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes a comment, with `# ` in front of lines that have none, and ends the line.
    pub(super) fn comment(&mut self, comment: &str, indent: isize) {
        let (mut breaks, mut pound) = (false, false);
        for character in comment.chars() {
            if is_break(character) {
                self.write_break(character);
                (breaks, pound) = (true, false);
                continue;
            }
            if breaks {
                self.write_indent(indent);
            }
            if !pound {
                if character != '#' {
                    self.put('#');
                    self.put(' ');
                }
                pound = true;
            }
            self.put(character);
            self.indention = false;
            breaks = false;
        }
        if !breaks {
            self.put_break();
        }
        self.whitespace = true;
    }
}
