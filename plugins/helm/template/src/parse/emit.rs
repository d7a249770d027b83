//! The compiler: expressions into instructions (the `eval` functions of text/template/exec.go,
//! as far as they can be decided before there are values).

use std::rc::Rc;

use super::node::{Callee, NO_NODE, NodeId, NodeKind, Nodes, Row};
use crate::builtin::{Builtin, arity_error};
use crate::code::Op;
use crate::constant::constant;
use crate::function::{Function, Signature};
use crate::value::{Str, Type, Value};

/// The code of one template while it is being made.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) ops: Vec<Op>,
    /// The variables that exist at this point when the template is executed, by slot.
    pub(super) scope: Vec<Str>,
    pub(super) slots: usize,
}

impl Draft {
    /// A template has one variable, `$`, to begin with. `ops` is empty.
    pub(super) fn new(ops: Vec<Op>, dollar: Str) -> Self {
        Self { ops, scope: vec![dollar], slots: 1 }
    }

    pub(super) fn emit(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// Where the next instruction will be.
    pub(super) fn here(&self) -> u32 {
        u32::try_from(self.ops.len()).unwrap_or(u32::MAX)
    }

    /// Lets the jump at `from` go to the next instruction.
    pub(super) fn land(&mut self, from: u32) {
        let here = self.here();
        match self.ops.get_mut(from as usize) {
            Some(
                Op::Jump { target }
                | Op::JumpIfFalse { target }
                | Op::With { target }
                | Op::Range { target, .. }
                | Op::Next { target }
                | Op::ShortCircuit { target, .. }
                | Op::Method { target, .. },
            ) => *target = here,
            _ => debug_assert!(false, "only jumps can land"),
        }
    }

    fn find(&self, name: &Str) -> Option<u16> {
        self.scope.iter().rposition(|known| known == name).map(slot)
    }

    fn declare(&mut self, name: &Str) -> u16 {
        self.scope.push(name.clone());
        self.slots = self.slots.max(self.scope.len());
        slot(self.scope.len() - 1)
    }
}

/// The parser refuses more variables than fit.
fn slot(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

fn count(args: &[NodeId]) -> u16 {
    u16::try_from(args.len()).unwrap_or(u16::MAX)
}

/// Where a chain of fields starts.
#[derive(Clone, Copy)]
enum Base {
    Dot,
    Variable(u16),
    /// The value on the stack.
    Top,
}

/// What happens to the value of a function or field with its arguments.
#[derive(Clone, Copy)]
struct Arguments<'n> {
    written: &'n [NodeId],
    /// Whether the value of the command before is the last argument.
    piped: bool,
}

impl Arguments<'_> {
    const NONE: Self = Arguments { written: &[], piped: false };

    fn none(self) -> bool {
        self.written.is_empty() && !self.piped
    }
}

/// Everything that the templates of a text share while they are compiled.
#[derive(Debug)]
pub(super) struct Emitter {
    pub(super) draft: Draft,
    pub(super) constants: Vec<Value>,
    pub(super) functions: Vec<Rc<Function>>,
}

impl Emitter {
    pub(super) fn new(draft: Draft, constants: Vec<Value>) -> Self {
        Self { draft, constants, functions: Vec::new() }
    }

    /// A pipeline: its value stays on the stack, its variables are set.
    pub(super) fn pipeline(&mut self, nodes: &Nodes, id: NodeId) {
        let NodeKind::Pipe { declared, assigns, commands } = nodes.kind(id) else { return };
        for (index, command) in nodes.ids(*commands).iter().enumerate() {
            self.command(nodes, *command, index > 0, id);
        }
        for variable in nodes.ids(*declared) {
            let NodeKind::Variable(names) = nodes.kind(*variable) else { continue };
            let Some(name) = nodes.names(*names).first() else { continue };
            if !*assigns {
                let slot = self.draft.declare(name);
                self.draft.emit(Op::Copy { slot });
            } else if let Some(slot) = self.draft.find(name) {
                self.draft.emit(Op::Copy { slot });
            } else {
                self.fail(format!("undefined variable: {name}"), NO_NODE);
            }
        }
    }

    pub(super) fn constant(&mut self, value: Value) -> u32 {
        self.constants.push(value);
        u32::try_from(self.constants.len() - 1).unwrap_or(u32::MAX)
    }

    fn fail(&mut self, message: String, node: NodeId) {
        let message = self.constant(Value::from(message));
        self.draft.emit(Op::Fail { message, node });
    }

