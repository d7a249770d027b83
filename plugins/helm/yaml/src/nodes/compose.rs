//! Events to nodes: the first half of go-yaml v3's `decode.go`.

use std::collections::HashSet;

use super::mark::NodeError;
use super::parser::{Event, EventKind, Parser};
use super::scanner::Scanner;
use super::token::ScalarStyle;
use super::tree::{Kind, MAP, MERGE, Node, NodeId, SEQ, STR, Style, Tree};
use crate::reader::{Cursor, Input};
use crate::resolve::{TAG_PREFIX, tag_of_v3};

/// Reads the first document of a stream; `None` if there is none. What follows it is not looked at.
///
/// # Errors
/// The first mistake that go-yaml finds.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Tree, NodeId)>, NodeError> {
    let mut input = Input::new(bytes);
    let window = input.window.take();
    let mut parser = Parser::new(Scanner::new(Cursor::new(&input.text, input.lines, window)));
    parser.next()?;
    let start = parser.next()?;
    if start.kind == EventKind::StreamEnd {
        return Ok(None);
    }
    let mut composer = Composer::default();
    let root = composer.tree.add(Node { head: start.head, ..Node::new(Kind::Document) });
    composer.open.push(Open { node: root, block: false, key: None });
    while !composer.open.is_empty() {
        composer.take(parser.next()?)?;
    }
    Ok(Some((composer.tree, root)))
}

/// A collection that is not complete.
struct Open {
    node: NodeId,
    /// A mapping that is not in braces.
    block: bool,
    /// The key whose value comes next.
    key: Option<NodeId>,
}

#[derive(Default)]
struct Composer {
    tree: Tree,
    anchors: HashSet<String>,
    open: Vec<Open>,
}

impl Composer {
    fn take(&mut self, event: Event) -> Result<(), NodeError> {
        match event.kind {
            EventKind::SequenceStart { flow } => self.start(Kind::Sequence, SEQ, flow, event),
            EventKind::MappingStart { flow } => self.start(Kind::Mapping, MAP, flow, event),
            EventKind::SequenceEnd | EventKind::MappingEnd | EventKind::DocumentEnd => self.end(event),
            EventKind::Alias => {
                let name = event.anchor.clone().unwrap_or_default();
                if !self.anchors.contains(&name) {
                    return Err(NodeError(format!("unknown anchor '{name}' referenced").into()));
                }
                // An alias that has not come to its own end yet is one, too.
                let mut node = node(Kind::Alias, "", event);
                (node.anchor, node.value) = (String::new(), name);
                let id = self.tree.add(node);
                self.complete(id);
            }
            EventKind::Scalar { .. } => {
                let id = self.scalar(event);
                self.complete(id);
            }
            EventKind::StreamStart | EventKind::StreamEnd | EventKind::DocumentStart => {
                let problem = "attempted to go past the end of stream; corrupted value?";
                return Err(NodeError(problem.into()));
            }
        }
        Ok(())
    }

    fn scalar(&mut self, mut event: Event) -> NodeId {
        let (text, style) = match &mut event.kind {
            EventKind::Scalar { text, style } => (std::mem::take(text), *style),
            _ => Default::default(),
        };
        let default = match style {
            ScalarStyle::Plain if text == "<<" => MERGE,
            ScalarStyle::Plain => tag_of_v3(&text),
            _ => STR,
        };
        let mut node = node(Kind::Scalar, default, event);
        (node.value, node.style.scalar) = (text, style);
        self.remember(&node);
        self.tree.add(node)
    }

    fn remember(&mut self, node: &Node) {
        if !node.anchor.is_empty() {
            self.anchors.insert(node.anchor.clone());
        }
    }

    fn start(&mut self, kind: Kind, default: &str, flow: bool, event: Event) {
        let mut node = node(kind, default, event);
        node.style.flow = flow;
        self.remember(&node);
        let id = self.tree.add(node);
        self.open.push(Open { node: id, block: !flow, key: None });
    }

    fn end(&mut self, event: Event) {
        let Some(closed) = self.open.pop() else { return };
        let is_document = event.kind == EventKind::DocumentEnd;
        if let Some(node) = self.tree.get_mut(closed.node) {
            node.foot = event.foot;
            if !is_document {
                node.line = event.line;
            }
        }
        if event.kind == EventKind::MappingEnd {
            self.hand_foot_to_last_key(closed.node);
        }
        if !is_document {
            self.complete(closed.node);
        }
    }

    /// What stands below a block mapping belongs to its last key.
    fn hand_foot_to_last_key(&mut self, mapping: NodeId) {
        let Some(node) = self.tree.get_mut(mapping) else { return };
        let last_key = node.content.len().checked_sub(2).and_then(|at| node.content.get(at)).copied();
        if node.style.flow || node.foot.is_empty() {
            return;
        }
        let Some(key) = last_key else { return };
        let foot = std::mem::take(&mut node.foot);
        if let Some(key) = self.tree.get_mut(key) {
            key.foot = foot;
        }
    }

    /// A node is complete: it becomes part of the collection around it.
    fn complete(&mut self, id: NodeId) {
        let Some(parent) = self.open.last_mut() else { return };
        let parent_id = parent.node;
        let (kind, before) = match self.tree.get_mut(parent_id) {
            Some(node) => {
                let before = node.content.len().checked_sub(2).and_then(|at| node.content.get(at)).copied();
                node.content.push(id);
                (node.kind, before)
            }
            None => return,
        };
        if kind != Kind::Mapping {
            return;
        }
        match parent.key.take() {
            None => {
                parent.key = Some(id);
                let block = parent.block;
                // Below a value that ends further to the left stands what was found in front of the next key.
                if let Some(before) = before.filter(|_| block) {
                    self.move_foot(id, before, true);
                }
            }
            Some(key) => self.move_foot(id, key, false),
        }
    }

    /// Moves the comment below a node to another one; with `replace` also where that has one.
    fn move_foot(&mut self, from: NodeId, to: NodeId, replace: bool) {
        let free = replace || self.tree.get(to).is_some_and(|node| node.foot.is_empty());
        if !free || self.tree.get(from).is_none_or(|node| node.foot.is_empty()) {
            return;
        }
        let foot = self.tree.get_mut(from).map(|node| std::mem::take(&mut node.foot)).unwrap_or_default();
        if let Some(node) = self.tree.get_mut(to) {
            node.foot = foot;
        }
    }
}

/// A node with what its event has: its comments, and its tag or the one that it has without.
fn node(kind: Kind, default: &str, event: Event) -> Node {
    let tagged = !event.tag.is_empty() && event.tag != "!";
    let tag = if tagged { short_tag(event.tag) } else { default.to_owned() };
    Node {
        style: Style { tagged, ..Style::default() },
        tag,
        anchor: event.anchor.unwrap_or_default(),
        head: event.head,
        line: event.line,
        foot: event.foot,
        ..Node::new(kind)
    }
}

fn short_tag(tag: String) -> String {
    match tag.strip_prefix(TAG_PREFIX) {
        Some(rest) => format!("!!{rest}"),
        None => tag,
    }
}
