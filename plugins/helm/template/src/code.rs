//! What a template is compiled to: instructions for a machine with one stack of operands.
//!
//! Errors say which expression was being evaluated last. Instructions that begin to evaluate an
//! expression therefore carry its node, exactly where text/template/exec.go calls `s.at`.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

use crate::builtin::Builtin;
use crate::function::Function;
use crate::parse::{self, NodeId, Nodes, Row};
use crate::value::{Str, Type, Value};

/// One instruction.
///
/// `raw` leaves a result as it is; without it an interface is opened, as a pipeline does with the
/// value of each of its commands. A `count` counts arguments on the stack, `piped` tells that one
/// of them, the last of the call, lies below the others.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Writes a piece of the source.
    Text {
        start: u32,
        end: u32,
    },
    /// Notes the node.
    At {
        node: NodeId,
    },
    /// Fails with a message (a constant), at a node if there is one.
    Fail {
        message: u32,
        node: NodeId,
    },
    /// Pushes the cursor.
    Dot {
        node: NodeId,
        raw: bool,
    },
    /// Pushes a variable.
    Variable {
        slot: u16,
        node: NodeId,
        raw: bool,
    },
    /// Pushes a constant; nil is pushed as no value.
    Constant {
        index: u32,
        node: NodeId,
    },
    /// Pushes a field of a field of … the cursor.
    DotPath {
        names: Row,
        raw: bool,
        node: NodeId,
    },
    /// The same of a variable.
    VariablePath {
        slot: u16,
        names: Row,
        raw: bool,
        node: NodeId,
    },
    /// Replaces the top by a field of it.
    Path {
        names: Row,
        raw: bool,
        node: NodeId,
    },
    /// Opens the interface on top.
    Open,
    /// Checks the top against a parameter's type and converts it.
    Coerce {
        ty: &'static Type,
    },
    /// Brings the piped argument to the top, then does as `Coerce`.
    CoercePiped {
        ty: &'static Type,
        count: u16,
        node: NodeId,
    },
    /// Calls a function with arguments that fit it.
    Call {
        function: u32,
        count: u16,
        piped: bool,
        raw: bool,
        node: NodeId,
    },
    /// Calls a builtin other than `and` and `or`.
    Builtin {
        builtin: Builtin,
        count: u16,
        piped: bool,
        raw: bool,
        node: NodeId,
    },
    /// `and`, `or`: jumps with the top when it decides, else drops it.
    ShortCircuit {
        on: bool,
        piped: bool,
        target: u32,
    },
    /// Pops the receiver of a method call with arguments. Jumps when there is nothing to call.
    Method {
        name: Row,
        count: u16,
        piped: bool,
        target: u32,
    },
    /// Checks the top against the method's next parameter.
    MethodArgument,
    /// Pushes a constant converted to the method's next parameter.
    MethodConstant {
        node: NodeId,
    },
    /// Calls the method begun last.
    MethodCall {
        piped: bool,
        raw: bool,
        node: NodeId,
    },
    /// Prints and drops the top.
    Print {
        node: NodeId,
    },
    /// Drops the top into a variable.
    Store {
        slot: u16,
    },
    /// Copies the top into a variable.
    Copy {
        slot: u16,
    },
    Jump {
        target: u32,
    },
    /// Drops the top and jumps when it is false.
    JumpIfFalse {
        target: u32,
    },
    /// Drops the top: makes it the cursor when it is true, jumps when it is false.
    With {
        target: u32,
    },
    /// Takes the cursor back that was there before the last `With`.
    EndWith,
    /// Drops the top and begins a loop over it; jumps when there is nothing to loop over. `slots`
    /// are the variables for index and element, as many as `declared` says.
    Range {
        slots: [u16; 2],
        declared: u8,
        target: u32,
    },
    /// Takes the next element, or ends the loop and jumps.
    Next {
        target: u32,
    },
    /// Ends the loop before its time.
    Break,
    /// Looks a template up (its name is a constant) for the `Invoke` that follows.
    Lookup {
        name: u32,
        node: NodeId,
    },
    /// Pushes no value: the data of a `template` without pipeline.
    NoValue,
    /// Executes the template looked up last with the top as its data.
    Invoke,
    /// Ends the template.
    Return,
}

/// What the templates of one parsed text share.
pub(crate) struct Unit {
    /// The name the text was parsed under.
    pub(crate) name: Str,
    pub(crate) text: Str,
    /// What is asked for is a row of these.
    pub(crate) names: Box<[Str]>,
    pub(crate) constants: Box<[Value]>,
    pub(crate) functions: Vec<Rc<Function>>,
    /// Larger than all the rest, and needed where something fails: so it is made again then.
    pub(crate) nodes: OnceCell<Nodes>,
}

impl Unit {
    /// The syntax tree of the text.
    pub(crate) fn nodes(&self) -> &Nodes {
        self.nodes.get_or_init(|| parse::nodes(self))
    }

    /// Names that an instruction is about.
    pub(crate) fn names(&self, row: Row) -> &[Str] {
        row.of(&self.names)
    }
}

/// A compiled template.
pub(crate) struct Template {
    pub(crate) name: Str,
    pub(crate) unit: Rc<Unit>,
    pub(crate) ops: Box<[Op]>,
    /// How many variables live at once, `$` included.
    pub(crate) slots: u16,
    /// Whether it has nothing but blanks and comments; such a one does not replace another.
    pub(crate) is_empty: bool,
}

impl Template {
    /// A template without instructions.
    pub(crate) fn nothing() -> Self {
        let unit = Unit {
            name: Str::default(),
            text: Str::default(),
            names: Box::default(),
            constants: Box::default(),
            functions: Vec::new(),
            nodes: OnceCell::new(),
        };
        Self { name: Str::default(), unit: Rc::new(unit), ops: Box::default(), slots: 0, is_empty: true }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Template({:?} in {:?})", self.name, self.unit.name)
    }
}