    fn command(&mut self, nodes: &Nodes, id: NodeId, piped: bool, pipe: NodeId) {
        let NodeKind::Command(words) = nodes.kind(id) else { return };
        let Some((&first, written)) = nodes.ids(*words).split_first() else { return };
        let args = Arguments { written, piped };
        match nodes.kind(first) {
            NodeKind::Field(names) => self.access(nodes, Base::Dot, *names, args, first, false),
            NodeKind::Chain(inner, names) => {
                self.operand(nodes, *inner, true);
                self.access(nodes, Base::Top, *names, args, first, false);
            }
            NodeKind::Identifier(name, callee) => {
                self.call(nodes, (name, *callee), args, (first, id), false);
            }
            NodeKind::Variable(names) => self.variable(nodes, *names, args, first, false),
            NodeKind::Pipe { .. } if args.none() => self.pipeline(nodes, first),
            NodeKind::Pipe { .. } => {
                if !piped {
                    self.draft.emit(Op::At { node: pipe });
                }
                self.not_a_function(nodes, first, NO_NODE);
            }
            _ if !args.none() => self.not_a_function(nodes, first, first),
            NodeKind::Dot => self.draft.emit(Op::Dot { node: first, raw: false }),
            NodeKind::Nil => self.fail("nil is not a command".to_owned(), first),
            _ => self.argument(nodes, first, &Type::Any),
        }
    }

    fn not_a_function(&mut self, nodes: &Nodes, word: NodeId, node: NodeId) {
        self.fail(format!("can't give argument to non-function {}", nodes.text(word)), node);
    }

    fn variable(&mut self, nodes: &Nodes, names: Row, args: Arguments<'_>, node: NodeId, raw: bool) {
        let Some(name) = nodes.names(names).first() else { return };
        let fields = names.rest();
        // A variable of a branch not taken is known to the parser but never set.
        let Some(slot) = self.draft.find(name) else {
            return self.fail(format!("undefined variable: {name}"), node);
        };
        if !fields.is_empty() {
            self.access(nodes, Base::Variable(slot), fields, args, node, raw);
        } else if args.none() {
            self.draft.emit(Op::Variable { slot, node, raw });
        } else {
            self.not_a_function(nodes, node, node);
        }
    }

    /// A chain of fields, the last of which may be a method with arguments.
    fn access(
        &mut self,
        nodes: &Nodes,
        base: Base,
        fields: Row,
        args: Arguments<'_>,
        node: NodeId,
        raw: bool,
    ) {
        if args.none() {
            return self.path(base, fields, node, raw);
        }
        let (before, name) = fields.split_last();
        match base {
            Base::Dot if before.is_empty() => self.draft.emit(Op::Dot { node, raw: true }),
            Base::Variable(slot) if before.is_empty() => {
                self.draft.emit(Op::Variable { slot, node, raw: true });
            }
            Base::Top if before.is_empty() => {}
            _ => self.path(base, before, node, true),
        }
        let start = self.draft.here();
        let piped = args.piped;
        self.draft.emit(Op::Method { name, count: count(args.written), piped, target: 0 });
        for &arg in args.written {
            if is_constant(nodes.kind(arg)) {
                self.draft.emit(Op::MethodConstant { node: arg });
            } else {
                self.operand(nodes, arg, true);
                self.draft.emit(Op::MethodArgument);
            }
        }
        self.draft.emit(Op::MethodCall { piped, raw, node });
        self.draft.land(start);
    }

    fn path(&mut self, base: Base, names: Row, node: NodeId, raw: bool) {
        self.draft.emit(match base {
            Base::Dot => Op::DotPath { names, raw, node },
            Base::Variable(slot) => Op::VariablePath { slot, names, raw, node },
            Base::Top => Op::Path { names, raw, node },
        });
    }

    /// An operand other than a constant: its value is pushed.
    fn operand(&mut self, nodes: &Nodes, id: NodeId, raw: bool) {
        match nodes.kind(id) {
            NodeKind::Dot => self.draft.emit(Op::Dot { node: id, raw }),
            NodeKind::Field(names) => self.path(Base::Dot, *names, id, raw),
            NodeKind::Variable(names) => self.variable(nodes, *names, Arguments::NONE, id, raw),
            NodeKind::Pipe { .. } => self.pipeline(nodes, id),
            NodeKind::Identifier(name, callee) => {
                self.call(nodes, (name, *callee), Arguments::NONE, (id, id), raw);
            }
            NodeKind::Chain(inner, names) => {
                self.operand(nodes, *inner, true);
                self.path(Base::Top, *names, id, raw);
            }
            _ => self.argument(nodes, id, &Type::Any),
        }
    }

