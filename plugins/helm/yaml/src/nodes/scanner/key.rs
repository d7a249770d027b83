//! Keys without a `?`: known as keys only once their `:` is found.

use std::collections::HashMap;

use super::Scanner;
use crate::nodes::mark::{Mark, NodeError};

/// How many characters may lie between the start of a simple key and its `:`.
const MAX_KEY_LENGTH: isize = 1024;

const NO_COLON: &str = "could not find expected ':'";

/// A token that may turn out to be a key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SimpleKey {
    possible: bool,
    /// Whether the token must be a key, because it stands where block mappings have theirs.
    required: bool,
    /// The number of the token.
    pub(super) token: usize,
    pub(super) mark: Mark,
}

/// The possible key of the block level and of every open flow collection.
#[derive(Debug)]
pub(super) struct SimpleKeys {
    levels: Vec<SimpleKey>,
    /// The levels by the numbers of their tokens, as far as go-yaml keeps them.
    by_token: HashMap<usize, usize>,
}

impl Default for SimpleKeys {
    fn default() -> Self {
        Self { levels: vec![SimpleKey::default()], by_token: HashMap::new() }
    }
}

impl SimpleKeys {
    /// A flow collection starts with the token `token`.
    pub(super) fn open(&mut self, token: usize, mark: Mark) {
        self.levels.push(SimpleKey { token, mark, ..SimpleKey::default() });
    }

    /// A flow collection ends.
    pub(super) fn close(&mut self) {
        if let Some(closed) = self.levels.pop() {
            self.by_token.remove(&closed.token);
        }
    }

    /// Where the possible key of the current level stands.
    pub(super) fn last_mark(&self) -> Mark {
        self.levels.last().map(|key| key.mark).unwrap_or_default()
    }
}

impl Scanner<'_> {
    /// The number of the next token that is made.
    pub(super) fn next_token_number(&self) -> usize {
        self.taken + self.tokens.len()
    }

    /// Whether the first token in the queue may still become a key.
    pub(super) fn head_may_be_key(&mut self) -> Result<bool, NodeError> {
        let place = self.at.mark();
        let Some(level) = self.keys.by_token.get(&self.taken) else { return Ok(false) };
        self.keys.levels.get_mut(*level).map_or(Ok(false), |key| key.check(place))
    }

    /// Remembers that a key may start here.
    pub(super) fn save_simple_key(&mut self) -> Result<(), NodeError> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let mark = self.at.mark();
        let required = self.in_block() && self.indent == mark.column;
        let key = SimpleKey { possible: true, required, token: self.next_token_number(), mark };
        self.remove_simple_key()?;
        let level = self.keys.levels.len().saturating_sub(1);
        if let Some(slot) = self.keys.levels.last_mut() {
            *slot = key;
            self.keys.by_token.insert(key.token, level);
        }
        Ok(())
    }

    /// Gives up the possible key of the current level.
    pub(super) fn remove_simple_key(&mut self) -> Result<(), NodeError> {
        let place = self.at.mark();
        if let Some(key) = self.keys.levels.last_mut()
            && key.possible
        {
            if key.required {
                return Err(NodeError::scanner(NO_COLON, key.mark, place));
            }
            key.possible = false;
            self.keys.by_token.remove(&key.token);
        }
        Ok(())
    }

    /// Takes the possible key of the current level, if it still can be one here.
    pub(super) fn take_simple_key(&mut self) -> Result<Option<SimpleKey>, NodeError> {
        let place = self.at.mark();
        let Some(key) = self.keys.levels.last_mut() else { return Ok(None) };
        if !key.check(place)? {
            return Ok(None);
        }
        key.possible = false;
        let key = *key;
        self.keys.by_token.remove(&key.token);
        Ok(Some(key))
    }
}

impl SimpleKey {
    /// Whether the `:` may stand at this place; a key that can no longer get its `:` is given up.
    fn check(&mut self, place: Mark) -> Result<bool, NodeError> {
        if !self.possible {
            return Ok(false);
        }
        if self.mark.line >= place.line && self.mark.index + MAX_KEY_LENGTH >= place.index {
            return Ok(true);
        }
        if self.required {
            return Err(NodeError::scanner(NO_COLON, self.mark, place));
        }
        self.possible = false;
        Ok(false)
    }
}
