//! In which styles a text can be written.

use crate::writer::{is_break, is_printable};

/// What a text allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Analysis {
    pub(super) multiline: bool,
    pub(super) flow_plain: bool,
    pub(super) block_plain: bool,
    pub(super) single_quoted: bool,
    pub(super) block: bool,
}

/// What was seen in a text.
#[derive(Default)]
struct Seen {
    block_indicators: bool,
    flow_indicators: bool,
    special: bool,
    tab: bool,
    multiline: bool,
    edge_blank: bool,
    trailing_space: bool,
    break_space: bool,
    space_break: bool,
}

impl Analysis {
    pub(super) fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self { block_plain: true, single_quoted: true, ..Self::default() };
        }
        let marker = text.starts_with("---") || text.starts_with("...");
        let mut seen = Seen { block_indicators: marker, flow_indicators: marker, ..Seen::default() };
        let (mut after_space, mut after_break, mut after_blank) = (false, false, true);
        let mut characters = text.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            let blank_follows = next.is_none_or(|next| matches!(next, ' ' | '\t'));
            seen.indicator(character, at == 0, after_blank, blank_follows);
            if character == '\t' {
                seen.tab = true;
            } else if !is_printable(character) {
                seen.special = true;
            }
            let edge = at == 0 || next.is_none();
            let is_break = is_break(character);
            if character == ' ' {
                seen.edge_blank |= edge;
                seen.trailing_space |= next.is_none();
                seen.break_space |= after_break;
            } else if is_break {
                seen.multiline = true;
                seen.edge_blank |= edge;
                seen.space_break |= after_space;
            }
            (after_space, after_break) = (character == ' ', is_break);
            after_blank = matches!(character, ' ' | '\t' | '\0') || is_break;
        }
        seen.conclude()
    }
}

impl Seen {
    /// Whether a character would be taken for syntax in a plain scalar.
    fn indicator(&mut self, character: char, first: bool, after_blank: bool, blank_follows: bool) {
        let (flow, block) = match character {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
            | '`'
                if first =>
            {
                (true, true)
            }
            '?' | ':' if first => (true, blank_follows),
            '-' if first => (blank_follows, blank_follows),
            _ if first => (false, false),
            ',' | '?' | '[' | ']' | '{' | '}' => (true, false),
            ':' => (true, blank_follows),
            '#' => (after_blank, after_blank),
            _ => (false, false),
        };
        self.flow_indicators |= flow;
        self.block_indicators |= block;
    }

    fn conclude(&self) -> Analysis {
        let odd = self.space_break || self.special;
        let plain = !(self.edge_blank || self.break_space || odd || self.tab || self.multiline);
        Analysis {
            multiline: self.multiline,
            flow_plain: plain && !self.flow_indicators,
            block_plain: plain && !self.block_indicators,
            single_quoted: !(self.break_space || odd || self.tab),
            block: !(self.trailing_space || odd),
        }
    }
}
