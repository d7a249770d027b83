//! Keys without a `?`: known as keys only once their `:` is found.

use super::{Indent, Scanner};
use crate::reader::failure::Failure;

/// How many characters may lie between the start of a simple key and its `:`.
const MAX_KEY_LENGTH: usize = 1024;

/// A token that may turn out to be a key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SimpleKey {
    possible: bool,
    /// Whether the token must be a key, because it stands where block mappings have theirs.
    required: bool,
    /// Whether go-yaml finds the key by its token when it decides how far to look ahead.
    indexed: bool,
    /// The number of the token.
    pub(super) token: usize,
    index: usize,
    pub(super) line: usize,
    pub(super) column: Indent,
}

/// The possible key of the block level and of every open flow collection.
#[derive(Debug)]
pub(super) struct SimpleKeys(Vec<SimpleKey>);

impl Default for SimpleKeys {
    fn default() -> Self {
        Self(vec![SimpleKey::default()])
    }
}

impl SimpleKeys {
    /// A flow collection starts with the token `token`.
    pub(super) fn open(&mut self, token: usize) {
        self.0.push(SimpleKey { token, ..SimpleKey::default() });
    }

    /// A flow collection ends. go-yaml forgets the key by its token number, which an empty collection shares with
    /// the key that the collection itself may be.
    pub(super) fn close(&mut self) {
        if self.0.len() < 2 {
            return;
        }
        if let (Some(closed), Some(outer)) = (self.0.pop(), self.0.last_mut())
            && closed.token == outer.token
        {
            outer.indexed = false;
        }
    }

    fn last_mut(&mut self) -> Option<&mut SimpleKey> {
        self.0.last_mut()
    }

    /// The possible key that is the token `token`.
    fn by_token_mut(&mut self, token: usize) -> Option<&mut SimpleKey> {
        // Token numbers never fall from one level to the next.
        let first = if self.0.len() == 1 { 0 } else { self.0.partition_point(|key| key.token < token) };
        let found = self.0.get_mut(first..).unwrap_or_default();
        found.iter_mut().take_while(|key| key.token == token).find(|key| key.possible && key.indexed)
    }
}

const NO_COLON: &str = "could not find expected ':'";

impl Scanner<'_> {
    /// The number of the next token that is made.
    pub(super) fn next_token_number(&self) -> usize {
        self.tokens_taken + self.tokens.len()
    }

    /// Whether the first token in the queue may still become a key.
    #[inline]
    pub(super) fn head_may_be_key(&mut self) -> Result<bool, Failure> {
        let (line, index) = (self.cursor.line(), self.cursor.index());
        match self.keys.by_token_mut(self.tokens_taken) {
            None => Ok(false),
            Some(key) => key.check(line, index),
        }
    }

    /// Remembers that a key may start here.
    pub(super) fn save_simple_key(&mut self) -> Result<(), Failure> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let column = self.column();
        let key = SimpleKey {
            possible: true,
            required: self.in_block() && self.indent == column,
            indexed: true,
            token: self.next_token_number(),
            index: self.cursor.index(),
            line: self.cursor.line(),
            column,
        };
        self.remove_simple_key()?;
        if let Some(slot) = self.keys.last_mut() {
            *slot = key;
        }
        Ok(())
    }

    /// Gives up the possible key of the current level.
    #[inline]
    pub(super) fn remove_simple_key(&mut self) -> Result<(), Failure> {
        let line = self.cursor.line();
        if let Some(key) = self.keys.last_mut()
            && key.possible
        {
            if key.required {
                return Err(Failure::Scanner { problem: NO_COLON.into(), line });
            }
            key.possible = false;
        }
        Ok(())
    }

    /// Takes the possible key of the current level, if it still can be one here.
    pub(super) fn take_simple_key(&mut self) -> Result<Option<SimpleKey>, Failure> {
        let (line, index) = (self.cursor.line(), self.cursor.index());
        let Some(key) = self.keys.last_mut() else { return Ok(None) };
        if !key.check(line, index)? {
            return Ok(None);
        }
        key.possible = false;
        Ok(Some(*key))
    }
}

impl SimpleKey {
    /// Whether the `:` may stand at this place; a key that can no longer get its `:` is given up.
    #[inline]
    fn check(&mut self, line: usize, index: usize) -> Result<bool, Failure> {
        if !self.possible {
            return Ok(false);
        }
        if self.line >= line && self.index + MAX_KEY_LENGTH >= index {
            return Ok(true);
        }
        if self.required {
            return Err(Failure::Scanner { problem: NO_COLON.into(), line });
        }
        self.possible = false;
        Ok(false)
    }
}
