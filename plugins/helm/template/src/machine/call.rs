//! Calls of functions, builtins and methods (`evalCall`).

use std::rc::Rc;

use super::access::method_of;
use super::{Machine, Operand, Step};
use crate::builtin::{Builtin, arity_error, call as call_builtin};
use crate::code::Template;
use crate::constant::{coerce, constant, narrow_int, narrow_uint};
use crate::error::{CallError, ExecCause};
use crate::function::{Body, Function};
use crate::parse::{NodeId, NodeKind, Row};
use crate::value::{Method, Str, Type, Value};

/// A method whose arguments are being evaluated; they lie on the stack from `base` on.
#[derive(Debug)]
pub(super) struct PendingMethod {
    method: &'static Method,
    receiver: Value,
    base: usize,
}

impl Machine<'_> {
    fn call_error<T>(&mut self, function: &str, error: CallError, node: NodeId) -> Step<T> {
        self.node = node;
        Err(ExecCause::Call { function: function.to_owned(), error: Box::new(error) })
    }

    /// Calls a function with the topmost operands, which fit its signature.
    pub(super) fn call(
        &mut self,
        function: &Rc<Function>,
        count: usize,
        piped: bool,
        raw: bool,
        node: NodeId,
    ) -> Step<()> {
        if piped {
            self.bring_up_piped(count);
        }
        let base = self.values.len().saturating_sub(count);
        self.call_with(function, base, function.name(), (node, raw))
    }

    /// Calls a function with the operands from `base` on; `name` is what errors call it.
    fn call_with(
        &mut self,
        function: &Rc<Function>,
        base: usize,
        name: &Str,
        at: (NodeId, bool),
    ) -> Step<()> {
        self.context.charge(1)?;
        self.box_arguments(base);
        let args = self.values.get(base..).unwrap_or_default();
        let (node, raw) = at;
        match &function.body {
            Body::Value(body) => {
                let result = body(self.context, args);
                self.drop_arguments(base);
                self.result(result, function.signature().result, &name.to_str_lossy(), (node, raw))
            }
            Body::Render(body) => {
                let render = body(self.context, args);
                self.drop_arguments(base);
                match render {
                    Ok(render) => self.begin_render(render, name.clone(), at),
                    Err(error) => self.call_error(&name.to_str_lossy(), error, node),
                }
            }
        }
    }

    /// Takes the methods of pointers from structs that are arguments.
    fn box_arguments(&mut self, base: usize) {
        for value in self.values.get_mut(base..).unwrap_or_default() {
            if let Some(boxed) = value.in_interface() {
                *value = boxed;
            }
        }
    }

    fn drop_arguments(&mut self, base: usize) {
        self.values.truncate(base);
        self.forms.truncate(base);
    }

    /// Pushes the result of a call.
    fn result(
        &mut self,
        result: Result<Value, CallError>,
        ty: Type,
        function: &str,
        (node, raw): (NodeId, bool),
    ) -> Step<()> {
        match result {
            Ok(value) => {
                if let Value::String(text) = &value {
                    self.context.charge_output(text.len())?;
                }
                self.push_opened(Operand::of_type(value, ty), raw);
                Ok(())
            }
            Err(error) => self.call_error(function, error, node),
        }
    }

    pub(super) fn call_builtin(
        &mut self,
        builtin: Builtin,
        count: usize,
        piped: bool,
        raw: bool,
        node: NodeId,
    ) -> Step<()> {
        if piped {
            self.bring_up_piped(count);
        }
        let base = self.values.len().saturating_sub(count);
        if builtin == Builtin::Call {
            return self.call_value(base, (node, raw));
        }
        self.box_arguments(base);
        let (values, forms) = (self.values.get(base..), self.forms.get(base..));
        let result = call_builtin(builtin, values.unwrap_or_default(), forms.unwrap_or_default());
        self.drop_arguments(base);
        match result {
            Ok(operand) => {
                if let Value::String(text) = &operand.value {
                    self.context.charge_output(text.len())?;
                }
                self.push_opened(operand, raw);
                Ok(())
            }
            Err(error) => self.call_error(builtin.name(), error, node),
        }
    }

    /// The builtin `call`: the first operand is the function.
    fn call_value(&mut self, base: usize, at: (NodeId, bool)) -> Step<()> {
        let (node, _) = at;
        let callee = self.values.get(base).cloned().unwrap_or_default();
        let name = self.callee_name(node, &callee);
        let function = match callee {
            Value::Func(function) => function,
            Value::Nil => return self.call_error("call", "call of nil".into(), node),
            other => {
                let message = format!("non-function {name} of type {}", other.type_name());
                return self.call_error("call", message.into(), node);
            }
        };
        if let Err(message) = self.prepare_arguments(base, &function, &name) {
            return self.call_error("call", message.into(), node);
        }
        self.values.remove(base);
        self.forms.remove(base);
        self.call_with(&function, base, &Str::from("call"), at)
    }

    /// How errors of `call` name what was called: by its expression where there is one.
    fn callee_name(&self, node: NodeId, callee: &Value) -> String {
        let nodes = self.template.unit.nodes();
        match nodes.get(node).map(|node| &node.kind) {
            Some(NodeKind::Command(words)) if words.len > 1 => {
                nodes.ids(*words).get(1).map(|&word| nodes.text(word)).unwrap_or_default()
            }
            _ => match callee {
                Value::String(text) => text.to_string(),
                other => format!("<{} Value>", other.type_name()),
            },
        }
    }

    /// Checks and converts the arguments of `call`, which lie after the function.
    fn prepare_arguments(&mut self, base: usize, function: &Function, name: &str) -> Result<(), String> {
        let signature = function.signature();
        let (fixed, variadic) = signature.arity();
        let given = self.values.len() - base - 1;
        if variadic && given < fixed {
            return Err(format!("wrong number of args for {name}: got {given} want at least {fixed}"));
        }
        if !variadic && given != fixed {
            return Err(format!("wrong number of args for {name}: got {given} want {fixed}"));
        }
        for index in 0..given {
            let (Some(value), Some(ty)) = (self.values.get_mut(base + 1 + index), signature.param(index))
            else {
                continue;
            };
            let prepared = prepare(std::mem::take(value), ty);
            *value = prepared.map_err(|error| format!("arg {index}: {error}"))?;
        }
        Ok(())
    }

    /// Calls a method without arguments.
    pub(super) fn call_getter(
        &mut self,
        receiver: &Value,
        method: &'static Method,
        node: NodeId,
    ) -> Step<Operand> {
        if let Some(message) = arity_error(method.name, method.signature.arity(), 0, false) {
            return self.message(message);
        }
        self.context.charge(1)?;
        match (method.body)(self.context, receiver, &[]) {
            Ok(value) => Ok(Operand::of_type(value, method.signature.result)),
            Err(CallError::Refused(message)) => self.message(message),
            Err(error) => self.call_error(method.name, error, node),
        }
    }

    /// Begins to call a method of the topmost operand with arguments.
    pub(super) fn begin_method(
        &mut self,
        template: &Template,
        name: Row,
        count: usize,
        piped: bool,
        target: u32,
    ) -> Step<()> {
        let receiver = self.pop();
        let Some(name) = template.unit.names(name).first() else { return Ok(()) };
        if !receiver.form.is_present() {
            let nothing = self.field_of_nothing(name)?;
            if piped {
                self.pop();
            }
            self.push(nothing);
            self.pc = target as usize;
            return Ok(());
        }
        let Some(method) = method_of(&receiver.value, name) else {
            // An error, since only methods take arguments.
            self.field(&receiver, name, true)?;
            return Ok(());
        };
        if let Some(message) = arity_error(method.name, method.signature.arity(), count, piped) {
            return self.message(message);
        }
        self.methods.push(PendingMethod { method, receiver: receiver.value, base: self.values.len() });
        Ok(())
    }

    /// The type of the parameter that the next argument of the pending method is for.
    fn method_parameter(&self, given: usize) -> &'static Type {
        let pending = self.methods.last();
        let index = pending.map_or(0, |pending| given.saturating_sub(pending.base));
        pending.and_then(|pending| pending.method.signature.param(index)).unwrap_or(&Type::Any)
    }

    pub(super) fn method_argument(&mut self) -> Step<()> {
        let ty = self.method_parameter(self.values.len().saturating_sub(1));
        self.coerce_top(ty)
    }

    pub(super) fn method_constant(&mut self, template: &Template, node: NodeId) -> Step<()> {
        self.node = node;
        match constant(template.unit.nodes(), node, self.method_parameter(self.values.len())) {
            Ok(value) => {
                self.push(Operand::concrete(value));
                Ok(())
            }
            Err(message) => self.message(message),
        }
    }

    pub(super) fn call_method(&mut self, piped: bool, raw: bool, node: NodeId) -> Step<()> {
        let Some(pending) = self.methods.last() else { return Ok(()) };
        let mut base = pending.base;
        if piped {
            self.bring_up_piped(self.values.len() + 1 - base);
            base -= 1;
            let index = self.values.len().saturating_sub(1) - base;
            let ty = pending_parameter(self.methods.last(), index);
            self.coerce_top(ty)?;
        }
        self.context.charge(1)?;
        let Some(PendingMethod { method, receiver, .. }) = self.methods.pop() else { return Ok(()) };
        let args = self.values.get(base..).unwrap_or_default();
        let result = (method.body)(self.context, &receiver, args);
        self.drop_arguments(base);
        if let Err(CallError::Refused(message)) = result {
            return self.message(message);
        }
        self.result(result, method.signature.result, method.name, (node, raw))
    }
}

