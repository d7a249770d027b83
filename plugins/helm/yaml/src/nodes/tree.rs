//! Nodes in a table. Trees of any depth are read, changed and written without calls inside of calls.

use super::token::ScalarStyle;

/// The number of a node in its [`Tree`].
pub(super) type NodeId = usize;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Document,
    Sequence,
    Mapping,
    Scalar,
    Alias,
}

impl Kind {
    /// The name that kyaml has for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Document => "DocumentNode",
            Self::Sequence => "SequenceNode",
            Self::Mapping => "MappingNode",
            Self::Scalar => "ScalarNode",
            Self::Alias => "AliasNode",
        }
    }
}

/// How a node is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Style {
    /// The tag is written.
    pub(super) tagged: bool,
    /// A collection in brackets or braces.
    pub(super) flow: bool,
    pub(super) scalar: ScalarStyle,
}

/// A node of go-yaml v3.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) style: Style,
    /// The short form; empty for nodes that were made.
    pub(super) tag: String,
    /// Text of a scalar, name of an alias.
    pub(super) value: String,
    pub(super) anchor: String,
    pub(super) head: String,
    pub(super) line: String,
    pub(super) foot: String,
    /// Items, or keys and values in turn.
    pub(super) content: Vec<NodeId>,
}

impl Node {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            style: Style::default(),
            tag: String::new(),
            value: String::new(),
            anchor: String::new(),
            head: String::new(),
            line: String::new(),
            foot: String::new(),
            content: Vec::new(),
        }
    }

    /// A string that is written as it has to be.
    pub(super) fn text(value: &str) -> Self {
        Self { value: value.to_owned(), ..Self::new(Kind::Scalar) }
    }

    /// Whether its tag is that of null.
    pub(super) fn is_null(&self) -> bool {
        self.tag == NULL
    }
}

/// `!!null`.
pub(super) const NULL: &str = "!!null";
/// `!!str`.
pub(super) const STR: &str = "!!str";
/// `!!seq`.
pub(super) const SEQ: &str = "!!seq";
/// `!!map`.
pub(super) const MAP: &str = "!!map";
/// `!!merge`.
pub(super) const MERGE: &str = "!!merge";

/// The nodes of a document.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// Adds a node.
    pub(super) fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The node; numbers are only those that [`Tree::add`] gave.
    pub(super) fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// The node, to be changed.
    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id)
    }

    /// Items, or keys and values in turn.
    pub(super) fn content(&self, id: NodeId) -> &[NodeId] {
        self.get(id).map(|node| node.content.as_slice()).unwrap_or_default()
    }

    /// Text of a scalar, name of an alias; empty for everything else.
    pub(super) fn value(&self, id: NodeId) -> &str {
        self.get(id).map(|node| node.value.as_str()).unwrap_or_default()
    }

    /// Keys and values of a mapping.
    pub(super) fn pairs(&self, id: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.content(id).chunks_exact(2).filter_map(|pair| match pair {
            [key, value] => Some((*key, *value)),
            _ => None,
        })
    }

    /// Takes away the pair whose key is the item `at` of a mapping.
    pub(super) fn remove_pair(&mut self, id: NodeId, at: usize) {
        if let Some(node) = self.get_mut(id)
            && at + 1 < node.content.len()
        {
            node.content.drain(at..at + 2);
        }
    }

    /// The node itself, or what a document contains.
    pub(super) fn inner(&self, id: NodeId) -> NodeId {
        match self.get(id) {
            Some(Node { kind: Kind::Document, content, .. }) => content.first().copied().unwrap_or(id),
            _ => id,
        }
    }

    /// A node with everything below it, as a tree of its own.
    pub(super) fn extract(&self, root: NodeId) -> (Self, NodeId) {
        let mut tree = Self::default();
        let Some(node) = self.get(root) else { return (tree, 0) };
        let new_root = tree.add(node.clone());
        let mut open = vec![new_root];
        while let Some(parent) = open.pop() {
            let below = tree.content(parent).to_vec();
            let copied: Vec<NodeId> =
                below.iter().filter_map(|id| self.get(*id)).map(|node| tree.add(node.clone())).collect();
            open.extend(&copied);
            if let Some(node) = tree.get_mut(parent) {
                node.content = copied;
            }
        }
        (tree, new_root)
    }
}
