//! Sequences and mappings in brackets and braces.

use super::{Emitter, Event, EventKind, State};

impl<'t> Emitter<'t> {
    pub(super) fn flow_sequence_item(
        &mut self,
        event: &'t Event<'t>,
        next: Option<&'t Event<'t>>,
        first: bool,
        trail: bool,
    ) {
        if first {
            self.open_flow("[");
        }
        if event.kind == EventKind::SequenceEnd {
            self.flow_level -= 1;
            self.pop_indent();
            if self.page.column == 0 {
                self.write_indent();
            }
            return self.close_flow("]");
        }
        if !first && !trail {
            self.page.indicator(",", false, false, false);
        }
        self.head_comment();
        if self.page.column == 0 {
            self.write_indent();
        }
        let trails = self.comment_follows();
        self.states.push(if trails { State::FlowSequenceTrailItem } else { State::FlowSequenceItem });
        self.node(event, next, false, false);
        self.end_flow_entry();
    }

    pub(super) fn flow_mapping_key(
        &mut self,
        event: &'t Event<'t>,
        next: Option<&'t Event<'t>>,
        first: bool,
        trail: bool,
    ) {
        if first {
            self.open_flow("{");
        }
        if event.kind == EventKind::MappingEnd {
            let waiting = &self.waiting;
            let commented = !(waiting.head.is_empty() && waiting.foot.is_empty() && waiting.tail.is_empty());
            if commented && !first && !trail {
                self.page.indicator(",", false, false, false);
            }
            self.head_comment();
            self.flow_level -= 1;
            self.pop_indent();
            return self.close_flow("}");
        }
        if !first && !trail {
            self.page.indicator(",", false, false, false);
        }
        self.head_comment();
        if self.page.column == 0 {
            self.write_indent();
        }
        if self.is_simple_key(event, next) {
            self.states.push(State::FlowMappingSimpleValue);
            return self.node(event, next, true, true);
        }
        self.page.indicator("?", true, false, false);
        self.states.push(State::FlowMappingValue);
        self.node(event, next, true, false);
    }

    pub(super) fn flow_mapping_value(
        &mut self,
        event: &'t Event<'t>,
        next: Option<&'t Event<'t>>,
        simple: bool,
    ) {
        self.page.indicator(":", !simple, false, false);
        let trails = self.comment_follows();
        self.states.push(if trails { State::FlowMappingTrailKey } else { State::FlowMappingKey });
        self.node(event, next, true, false);
        self.end_flow_entry();
    }

    fn open_flow(&mut self, bracket: &str) {
        self.page.indicator(bracket, true, true, false);
        self.push_indent(true, false);
        self.flow_level += 1;
    }

    fn close_flow(&mut self, bracket: &str) {
        self.page.indicator(bracket, false, false, false);
        self.line_comment();
        self.foot_comment();
        self.pop_state();
    }

    /// A comma in front of a comment, which would swallow one behind it.
    fn end_flow_entry(&mut self) {
        if self.comment_follows() {
            self.page.indicator(",", false, false, false);
        }
        self.line_comment();
        self.foot_comment();
    }
}
