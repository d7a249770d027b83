//! The parser's view of the tokens: three tokens of look-ahead, and errors.

use super::token::{Token, TokenKind};
use super::{Parser, Result};
use crate::error::ParseError;
use crate::strconv::{unquote, verbatim};
use crate::value::Str;

/// Texts up to this length are likely to come again.
const LONGEST_WORD: usize = 32;

/// Tokens read but not used yet, as `Tree.token` and `peekCount` hold them in Go. The line of the
/// first one is the line of errors, used or not.
#[derive(Debug)]
pub(super) struct Lookahead {
    tokens: [Token; 3],
    count: usize,
}

impl Lookahead {
    /// The line that errors name.
    pub(super) fn line(&self) -> u32 {
        self.tokens[0].line
    }
}

impl Default for Lookahead {
    fn default() -> Self {
        Self { tokens: [Token::NONE; 3], count: 0 }
    }
}

impl<'s> Parser<'s> {
    pub(super) fn next(&mut self) -> Token {
        let lookahead = &mut self.tree.lookahead;
        if lookahead.count > 0 {
            lookahead.count -= 1;
        } else {
            lookahead.tokens[0] = self.lexer.next_token();
        }
        lookahead.tokens.get(lookahead.count).copied().unwrap_or(Token::NONE)
    }

    pub(super) fn peek(&mut self) -> Token {
        let token = self.next();
        self.backup();
        token
    }

    pub(super) fn backup(&mut self) {
        self.tree.lookahead.count += 1;
    }

    /// Gives back the last token and the one before it, which has left the window.
    pub(super) fn backup2(&mut self, before: Token) {
        self.tree.lookahead.tokens[1] = before;
        self.tree.lookahead.count = 2;
    }

    /// Gives back the last token and the two before it.
    pub(super) fn backup3(&mut self, first: Token, second: Token) {
        self.tree.lookahead.tokens[1] = second;
        self.tree.lookahead.tokens[2] = first;
        self.tree.lookahead.count = 3;
    }

    pub(super) fn next_non_space(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != TokenKind::Space {
                return token;
            }
        }
    }

    pub(super) fn peek_non_space(&mut self) -> Token {
        let token = self.next_non_space();
        self.backup();
        token
    }

    pub(super) fn expect(&mut self, kind: TokenKind, context: &str) -> Result<Token> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(token, context)) }
    }

    /// The content of a string token.
    pub(super) fn unquoted(&mut self, token: Token) -> Result<Str> {
        let literal = self.lexer.text(token);
        match verbatim(literal) {
            Some(inner) if inner.len() <= LONGEST_WORD => return Ok(self.intern(inner)),
            Some(inner) => return Ok(Str::from_bytes(inner)),
            None => {}
        }
        match unquote(literal) {
            Ok(bytes) => Ok(Str::from(bytes)),
            Err(error) => Err(self.error(error.to_string())),
        }
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError { name: self.name.to_string(), line: self.tree.lookahead.line(), message: message.into() }
    }

    pub(super) fn unexpected(&self, token: Token, context: &str) -> ParseError {
        let shown = self.lexer.describe(token);
        if token.kind != TokenKind::Error {
            return self.error(format!("unexpected {shown} in {context}"));
        }
        let started = self.tree.action_line;
        if started == 0 || started == token.line {
            return self.error(shown);
        }
        let within = if shown.ends_with(" action") { "" } else { " in action" };
        self.error(format!("{shown}{within} started at {}:{started}", self.name))
    }
}
