//! Tokens to events: go-yaml's `parserc.go`, a state machine that needs no stack of its own for nested collections.

use std::borrow::Cow;

use super::failure::Failure;
use super::scanner::Scanner;
use super::token::{Tag, TokenKind};
use crate::resolve::TAG_PREFIX;

/// What a document consists of.
#[derive(Debug)]
pub(crate) enum EventKind<'t> {
    StreamStart,
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(&'t str),
    Scalar {
        text: Cow<'t, str>,
        /// The long form of the tag.
        tag: Option<Box<str>>,
        /// Whether the meaning of the text is to be found out, as for a plain scalar without a tag.
        implicit: bool,
    },
    SequenceStart,
    SequenceEnd,
    MappingStart,
    MappingEnd,
}

/// An event, the anchor in front of it and the line, counted from 0, on which it starts.
#[derive(Debug)]
pub(crate) struct Event<'t> {
    pub(crate) kind: EventKind<'t>,
    pub(crate) anchor: Option<&'t str>,
    pub(crate) line: usize,
}

/// What the parser expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    StreamStart,
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceFirstEntry,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirstKey,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirstEntry,
    FlowSequenceEntry,
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowMappingFirstKey,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

/// Makes events of tokens.
#[derive(Debug)]
pub(crate) struct Parser<'t> {
    scanner: Scanner<'t>,
    state: State,
    /// Where to go on behind the current node.
    states: Vec<State>,
    tag_directives: Vec<Tag>,
}

type Parsed<'t> = Result<Event<'t>, Failure>;

fn error<T>(problem: &'static str, line: usize) -> Result<T, Failure> {
    Err(Failure::Parser { problem, line })
}

