//! Tokens to events: go-yaml v3's `parserc.go`, which hands out comments with the events that they belong to.

mod collections;

use super::mark::{Mark, NodeError};
use super::scanner::Scanner;
use super::token::{ScalarStyle, TokenKind};
use crate::resolve::TAG_PREFIX;

/// What a document consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventKind {
    StreamStart,
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias,
    Scalar { text: String, style: ScalarStyle },
    SequenceStart { flow: bool },
    SequenceEnd,
    MappingStart { flow: bool },
    MappingEnd,
}

/// An event with what stands around it.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) kind: EventKind,
    /// Anchor of a node, or what an alias names.
    pub(super) anchor: Option<String>,
    /// The long form of the tag; empty: none.
    pub(super) tag: String,
    pub(super) head: String,
    pub(super) line: String,
    pub(super) foot: String,
}

impl Event {
    fn new(kind: EventKind) -> Self {
        Self {
            kind,
            anchor: None,
            tag: String::new(),
            head: String::new(),
            line: String::new(),
            foot: String::new(),
        }
    }
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

/// Comments that wait for the event which they belong to.
#[derive(Debug, Default)]
struct Waiting {
    head: String,
    line: String,
    foot: String,
    stem: Option<String>,
}

/// Makes events of tokens.
#[derive(Debug)]
pub(super) struct Parser<'t> {
    scanner: Scanner<'t>,
    state: State,
    /// Where to go on behind the current node.
    states: Vec<State>,
    /// Where the open collections start.
    marks: Vec<Mark>,
    /// Handles and prefixes.
    tags: Vec<(Vec<u8>, Vec<u8>)>,
    waiting: Waiting,
    /// How many of the scanner's comments were taken.
    comments_taken: usize,
}

type Parsed = Result<Event, NodeError>;

fn error<T>(problem: &'static str, context: Option<Mark>, place: Mark) -> Result<T, NodeError> {
    Err(NodeError::parser(problem, context, place))
}

/// A node of which nothing stands in the text.
fn empty_scalar() -> Event {
    Event::new(EventKind::Scalar { text: String::new(), style: ScalarStyle::Plain })
}

/// What the parser needs to know of a token before it takes it.
struct Seen {
    start: Mark,
    sort: Sort,
}

/// Sorts of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    StreamEnd,
    Directive,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias,
    Anchor,
    Tag,
    Scalar,
    Other,
}

impl Sort {
    fn of(kind: &TokenKind) -> Self {
        match kind {
            TokenKind::StreamStart => Self::Other,
            TokenKind::StreamEnd => Self::StreamEnd,
            TokenKind::VersionDirective(..) | TokenKind::TagDirective { .. } => Self::Directive,
            TokenKind::DocumentStart => Self::DocumentStart,
            TokenKind::DocumentEnd => Self::DocumentEnd,
            TokenKind::BlockSequenceStart => Self::BlockSequenceStart,
            TokenKind::BlockMappingStart => Self::BlockMappingStart,
            TokenKind::BlockEnd => Self::BlockEnd,
            TokenKind::FlowSequenceStart => Self::FlowSequenceStart,
            TokenKind::FlowSequenceEnd => Self::FlowSequenceEnd,
            TokenKind::FlowMappingStart => Self::FlowMappingStart,
            TokenKind::FlowMappingEnd => Self::FlowMappingEnd,
            TokenKind::BlockEntry => Self::BlockEntry,
            TokenKind::FlowEntry => Self::FlowEntry,
            TokenKind::Key => Self::Key,
            TokenKind::Value => Self::Value,
            TokenKind::Alias(_) => Self::Alias,
            TokenKind::Anchor(_) => Self::Anchor,
            TokenKind::Tag { .. } => Self::Tag,
            TokenKind::Scalar { .. } => Self::Scalar,
        }
    }
}

impl<'t> Parser<'t> {
    pub(super) fn new(scanner: Scanner<'t>) -> Self {
        Self {
            scanner,
            state: State::StreamStart,
            states: Vec::new(),
            marks: Vec::new(),
            tags: Vec::new(),
            waiting: Waiting::default(),
            comments_taken: 0,
        }
    }

    /// The next event.
    ///
    /// # Errors
    /// The parser's, the scanner's or the reader's.
    pub(super) fn next(&mut self) -> Parsed {
        match self.state {
            State::StreamStart => {
                self.peek()?;
                self.skip();
                self.state = State::ImplicitDocumentStart;
                Ok(Event::new(EventKind::StreamStart))
            }
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
            State::FlowPairEnd => {
                self.peek()?;
                self.state = State::FlowSequenceEntry;
                Ok(Event::new(EventKind::MappingEnd))
            }
            State::FlowMappingFirstKey => self.parse_flow_mapping_key(true),
            State::FlowMappingKey => self.parse_flow_mapping_key(false),
            State::FlowMappingValue => self.parse_flow_mapping_value(false),
            State::FlowMappingEmptyValue => self.parse_flow_mapping_value(true),
            State::End => Ok(Event::new(EventKind::StreamEnd)),
        }
    }

    /// Looks at the next token, and takes the comments in front of it.
    fn peek(&mut self) -> Result<Seen, NodeError> {
        let token = self.scanner.peek()?;
        let seen = Seen { start: token.start, sort: Sort::of(&token.kind) };
        self.unfold_comments(&seen);
        Ok(seen)
    }

