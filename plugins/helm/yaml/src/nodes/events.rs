//! Nodes to what the emitter writes: the second half of go-yaml v3's `encode.go`.

use super::token::ScalarStyle;
use super::tree::{Kind, MAP, Node, NodeId, SEQ, STR, Tree};
use crate::resolve::{TAG_PREFIX, tag_of_v3};

/// What is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    DocumentStart,
    DocumentEnd,
    Alias,
    Scalar,
    SequenceStart,
    SequenceEnd,
    MappingStart,
    MappingEnd,
}

/// An event with the comments around it.
#[derive(Debug, Clone)]
pub(super) struct Event<'t> {
    pub(super) kind: EventKind,
    pub(super) anchor: &'t str,
    /// The long form; empty: it is not written.
    pub(super) tag: String,
    pub(super) value: &'t str,
    pub(super) style: ScalarStyle,
    /// A collection in brackets or braces.
    pub(super) flow: bool,
    pub(super) head: &'t str,
    pub(super) line: &'t str,
    pub(super) foot: &'t str,
    /// What stood below the pair in front.
    pub(super) tail: &'t str,
}

impl<'t> Event<'t> {
    fn new(kind: EventKind) -> Self {
        Self {
            kind,
            anchor: "",
            tag: String::new(),
            value: "",
            style: ScalarStyle::Plain,
            flow: false,
            head: "",
            line: "",
            foot: "",
            tail: "",
        }
    }
}

/// What is still to be done.
enum Task<'t> {
    Node { id: NodeId, tail: &'t str, is_key: bool },
    End(Event<'t>),
}

/// The events of a document, or of a node that becomes one.
pub(super) fn events(tree: &Tree, root: NodeId) -> Vec<Event<'_>> {
    let mut events = Vec::new();
    let mut tasks = Vec::new();
    let is_document = tree.get(root).is_some_and(|node| node.kind == Kind::Document);
    if !is_document {
        events.push(Event::new(EventKind::DocumentStart));
        tasks.push(Task::End(Event::new(EventKind::DocumentEnd)));
    }
    tasks.push(Task::Node { id: root, tail: "", is_key: false });
    while let Some(task) = tasks.pop() {
        match task {
            Task::End(event) => events.push(event),
            Task::Node { id, tail, is_key } => {
                if let Some(node) = tree.get(id) {
                    start(tree, node, tail, is_key, &mut events, &mut tasks);
                }
            }
        }
    }
    events
}

fn start<'t>(
    tree: &'t Tree,
    node: &'t Node,
    tail: &'t str,
    is_key: bool,
    events: &mut Vec<Event<'t>>,
    tasks: &mut Vec<Task<'t>>,
) {
    // What stands below a key is written behind its value.
    let foot = if is_key { "" } else { node.foot.as_str() };
    let items = |tasks: &mut Vec<Task<'t>>| {
        tasks.extend(node.content.iter().rev().map(|id| Task::Node { id: *id, tail: "", is_key: false }));
    };
    let (tag, force_quotes) = written_tag(node);
    let head = node.head.as_str();
    let properties = |kind| Event { anchor: &node.anchor, tag: long_tag(tag), head, ..Event::new(kind) };
    let end = |kind, line, tail| Task::End(Event { line, foot, tail, ..Event::new(kind) });
    match node.kind {
        Kind::Document => {
            events.push(Event { head, ..Event::new(EventKind::DocumentStart) });
            tasks.push(end(EventKind::DocumentEnd, "", ""));
            items(tasks);
        }
        Kind::Sequence => {
            events.push(Event { flow: node.style.flow, ..properties(EventKind::SequenceStart) });
            tasks.push(end(EventKind::SequenceEnd, &node.line, ""));
            items(tasks);
        }
        Kind::Mapping => {
            events.push(Event { flow: node.style.flow, tail, ..properties(EventKind::MappingStart) });
            let below_last = node.content.chunks_exact(2).next_back().map_or("", |pair| foot_of(tree, pair));
            tasks.push(end(EventKind::MappingEnd, &node.line, below_last));
            pairs(tree, node, tasks);
        }
        Kind::Alias => {
            let event =
                Event { anchor: &node.value, head, line: &node.line, foot, ..Event::new(EventKind::Alias) };
            events.push(event);
        }
        Kind::Scalar => {
            let style = scalar_style(node, force_quotes);
            let event = properties(EventKind::Scalar);
            events.push(Event { value: &node.value, style, line: &node.line, foot, tail, ..event });
        }
    }
}

/// The pairs of a mapping, the last one first.
fn pairs<'t>(tree: &'t Tree, node: &'t Node, tasks: &mut Vec<Task<'t>>) {
    let mut pairs = node.content.chunks_exact(2).rev().peekable();
    while let Some(pair) = pairs.next() {
        let [key, value] = pair else { continue };
        let tail = pairs.peek().map_or("", |pair| foot_of(tree, pair));
        tasks.push(Task::Node { id: *value, tail: "", is_key: false });
        tasks.push(Task::Node { id: *key, tail, is_key: true });
    }
}

/// What stands below a pair; it is kept with the key.
fn foot_of<'t>(tree: &'t Tree, pair: &[NodeId]) -> &'t str {
    pair.first().and_then(|key| tree.get(*key)).map_or("", |key| key.foot.as_str())
}

/// The tag that has to be written, and whether a text has to stand in quotes instead. A tag that nobody asked for is left out
/// where the node has it without.
fn written_tag(node: &Node) -> (&str, bool) {
    let tag = node.tag.as_str();
    if node.style.tagged {
        return (tag, false);
    }
    let own = match node.kind {
        Kind::Scalar if tag == STR && node.style.scalar != ScalarStyle::Plain => STR,
        Kind::Scalar => tag_of_v3(&node.value),
        Kind::Mapping => MAP,
        Kind::Sequence => SEQ,
        Kind::Document | Kind::Alias => "",
    };
    match tag {
        _ if tag == own => ("", false),
        STR if node.kind == Kind::Scalar => ("", true),
        _ => (tag, false),
    }
}

fn scalar_style(node: &Node, force_quotes: bool) -> ScalarStyle {
    match node.style.scalar {
        ScalarStyle::Plain if node.value.contains('\n') => ScalarStyle::Literal,
        ScalarStyle::Plain if force_quotes => ScalarStyle::DoubleQuoted,
        style => style,
    }
}

fn long_tag(tag: &str) -> String {
    match tag.strip_prefix("!!") {
        Some(rest) => format!("{TAG_PREFIX}{rest}"),
        None => tag.to_owned(),
    }
}
