//! Sequences and mappings on lines of their own.

use super::{Emitter, Event, EventKind, State};

impl<'t> Emitter<'t> {
    pub(super) fn block_sequence_item(
        &mut self,
        event: &'t Event<'t>,
        next: Option<&'t Event<'t>>,
        first: bool,
    ) {
        if first {
            let below_key = self.in_mapping && (self.page.column == 0 || !self.page.indention);
            self.push_indent(false, below_key && self.compact);
        }
        if event.kind == EventKind::SequenceEnd {
            self.pop_indent();
            return self.pop_state();
        }
        self.head_comment();
        self.write_indent();
        self.page.indicator("-", true, false, true);
        self.states.push(State::BlockSequenceItem);
        self.node(event, next, false, false);
        self.line_comment();
        self.foot_comment();
    }

    pub(super) fn block_mapping_key(
        &mut self,
        event: &'t Event<'t>,
        next: Option<&'t Event<'t>>,
        first: bool,
    ) {
        if first {
            self.push_indent(false, false);
        }
        self.head_comment();
        if event.kind == EventKind::MappingEnd {
            self.pop_indent();
            return self.pop_state();
        }
        self.write_indent();
        if !self.waiting.line.is_empty() {
            self.waiting.key_line = std::mem::take(&mut self.waiting.line);
        }
        if self.is_simple_key(event, next) {
            self.states.push(State::BlockMappingSimpleValue);
            return self.node(event, next, true, true);
        }
        self.page.indicator("?", true, false, true);
        self.states.push(State::BlockMappingValue);
        self.node(event, next, true, false);
    }

    pub(super) fn block_mapping_value(
        &mut self,
        event: &'t Event<'t>,
        next: Option<&'t Event<'t>>,
        simple: bool,
    ) {
        if simple {
            self.page.indicator(":", false, false, false);
        } else {
            self.write_indent();
            self.page.indicator(":", true, false, true);
        }
        if !self.waiting.key_line.is_empty() {
            self.comment_of_key(event);
        }
        self.states.push(State::BlockMappingKey);
        self.node(event, next, true, false);
        self.line_comment();
        self.foot_comment();
    }

    /// A comment beside a key whose value comes now.
    fn comment_of_key(&mut self, event: &Event<'_>) {
        let collection = matches!(event.kind, EventKind::MappingStart | EventKind::SequenceStart);
        if event.kind == EventKind::Scalar {
            if self.waiting.line.is_empty() {
                self.waiting.line = std::mem::take(&mut self.waiting.key_line);
            }
        } else if collection && !event.flow {
            let line = std::mem::replace(&mut self.waiting.line, self.waiting.key_line);
            self.line_comment();
            self.waiting.key_line = std::mem::take(&mut self.waiting.line);
            self.waiting.line = line;
        }
    }
}
