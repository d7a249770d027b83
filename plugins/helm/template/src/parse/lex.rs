//! The lexer: template text into tokens (text/template/parse/lex.go).

use super::token::{Token, TokenKind};
use crate::fmt::{quote, unicode_name};
use crate::runes;

/// Cuts a source into tokens, one at each call.
#[derive(Debug)]
pub(super) struct Lexer<'s> {
    /// The whole text, for showing tokens.
    text: &'s [u8],
    /// What is still to be cut: the same until an error has ended it.
    source: &'s [u8],
    at: usize,
    start: usize,
    line: u32,
    start_line: u32,
    paren_depth: i32,
    inside_action: bool,
    /// Whether `break` and `continue` are keywords, which they are unless functions have the name.
    pub(super) break_ok: bool,
    pub(super) continue_ok: bool,
    /// The message of the token of kind [`TokenKind::Error`].
    error: String,
}

const LEFT: &[u8; 2] = b"{{";
const RIGHT: &[u8] = b"}}";

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s [u8]) -> Self {
        Self {
            text: source,
            source,
            at: 0,
            start: 0,
            line: 1,
            start_line: 1,
            paren_depth: 0,
            inside_action: false,
            break_ok: true,
            continue_ok: true,
            error: String::new(),
        }
    }

    /// The source text of a token.
    pub(super) fn text(&self, token: Token) -> &'s [u8] {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    /// A token as error messages show it.
    pub(super) fn describe(&self, token: Token) -> String {
        let text = self.text(token);
        match token.kind {
            TokenKind::Eof => "EOF".to_owned(),
            TokenKind::Error => self.error.clone(),
            kind if kind.is_keyword() => format!("<{}>", String::from_utf8_lossy(text)),
            _ if text.len() > 10 => {
                let mut end = 0;
                for _ in 0..10 {
                    end += runes::decode(text.get(end..).unwrap_or_default()).1;
                }
                format!("{}...", quote(text.get(..end).unwrap_or(text)))
            }
            _ => quote(text),
        }
    }

    /// The next token. After an error or the end, the end.
    pub(super) fn next_token(&mut self) -> Token {
        if self.inside_action { self.action() } else { self.outside() }
    }

    fn rest(&self) -> &'s [u8] {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    /// The rune at the current place; `None` at the end.
    fn peek_rune(&self) -> Option<(char, usize)> {
        if let Some(byte) = self.peek().filter(u8::is_ascii) {
            return Some((byte.into(), 1));
        }
        let (rune, width) = runes::decode(self.rest());
        (width > 0).then_some((rune, width))
    }

    fn emit(&mut self, kind: TokenKind) -> Token {
        let token = Token { kind, start: self.start, end: self.at, line: self.start_line };
        self.start = self.at;
        self.start_line = self.line;
        token
    }

    /// Steps to `end` and counts the lines on the way.
    fn advance(&mut self, end: usize) {
        let passed = self.source.get(self.at..end).unwrap_or_default();
        self.line += count_lines(passed);
        self.at = end;
    }

    /// Drops what was read since the last token.
    fn skip_to(&mut self, end: usize) {
        self.advance(end);
        self.start = self.at;
        self.start_line = self.line;
    }

    fn error(&mut self, message: impl Into<String>) -> Token {
        self.error = message.into();
        let token =
            Token { kind: TokenKind::Error, start: self.start, end: self.start, line: self.start_line };
        self.source = &[];
        (self.at, self.start) = (0, 0);
        token
    }

    /// Text up to the next action, and comments.
    fn outside(&mut self) -> Token {
        loop {
            let rest = self.rest();
            let Some(length) = find_pair(rest, LEFT) else {
                self.advance(self.source.len());
                return self.emit(if self.at > self.start { TokenKind::Text } else { TokenKind::Eof });
            };
            let delim = self.at + length;
            let trim = left_trim(self.source.get(delim + LEFT.len()..).unwrap_or_default());
            if length > 0 {
                let text = rest.get(..length).unwrap_or_default();
                let kept = if trim { without_trailing_spaces(text) } else { length };
                self.advance(self.at + kept);
                let token = (kept > 0).then(|| self.emit(TokenKind::Text));
                self.skip_to(delim);
                if let Some(token) = token {
                    return token;
                }
            }
            let after_marker = delim + LEFT.len() + if trim { 2 } else { 0 };
            if self.source.get(after_marker..).unwrap_or_default().starts_with(b"/*") {
                self.skip_to(after_marker);
                if let Err(token) = self.comment() {
                    return token;
                }
                continue;
            }
            self.at = delim + LEFT.len();
            let token = self.emit(TokenKind::LeftDelim);
            self.inside_action = true;
            self.paren_depth = 0;
            self.skip_to(after_marker);
            return token;
        }
    }

    /// Steps over a comment, of which the `/*` is next.
    fn comment(&mut self) -> Result<(), Token> {
        self.at += 2;
        let Some(length) = find_pair(self.rest(), b"*/") else {
            return Err(self.error("unclosed comment"));
        };
        self.advance(self.at + length + 2);
        let Some(trim) = self.right_delim() else {
            return Err(self.error("comment ends before closing delimiter"));
        };
        self.close(trim);
        Ok(())
    }

    /// Whether the closing delimiter is next, and if so whether it trims.
    fn right_delim(&self) -> Option<bool> {
        let rest = self.rest();
        if right_trim(rest) && rest.get(2..).is_some_and(|rest| rest.starts_with(RIGHT)) {
            return Some(true);
        }
        rest.starts_with(RIGHT).then_some(false)
    }

    /// Steps over the closing delimiter and what it trims.
    fn close(&mut self, trim: bool) {
        let end = self.at + RIGHT.len() + if trim { 2 } else { 0 };
        let spaces = if trim { leading_spaces(self.source.get(end..).unwrap_or_default()) } else { 0 };
        self.skip_to(end + spaces);
    }

    fn close_action(&mut self, trim: bool) -> Token {
        if trim {
            self.skip_to(self.at + 2);
        }
        self.at += RIGHT.len();
        let token = self.emit(TokenKind::RightDelim);
        if trim {
            self.skip_to(self.at + leading_spaces(self.rest()));
        }
        self.inside_action = false;
        token
    }

    fn action(&mut self) -> Token {
        if let Some(b'}' | b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            if let Some(trim) = self.right_delim() {
                if self.paren_depth == 0 {
                    return self.close_action(trim);
                }
                return self.error("unclosed left paren");
            }
            if self.peek() != Some(b'}') {
                return self.space();
            }
        }
        let Some((rune, width)) = self.peek_rune() else { return self.error("unclosed action") };
        self.at += width;
        match rune {
            '=' => self.emit(TokenKind::Assign),
            ':' if self.peek() == Some(b'=') => {
                self.at += 1;
                self.emit(TokenKind::Declare)
            }
            ':' => self.error("expected :="),
            '|' => self.emit(TokenKind::Pipe),
            '"' => self.quoted('"', TokenKind::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', TokenKind::CharConstant, "unterminated character constant"),
            '`' => self.raw_quoted(),
            '$' => self.name(TokenKind::Variable),
            '.' if self.peek().is_some_and(|next| !next.is_ascii_digit()) => self.name(TokenKind::Field),
            '.' | '+' | '-' | '0'..='9' => {
                self.at -= width;
                self.number()
            }
            '(' => {
                self.paren_depth += 1;
                self.emit(TokenKind::LeftParen)
            }
            ')' => {
                self.paren_depth -= 1;
                if self.paren_depth < 0 {
                    return self.error("unexpected right paren");
                }
                self.emit(TokenKind::RightParen)
            }
            _ if runes::is_alphanumeric(rune) => self.identifier(),
            '!'..='~' => self.emit(TokenKind::Char),
            _ => self.error(format!("unrecognized character in action: {}", unicode_name(rune))),
        }
    }

    /// A run of spaces, without the last one when it belongs to a trimming delimiter.
    fn space(&mut self) -> Token {
        let spaces = leading_spaces(self.rest());
        let last = self.at + spaces - 1;
        let from_last = self.source.get(last..).unwrap_or_default();
        if right_trim(from_last) && from_last.get(2..).is_some_and(|rest| rest.starts_with(RIGHT)) {
            if spaces == 1 {
                return self.close_action(true);
            }
            self.advance(last);
        } else {
            self.advance(last + 1);
        }
        self.emit(TokenKind::Space)
    }

    fn skip_alphanumerics(&mut self) -> Option<char> {
        let simple = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let rest = self.rest();
        self.at += rest.iter().position(|byte| !simple(byte)).unwrap_or(rest.len());
        loop {
            match self.peek_rune() {
                Some((rune, width)) if runes::is_alphanumeric(rune) => self.at += width,
                other => return other.map(|(rune, _)| rune),
            }
        }
    }

    fn identifier(&mut self) -> Token {
        let next = self.skip_alphanumerics();
        if let Some(token) = self.bad_terminator(next) {
            return token;
        }
        let word = self.source.get(self.start..self.at).unwrap_or_default();
        match TokenKind::keyword(word) {
            Some(TokenKind::Break) if !self.break_ok => self.emit(TokenKind::Identifier),
            Some(TokenKind::Continue) if !self.continue_ok => self.emit(TokenKind::Identifier),
            Some(kind) => self.emit(kind),
            None if word == b"true" || word == b"false" => self.emit(TokenKind::Bool),
            None => self.emit(TokenKind::Identifier),
        }
    }

    /// A field or variable, of which the first character was read.
    fn name(&mut self, kind: TokenKind) -> Token {
        if self.at_terminator() {
            return self.emit(if kind == TokenKind::Variable { kind } else { TokenKind::Dot });
        }
        let next = self.skip_alphanumerics();
        match self.bad_terminator(next) {
            Some(token) => token,
            None => self.emit(kind),
        }
    }

    fn bad_terminator(&mut self, next: Option<char>) -> Option<Token> {
        if self.at_terminator() {
            return None;
        }
        let message = format!("bad character {}", next.map_or_else(String::new, unicode_name));
        Some(self.error(message))
    }

    /// Whether what comes next can follow a name.
    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => true,
            _ => self.rest().starts_with(RIGHT),
        }
    }

    /// A string or character constant, of which the opening mark was read.
    fn quoted(&mut self, mark: char, kind: TokenKind, unterminated: &str) -> Token {
        loop {
            let byte = self.peek();
            self.at += 1;
            match byte {
                Some(b'\\') if !matches!(self.peek(), None | Some(b'\n')) => self.at += 1,
                None | Some(b'\n' | b'\\') => return self.error(unterminated),
                Some(byte) if char::from(byte) == mark => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_quoted(&mut self) -> Token {
        match memchr::memchr(b'`', self.rest()) {
            None => self.error("unterminated raw quoted string"),
            Some(length) => {
                self.advance(self.at + length + 1);
                self.emit(TokenKind::RawString)
            }
        }
    }

    fn number(&mut self) -> Token {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some(b'+' | b'-')) {
            if !self.scan_number() || self.source.get(self.at - 1) != Some(&b'i') {
                return self.bad_number();
            }
            return self.emit(TokenKind::Complex);
        }
        self.emit(TokenKind::Number)
    }

    fn bad_number(&mut self) -> Token {
        let text = quote(self.source.get(self.start..self.at).unwrap_or_default());
        self.error(format!("bad number syntax: {text}"))
    }

    fn accept(&mut self, set: &[u8]) -> bool {
        let accepted = self.peek().is_some_and(|byte| set.contains(&byte));
        self.at += usize::from(accepted);
        accepted
    }

    fn accept_run(&mut self, set: &[u8]) {
        while self.accept(set) {}
    }

    /// Reads what looks like a number; whether it really is one is found out later.
    fn scan_number(&mut self) -> bool {
        const DECIMAL: &[u8] = b"0123456789_";
        const HEX: &[u8] = b"0123456789abcdefABCDEF_";
        self.accept(b"+-");
        let mut digits = DECIMAL;
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = HEX;
            } else if self.accept(b"oO") {
                digits = b"01234567_";
            } else if self.accept(b"bB") {
                digits = b"01_";
            }
        }
        self.accept_run(digits);
        if self.accept(b".") {
            self.accept_run(digits);
        }
        if (digits == DECIMAL && self.accept(b"eE")) || (digits == HEX && self.accept(b"pP")) {
            self.accept(b"+-");
            self.accept_run(DECIMAL);
        }
        self.accept(b"i");
        match self.peek_rune() {
            Some((rune, width)) if runes::is_alphanumeric(rune) => {
                self.at += width;
                false
            }
            _ => true,
        }
    }
}

/// Where two bytes first stand side by side. They are rare and near, so that a searcher would take longer to make than this
/// takes to find them.
fn find_pair(bytes: &[u8], [first, second]: &[u8; 2]) -> Option<usize> {
    memchr::memchr_iter(*first, bytes).find(|at| bytes.get(at + 1) == Some(second))
}

/// Length without trailing spaces.
fn without_trailing_spaces(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1)
}

fn count_lines(bytes: &[u8]) -> u32 {
    u32::try_from(memchr::memchr_iter(b'\n', bytes).count()).unwrap_or(u32::MAX)
}

fn leading_spaces(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !is_space(*byte)).unwrap_or(bytes.len())
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// `- ` after an opening delimiter.
fn left_trim(bytes: &[u8]) -> bool {
    matches!(bytes, [b'-', space, ..] if is_space(*space))
}

/// ` -` before a closing delimiter.
fn right_trim(bytes: &[u8]) -> bool {
    matches!(bytes, [space, b'-', ..] if is_space(*space))
}
