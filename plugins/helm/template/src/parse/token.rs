//! Tokens.

/// What a token is. The order of declaration has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Error,
    Eof,
    Text,
    LeftDelim,
    RightDelim,
    LeftParen,
    RightParen,
    Space,
    Pipe,
    Assign,
    Declare,
    /// Any other ASCII character, such as a comma.
    Char,
    CharConstant,
    Bool,
    Number,
    Complex,
    String,
    RawString,
    /// A name with a leading dot.
    Field,
    Identifier,
    /// A name with a leading dollar sign.
    Variable,
    // Keywords from here on.
    Dot,
    Nil,
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

impl TokenKind {
    pub(super) fn keyword(word: &[u8]) -> Option<Self> {
        // Most words are names of functions, which their first letter and length tell apart from these.
        if !matches!(word, [b'b' | b'c' | b'd' | b'e' | b'i' | b'n' | b'r' | b't' | b'w', ..])
            || word.len() > 8
        {
            return None;
        }
        Some(match word {
            b"block" => Self::Block,
            b"break" => Self::Break,
            b"continue" => Self::Continue,
            b"define" => Self::Define,
            b"else" => Self::Else,
            b"end" => Self::End,
            b"if" => Self::If,
            b"nil" => Self::Nil,
            b"range" => Self::Range,
            b"template" => Self::Template,
            b"with" => Self::With,
            _ => return None,
        })
    }

    pub(super) fn is_keyword(self) -> bool {
        matches!(
            self,
            Self::Dot
                | Self::Nil
                | Self::Block
                | Self::Break
                | Self::Continue
                | Self::Define
                | Self::Else
                | Self::End
                | Self::If
                | Self::Range
                | Self::Template
                | Self::With
        )
    }
}

/// A token: kind, place in the source and line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) line: u32,
}

impl Token {
    pub(super) const NONE: Self = Self { kind: TokenKind::Eof, start: 0, end: 0, line: 0 };
}
