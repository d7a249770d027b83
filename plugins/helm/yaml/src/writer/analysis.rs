//! In which styles a string can be written: `yaml_emitter_analyze_scalar` of go-yaml's `emitterc.go`.

use super::Dialect;

/// What a string allows, outside of flow collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Analysis {
    pub(super) multiline: bool,
    pub(super) plain: bool,
    pub(super) single_quoted: bool,
    pub(super) block: bool,
}

/// Looks at a string that is not empty.
pub(super) fn analyze(text: &str, dialect: Dialect) -> Analysis {
    let mut seen = Seen { indicators: text.starts_with("---") || text.starts_with("..."), ..Seen::default() };
    let mut previous = Previous::Start;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let blank_follows = next.is_none_or(|next| next == ' ' || next == '\t');
        seen.indicators |= is_indicator(character, at == 0, previous.is_blank(), blank_follows);
        if character == '\t' && dialect == Dialect::V3 {
            seen.tab = true;
        } else if !is_printable(character) {
            seen.special = true;
        }
        let edge = at == 0 || next.is_none();
        previous = match character {
            ' ' => {
                seen.edge_blank |= edge;
                seen.trailing_space |= next.is_none();
                seen.break_space |= previous == Previous::Break;
                Previous::Space
            }
            _ if is_break(character) => {
                seen.multiline = true;
                seen.edge_blank |= edge;
                seen.space_break |= previous == Previous::Space;
                Previous::Break
            }
            '\t' | '\0' => Previous::OtherBlank,
            _ => Previous::Text,
        };
    }
    seen.conclude()
}

/// What the character in front was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Previous {
    Start,
    Space,
    Break,
    /// A tab or NUL.
    OtherBlank,
    Text,
}

impl Previous {
    fn is_blank(self) -> bool {
        self != Previous::Text
    }
}

#[derive(Debug, Default)]
struct Seen {
    indicators: bool,
    special: bool,
    tab: bool,
    multiline: bool,
    edge_blank: bool,
    trailing_space: bool,
    break_space: bool,
    space_break: bool,
}

impl Seen {
    fn conclude(&self) -> Analysis {
        let odd = self.space_break || self.special;
        Analysis {
            multiline: self.multiline,
            plain: !(self.indicators
                || self.edge_blank
                || self.break_space
                || odd
                || self.tab
                || self.multiline),
            single_quoted: !(self.break_space || odd || self.tab),
            block: !(self.trailing_space || odd),
        }
    }
}

/// Whether a character would be taken for syntax in a plain scalar.
fn is_indicator(character: char, first: bool, blank_before: bool, blank_follows: bool) -> bool {
    match character {
        '#' => first || blank_before,
        ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => first,
        '?' | '-' => first && blank_follows,
        ':' => blank_follows,
        _ => false,
    }
}

/// Line breaks of YAML 1.1.
pub(crate) fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What go-yaml writes without an escape. Characters beyond the basic plane are not among it.
pub(crate) fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{A0}'..='\u{FFFD}') && character != '\u{FEFF}'
}
