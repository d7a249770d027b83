//! Text to tokens: go-yaml v3's `scannerc.go`, which looks two tokens further ahead than v2 because of the comments.

mod block_scalar;
mod comments;
mod directive;
mod flow_scalar;
mod key;
mod plain_scalar;

use std::borrow::Cow;
use std::collections::VecDeque;

use self::key::SimpleKeys;
use super::mark::{Mark, NodeError, Place};
use super::token::{Comment, Token, TokenKind};
use crate::chars::is_alpha;
use crate::reader::Cursor;

/// go-yaml's `max_indents` and `max_flow_level`.
const MAX_DEPTH: usize = 10_000;

/// How many tokens must be known beside the one that is handed out.
const AHEAD: usize = 2;

/// Makes tokens of a text.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    at: Place<'t>,
    started: bool,
    tokens: VecDeque<Token>,
    /// How many tokens were handed out.
    taken: usize,
    /// Whether the first token of the queue is ready to be handed out.
    available: bool,
    /// All that were found; the parser takes those in front.
    pub(super) comments: Vec<Comment>,
    keys: SimpleKeys,
    simple_key_allowed: bool,
    /// The column of the block collection; -1 outside of all.
    indent: isize,
    indents: Vec<isize>,
    flow_level: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(cursor: Cursor<'t>) -> Self {
        Self {
            at: Place::new(cursor),
            started: false,
            tokens: VecDeque::new(),
            taken: 0,
            available: false,
            comments: Vec::new(),
            keys: SimpleKeys::default(),
            simple_key_allowed: true,
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
        }
    }

    /// The next token.
    pub(super) fn peek(&mut self) -> Result<&mut Token, NodeError> {
        if !self.available {
            self.fetch_more_tokens()?;
        }
        self.tokens.front_mut().ok_or(NodeError(Cow::Borrowed("no token")))
    }

    /// Takes away the token that was looked at.
    pub(super) fn skip(&mut self) -> Option<Token> {
        self.available = false;
        self.taken += 1;
        self.tokens.pop_front()
    }

    fn fetch_more_tokens(&mut self) -> Result<(), NodeError> {
        while self.tokens.len() <= AHEAD || self.head_may_be_key()? {
            self.fetch_next_token()?;
        }
        self.available = true;
        Ok(())
    }

    fn error<T>(&self, problem: impl Into<Cow<'static, str>>, context: Mark) -> Result<T, NodeError> {
        Err(NodeError::scanner(problem, context, self.at.mark()))
    }

    fn in_block(&self) -> bool {
        self.flow_level == 0
    }

    fn push(&mut self, kind: TokenKind, start: Mark) {
        self.tokens.push_back(Token { kind, start });
    }

    /// Passes a run of characters and makes a token of it.
    fn push_indicator(&mut self, kind: TokenKind, length: usize) {
        let start = self.at.mark();
        self.at.skip_all(length);
        self.push(kind, start);
    }

    /// Puts a token in front of the token `number`, or at the end.
    fn insert(&mut self, number: Option<usize>, kind: TokenKind, mark: Mark) {
        let token = Token { kind, start: mark };
        match number.and_then(|number| number.checked_sub(self.taken)) {
            Some(at) if at <= self.tokens.len() => self.tokens.insert(at, token),
            _ => self.tokens.push_back(token),
        }
    }

    fn fetch_next_token(&mut self) -> Result<(), NodeError> {
        self.at.require(1)?;
        if !self.started {
            self.started = true;
            let mark = self.at.mark();
            self.push(TokenKind::StreamStart, mark);
            return Ok(());
        }
        let scan = self.at.mark();
        self.scan_to_next_token()?;
        self.unroll_indent(self.at.column(), scan);
        self.at.require(4)?;

        let first = self.at.current();
        if first == 0 {
            return self.fetch_stream_end();
        }
        if self.at.column() == 0 && first == b'%' {
            return self.fetch_directive();
        }
        if self.at.at_document_indicator() {
            return self.fetch_document_indicator(first == b'-');
        }
        let mut owner = self.at.mark();
        if (self.in_block() && first == b':') || (!self.in_block() && first == b',') {
            // A comment behind it belongs to the token in front.
            owner = self.tokens.back().map_or(owner, |token| token.start);
        }
        self.fetch_by_first_character(first)?;
        // Behind a dash alone it becomes a comment above what follows.
        if self.tokens.back().is_some_and(|token| token.kind == TokenKind::BlockEntry) {
            return Ok(());
        }
        self.scan_line_comment(owner)
    }

    fn fetch_by_first_character(&mut self, first: u8) -> Result<(), NodeError> {
        let in_block = self.in_block();
        match first {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.at.is_blankz_at(1) => self.fetch_block_entry(),
            b'?' if !in_block || self.at.is_blankz_at(1) => self.fetch_key(),
            b':' if !in_block || self.at.is_blankz_at(1) => self.fetch_value(),
            b'*' => self.fetch_anchor(true),
            b'&' => self.fetch_anchor(false),
            b'!' => self.fetch_tag(),
            b'|' if in_block => self.fetch_block_scalar(true),
            b'>' if in_block => self.fetch_block_scalar(false),
            b'\'' => self.fetch_flow_scalar(true),
            b'"' => self.fetch_flow_scalar(false),
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' | b'\t' => self.no_token(),
            _ if self.at.is_break_at(0) => self.no_token(),
            _ => self.fetch_plain_scalar(),
        }
    }

    fn no_token(&self) -> Result<(), NodeError> {
        self.error("found character that cannot start any token", self.at.mark())
    }

    /// Opens a block collection at `column`, if it is deeper than the current one. `number` is the token in front of which it
    /// starts, the next one if `None`.
    fn roll_indent(
        &mut self,
        column: isize,
        number: Option<usize>,
        kind: TokenKind,
        mark: Mark,
    ) -> Result<(), NodeError> {
        if !self.in_block() || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            return self.error(format!("exceeded max depth of {MAX_DEPTH}"), self.keys.last_mark());
        }
        self.insert(number, kind, mark);
        Ok(())
    }

    fn fetch_stream_end(&mut self) -> Result<(), NodeError> {
        self.at.force_line();
        self.unroll_indent(-1, self.at.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let mark = self.at.mark();
        self.push(TokenKind::StreamEnd, mark);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, start: bool) -> Result<(), NodeError> {
        self.unroll_indent(-1, self.at.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push_indicator(if start { TokenKind::DocumentStart } else { TokenKind::DocumentEnd }, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind) -> Result<(), NodeError> {
        self.save_simple_key()?;
        self.keys.open(self.next_token_number(), self.at.mark());
        self.flow_level += 1;
        if self.flow_level > MAX_DEPTH {
            return self.error(format!("exceeded max depth of {MAX_DEPTH}"), self.keys.last_mark());
        }
        self.simple_key_allowed = true;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind) -> Result<(), NodeError> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.keys.close();
        }
        self.simple_key_allowed = false;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), NodeError> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), NodeError> {
        if self.in_block() {
            let problem = "block sequence entries are not allowed in this context";
            self.start_block(TokenKind::BlockSequenceStart, problem)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), NodeError> {
        if self.in_block() {
            let problem = "mapping keys are not allowed in this context";
            self.start_block(TokenKind::BlockMappingStart, problem)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.in_block();
        self.push_indicator(TokenKind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), NodeError> {
        if let Some(key) = self.take_simple_key()? {
            self.insert(Some(key.token), TokenKind::Key, key.mark);
            self.roll_indent(key.mark.column, Some(key.token), TokenKind::BlockMappingStart, key.mark)?;
            self.simple_key_allowed = false;
        } else {
            if self.in_block() {
                let problem = "mapping values are not allowed in this context";
                self.start_block(TokenKind::BlockMappingStart, problem)?;
            }
            self.simple_key_allowed = self.in_block();
        }
        self.push_indicator(TokenKind::Value, 1);
        Ok(())
    }

    /// Opens a block collection here, where one may start.
    fn start_block(&mut self, kind: TokenKind, problem: &'static str) -> Result<(), NodeError> {
        let mark = self.at.mark();
        if !self.simple_key_allowed {
            return self.error(problem, mark);
        }
        self.roll_indent(mark.column, None, kind, mark)
    }

    fn fetch_anchor(&mut self, alias: bool) -> Result<(), NodeError> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at.mark();
        self.at.skip();
        let mut name = String::new();
        self.at.require(1)?;
        while is_alpha(self.at.current()) {
            self.at.read(&mut name);
            self.at.require(1)?;
        }
        let ended = self.at.is_blankz_at(0)
            || matches!(self.at.current(), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ended {
            return self.error("did not find expected alphabetic or numeric character", start);
        }
        self.push(if alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) }, start);
        Ok(())
    }
}
