//! What the scanner makes of the text, and the comments beside it.

use super::mark::Mark;

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ScalarStyle {
    #[default]
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
    Folded,
}

/// A token and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: Mark,
}

/// The tokens of YAML 1.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    StreamStart,
    StreamEnd,
    VersionDirective(u8, u8),
    TagDirective { handle: Vec<u8>, prefix: Vec<u8> },
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
    Alias(String),
    Anchor(String),
    Tag { handle: Vec<u8>, suffix: Vec<u8> },
    Scalar { text: String, style: ScalarStyle },
}

/// Comments that were found together.
#[derive(Debug, Clone, Default)]
pub(super) struct Comment {
    /// Where the search for it began.
    pub(super) scan: Mark,
    /// The token that it belongs to.
    pub(super) token: Mark,
    pub(super) start: Mark,
    pub(super) end: Mark,
    pub(super) head: String,
    pub(super) line: String,
    pub(super) foot: String,
}
