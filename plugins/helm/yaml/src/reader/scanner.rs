//! Text to tokens: go-yaml's `scannerc.go`, with its look-ahead, so that of several mistakes the same one is found.

mod block_scalar;
mod directive;
mod plain_scalar;
mod quoted_scalar;
mod simple_key;

use std::borrow::Cow;
use std::collections::VecDeque;

use self::simple_key::SimpleKeys;
use super::cursor::Cursor;
use super::failure::Failure;
use super::token::{Token, TokenKind};
use crate::chars::is_alpha;

/// go-yaml's `max_indents` and `max_flow_level`.
const MAX_DEPTH: usize = 10_000;

/// The column of a block collection; -1 outside of all.
type Indent = isize;

/// Makes tokens of a text.
#[derive(Debug)]
pub(crate) struct Scanner<'t> {
    cursor: Cursor<'t>,
    started: bool,
    tokens: VecDeque<Token<'t>>,
    /// How many tokens were handed out.
    tokens_taken: usize,
    /// Whether the first token of the queue is ready to be handed out.
    token_available: bool,
    keys: SimpleKeys,
    simple_key_allowed: bool,
    indent: Indent,
    indents: Vec<Indent>,
    flow_level: usize,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(cursor: Cursor<'t>) -> Self {
        Self {
            cursor,
            started: false,
            tokens: VecDeque::new(),
            tokens_taken: 0,
            token_available: false,
            keys: SimpleKeys::default(),
            simple_key_allowed: true,
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
        }
    }

    /// The next token. Behind the end of the stream there are only stream ends.
    ///
    /// # Errors
    ///
    /// The scanner's or the reader's, when no token can be made.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<&mut Token<'t>, Failure> {
        const END: TokenKind<'static> = TokenKind::StreamEnd;
        if !self.token_available {
            self.fetch_more_tokens()?;
        }
        if self.tokens.is_empty() {
            let line = self.cursor.line();
            self.tokens.push_back(Token { kind: END, line });
        }
        self.tokens.front_mut().ok_or_else(|| Failure::Document("no token".to_owned()))
    }

    /// Takes away the token that was looked at.
    #[inline]
    pub(crate) fn skip(&mut self) -> Option<Token<'t>> {
        self.token_available = false;
        self.tokens_taken += 1;
        self.tokens.pop_front()
    }

    fn fetch_more_tokens(&mut self) -> Result<(), Failure> {
        // A token that may turn out to be a key must wait until that is settled.
        while self.tokens.is_empty() || self.head_may_be_key()? {
            self.fetch_next_token()?;
        }
        self.token_available = true;
        Ok(())
    }

    fn error<T>(&self, problem: impl Into<Cow<'static, str>>) -> Result<T, Failure> {
        Err(Failure::Scanner { problem: problem.into(), line: self.cursor.line() })
    }

    fn column(&self) -> Indent {
        Indent::try_from(self.cursor.column()).unwrap_or(Indent::MAX)
    }

    fn in_block(&self) -> bool {
        self.flow_level == 0
    }

    fn push(&mut self, kind: TokenKind<'t>, line: usize) {
        self.tokens.push_back(Token { kind, line });
    }

    /// Passes a run of one-byte characters and makes a token of it.
    fn push_indicator(&mut self, kind: TokenKind<'t>, length: usize) {
        let line = self.cursor.line();
        for _ in 0..length {
            self.cursor.skip();
        }
        self.push(kind, line);
    }

    fn fetch_next_token(&mut self) -> Result<(), Failure> {
        self.cursor.require(1)?;
        if !self.started {
            self.started = true;
            self.push(TokenKind::StreamStart, 0);
            return Ok(());
        }
        self.scan_to_next_token()?;
        self.unroll_indent(self.column());
        self.cursor.require(4)?;

        let first = self.cursor.current();
        if first == 0 {
            return self.fetch_stream_end();
        }
        if self.cursor.column() == 0 && first == b'%' {
            return self.fetch_directive();
        }
        if self.cursor.at_document_indicator() {
            return self.fetch_document_indicator(first == b'-');
        }
        let in_block = self.in_block();
        match first {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.cursor.is_blankz_at(1) => self.fetch_block_entry(),
            b'?' if !in_block || self.cursor.is_blankz_at(1) => self.fetch_key(),
            b':' if !in_block || self.cursor.is_blankz_at(1) => self.fetch_value(),
            b'*' => self.fetch_anchor(true),
            b'&' => self.fetch_anchor(false),
            b'!' => self.fetch_tag(),
            b'|' if in_block => self.fetch_block_scalar(true),
            b'>' if in_block => self.fetch_block_scalar(false),
            b'\'' => self.fetch_quoted_scalar(true),
            b'"' => self.fetch_quoted_scalar(false),
            // Outside of their special meanings '-', '?' and ':' start a plain scalar, but never these:
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' | b'\t' => self.no_token(),
            _ if self.cursor.at_break() => self.no_token(),
            _ => self.fetch_plain_scalar(),
        }
    }

    fn no_token(&self) -> Result<(), Failure> {
        self.error("found character that cannot start any token")
    }

    /// Passes blanks, comments and line breaks.
    fn scan_to_next_token(&mut self) -> Result<(), Failure> {
        loop {
            self.cursor.require(1)?;
            if self.cursor.column() == 0 && self.cursor.at_byte_order_mark() {
                self.cursor.skip();
            }
            self.cursor.require(1)?;
            // A tab may not stand where it could pass for indentation.
            while self.cursor.current() == b' '
                || (self.cursor.current() == b'\t' && !(self.in_block() && self.simple_key_allowed))
            {
                self.cursor.skip();
                self.cursor.require(1)?;
            }
            if self.cursor.current() == b'#' {
                self.skip_to_line_end()?;
            }
            if !self.cursor.at_break() {
                return Ok(());
            }
            self.cursor.require(2)?;
            self.cursor.skip_line();
            if self.in_block() {
                self.simple_key_allowed = true;
            }
        }
    }

    /// Passes everything up to the end of the line.
    fn skip_to_line_end(&mut self) -> Result<(), Failure> {
        loop {
            self.cursor.skip_to_line_end();
            if self.cursor.at_breakz() {
                return Ok(());
            }
            self.cursor.skip();
            self.cursor.require(1)?;
        }
    }

    /// Passes blanks.
    fn skip_blanks(&mut self) -> Result<(), Failure> {
        self.cursor.require(1)?;
        while matches!(self.cursor.current(), b' ' | b'\t') {
            self.cursor.skip();
            self.cursor.require(1)?;
        }
        Ok(())
    }

    /// Opens a block collection at `column`, if it is deeper than the current one. `number` is the token in front of
    /// which it starts, the next one if `None`.
    fn roll_indent(
        &mut self,
        column: Indent,
        number: Option<usize>,
        kind: TokenKind<'t>,
        line: usize,
    ) -> Result<(), Failure> {
        if !self.in_block() || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            return self.error(format!("exceeded max depth of {MAX_DEPTH}"));
        }
        self.insert(number, kind, line);
        Ok(())
    }

    /// Puts a token in front of the token `number`; at the end if that one was handed out already or is `None`.
    fn insert(&mut self, number: Option<usize>, kind: TokenKind<'t>, line: usize) {
        let token = Token { kind, line };
        match number.and_then(|number| number.checked_sub(self.tokens_taken)) {
            Some(at) if at <= self.tokens.len() => self.tokens.insert(at, token),
            _ => self.tokens.push_back(token),
        }
    }

    /// Closes the block collections deeper than `column`.
    fn unroll_indent(&mut self, column: Indent) {
        if !self.in_block() {
            return;
        }
        while self.indent > column {
            let line = self.cursor.line();
            self.push(TokenKind::BlockEnd, line);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn fetch_stream_end(&mut self) -> Result<(), Failure> {
        self.cursor.force_line();
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let line = self.cursor.line();
        self.push(TokenKind::StreamEnd, line);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, start: bool) -> Result<(), Failure> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push_indicator(if start { TokenKind::DocumentStart } else { TokenKind::DocumentEnd }, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'t>) -> Result<(), Failure> {
        self.save_simple_key()?;
        self.keys.open(self.next_token_number());
        self.flow_level += 1;
        if self.flow_level > MAX_DEPTH {
            return self.error(format!("exceeded max depth of {MAX_DEPTH}"));
        }
        self.simple_key_allowed = true;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'t>) -> Result<(), Failure> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.keys.close();
        }
        self.simple_key_allowed = false;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Failure> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Failure> {
        if self.in_block() {
            if !self.simple_key_allowed {
                return self.error("block sequence entries are not allowed in this context");
            }
            let line = self.cursor.line();
            self.roll_indent(self.column(), None, TokenKind::BlockSequenceStart, line)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Failure> {
        if self.in_block() {
            if !self.simple_key_allowed {
                return self.error("mapping keys are not allowed in this context");
            }
            let line = self.cursor.line();
            self.roll_indent(self.column(), None, TokenKind::BlockMappingStart, line)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.in_block();
        self.push_indicator(TokenKind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Failure> {
        if let Some(key) = self.take_simple_key()? {
            self.insert(Some(key.token), TokenKind::Key, key.line);
            self.roll_indent(key.column, Some(key.token), TokenKind::BlockMappingStart, key.line)?;
            self.simple_key_allowed = false;
        } else {
            // The ':' of a '?' key, or of none.
            if self.in_block() {
                if !self.simple_key_allowed {
                    return self.error("mapping values are not allowed in this context");
                }
                let line = self.cursor.line();
                self.roll_indent(self.column(), None, TokenKind::BlockMappingStart, line)?;
            }
            self.simple_key_allowed = self.in_block();
        }
        self.push_indicator(TokenKind::Value, 1);
        Ok(())
    }

    fn fetch_anchor(&mut self, alias: bool) -> Result<(), Failure> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let line = self.cursor.line();
        self.cursor.skip();
        let start = self.cursor.position();
        self.cursor.require(1)?;
        while is_alpha(self.cursor.current()) {
            self.cursor.skip();
            self.cursor.require(1)?;
        }
        let name = self.cursor.slice(start, self.cursor.position());
        let ended = self.cursor.is_blankz_at(0)
            || matches!(self.cursor.current(), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ended {
            return self.error("did not find expected alphabetic or numeric character");
        }
        self.push(if alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) }, line);
        Ok(())
    }
}