    /// An argument for a parameter whose type is known: pushed, checked and converted.
    fn argument(&mut self, nodes: &Nodes, id: NodeId, ty: &'static Type) {
        if is_constant(nodes.kind(id)) {
            match constant(nodes, id, ty) {
                Ok(value) => {
                    let index = self.constant(value);
                    self.draft.emit(Op::Constant { index, node: id });
                }
                Err(message) => self.fail(message, id),
            }
            return;
        }
        self.operand(nodes, id, true);
        if *ty != Type::Any {
            self.draft.emit(Op::Coerce { ty });
        }
    }

    /// A call by name; `word` is the node of the name, `whole` what errors of the call point at.
    fn call(
        &mut self,
        nodes: &Nodes,
        (name, callee): (&Str, Callee),
        args: Arguments<'_>,
        (word, whole): (NodeId, NodeId),
        raw: bool,
    ) {
        let signature = self.signature(callee);
        let arity = match callee {
            Callee::Builtin(builtin) => builtin.arity(),
            Callee::Function(_) => signature.map_or((0, true), |signature| signature.arity()),
        };
        if let Some(message) = arity_error(&name.to_str_lossy(), arity, args.written.len(), args.piped) {
            return self.fail(message, word);
        }
        if let Callee::Builtin(builtin @ (Builtin::And | Builtin::Or)) = callee {
            return self.short_circuit(nodes, builtin == Builtin::Or, args, word, raw);
        }
        let param = |index| match callee {
            Callee::Builtin(builtin) => Some(builtin.param(index)),
            Callee::Function(_) => signature.and_then(|signature| signature.param(index)),
        };
        for (index, &arg) in args.written.iter().enumerate() {
            self.argument(nodes, arg, param(index).unwrap_or(&Type::Any));
        }
        let mut piped = args.piped && !args.written.is_empty();
        let node = if args.written.is_empty() { word } else { NO_NODE };
        match param(args.written.len()) {
            Some(ty) if args.piped && *ty != Type::Any => {
                self.draft.emit(Op::CoercePiped { ty, count: count(args.written), node });
                piped = false;
            }
            _ if args.written.is_empty() => self.draft.emit(Op::At { node: word }),
            _ => {}
        }
        let count = count(args.written) + u16::from(args.piped);
        let node = whole;
        self.draft.emit(match callee {
            Callee::Function(function) => Op::Call { function, count, piped, raw, node },
            Callee::Builtin(builtin) => Op::Builtin { builtin, count, piped, raw, node },
        });
    }

    /// Makes a function one of the unit's. To be asked once for each.
    pub(super) fn function(&mut self, function: &Rc<Function>) -> Callee {
        self.functions.push(function.clone());
        Callee::Function(u32::try_from(self.functions.len() - 1).unwrap_or(u32::MAX))
    }

    fn signature(&self, callee: Callee) -> Option<Signature> {
        let Callee::Function(index) = callee else { return None };
        self.functions.get(index as usize).map(|function| *function.signature())
    }

    /// `and` and `or`: the first argument that decides is the value, else the last.
    fn short_circuit(&mut self, nodes: &Nodes, on: bool, args: Arguments<'_>, word: NodeId, raw: bool) {
        let mut jumps = Vec::with_capacity(args.written.len());
        for (index, &arg) in args.written.iter().enumerate() {
            self.argument(nodes, arg, &Type::Any);
            if args.piped || index + 1 < args.written.len() {
                jumps.push(self.draft.here());
                self.draft.emit(Op::ShortCircuit { on, piped: args.piped, target: 0 });
            }
        }
        if args.written.is_empty() {
            self.draft.emit(Op::At { node: word });
        }
        for jump in jumps {
            self.draft.land(jump);
        }
        if !raw {
            self.draft.emit(Op::Open);
        }
    }
}

/// Whether an argument is a constant, whose type follows the parameter's.
fn is_constant(kind: &NodeKind) -> bool {
    matches!(kind, NodeKind::Bool(_) | NodeKind::Nil | NodeKind::Number { .. } | NodeKind::String { .. })
}
