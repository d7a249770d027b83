//! Constants as arguments: what `1`, `"x"` or `true` is for a parameter of some type (`evalArg`,
//! `idealConstant` and their kin in text/template/exec.go).

use crate::parse::{NodeId, NodeKind, Nodes, Number};
use crate::value::{FloatType, IntType, Kind, Type, UintType, Value};

/// Converts a constant node to a parameter's type, or says why not in Go's words.
pub(crate) fn constant(nodes: &Nodes, id: NodeId, ty: &'static Type) -> Result<Value, String> {
    let Some(node) = nodes.get(id) else { return Ok(Value::Nil) };
    let expected = |what: &str| format!("expected {what}; found {}", nodes.text(id));
    match (ty.underlying(), &node.kind) {
        (_, NodeKind::Nil) if ty.can_be_nil() => Ok(Value::zero(ty)),
        (_, NodeKind::Nil) => Err(format!("cannot assign nil to {ty}")),
        // An interface with methods, which no constant has.
        (Type::Any, _) if *ty != Type::Any => {
            Err(format!("can't handle {} for arg of type {ty}", nodes.text(id)))
        }
        (Type::Bool | Type::Any, NodeKind::Bool(truth)) => Ok(Value::Bool(*truth)),
        (Type::Bool, _) => Err(expected("bool")),
        (Type::String | Type::Any, NodeKind::String { text, .. }) => Ok(Value::String(text.clone())),
        (Type::String, _) => Err(expected("string")),
        (Type::Any, NodeKind::Number { number, .. }) => {
            nodes.number(*number).and_then(ideal).ok_or_else(|| format!("{} overflows int", nodes.text(id)))
        }
        (Type::Int(int), kind) => number(nodes, kind)
            .and_then(|n| n.int)
            .map(|n| narrow_int(n, int))
            .ok_or_else(|| expected("integer")),
        (Type::Uint(uint), kind) => number(nodes, kind)
            .and_then(|n| n.uint)
            .map(|n| narrow_uint(n, uint))
            .ok_or_else(|| expected("unsigned integer")),
        (Type::Float(float), kind) => number(nodes, kind)
            .and_then(|n| n.float)
            .map(|n| narrow_float(n, float))
            .ok_or_else(|| expected("float")),
        (Type::Any, _) => {
            Err(format!("can't handle assignment of {} to empty interface argument", nodes.text(id)))
        }
        _ => Err(format!("can't handle {} for arg of type {ty}", nodes.text(id))),
    }
}

fn number<'n>(nodes: &'n Nodes, kind: &NodeKind) -> Option<&'n Number> {
    match kind {
        NodeKind::Number { number, .. } => nodes.number(*number),
        _ => None,
    }
}

/// The value of a number where nothing says which type is wanted; `None` when it overflows `int`.
fn ideal(number: &Number) -> Option<Value> {
    if let Some(complex) = number.complex {
        return Some(complex.into());
    }
    match (number.float, number.int) {
        (Some(float), _) if number.prefers_float => Some(Value::Float(float, FloatType::Float64)),
        (_, Some(int)) => Some(Value::Int(int, IntType::Int)),
        _ => None,
    }
}

/// Go's `SetInt`: what does not fit is cut off.
#[expect(clippy::cast_possible_truncation, reason = "as Go's conversion does")]
pub(crate) fn narrow_int(number: i64, ty: IntType) -> Value {
    let narrowed = match ty {
        IntType::Int8 => i64::from(number as i8),
        IntType::Int16 => i64::from(number as i16),
        IntType::Int32 => i64::from(number as i32),
        IntType::Int | IntType::Int64 => number,
    };
    Value::Int(narrowed, ty)
}

#[expect(clippy::cast_possible_truncation, reason = "as Go's conversion does")]
pub(crate) fn narrow_uint(number: u64, ty: UintType) -> Value {
    let narrowed = match ty {
        UintType::Uint8 => u64::from(number as u8),
        UintType::Uint16 => u64::from(number as u16),
        UintType::Uint32 => u64::from(number as u32),
        UintType::Uint | UintType::Uint64 => number,
    };
    Value::Uint(narrowed, ty)
}

#[expect(clippy::cast_possible_truncation, reason = "as Go's conversion does")]
fn narrow_float(number: f64, ty: FloatType) -> Value {
    match ty {
        FloatType::Float32 => Value::Float(f64::from(number as f32), ty),
        FloatType::Float64 => Value::Float(number, ty),
    }
}

/// Checks a value against a parameter's type (`validateType`); `valid` tells that there is a value
/// at all, be it nil.
pub(crate) fn coerce(value: Value, valid: bool, ty: &'static Type) -> Result<Value, String> {
    if *ty == Type::Any {
        return Ok(value);
    }
    if !valid {
        return if ty.can_be_nil() {
            Ok(Value::zero(ty))
        } else {
            Err(format!("invalid value; expected {ty}"))
        };
    }
    let Some(given) = value.ty() else {
        return Err(format!("wrong type for value; expected {ty}; got interface {{}}"));
    };
    if given == *ty {
        return Ok(value);
    }
    let dereferenced = matches!(given, Type::Pointer(target) if target.assignable_to(*ty));
    if !given.assignable_to(*ty) && !dereferenced {
        return Err(format!("wrong type for value; expected {ty}; got {}", value.type_name()));
    }
    Ok(match value {
        Value::Map(map) => Value::Map(map.with_type(ty)),
        Value::List(list) => Value::List(list.with_type(ty)),
        Value::Object(object) => match (object.underlying(), ty.kind()) {
            (Some(Value::Map(map)), Kind::Map) => Value::Map(map.with_type(ty)),
            (Some(Value::List(list)), Kind::Slice) => Value::List(list.with_type(ty)),
            _ => Value::Object(object),
        },
        other => other,
    })
}
