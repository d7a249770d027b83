//! Entries of sequences and mappings.

use super::{EventKind, Parsed, Parser, State, empty_scalar, error, event};
use crate::reader::token::TokenKind;

impl<'t> Parser<'t> {
    /// A node, and then `after`.
    fn parse_node_then(&mut self, after: State, block: bool, indentless: bool) -> Parsed<'t> {
        self.states.push(after);
        self.parse_node(block, indentless)
    }

    /// A node that is not there, and then `after`.
    fn empty_then(&mut self, after: State, line: usize) -> Parsed<'t> {
        self.state = after;
        Ok(empty_scalar(line))
    }

    pub(super) fn parse_block_sequence_entry(&mut self, first: bool) -> Parsed<'t> {
        if first {
            self.scanner.peek()?;
            self.scanner.skip();
        }
        let token = self.scanner.peek()?;
        let line = token.line;
        match token.kind {
            TokenKind::BlockEntry => {
                self.scanner.skip();
                match self.scanner.peek()?.kind {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => {
                        self.empty_then(State::BlockSequenceEntry, line)
                    }
                    _ => self.parse_node_then(State::BlockSequenceEntry, true, false),
                }
            }
            TokenKind::BlockEnd => self.end_collection(EventKind::SequenceEnd),
            _ => error("did not find expected '-' indicator", line),
        }
    }

    pub(super) fn parse_indentless_sequence_entry(&mut self) -> Parsed<'t> {
        let token = self.scanner.peek()?;
        let line = token.line;
        if !matches!(token.kind, TokenKind::BlockEntry) {
            self.pop_state();
            return Ok(event(EventKind::SequenceEnd, line));
        }
        self.scanner.skip();
        match self.scanner.peek()?.kind {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.empty_then(State::IndentlessSequenceEntry, line)
            }
            _ => self.parse_node_then(State::IndentlessSequenceEntry, true, false),
        }
    }

    pub(super) fn parse_block_mapping_key(&mut self, first: bool) -> Parsed<'t> {
        if first {
            self.scanner.peek()?;
            self.scanner.skip();
        }
        let token = self.scanner.peek()?;
        let line = token.line;
        match token.kind {
            TokenKind::Key => {
                self.scanner.skip();
                match self.scanner.peek()?.kind {
                    TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                        self.empty_then(State::BlockMappingValue, line)
                    }
                    _ => self.parse_node_then(State::BlockMappingValue, true, true),
                }
            }
            TokenKind::BlockEnd => self.end_collection(EventKind::MappingEnd),
            _ => error("did not find expected key", line),
        }
    }

    pub(super) fn parse_block_mapping_value(&mut self) -> Parsed<'t> {
        let token = self.scanner.peek()?;
        let line = token.line;
        if !matches!(token.kind, TokenKind::Value) {
            return self.empty_then(State::BlockMappingKey, line);
        }
        self.scanner.skip();
        match self.scanner.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.empty_then(State::BlockMappingKey, line)
            }
            _ => self.parse_node_then(State::BlockMappingKey, true, true),
        }
    }

    pub(super) fn parse_flow_sequence_entry(&mut self, first: bool) -> Parsed<'t> {
        if first {
            self.scanner.peek()?;
            self.scanner.skip();
        } else {
            let token = self.scanner.peek()?;
            match token.kind {
                TokenKind::FlowSequenceEnd => {}
                TokenKind::FlowEntry => {
                    self.scanner.skip();
                }
                _ => return error("did not find expected ',' or ']'", token.line),
            }
        }
        let token = self.scanner.peek()?;
        let line = token.line;
        match token.kind {
            TokenKind::FlowSequenceEnd => self.end_collection(EventKind::SequenceEnd),
            // `[key: value]` holds a mapping of one entry.
            TokenKind::Key => {
                self.scanner.skip();
                self.state = State::FlowPairKey;
                Ok(event(EventKind::MappingStart, line))
            }
            _ => self.parse_node_then(State::FlowSequenceEntry, false, false),
        }
    }

    pub(super) fn parse_flow_pair_key(&mut self) -> Parsed<'t> {
        let token = self.scanner.peek()?;
        match token.kind {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                let line = token.line;
                // go-yaml takes the token away here, so that a value is lost.
                self.scanner.skip();
                self.empty_then(State::FlowPairValue, line)
            }
            _ => self.parse_node_then(State::FlowPairValue, false, false),
        }
    }

    pub(super) fn parse_flow_pair_value(&mut self) -> Parsed<'t> {
        let mut token = self.scanner.peek()?;
        let mut line = token.line;
        if matches!(token.kind, TokenKind::Value) {
            self.scanner.skip();
            token = self.scanner.peek()?;
            if !matches!(token.kind, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
                return self.parse_node_then(State::FlowPairEnd, false, false);
            }
            line = token.line;
        }
        self.empty_then(State::FlowPairEnd, line)
    }

    pub(super) fn parse_flow_pair_end(&mut self) -> Parsed<'t> {
        let line = self.scanner.peek()?.line;
        self.state = State::FlowSequenceEntry;
        Ok(event(EventKind::MappingEnd, line))
    }

    pub(super) fn parse_flow_mapping_key(&mut self, first: bool) -> Parsed<'t> {
        if first {
            self.scanner.peek()?;
            self.scanner.skip();
        } else {
            let token = self.scanner.peek()?;
            match token.kind {
                TokenKind::FlowMappingEnd => {}
                TokenKind::FlowEntry => {
                    self.scanner.skip();
                }
                _ => return error("did not find expected ',' or '}'", token.line),
            }
        }
        match self.scanner.peek()?.kind {
            TokenKind::FlowMappingEnd => self.end_collection(EventKind::MappingEnd),
            TokenKind::Key => {
                self.scanner.skip();
                let token = self.scanner.peek()?;
                match token.kind {
                    TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                        let line = token.line;
                        self.empty_then(State::FlowMappingValue, line)
                    }
                    _ => self.parse_node_then(State::FlowMappingValue, false, false),
                }
            }
            _ => self.parse_node_then(State::FlowMappingEmptyValue, false, false),
        }
    }

    pub(super) fn parse_flow_mapping_value(&mut self, empty: bool) -> Parsed<'t> {
        let mut token = self.scanner.peek()?;
        let mut line = token.line;
        if !empty && matches!(token.kind, TokenKind::Value) {
            self.scanner.skip();
            token = self.scanner.peek()?;
            if !matches!(token.kind, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                return self.parse_node_then(State::FlowMappingKey, false, false);
            }
            line = token.line;
        }
        self.empty_then(State::FlowMappingKey, line)
    }
}
