//! Events to text: go-yaml v3's `emitterc.go`, with an indentation of two and without a limit for lines.

mod analysis;
mod block;
mod flow;
mod page;
mod scalar;

use self::analysis::Analysis;
use self::page::Page;
use super::events::{Event, EventKind};
use super::token::ScalarStyle;
use crate::resolve::TAG_PREFIX;

/// How far a level is indented.
const INDENT: isize = 2;

/// How long a key without a `?` may be.
const LONGEST_SIMPLE_KEY: usize = 128;

/// What is expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    FlowSequenceFirstItem,
    FlowSequenceTrailItem,
    FlowSequenceItem,
    FlowMappingFirstKey,
    FlowMappingTrailKey,
    FlowMappingKey,
    FlowMappingSimpleValue,
    FlowMappingValue,
    BlockSequenceFirstItem,
    BlockSequenceItem,
    BlockMappingFirstKey,
    BlockMappingKey,
    BlockMappingSimpleValue,
    BlockMappingValue,
}

/// Comments that wait to be written.
#[derive(Debug, Default)]
struct Waiting<'t> {
    head: &'t str,
    line: &'t str,
    foot: &'t str,
    tail: &'t str,
    /// A comment beside a key, which goes beside its value or above it.
    key_line: &'t str,
}

/// Handle and suffix of a tag.
#[derive(Debug, Default, Clone, Copy)]
struct Tag<'t> {
    handle: &'t str,
    suffix: &'t str,
}

impl Tag<'_> {
    fn len(self) -> usize {
        self.handle.len() + self.suffix.len()
    }
}

/// Writes documents.
#[derive(Debug)]
pub(super) struct Emitter<'t> {
    page: Page,
    /// Dashes of sequences in mappings stand in the column of the key.
    pub(super) compact: bool,
    first: bool,
    state: State,
    states: Vec<State>,
    /// The column of the current collection; -1 outside of all.
    indent: isize,
    indents: Vec<isize>,
    flow_level: usize,
    in_mapping: bool,
    simple_key: bool,
    waiting: Waiting<'t>,
    tag: Tag<'t>,
    analysis: Analysis,
}

impl<'t> Emitter<'t> {
    pub(super) fn new() -> Self {
        Self {
            page: Page::default(),
            compact: true,
            first: true,
            state: State::DocumentStart,
            states: Vec::new(),
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            in_mapping: false,
            simple_key: false,
            waiting: Waiting::default(),
            tag: Tag::default(),
            analysis: Analysis::default(),
        }
    }

    /// What was written.
    pub(super) fn finish(self) -> String {
        self.page.out
    }