    fn unfold_comments(&mut self, token: &Seen) {
        while let Some(comment) = self.scanner.comments.get_mut(self.comments_taken) {
            // There is nothing below an end that a comment could stand above.
            let too_early = token.sort == Sort::BlockEnd && !comment.head.is_empty();
            if token.start.index < comment.token.index || too_early {
                return;
            }
            let comment = std::mem::take(comment);
            append(&mut self.waiting.head, &comment.head);
            append(&mut self.waiting.foot, &comment.foot);
            append(&mut self.waiting.line, &comment.line);
            self.comments_taken += 1;
        }
    }

    fn skip(&mut self) -> Option<TokenKind> {
        self.scanner.skip().map(|token| token.kind)
    }

    /// Hands the comments that wait to an event.
    fn with_comments(&mut self, mut event: Event) -> Event {
        let Waiting { head, line, foot, .. } = std::mem::take(&mut self.waiting);
        (event.head, event.line, event.foot) = (head, line, foot);
        event
    }

    /// Goes on behind the current node.
    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    fn parse_document_start(&mut self, implicit: bool) -> Parsed {
        let mut token = self.peek()?;
        if !implicit {
            while token.sort == Sort::DocumentEnd {
                self.skip();
                token = self.peek()?;
            }
        }
        match token.sort {
            Sort::StreamEnd => {
                self.skip();
                self.state = State::End;
                Ok(Event::new(EventKind::StreamEnd))
            }
            Sort::Directive | Sort::DocumentStart => self.parse_explicit_document_start(),
            _ if implicit => {
                self.process_directives()?;
                self.states.push(State::DocumentEnd);
                self.state = State::BlockNode;
                let head = self.document_head();
                Ok(Event { head, ..Event::new(EventKind::DocumentStart) })
            }
            _ => self.parse_explicit_document_start(),
        }
    }

    /// What stands above the last empty line of the comments at the top belongs to the document.
    fn document_head(&mut self) -> String {
        let head = self.waiting.head.as_bytes();
        let last = head.len().saturating_sub(1);
        let found = (1..head.len()).rev().find_map(|at| match head.get(at)? {
            b'\n' if at == last => Some((at, at + 1)),
            b'\n' if head.get(at - 1) == Some(&b'\n') => Some((at - 1, at + 1)),
            _ => None,
        });
        let Some((end, start)) = found else { return String::new() };
        let rest = self.waiting.head.get(start..).unwrap_or_default().to_owned();
        self.waiting.head.truncate(end);
        std::mem::replace(&mut self.waiting.head, rest)
    }

    fn parse_explicit_document_start(&mut self) -> Parsed {
        self.process_directives()?;
        let token = self.peek()?;
        if token.sort != Sort::DocumentStart {
            return error("did not find expected <document start>", None, token.start);
        }
        self.skip();
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        Ok(Event::new(EventKind::DocumentStart))
    }

    fn parse_document_content(&mut self) -> Parsed {
        match self.peek()?.sort {
            Sort::Directive | Sort::DocumentStart | Sort::DocumentEnd | Sort::StreamEnd => {
                self.pop_state();
                Ok(empty_scalar())
            }
            _ => self.parse_node(true, false),
        }
    }

    fn parse_document_end(&mut self) -> Parsed {
        if self.peek()?.sort == Sort::DocumentEnd {
            self.skip();
        }
        self.tags.clear();
        self.state = State::DocumentStart;
        let mut event = self.with_comments(Event::new(EventKind::DocumentEnd));
        if event.foot.is_empty() {
            event.foot = std::mem::take(&mut event.head);
        }
        Ok(event)
    }

    fn process_directives(&mut self) -> Result<(), NodeError> {
        let mut version_seen = false;
        loop {
            let token = self.peek()?;
            if token.sort != Sort::Directive {
                return Ok(());
            }
            let kind = self.scanner.peek()?.kind.clone();
            match kind {
                TokenKind::VersionDirective(..) if version_seen => {
                    return error("found duplicate %YAML directive", None, token.start);
                }
                TokenKind::VersionDirective(1, 1) => version_seen = true,
                TokenKind::TagDirective { handle, prefix } => {
                    if self.tags.iter().any(|(known, _)| *known == handle) {
                        return error("found duplicate %TAG directive", None, token.start);
                    }
                    self.tags.push((handle, prefix));
                }
                _ => return error("found incompatible YAML document", None, token.start),
            }
            self.skip();
        }
    }

    /// The tag in its long form; `None` for an unknown handle.
    fn expand_tag(&self, handle: &[u8], suffix: &[u8]) -> Option<String> {
        let prefix = if handle.is_empty() {
            b"".as_slice()
        } else {
            match self.tags.iter().find(|(known, _)| known == handle) {
                Some((_, prefix)) => prefix.as_slice(),
                None if handle == b"!" => b"!",
                None if handle == b"!!" => TAG_PREFIX.as_bytes(),
                None => return None,
            }
        };
        let tag = [prefix, suffix].concat();
        (handle.is_empty() || !tag.is_empty()).then(|| String::from_utf8_lossy(&tag).into_owned())
    }
}

/// Joins comments, each on lines of its own.
fn append(comments: &mut String, more: &str) {
    if more.is_empty() {
        return;
    }
    if !comments.is_empty() {
        comments.push('\n');
    }
    comments.push_str(more);
}
