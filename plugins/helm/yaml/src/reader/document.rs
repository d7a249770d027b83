//! The first document of a stream as a tree: what the first half of go-yaml's `decode.go` makes.

use std::borrow::Cow;
use std::collections::HashMap;

use super::cursor::Cursor;
use super::failure::Failure;
use super::input::Input;
use super::parser::{EventKind, Parser};
use super::scanner::Scanner;

/// The nodes of a document, each collection in front of its children.
#[derive(Debug)]
pub(crate) struct Document<'t> {
    /// The root is the first node; a stream without documents has none.
    pub(crate) nodes: Vec<Node<'t>>,
}

/// A node and the line, counted from 0, on which it starts.
#[derive(Debug)]
pub(crate) struct Node<'t> {
    pub(crate) kind: NodeKind<'t>,
    pub(crate) line: usize,
}

/// What a node is. `end` is the number of the node behind the last child.
#[derive(Debug)]
pub(crate) enum NodeKind<'t> {
    Scalar { text: Cow<'t, str>, tag: Option<Box<str>>, implicit: bool },
    Alias { name: &'t str, target: usize },
    Sequence { end: usize },
    Mapping { end: usize },
}

impl<'t> Document<'t> {
    /// Reads the first document. What follows it in the stream is not looked at.
    ///
    /// # Errors
    ///
    /// The first mistake that go-yaml finds.
    pub(crate) fn read(input: &'t mut Input<'_>) -> Result<Self, Failure> {
        let window = input.window.take();
        let mut parser = Parser::new(Scanner::new(Cursor::new(&input.text, input.lines, window)));
        let mut nodes = Vec::new();
        parser.next()?;
        if matches!(parser.next()?.kind, EventKind::StreamEnd) {
            return Ok(Self { nodes });
        }
        let mut anchors = HashMap::new();
        let mut open: Vec<usize> = Vec::new();
        loop {
            let event = parser.next()?;
            let at = nodes.len();
            if let Some(anchor) = event.anchor {
                anchors.insert(anchor, at);
            }
            let kind = match event.kind {
                EventKind::Scalar { text, tag, implicit } => NodeKind::Scalar { text, tag, implicit },
                EventKind::Alias(name) => match anchors.get(name) {
                    Some(target) => NodeKind::Alias { name, target: *target },
                    None => return Err(Failure::Document(format!("unknown anchor '{name}' referenced"))),
                },
                EventKind::SequenceStart => {
                    open.push(at);
                    NodeKind::Sequence { end: at }
                }
                EventKind::MappingStart => {
                    open.push(at);
                    NodeKind::Mapping { end: at }
                }
                EventKind::SequenceEnd | EventKind::MappingEnd => {
                    close(&mut nodes, open.pop());
                    continue;
                }
                EventKind::DocumentEnd => return Ok(Self { nodes }),
                EventKind::StreamStart | EventKind::StreamEnd | EventKind::DocumentStart => {
                    let problem = "attempted to go past the end of stream; corrupted value?";
                    return Err(Failure::Document(problem.to_owned()));
                }
            };
            nodes.push(Node { kind, line: event.line });
        }
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Node<'t>> {
        self.nodes.get(at)
    }

    /// The number of the node behind this one and its children.
    pub(crate) fn behind(&self, at: usize) -> usize {
        match self.nodes.get(at).map(|node| &node.kind) {
            Some(NodeKind::Sequence { end } | NodeKind::Mapping { end }) => *end,
            _ => at + 1,
        }
    }
}

/// Writes down where the collection `at` ends.
fn close(nodes: &mut [Node<'_>], at: Option<usize>) {
    let length = nodes.len();
    if let Some(node) = at.and_then(|at| nodes.get_mut(at))
        && let NodeKind::Sequence { end } | NodeKind::Mapping { end } = &mut node.kind
    {
        *end = length;
    }
}
