//! Fields of maps and objects (`evalField`).

use super::{Form, Machine, Operand, Step};
use crate::code::Template;
use crate::error::ExecCause;
use crate::fmt::quote;
use crate::parse::{NodeId, Row};
use crate::set::MissingKey;
use crate::value::{Map, Method, ObjectRef, Str, Type, Value};

impl Machine<'_> {
    /// A field of a field of … a value. Errors of methods point at the current node.
    pub(super) fn path(&mut self, template: &Template, from: Operand, names: Row) -> Step<Operand> {
        self.path_at(template, from, names, self.node)
    }

    /// The same; errors of methods point at `node`.
    pub(super) fn path_at(
        &mut self,
        template: &Template,
        from: Operand,
        names: Row,
        node: NodeId,
    ) -> Step<Operand> {
        let mut operand = from;
        for name in template.unit.names(names) {
            operand = match (&operand.value, operand.form) {
                (_, Form::Absent | Form::Unset) => self.field_of_nothing(name)?,
                (Value::Map(map), _) if matches!(map.static_ty(), Type::Map(_)) => self.entry(map, name)?,
                _ => match method_of(&operand.value, name) {
                    Some(method) => self.call_getter(&operand.value, method, node)?,
                    None => self.field(&operand, name, false)?,
                },
            };
        }
        Ok(operand)
    }

    /// What a field of no value is.
    pub(super) fn field_of_nothing(&self, name: &Str) -> Step<Operand> {
        if self.context.missing_key == MissingKey::Error {
            return self.message(format!("nil data; no entry for key {}", quote(name.as_bytes())));
        }
        Ok(Operand::ABSENT)
    }

    /// A field that is no method. `has_args` tells that it stands before arguments, which then is
    /// an error of one kind or another.
    pub(super) fn field(&self, receiver: &Operand, name: &Str, has_args: bool) -> Step<Operand> {
        let Operand { value, form } = receiver;
        let type_name = || match form {
            Form::Interface => "interface {}".to_owned(),
            _ => value.type_name(),
        };
        let found = match value {
            Value::Nil => return self.message(format!("nil pointer evaluating interface {{}}.{name}")),
            Value::Map(_) if has_args => {
                return self.message(format!("{name} is not a method but has arguments"));
            }
            Value::Map(map) => return self.entry(map, name),
            Value::Object(object) if object.is_nil() && has_field(object, name) => {
                return self.message(format!("nil pointer evaluating {}.{name}", type_name()));
            }
            Value::Object(object) => match object.underlying() {
                Some(map @ Value::Map(_)) => return self.field(&Operand::concrete(map), name, has_args),
                Some(_) => None,
                None => name.as_str().and_then(|name| object.field(name)),
            },
            _ => None,
        };
        match found {
            Some(_) if has_args => {
                self.message(format!("{name} has arguments but cannot be invoked as function"))
            }
            Some(field) if matches!(field, Value::Nil) => Ok(Operand { value: field, form: Form::Interface }),
            Some(field) => Ok(Operand::concrete(field)),
            None => self.message(format!("can't evaluate field {name} in type {}", type_name())),
        }
    }

    #[inline]
    fn entry(&self, map: &Map, name: &Str) -> Step<Operand> {
        if let Some(value) = map.get_str(name) {
            return Ok(Operand::of_type(value, map.elem()));
        }
        match self.context.missing_key {
            MissingKey::Default => Ok(Operand::ABSENT),
            MissingKey::Zero => Ok(zero_element(map)),
            MissingKey::Error => {
                Err(ExecCause::Message(format!("map has no entry for key {}", quote(name.as_bytes()))))
            }
        }
    }
}

fn has_field(object: &ObjectRef, name: &Str) -> bool {
    name.as_str().is_some_and(|name| object.has_field(name))
}

/// What a map gives for a key it has not, where the zero value is wanted.
pub(crate) fn zero_element(map: &Map) -> Operand {
    match map.static_ty().underlying() {
        Type::Map(elem) => Operand::of_type(Value::zero(elem), *elem),
        _ => Operand::of_type(Value::Nil, Type::Any),
    }
}

/// The method of a value's type.
pub(super) fn method_of(value: &Value, name: &Str) -> Option<&'static Method> {
    match value {
        Value::Map(_) | Value::List(_) | Value::Object(_) => value.ty()?.method(name.as_str()?),
        _ => None,
    }
}
