//! The evaluator: runs the instructions of templates (text/template/exec.go).
//!
//! One machine runs a template with all templates it invokes, and those that rendering functions
//! ask for, on stacks of its own. Native stack is used only by functions that call back.

mod access;
mod call;
mod frame;
mod loops;

use std::rc::Rc;

pub(crate) use self::access::zero_element;
use self::call::PendingMethod;
use self::frame::Frame;
use self::loops::Loop;
use crate::code::{Op, Template};
use crate::constant::coerce;
use crate::context::Context;
use crate::error::{ExecCause, ExecError, LimitExceeded};
use crate::fmt;
use crate::parse::{NO_NODE, NodeId};
use crate::value::{Str, Type, Value};

/// What Go's `reflect.Value` knows beyond the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// No value at all (the zero `reflect.Value`).
    Absent,
    /// Found in an interface, so that its type is `interface {}` until somebody looks inside.
    Interface,
    /// Of the value's own type.
    Concrete,
    /// Of a variable that was not set yet.
    Unset,
}

/// A value and its form.
#[derive(Debug, Clone)]
pub(crate) struct Operand {
    pub(crate) value: Value,
    pub(crate) form: Form,
}

impl Operand {
    pub(crate) const ABSENT: Self = Self { value: Value::Nil, form: Form::Absent };
    const UNSET: Self = Self { value: Value::Nil, form: Form::Unset };

    pub(crate) fn concrete(value: Value) -> Self {
        Self { value, form: Form::Concrete }
    }

    /// A value as what an element, field or result of a static type is.
    pub(crate) fn of_type(value: Value, ty: Type) -> Self {
        let interface = ty == Type::Any || matches!(value, Value::Nil);
        Self { value, form: if interface { Form::Interface } else { Form::Concrete } }
    }

    /// Looks inside of an interface, as a pipeline does with the value of each command.
    fn open(mut self) -> Self {
        self.form = opened(&self.value, self.form);
        self
    }
}

fn opened(value: &Value, form: Form) -> Form {
    match (form, value) {
        (Form::Interface, Value::Nil) => Form::Absent,
        (Form::Interface, _) => Form::Concrete,
        (form, _) => form,
    }
}

/// How an instruction ends that does not simply go on with the next.
type Step<T> = Result<T, ExecCause>;

/// Runs templates.
pub(crate) struct Machine<'c> {
    context: &'c mut Context,
    template: Rc<Template>,
    /// The next instruction.
    pc: usize,
    /// The expression being evaluated, for errors.
    node: NodeId,
    dot: Operand,
    /// Where the variables of the current template begin.
    base: usize,
    vars: Vec<Operand>,
    /// Operands: values, and their forms beside them so that arguments lie in a row.
    values: Vec<Value>,
    forms: Vec<Form>,
    dots: Vec<Operand>,
    loops: Vec<Loop>,
    methods: Vec<PendingMethod>,
    callees: Vec<Rc<Template>>,
    frames: Vec<Frame>,
    out: Vec<u8>,
}

