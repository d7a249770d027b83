//! Nodes, and the entries of sequences and mappings.

use super::{Event, EventKind, NodeError, Parsed, Parser, Sort, State, empty_scalar, error};
use crate::nodes::mark::Mark;
use crate::nodes::token::{ScalarStyle, TokenKind};

/// Anchor and tag of a node.
#[derive(Default)]
struct Properties {
    anchor: Option<String>,
    tag: String,
}

impl Properties {
    fn on(self, kind: EventKind) -> Event {
        Event { anchor: self.anchor, tag: self.tag, ..Event::new(kind) }
    }
}

impl Parser<'_> {
    /// An alias, or anchor and tag with what they are for. `block` allows block collections, `indentless` sequences whose
    /// dashes stand in the column of their key.
    pub(super) fn parse_node(&mut self, block: bool, indentless: bool) -> Parsed {
        let token = self.peek()?;
        let start = token.start;
        if token.sort == Sort::Alias {
            let TokenKind::Alias(name) = self.take()? else { return error(NO_CONTENT, None, start) };
            self.pop_state();
            let event = Event { anchor: Some(name), ..Event::new(EventKind::Alias) };
            return Ok(self.with_comments(event));
        }
        let properties = self.parse_properties(start)?;
        let token = self.peek()?;
        let (state, kind, flow) = match token.sort {
            Sort::BlockEntry if indentless => {
                self.state = State::IndentlessSequenceEntry;
                return Ok(properties.on(EventKind::SequenceStart { flow: false }));
            }
            Sort::Scalar => return self.parse_scalar(properties),
            Sort::FlowSequenceStart => {
                (State::FlowSequenceFirstEntry, EventKind::SequenceStart { flow: true }, true)
            }
            Sort::FlowMappingStart => {
                (State::FlowMappingFirstKey, EventKind::MappingStart { flow: true }, true)
            }
            Sort::BlockSequenceStart if block => {
                (State::BlockSequenceFirstEntry, EventKind::SequenceStart { flow: false }, false)
            }
            Sort::BlockMappingStart if block => {
                (State::BlockMappingFirstKey, EventKind::MappingStart { flow: false }, false)
            }
            _ if properties.anchor.is_some() || !properties.tag.is_empty() => {
                self.pop_state();
                let kind = EventKind::Scalar { text: String::new(), style: ScalarStyle::Plain };
                return Ok(properties.on(kind));
            }
            _ => return error(NO_CONTENT, Some(start), token.start),
        };
        self.state = state;
        let mut event = properties.on(kind);
        if flow {
            return Ok(self.with_comments(event));
        }
        event.head = self.waiting.stem.take().unwrap_or_default();
        Ok(event)
    }

    fn parse_scalar(&mut self, properties: Properties) -> Parsed {
        self.pop_state();
        let TokenKind::Scalar { text, style } = self.take()? else { return Ok(empty_scalar()) };
        let event = properties.on(EventKind::Scalar { text, style });
        Ok(self.with_comments(event))
    }

    /// The token that was looked at.
    fn take(&mut self) -> Result<TokenKind, NodeError> {
        self.skip().ok_or(NodeError("no token".into()))
    }

    /// Anchor and tag in either order.
    fn parse_properties(&mut self, start: Mark) -> Result<Properties, NodeError> {
        let mut properties = Properties::default();
        let mut tag = None;
        loop {
            let token = self.peek()?;
            match token.sort {
                Sort::Anchor if properties.anchor.is_none() => {
                    if let TokenKind::Anchor(name) = self.take()? {
                        properties.anchor = Some(name);
                    }
                }
                Sort::Tag if tag.is_none() => {
                    if let TokenKind::Tag { handle, suffix } = self.take()? {
                        tag = Some((handle, suffix, token.start));
                    }
                }
                _ => break,
            }
        }
        if let Some((handle, suffix, place)) = tag {
            match self.expand_tag(&handle, &suffix) {
                Some(tag) => properties.tag = tag,
                None => return error("found undefined tag handle", Some(start), place),
            }
        }
        Ok(properties)
    }

    /// A node, and then `after`.
    fn parse_node_then(&mut self, after: State, block: bool, indentless: bool) -> Parsed {
        self.states.push(after);
        self.parse_node(block, indentless)
    }

    /// A node that is not there, and then `after`.
    fn empty_then(&mut self, after: State) -> Parsed {
        self.state = after;
        Ok(empty_scalar())
    }

    /// Remembers where a collection starts, and passes its start.
    fn open(&mut self) -> Result<(), NodeError> {
        let start = self.peek()?.start;
        self.marks.push(start);
        self.skip();
        Ok(())
    }

    /// Ends the current collection with the token at hand.
    fn close(&mut self, kind: EventKind) -> Event {
        self.pop_state();
        self.marks.pop();
        let event = Event::new(kind);
        // Comments in front of the end of a block sequence belong to what follows.
        let block_sequence = matches!(event.kind, EventKind::SequenceEnd) && self.closes_block();
        let event = if block_sequence { event } else { self.with_comments(event) };
        self.skip();
        event
    }

    fn closes_block(&mut self) -> bool {
        self.scanner.peek().is_ok_and(|token| token.kind == TokenKind::BlockEnd)
    }

    pub(super) fn parse_block_sequence_entry(&mut self, first: bool) -> Parsed {
        if first {
            self.open()?;
        }
        let token = self.peek()?;
        match token.sort {
            Sort::BlockEntry => match self.pass_dash()? {
                Sort::BlockEntry | Sort::BlockEnd => self.empty_then(State::BlockSequenceEntry),
                _ => self.parse_node_then(State::BlockSequenceEntry, true, false),
            },
            Sort::BlockEnd => Ok(self.close(EventKind::SequenceEnd)),
            _ => {
                let context = self.marks.pop();
                error("did not find expected '-' indicator", context, token.start)
            }
        }
    }

    pub(super) fn parse_indentless_sequence_entry(&mut self) -> Parsed {
        if self.peek()?.sort != Sort::BlockEntry {
            self.pop_state();
            return Ok(Event::new(EventKind::SequenceEnd));
        }
        match self.pass_dash()? {
            Sort::BlockEntry | Sort::Key | Sort::Value | Sort::BlockEnd => {
                self.empty_then(State::IndentlessSequenceEntry)
            }
            _ => self.parse_node_then(State::IndentlessSequenceEntry, true, false),
        }
    }

    /// Passes a dash and says what follows. A comment above the dash of a collection is one above the collection.
    fn pass_dash(&mut self) -> Result<Sort, NodeError> {
        let above = self.waiting.head.len();
        self.skip();
        let next = self.peek()?.sort;
        if above > 0 && matches!(next, Sort::BlockSequenceStart | Sort::BlockMappingStart) {
            let rest = self.waiting.head.get(above + 1..).unwrap_or_default().to_owned();
            self.waiting.head.truncate(above);
            self.waiting.stem = Some(std::mem::replace(&mut self.waiting.head, rest));
        }
        Ok(next)
    }

    pub(super) fn parse_block_mapping_key(&mut self, first: bool) -> Parsed {
        if first {
            self.open()?;
        }
        let token = self.peek()?;
        match token.sort {
            Sort::Key => {
                self.skip();
                match self.peek()?.sort {
                    Sort::Key | Sort::Value | Sort::BlockEnd => self.empty_then(State::BlockMappingValue),
                    _ => self.parse_node_then(State::BlockMappingValue, true, true),
                }
            }
            Sort::BlockEnd => Ok(self.close(EventKind::MappingEnd)),
            _ => {
                let context = self.marks.pop();
                error("did not find expected key", context, token.start)
            }
        }
    }

    pub(super) fn parse_block_mapping_value(&mut self) -> Parsed {
        if self.peek()?.sort != Sort::Value {
            return self.empty_then(State::BlockMappingKey);
        }
        self.skip();
        match self.peek()?.sort {
            Sort::Key | Sort::Value | Sort::BlockEnd => self.empty_then(State::BlockMappingKey),
            _ => self.parse_node_then(State::BlockMappingKey, true, true),
        }
    }

    pub(super) fn parse_flow_sequence_entry(&mut self, first: bool) -> Parsed {
        if first {
            self.open()?;
        }
        let mut token = self.peek()?;
        if token.sort != Sort::FlowSequenceEnd && !first {
            if token.sort != Sort::FlowEntry {
                let context = self.marks.pop();
                return error("did not find expected ',' or ']'", context, token.start);
            }
            self.skip();
            token = self.peek()?;
        }
        match token.sort {
            Sort::FlowSequenceEnd => Ok(self.close(EventKind::SequenceEnd)),
            Sort::Key => {
                self.state = State::FlowPairKey;
                self.skip();
                Ok(Event::new(EventKind::MappingStart { flow: true }))
            }
            _ => self.parse_node_then(State::FlowSequenceEntry, false, false),
        }
    }

    pub(super) fn parse_flow_pair_key(&mut self) -> Parsed {
        match self.peek()?.sort {
            Sort::Value | Sort::FlowEntry | Sort::FlowSequenceEnd => {
                self.skip();
                self.empty_then(State::FlowPairValue)
            }
            _ => self.parse_node_then(State::FlowPairValue, false, false),
        }
    }

    pub(super) fn parse_flow_pair_value(&mut self) -> Parsed {
        if self.peek()?.sort == Sort::Value {
            self.skip();
            if !matches!(self.peek()?.sort, Sort::FlowEntry | Sort::FlowSequenceEnd) {
                return self.parse_node_then(State::FlowPairEnd, false, false);
            }
        }
        self.empty_then(State::FlowPairEnd)
    }

    pub(super) fn parse_flow_mapping_key(&mut self, first: bool) -> Parsed {
        if first {
            self.open()?;
        }
        let mut token = self.peek()?;
        if token.sort != Sort::FlowMappingEnd && !first {
            if token.sort != Sort::FlowEntry {
                let context = self.marks.pop();
                return error("did not find expected ',' or '}'", context, token.start);
            }
            self.skip();
            token = self.peek()?;
        }
        match token.sort {
            Sort::FlowMappingEnd => Ok(self.close(EventKind::MappingEnd)),
            Sort::Key => {
                self.skip();
                match self.peek()?.sort {
                    Sort::Value | Sort::FlowEntry | Sort::FlowMappingEnd => {
                        self.empty_then(State::FlowMappingValue)
                    }
                    _ => self.parse_node_then(State::FlowMappingValue, false, false),
                }
            }
            _ => self.parse_node_then(State::FlowMappingEmptyValue, false, false),
        }
    }

    pub(super) fn parse_flow_mapping_value(&mut self, empty: bool) -> Parsed {
        if !empty && self.peek()?.sort == Sort::Value {
            self.skip();
            if !matches!(self.peek()?.sort, Sort::FlowEntry | Sort::FlowMappingEnd) {
                return self.parse_node_then(State::FlowMappingKey, false, false);
            }
        } else {
            self.peek()?;
        }
        self.empty_then(State::FlowMappingKey)
    }
}

const NO_CONTENT: &str = "did not find expected node content";