    /// Writes a document. A comment that found no place waits for the next one, as in go-yaml.
    pub(super) fn document(&mut self, events: &'t [Event<'t>]) {
        let mut rest = events;
        while let [event, behind @ ..] = rest {
            self.look_at(event);
            self.write(event, behind.first());
            rest = behind;
        }
    }

    /// Takes over comments, and finds out how the node can be written.
    fn look_at(&mut self, event: &'t Event<'t>) {
        let waiting = &mut self.waiting;
        for (to, from) in [
            (&mut waiting.head, event.head),
            (&mut waiting.line, event.line),
            (&mut waiting.foot, event.foot),
            (&mut waiting.tail, event.tail),
        ] {
            if !from.is_empty() {
                *to = from;
            }
        }
        self.tag = split_tag(&event.tag);
        if event.kind == EventKind::Scalar {
            self.analysis = Analysis::of(event.value);
        }
    }

    fn write(&mut self, event: &'t Event<'t>, next: Option<&'t Event<'t>>) {
        match self.state {
            State::DocumentStart => self.document_start(),
            State::DocumentContent => self.document_content(event, next),
            State::DocumentEnd => self.document_end(),
            State::FlowSequenceFirstItem => self.flow_sequence_item(event, next, true, false),
            State::FlowSequenceTrailItem => self.flow_sequence_item(event, next, false, true),
            State::FlowSequenceItem => self.flow_sequence_item(event, next, false, false),
            State::FlowMappingFirstKey => self.flow_mapping_key(event, next, true, false),
            State::FlowMappingTrailKey => self.flow_mapping_key(event, next, false, true),
            State::FlowMappingKey => self.flow_mapping_key(event, next, false, false),
            State::FlowMappingSimpleValue => self.flow_mapping_value(event, next, true),
            State::FlowMappingValue => self.flow_mapping_value(event, next, false),
            State::BlockSequenceFirstItem => self.block_sequence_item(event, next, true),
            State::BlockSequenceItem => self.block_sequence_item(event, next, false),
            State::BlockMappingFirstKey => self.block_mapping_key(event, next, true),
            State::BlockMappingKey => self.block_mapping_key(event, next, false),
            State::BlockMappingSimpleValue => self.block_mapping_value(event, next, true),
            State::BlockMappingValue => self.block_mapping_value(event, next, false),
        }
    }

    fn document_start(&mut self) {
        if !self.first {
            self.write_indent();
            self.page.indicator("---", true, false, false);
            self.write_indent();
        }
        self.first = false;
        if !self.waiting.head.is_empty() {
            self.head_comment();
            self.page.put_break();
        }
        self.state = State::DocumentContent;
    }

    fn document_content(&mut self, event: &'t Event<'t>, next: Option<&'t Event<'t>>) {
        self.states.push(State::DocumentEnd);
        self.head_comment();
        self.node(event, next, false, false);
        self.line_comment();
        self.foot_comment();
    }

    fn document_end(&mut self) {
        // What stands below a document is set apart.
        self.page.foot_indent = 0;
        self.foot_comment();
        self.page.foot_indent = -1;
        self.write_indent();
        self.state = State::DocumentStart;
    }

    fn push_indent(&mut self, flow: bool, compact: bool) {
        self.indents.push(self.indent);
        if self.indent < 0 {
            self.indent = if flow { INDENT } else { 0 };
        } else if self.states.last() == Some(&State::BlockSequenceItem) {
            self.indent += INDENT;
        } else {
            self.indent = INDENT * ((self.indent + INDENT) / INDENT);
            if compact {
                self.indent -= INDENT;
            }
        }
    }

    fn pop_indent(&mut self) {
        self.indent = self.indents.pop().unwrap_or(-1);
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::DocumentStart);
    }

    fn write_indent(&mut self) {
        self.page.write_indent(self.indent);
    }

    fn node(
        &mut self,
        event: &'t Event<'t>,
        next: Option<&'t Event<'t>>,
        in_mapping: bool,
        simple_key: bool,
    ) {
        self.in_mapping = in_mapping;
        self.simple_key = simple_key;
        let empty = |end: EventKind| next.is_some_and(|next| next.kind == end);
        match event.kind {
            EventKind::Alias => {
                self.page.indicator("*", true, false, false);
                self.page.word(event.anchor);
                self.pop_state();
            }
            EventKind::SequenceStart => {
                self.properties(event);
                let flow = self.flow_level > 0 || event.flow || empty(EventKind::SequenceEnd);
                self.state = if flow { State::FlowSequenceFirstItem } else { State::BlockSequenceFirstItem };
            }
            EventKind::MappingStart => {
                self.properties(event);
                let flow = self.flow_level > 0 || event.flow || empty(EventKind::MappingEnd);
                self.state = if flow { State::FlowMappingFirstKey } else { State::BlockMappingFirstKey };
            }
            // Nothing else stands where a node is expected.
            _ => {
                let style = self.scalar_style(event);
                self.properties(event);
                self.push_indent(true, false);
                self.scalar(event.value, style);
                self.pop_indent();
                self.pop_state();
            }
        }
    }

    /// Anchor and tag.
    fn properties(&mut self, event: &Event<'_>) {
        if !event.anchor.is_empty() {
            self.page.indicator("&", true, false, false);
            self.page.word(event.anchor);
        }
        let Tag { handle, suffix } = self.tag;
        if !handle.is_empty() {
            self.page.separate();
            self.page.word(handle);
            if !suffix.is_empty() {
                self.page.tag_content(suffix);
            }
        } else if !suffix.is_empty() {
            self.page.indicator("!<", true, false, false);
            self.page.tag_content(suffix);
            self.page.indicator(">", false, false, false);
        }
    }

    /// Whether a key can be written without a `?`.
    fn is_simple_key(&self, event: &Event<'_>, next: Option<&Event<'_>>) -> bool {
        let empty = |end: EventKind| next.is_some_and(|next| next.kind == end);
        let length = match event.kind {
            EventKind::Alias => event.anchor.len(),
            EventKind::Scalar if self.analysis.multiline => return false,
            EventKind::Scalar => event.anchor.len() + self.tag.len() + event.value.len(),
            EventKind::SequenceStart if empty(EventKind::SequenceEnd) => event.anchor.len() + self.tag.len(),
            EventKind::MappingStart if empty(EventKind::MappingEnd) => event.anchor.len() + self.tag.len(),
            _ => return false,
        };
        length <= LONGEST_SIMPLE_KEY
    }

    fn scalar_style(&self, event: &Event<'_>) -> ScalarStyle {
        let analysis = &self.analysis;
        let mut style = event.style;
        if self.simple_key && analysis.multiline {
            style = ScalarStyle::DoubleQuoted;
        }
        if style == ScalarStyle::Plain {
            let plain = if self.flow_level > 0 { analysis.flow_plain } else { analysis.block_plain };
            let hidden = event.value.is_empty() && (self.flow_level > 0 || self.simple_key);
            if !plain || hidden {
                style = ScalarStyle::SingleQuoted;
            }
        }
        if style == ScalarStyle::SingleQuoted && !analysis.single_quoted {
            style = ScalarStyle::DoubleQuoted;
        }
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if block && (!analysis.block || self.flow_level > 0 || self.simple_key) {
            style = ScalarStyle::DoubleQuoted;
        }
        style
    }

    fn head_comment(&mut self) {
        let tail = std::mem::take(&mut self.waiting.tail);
        if !tail.is_empty() {
            self.write_indent();
            self.page.comment(tail, self.indent);
            self.page.foot_indent = self.indent.max(0);
        }
        let head = std::mem::take(&mut self.waiting.head);
        if !head.is_empty() {
            self.write_indent();
            self.page.comment(head, self.indent);
        }
    }

    fn line_comment(&mut self) {
        let line = std::mem::take(&mut self.waiting.line);
        if !line.is_empty() {
            self.page.separate();
            self.page.comment(line, self.indent);
        }
    }

    fn foot_comment(&mut self) {
        let foot = std::mem::take(&mut self.waiting.foot);
        if !foot.is_empty() {
            self.write_indent();
            self.page.comment(foot, self.indent);
            self.page.foot_indent = self.indent.max(0);
        }
    }

    /// Whether a comment follows the entry of a flow collection.
    fn comment_follows(&self) -> bool {
        let Waiting { line, foot, tail, .. } = self.waiting;
        !(line.is_empty() && foot.is_empty() && tail.is_empty())
    }
}

/// Handle and suffix by the handles that need no directive.
fn split_tag(tag: &str) -> Tag<'_> {
    if let Some(suffix) = tag.strip_prefix('!') {
        return Tag { handle: "!", suffix };
    }
    match tag.strip_prefix(TAG_PREFIX) {
        Some(suffix) => Tag { handle: "!!", suffix },
        None => Tag { handle: "", suffix: tag },
    }
}
