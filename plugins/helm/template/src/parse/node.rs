//! The syntax tree of expressions. It is kept after compiling for the texts and positions of
//! errors (text/template/parse/node.go); statements are compiled straight from the tokens.

use super::number::Number;
use crate::fmt::quote;
use crate::value::Str;

/// Index of a node in its [`Nodes`].
pub(crate) type NodeId = u32;

/// A node that is not there.
pub(crate) const NO_NODE: NodeId = NodeId::MAX;

/// A node and where it stands in the source.
#[derive(Debug)]
pub(crate) struct Node {
    /// Byte offset.
    pub(crate) pos: u32,
    pub(crate) kind: NodeKind,
}

/// The kinds of nodes that an error can point at.
#[derive(Debug)]
pub(crate) enum NodeKind {
    Action(NodeId),
    Pipe {
        declared: Vec<NodeId>,
        assigns: bool,
        commands: Vec<NodeId>,
    },
    Command(Vec<NodeId>),
    Identifier(Str),
    /// Name with its `$`, then fields.
    Variable(Vec<Str>),
    Dot,
    Nil,
    Field(Vec<Str>),
    Chain(NodeId, Vec<Str>),
    Bool(bool),
    Number {
        text: Str,
        number: Number,
    },
    String {
        quoted: Str,
        text: Str,
    },
    Template {
        name: Str,
        pipe: Option<NodeId>,
    },
}

/// All nodes of one parsed text.
#[derive(Debug, Default)]
pub(crate) struct Nodes(Vec<Node>);

impl Nodes {
    pub(super) fn add(&mut self, pos: usize, kind: NodeKind) -> NodeId {
        let id = NodeId::try_from(self.0.len()).unwrap_or(NO_NODE);
        self.0.push(Node { pos: u32::try_from(pos).unwrap_or(u32::MAX), kind });
        id
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Node> {
        self.0.get(id as usize)
    }

    pub(super) fn kind(&self, id: NodeId) -> &NodeKind {
        self.get(id).map_or(&NodeKind::Nil, |node| &node.kind)
    }

    /// The node as Go's `String` method prints it.
    pub(crate) fn text(&self, id: NodeId) -> String {
        let mut out = String::new();
        self.write(&mut out, id);
        out
    }

    /// Recursion is as deep as parentheses are nested, which the parser bounds.
    fn write(&self, out: &mut String, id: NodeId) {
        match self.kind(id) {
            NodeKind::Action(pipe) => {
                out.push_str("{{");
                self.write(out, *pipe);
                out.push_str("}}");
            }
            NodeKind::Pipe { declared, assigns, commands } => {
                self.write_list(out, declared, ", ");
                if !declared.is_empty() {
                    out.push_str(if *assigns { " = " } else { " := " });
                }
                self.write_list(out, commands, " | ");
            }
            NodeKind::Command(args) => self.write_list(out, args, " "),
            NodeKind::Identifier(name) => out.push_str(&name.to_str_lossy()),
            NodeKind::Variable(names) => write_names(out, names, false),
            NodeKind::Dot => out.push('.'),
            NodeKind::Nil => out.push_str("nil"),
            NodeKind::Field(names) => write_names(out, names, true),
            NodeKind::Chain(node, names) => {
                self.write_operand(out, *node);
                write_names(out, names, true);
            }
            NodeKind::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            NodeKind::Number { text, .. } | NodeKind::String { quoted: text, .. } => {
                out.push_str(&text.to_str_lossy());
            }
            NodeKind::Template { name, pipe } => {
                out.push_str("{{template ");
                out.push_str(&quote(name.as_bytes()));
                if let Some(pipe) = pipe {
                    out.push(' ');
                    self.write(out, *pipe);
                }
                out.push_str("}}");
            }
        }
    }

    fn write_list(&self, out: &mut String, ids: &[NodeId], between: &str) {
        for (index, id) in ids.iter().enumerate() {
            if index > 0 {
                out.push_str(between);
            }
            self.write_operand(out, *id);
        }
    }

    /// A pipeline inside of an expression stands in parentheses.
    fn write_operand(&self, out: &mut String, id: NodeId) {
        if matches!(self.kind(id), NodeKind::Pipe { .. }) {
            out.push('(');
            self.write(out, id);
            out.push(')');
        } else {
            self.write(out, id);
        }
    }
}

fn write_names(out: &mut String, names: &[Str], dot_first: bool) {
    for (index, name) in names.iter().enumerate() {
        if dot_first || index > 0 {
            out.push('.');
        }
        out.push_str(&name.to_str_lossy());
    }
}