fn event(kind: EventKind<'_>, line: usize) -> Event<'_> {
    Event { kind, anchor: None, line }
}

/// A node of which nothing stands in the text.
fn empty_scalar<'t>(line: usize) -> Event<'t> {
    event(EventKind::Scalar { text: Cow::Borrowed(""), tag: None, implicit: true }, line)
}

impl<'t> Parser<'t> {
    pub(crate) fn new(scanner: Scanner<'t>) -> Self {
        Self { scanner, state: State::StreamStart, states: Vec::new(), tag_directives: Vec::new() }
    }

    /// The next event.
    ///
    /// # Errors
    ///
    /// The parser's, the scanner's or the reader's.
    pub(crate) fn next(&mut self) -> Parsed<'t> {
        match self.state {
            State::StreamStart => self.parse_stream_start(),
            State::ImplicitDocumentStart => self.parse_document_start(true),
            State::DocumentStart => self.parse_document_start(false),
            State::DocumentContent => self.parse_document_content(),
            State::DocumentEnd => self.parse_document_end(),
            State::BlockNode => self.parse_node(true, false),
            State::BlockSequenceFirstEntry => self.parse_block_sequence_entry(true),
            State::BlockSequenceEntry => self.parse_block_sequence_entry(false),
            State::IndentlessSequenceEntry => self.parse_indentless_sequence_entry(),
            State::BlockMappingFirstKey => self.parse_block_mapping_key(true),
            State::BlockMappingKey => self.parse_block_mapping_key(false),
            State::BlockMappingValue => self.parse_block_mapping_value(),
            State::FlowSequenceFirstEntry => self.parse_flow_sequence_entry(true),
            State::FlowSequenceEntry => self.parse_flow_sequence_entry(false),
            State::FlowPairKey => self.parse_flow_pair_key(),
            State::FlowPairValue => self.parse_flow_pair_value(),
            State::FlowPairEnd => self.parse_flow_pair_end(),
            State::FlowMappingFirstKey => self.parse_flow_mapping_key(true),
            State::FlowMappingKey => self.parse_flow_mapping_key(false),
            State::FlowMappingValue => self.parse_flow_mapping_value(false),
            State::FlowMappingEmptyValue => self.parse_flow_mapping_value(true),
            State::End => Ok(event(EventKind::StreamEnd, 0)),
        }
    }

    /// Goes on behind the current node.
    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// Ends the current collection with the token at hand.
    fn end_collection(&mut self, kind: EventKind<'t>) -> Parsed<'t> {
        let line = self.scanner.peek()?.line;
        self.pop_state();
        self.scanner.skip();
        Ok(event(kind, line))
    }

    fn parse_stream_start(&mut self) -> Parsed<'t> {
        let line = self.scanner.peek()?.line;
        self.scanner.skip();
        self.state = State::ImplicitDocumentStart;
        Ok(event(EventKind::StreamStart, line))
    }

    fn parse_document_start(&mut self, implicit: bool) -> Parsed<'t> {
        if !implicit {
            while matches!(self.scanner.peek()?.kind, TokenKind::DocumentEnd) {
                self.scanner.skip();
            }
        }
        let token = self.scanner.peek()?;
        let line = token.line;
        match token.kind {
            TokenKind::StreamEnd => {
                self.scanner.skip();
                self.state = State::End;
                Ok(event(EventKind::StreamEnd, line))
            }
            TokenKind::VersionDirective(..) | TokenKind::TagDirective(_) | TokenKind::DocumentStart => {
                self.parse_explicit_document_start(line)
            }
            _ if implicit => {
                self.process_directives()?;
                self.states.push(State::DocumentEnd);
                self.state = State::BlockNode;
                Ok(event(EventKind::DocumentStart, line))
            }
            _ => self.parse_explicit_document_start(line),
        }
    }

    fn parse_explicit_document_start(&mut self, line: usize) -> Parsed<'t> {
        self.process_directives()?;
        let token = self.scanner.peek()?;
        if !matches!(token.kind, TokenKind::DocumentStart) {
            return error("did not find expected <document start>", token.line);
        }
        self.scanner.skip();
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        Ok(event(EventKind::DocumentStart, line))
    }

    fn parse_document_content(&mut self) -> Parsed<'t> {
        let token = self.scanner.peek()?;
        match token.kind {
            TokenKind::VersionDirective(..)
            | TokenKind::TagDirective(_)
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                let line = token.line;
                self.pop_state();
                Ok(empty_scalar(line))
            }
            _ => self.parse_node(true, false),
        }
    }

    fn parse_document_end(&mut self) -> Parsed<'t> {
        let token = self.scanner.peek()?;
        let line = token.line;
        if matches!(token.kind, TokenKind::DocumentEnd) {
            self.scanner.skip();
        }
        self.tag_directives.clear();
        self.state = State::DocumentStart;
        Ok(event(EventKind::DocumentEnd, line))
    }

    fn process_directives(&mut self) -> Result<(), Failure> {
        let mut version_seen = false;
        loop {
            let token = self.scanner.peek()?;
            let line = token.line;
            match &mut token.kind {
                TokenKind::VersionDirective(..) if version_seen => {
                    return error("found duplicate %YAML directive", line);
                }
                TokenKind::VersionDirective(1, 1) => version_seen = true,
                TokenKind::VersionDirective(..) => return error("found incompatible YAML document", line),
                TokenKind::TagDirective(tag) => {
                    let tag = std::mem::take(tag);
                    if self.tag_directives.iter().any(|known| known.handle == tag.handle) {
                        return error("found duplicate %TAG directive", line);
                    }
                    self.tag_directives.push(*tag);
                }
                _ => return Ok(()),
            }
            self.scanner.skip();
        }
    }

    /// The tag in its long form; `None` for an unknown handle.
    fn expand_tag(&self, tag: Tag) -> Option<Vec<u8>> {
        if tag.handle.is_empty() {
            return Some(tag.rest);
        }
        let prefix = match self.tag_directives.iter().find(|known| known.handle == tag.handle) {
            Some(known) => known.rest.as_slice(),
            None if tag.handle == b"!" => b"!",
            None if tag.handle == b"!!" => TAG_PREFIX.as_bytes(),
            None => return None,
        };
        let tag = [prefix, &tag.rest].concat();
        (!tag.is_empty()).then_some(tag)
    }

    /// An alias, or anchor and tag with what they are for. `block` allows block collections, `indentless` sequences
    /// whose dashes stand in the column of their key.
    fn parse_node(&mut self, block: bool, indentless: bool) -> Parsed<'t> {
        let token = self.scanner.peek()?;
        let line = token.line;
        if let TokenKind::Alias(name) = token.kind {
            self.scanner.skip();
            self.pop_state();
            return Ok(Event { kind: EventKind::Alias(name), anchor: None, line });
        }
        let (anchor, tag) = match token.kind {
            TokenKind::Anchor(_) | TokenKind::Tag(_) => self.parse_properties()?,
            _ => (None, None),
        };
        let token = self.scanner.peek()?;
        let (state, kind) = match &mut token.kind {
            TokenKind::Scalar { text, plain } => {
                let implicit = tag.as_deref().map_or(*plain, |tag| tag == "!");
                let text = std::mem::take(text);
                self.scanner.skip();
                self.pop_state();
                return Ok(Event { kind: EventKind::Scalar { text, tag, implicit }, anchor, line });
            }
            TokenKind::BlockEntry if indentless => (State::IndentlessSequenceEntry, EventKind::SequenceStart),
            TokenKind::FlowSequenceStart => (State::FlowSequenceFirstEntry, EventKind::SequenceStart),
            TokenKind::FlowMappingStart => (State::FlowMappingFirstKey, EventKind::MappingStart),
            TokenKind::BlockSequenceStart if block => {
                (State::BlockSequenceFirstEntry, EventKind::SequenceStart)
            }
            TokenKind::BlockMappingStart if block => (State::BlockMappingFirstKey, EventKind::MappingStart),
            _ if anchor.is_some() || tag.is_some() => {
                self.pop_state();
                let implicit = tag.is_none();
                let kind = EventKind::Scalar { text: Cow::Borrowed(""), tag, implicit };
                return Ok(Event { kind, anchor, line });
            }
            _ => return error("did not find expected node content", token.line),
        };
        self.state = state;
        Ok(Event { kind, anchor, line })
    }

    /// Anchor and tag in either order, at least one of them.
    fn parse_properties(&mut self) -> Result<(Option<&'t str>, Option<Box<str>>), Failure> {
        let mut anchor = None;
        let mut tag = None;
        loop {
            let token = self.scanner.peek()?;
            let line = token.line;
            match &mut token.kind {
                TokenKind::Anchor(name) if anchor.is_none() => anchor = Some(*name),
                TokenKind::Tag(found) if tag.is_none() => tag = Some((std::mem::take(found), line)),
                _ => break,
            }
            self.scanner.skip();
        }
        let Some((tag, line)) = tag else { return Ok((anchor, None)) };
        match self.expand_tag(*tag) {
            Some(tag) => Ok((anchor, Some(String::from_utf8_lossy(&tag).into()))),
            None => error("found undefined tag handle", line),
        }
    }
}

mod collections;