fn pending_parameter(pending: Option<&PendingMethod>, index: usize) -> &'static Type {
    pending.and_then(|pending| pending.method.signature.param(index)).unwrap_or(&Type::Any)
}

/// An argument of `call` (`prepareArg`): integers are converted, other types have to fit.
fn prepare(value: Value, ty: &'static Type) -> Result<Value, String> {
    match (&value, ty) {
        (Value::Nil, _) if ty.can_be_nil() => Ok(Value::zero(ty)),
        (Value::Nil, _) => Err(format!("value is nil; should be of type {ty}")),
        (Value::Int(number, _), Type::Int(to)) => Ok(narrow_int(*number, *to)),
        (Value::Uint(number, _), Type::Uint(to)) => Ok(narrow_uint(*number, *to)),
        #[expect(clippy::cast_sign_loss, reason = "Go's conversion wraps")]
        (Value::Int(number, _), Type::Uint(to)) => Ok(narrow_uint(*number as u64, *to)),
        #[expect(clippy::cast_possible_wrap, reason = "Go's conversion wraps")]
        (Value::Uint(number, _), Type::Int(to)) => Ok(narrow_int(*number as i64, *to)),
        _ => {
            let given = value.type_name();
            coerce(value, true, ty).map_err(|_| format!("value has type {given}; should be {ty}"))
        }
    }
}
