//! What the scanner makes of the text.

use std::borrow::Cow;

/// A token and the line, counted from 0, on which it starts.
#[derive(Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: TokenKind<'t>,
    pub(crate) line: usize,
}

/// The tokens of YAML 1.1.
#[derive(Debug)]
pub(crate) enum TokenKind<'t> {
    StreamStart,
    StreamEnd,
    /// `%YAML major.minor`
    VersionDirective(u8, u8),
    /// `%TAG handle prefix`
    TagDirective(Box<Tag>),
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
    Alias(&'t str),
    Anchor(&'t str),
    /// The handle is empty for a verbatim tag and for the lone `!`.
    Tag(Box<Tag>),
    /// `plain` scalars may mean something else than their text.
    Scalar {
        text: Cow<'t, str>,
        plain: bool,
    },
}

/// A handle and what stands behind it: the rest of a tag, or what a `%TAG` line replaces the handle by.
#[derive(Debug, Default)]
pub(crate) struct Tag {
    pub(crate) handle: Vec<u8>,
    pub(crate) rest: Vec<u8>,
}