impl<'c> Machine<'c> {
    pub(crate) fn new(context: &'c mut Context) -> Self {
        Self {
            context,
            template: Rc::new(Template::nothing()),
            pc: 0,
            node: NO_NODE,
            dot: Operand::ABSENT,
            base: 0,
            vars: Vec::new(),
            values: Vec::new(),
            forms: Vec::new(),
            dots: Vec::new(),
            loops: Vec::new(),
            methods: Vec::new(),
            callees: Vec::new(),
            frames: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Executes a template and returns what it wrote.
    pub(crate) fn execute(mut self, template: Rc<Template>, data: Value) -> Result<Vec<u8>, Box<ExecError>> {
        let form = if matches!(data, Value::Nil) { Form::Absent } else { Form::Concrete };
        self.enter(template, Operand { value: data, form });
        self.run()?;
        Ok(self.out)
    }

    /// Runs until the template it began with has ended.
    fn run(&mut self) -> Result<(), Box<ExecError>> {
        loop {
            match self.steps() {
                Ok(()) => return Ok(()),
                Err(cause) => self.unwind(cause)?,
            }
        }
    }

    /// Makes a template the current one.
    fn enter(&mut self, template: Rc<Template>, data: Operand) {
        self.base = self.vars.len();
        self.vars.push(data.clone());
        self.vars.resize(self.base + usize::from(template.slots), Operand::UNSET);
        self.dot = data;
        self.template = template;
        self.pc = 0;
        self.node = NO_NODE;
    }

    #[inline]
    fn push(&mut self, operand: Operand) {
        self.values.push(operand.value);
        self.forms.push(operand.form);
    }

    /// Pushes a value, opened unless `raw`.
    #[inline]
    fn push_opened(&mut self, operand: Operand, raw: bool) {
        self.push(if raw { operand } else { operand.open() });
    }

    #[inline]
    fn pop(&mut self) -> Operand {
        Operand {
            value: self.values.pop().unwrap_or_default(),
            form: self.forms.pop().unwrap_or(Form::Absent),
        }
    }

    fn message<T>(&self, message: impl Into<String>) -> Step<T> {
        Err(ExecCause::Message(message.into()))
    }

    /// Executes instructions until the outermost template returns.
    fn steps(&mut self) -> Step<()> {
        let mut template = self.template.clone();
        loop {
            let Some(&op) = template.ops.get(self.pc) else { return Ok(()) };
            self.pc += 1;
            match op {
                Op::Text { start, end } => {
                    let text = template.unit.text.as_bytes().get(start as usize..end as usize);
                    self.write(text.unwrap_or_default())?;
                }
                Op::Jump { target } => self.pc = target as usize,
                Op::JumpIfFalse { target } => {
                    if !self.pop().value.truth() {
                        self.pc = target as usize;
                    }
                }
                Op::DotPath { names, raw, node } => {
                    self.node = node;
                    let dot = self.dot.clone();
                    let operand = self.path(&template, dot, names)?;
                    self.push_opened(operand, raw);
                }
                Op::VariablePath { slot, names, raw, node } => {
                    self.node = node;
                    let variable = self.variable(slot)?;
                    let operand = self.path(&template, variable, names)?;
                    self.push_opened(operand, raw);
                }
                Op::Path { names, raw, node } => {
                    let operand = self.pop();
                    let operand = self.path_at(&template, operand, names, node)?;
                    self.push_opened(operand, raw);
                }
                Op::Print { node } => self.print(node)?,
                Op::Constant { index, node } => {
                    self.node = node;
                    let value = template.unit.constants.get(index as usize).cloned().unwrap_or_default();
                    let form = if matches!(value, Value::Nil) { Form::Absent } else { Form::Concrete };
                    self.push(Operand { value, form });
                }
                Op::Call { function, count, piped, raw, node } => {
                    let function = template.unit.functions.get(function as usize);
                    if let Some(function) = function {
                        self.call(function, usize::from(count), piped, raw, node)?;
                    }
                }
                Op::Return => {
                    if self.leave()? {
                        return Ok(());
                    }
                }
                other => self.other(&template, other)?,
            }
            // Calls, invocations and returns make another template the current one.
            if !Rc::ptr_eq(&template, &self.template) {
                template = self.template.clone();
            }
        }
    }

    /// The instructions that are less frequent, or short.
    fn other(&mut self, template: &Template, op: Op) -> Step<()> {
        match op {
            Op::At { node } => self.node = node,
            Op::Fail { message, node } => return self.fail(template, message, node),
            Op::Dot { node, raw } => {
                self.node = node;
                self.push_opened(self.dot.clone(), raw);
            }
            Op::Variable { slot, node, raw } => {
                self.node = node;
                let variable = self.variable(slot)?;
                self.push_opened(variable, raw);
            }
            Op::Open => {
                let operand = self.pop().open();
                self.push(operand);
            }
            Op::Coerce { ty } => self.coerce_top(ty)?,
            Op::CoercePiped { ty, count, node } => {
                if node != NO_NODE {
                    self.node = node;
                }
                self.bring_up_piped(usize::from(count) + 1);
                self.coerce_top(ty)?;
            }
            Op::Builtin { builtin, count, piped, raw, node } => {
                return self.call_builtin(builtin, usize::from(count), piped, raw, node);
            }
            Op::ShortCircuit { on, piped, target } => self.short_circuit(on, piped, target),
            Op::Method { name, count, piped, target } => {
                return self.begin_method(template, name, usize::from(count), piped, target);
            }
            Op::MethodArgument => return self.method_argument(),
            Op::MethodConstant { node } => return self.method_constant(template, node),
            Op::MethodCall { piped, raw, node } => return self.call_method(piped, raw, node),
            Op::Store { slot } => {
                let operand = self.pop();
                self.set_variable(slot, operand);
            }
            Op::Copy { slot } => {
                let operand = self.pop();
                self.set_variable(slot, operand.clone());
                self.push(operand);
            }
            other => return self.block(template, other),
        }
        Ok(())
    }

    /// The instructions of blocks and template invocations.
    fn block(&mut self, template: &Template, op: Op) -> Step<()> {
        match op {
            Op::With { target } => {
                let operand = self.pop();
                if operand.value.truth() {
                    self.dots.push(std::mem::replace(&mut self.dot, operand));
                } else {
                    self.pc = target as usize;
                }
            }
            Op::EndWith => self.dot = self.dots.pop().unwrap_or(Operand::ABSENT),
            Op::Range { slots, declared, target } => return self.begin_loop(slots, declared, target),
            Op::Next { target } => return self.next_element(target),
            Op::Break => self.end_loop(),
            Op::Lookup { name, node } => {
                self.node = node;
                return self.look_up(template, name);
            }
            Op::NoValue => self.push(Operand::ABSENT),
            Op::Invoke => return self.invoke(),
            _ => {}
        }
        Ok(())
    }

    fn fail(&mut self, template: &Template, message: u32, node: NodeId) -> Step<()> {
        if node != NO_NODE {
            self.node = node;
        }
        let message = template.unit.constants.get(message as usize).and_then(Value::as_string);
        self.message(message.map(Str::to_string).unwrap_or_default())
    }

    fn variable(&self, slot: u16) -> Step<Operand> {
        match self.vars.get(self.base + usize::from(slot)) {
            Some(operand) if operand.form != Form::Unset => Ok(operand.clone()),
            // A declaration that `and` or `or` has jumped over.
            _ => self.message("undefined variable"),
        }
    }

    fn set_variable(&mut self, slot: u16, operand: Operand) {
        if let Some(variable) = self.vars.get_mut(self.base + usize::from(slot)) {
            *variable = operand;
        }
    }

    fn write(&mut self, text: &[u8]) -> Step<()> {
        self.context.charge_output(text.len())?;
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn print(&mut self, node: NodeId) -> Step<()> {
        let Operand { value, form } = self.pop();
        self.node = node;
        let before = self.out.len();
        match value {
            Value::Nil if form == Form::Absent => self.out.extend_from_slice(b"<no value>"),
            Value::Func(_) => {
                let shown = self.template.unit.nodes().text(node);
                return self.message(format!("can't print {shown} of type {}", value.type_name()));
            }
            _ => fmt::append_printable(&mut self.out, &value).map_err(LimitExceeded::from)?,
        }
        self.context.charge_output(self.out.len() - before)?;
        Ok(())
    }

    fn coerce_top(&mut self, ty: &'static Type) -> Step<()> {
        let Operand { value, form } = self.pop();
        match coerce(value, form != Form::Absent, ty) {
            Ok(value) => {
                self.push(Operand::of_type(value, *ty));
                Ok(())
            }
            Err(message) => self.message(message),
        }
    }

    /// Moves the argument that came from the pipeline from below the others to the top.
    fn bring_up_piped(&mut self, count: usize) {
        let base = self.values.len().saturating_sub(count);
        self.values.get_mut(base..).unwrap_or_default().rotate_left(1);
        self.forms.get_mut(base..).unwrap_or_default().rotate_left(1);
    }

    fn short_circuit(&mut self, on: bool, piped: bool, target: u32) {
        let operand = self.pop();
        if operand.value.truth() == on {
            if piped {
                self.pop();
            }
            self.push(operand);
            self.pc = target as usize;
        }
    }
}
