//! The syntax tree of expressions. It is kept after compiling for the texts and positions of
//! errors (text/template/parse/node.go); statements are compiled straight from the tokens.

use super::number::Number;
use crate::builtin::Builtin;
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

/// The kinds of nodes that an error can point at. What differs in length lies in the tables of [`Nodes`]: a chart has tens
/// of thousands of nodes, and their allocations took most of the time of parsing it.
#[derive(Debug)]
pub(crate) enum NodeKind {
    Action(NodeId),
    Pipe {
        declared: Row,
        assigns: bool,
        commands: Row,
    },
    Command(Row),
    Identifier(Str, Callee),
    /// Names: that with its `$`, then fields.
    Variable(Row),
    Dot,
    Nil,
    /// Names.
    Field(Row),
    /// A node, then names.
    Chain(NodeId, Row),
    Bool(bool),
    /// Where it ends in the source, and which of the numbers it is.
    Number {
        end: u32,
        number: u32,
    },
    /// Where it ends in the source, and what it means.
    String {
        end: u32,
        text: Str,
    },
    Template {
        name: Str,
        pipe: Option<NodeId>,
    },
}

/// What a name stands for where it is called.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Callee {
    /// Which of the functions of the unit.
    Function(u32),
    Builtin(Builtin),
}

/// Entries that stand side by side in a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) first: u32,
    pub(crate) len: u32,
}

impl Row {
    pub(super) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// All but the first entry.
    pub(super) fn rest(self) -> Self {
        Self { first: self.first + u32::from(self.len > 0), len: self.len.saturating_sub(1) }
    }

    /// All but the last entry, and that.
    pub(super) fn split_last(self) -> (Self, Self) {
        let before = self.len.saturating_sub(1);
        (Self { len: before, ..self }, Self { first: self.first + before, len: self.len - before })
    }

    pub(crate) fn of<T>(self, table: &[T]) -> &[T] {
        let first = self.first as usize;
        table.get(first..first + self.len as usize).unwrap_or_default()
    }

    fn between(first: usize, end: usize) -> Self {
        let number = |at| u32::try_from(at).unwrap_or(u32::MAX);
        Self { first: number(first), len: number(end - first) }
    }
}

/// All nodes of one parsed text.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    source: Str,
    all: Vec<Node>,
    ids: Vec<NodeId>,
    names: Vec<Str>,
    numbers: Vec<Number>,
}

impl Nodes {
    /// None of another text any more; the room is kept.
    pub(super) fn restart(&mut self, source: &Str) {
        self.source = source.clone();
        self.all.clear();
        self.ids.clear();
        self.names.clear();
        self.numbers.clear();
    }

    /// The names that rows of code are rows of.
    pub(super) fn take_names(&mut self) -> Box<[Str]> {
        self.names.drain(..).collect()
    }

    pub(super) fn add(&mut self, pos: usize, kind: NodeKind) -> NodeId {
        let id = NodeId::try_from(self.all.len()).unwrap_or(NO_NODE);
        self.all.push(Node { pos: u32::try_from(pos).unwrap_or(u32::MAX), kind });
        id
    }

    pub(super) fn add_ids(&mut self, ids: impl Iterator<Item = NodeId>) -> Row {
        let first = self.ids.len();
        self.ids.extend(ids);
        Row::between(first, self.ids.len())
    }

    /// A row of one name.
    pub(super) fn add_name(&mut self, name: Str) -> Row {
        let first = self.names.len();
        self.names.push(name);
        Row::between(first, first + 1)
    }

    /// A row with one more name; it has to be the last that was added.
    pub(super) fn lengthen(&mut self, row: Row, name: Str) -> Row {
        debug_assert_eq!((row.first + row.len) as usize, self.names.len(), "other names came after these");
        self.names.push(name);
        Row { len: row.len + 1, ..row }
    }

    pub(super) fn add_number(&mut self, number: Number) -> u32 {
        self.numbers.push(number);
        u32::try_from(self.numbers.len() - 1).unwrap_or(u32::MAX)
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Node> {
        self.all.get(id as usize)
    }

    pub(super) fn kind(&self, id: NodeId) -> &NodeKind {
        self.get(id).map_or(&NodeKind::Nil, |node| &node.kind)
    }

    pub(crate) fn ids(&self, row: Row) -> &[NodeId] {
        row.of(&self.ids)
    }

    pub(crate) fn names(&self, row: Row) -> &[Str] {
        row.of(&self.names)
    }

    pub(crate) fn number(&self, number: u32) -> Option<&Number> {
        self.numbers.get(number as usize)
    }

    /// The node as Go's `String` method prints it.
    pub(crate) fn text(&self, id: NodeId) -> String {
        let mut out = String::new();
        self.write(&mut out, id);
        out
    }

    /// Recursion is as deep as parentheses are nested, which the parser bounds.
    fn write(&self, out: &mut String, id: NodeId) {
        let Some(Node { pos, kind }) = self.get(id) else { return };
        match kind {
            NodeKind::Action(pipe) => {
                out.push_str("{{");
                self.write(out, *pipe);
                out.push_str("}}");
            }
            NodeKind::Pipe { declared, assigns, commands } => {
                self.write_list(out, *declared, ", ");
                if !declared.is_empty() {
                    out.push_str(if *assigns { " = " } else { " := " });
                }
                self.write_list(out, *commands, " | ");
            }
            NodeKind::Command(args) => self.write_list(out, *args, " "),
            NodeKind::Identifier(name, _) => out.push_str(&name.to_str_lossy()),
            NodeKind::Variable(names) => write_names(out, self.names(*names), false),
            NodeKind::Dot => out.push('.'),
            NodeKind::Nil => out.push_str("nil"),
            NodeKind::Field(names) => write_names(out, self.names(*names), true),
            NodeKind::Chain(node, names) => {
                self.write_operand(out, *node);
                write_names(out, self.names(*names), true);
            }
            NodeKind::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            NodeKind::Number { end, .. } | NodeKind::String { end, .. } => {
                let text = self.source.as_bytes().get(*pos as usize..*end as usize);
                out.push_str(&String::from_utf8_lossy(text.unwrap_or_default()));
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

    fn write_list(&self, out: &mut String, ids: Row, between: &str) {
        for (index, id) in self.ids(ids).iter().enumerate() {
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
