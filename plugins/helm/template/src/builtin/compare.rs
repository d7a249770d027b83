//! `eq ne lt le gt ge` (text/template/funcs.go).

use std::cmp::Ordering;

use crate::error::CallError;
use crate::fmt::sprintf;
use crate::value::{Kind, Str, Type, Value};

/// A value as comparison sees it; objects as the plain value they stand for.
enum Basic {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Complex,
    String(Str),
    Other,
}

impl Basic {
    fn of(value: &Value) -> Self {
        match value {
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Int(number, _) => Self::Int(*number),
            Value::Uint(number, _) => Self::Uint(*number),
            Value::Float(number, _) => Self::Float(*number),
            Value::String(text) => Self::String(text.clone()),
            Value::Object(object) if object.ty() == Type::Complex => Self::Complex,
            Value::Object(object) => object.underlying().map_or(Self::Other, |plain| Self::of(&plain)),
            _ => Self::Other,
        }
    }
}

fn incompatible(a: &Value, b: &Value) -> CallError {
    let (a, b) = (a.type_name(), b.type_name());
    CallError::Message(format!("incompatible types for comparison: {a} and {b}"))
}

fn bad_type() -> CallError {
    CallError::new("invalid type for comparison")
}

/// Whether the first value equals any of the others.
pub(super) fn eq(args: &[Value]) -> Result<bool, CallError> {
    let Some((first, others)) = args.split_first() else { return Ok(false) };
    if others.is_empty() {
        return Err(CallError::new("missing argument for comparison"));
    }
    for other in others {
        if equal(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal(a: &Value, b: &Value) -> Result<bool, CallError> {
    Ok(match (Basic::of(a), Basic::of(b)) {
        (Basic::Bool(x), Basic::Bool(y)) => x == y,
        (Basic::Int(x), Basic::Int(y)) => x == y,
        (Basic::Uint(x), Basic::Uint(y)) => x == y,
        #[expect(clippy::float_cmp, reason = "Go's == on floats is exact")]
        (Basic::Float(x), Basic::Float(y)) => x == y,
        (Basic::String(x), Basic::String(y)) => x == y,
        (Basic::Complex, Basic::Complex) => a.plain_equal(b) == Some(true),
        (Basic::Int(x), Basic::Uint(y)) | (Basic::Uint(y), Basic::Int(x)) => u64::try_from(x) == Ok(y),
        (Basic::Other, Basic::Other) => return other_equal(a, b),
        _ if matches!(a, Value::Nil) || matches!(b, Value::Nil) => false,
        _ => return Err(incompatible(a, b)),
    })
}

/// Values that are neither numbers nor strings nor bools.
fn other_equal(a: &Value, b: &Value) -> Result<bool, CallError> {
    let one_is_nothing = matches!(a, Value::Nil) || matches!(b, Value::Nil);
    if a.kind() != b.kind() && !one_is_nothing {
        let (x, y) = (a.type_name(), b.type_name());
        let args = [a.clone(), x.into(), y.into(), b.clone()];
        return Err(message("non-comparable types %s: %v, %s: %v", &args));
    }
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() == b.is_nil());
    }
    let not_comparable = || message("non-comparable type %s: %v", &[b.clone(), b.type_name().into()]);
    match b.kind() {
        Kind::Map | Kind::Slice | Kind::Func => Err(not_comparable()),
        _ => a.plain_equal(b).ok_or_else(not_comparable),
    }
}

fn message(format: &str, args: &[Value]) -> CallError {
    match sprintf(format, args) {
        Ok(text) => CallError::Message(text.to_string()),
        Err(error) => error.into(),
    }
}

/// `<`. Go has no order for floats with NaN, so the result is no `Ordering`.
pub(super) fn lt(a: &Value, b: &Value) -> Result<bool, CallError> {
    let (x, y) = (Basic::of(a), Basic::of(b));
    if matches!(x, Basic::Other) || matches!(y, Basic::Other) {
        return Err(bad_type());
    }
    Ok(match (x, y) {
        (Basic::Bool(_), Basic::Bool(_)) | (Basic::Complex, Basic::Complex) => return Err(bad_type()),
        (Basic::Int(x), Basic::Int(y)) => x < y,
        (Basic::Uint(x), Basic::Uint(y)) => x < y,
        (Basic::Float(x), Basic::Float(y)) => x < y,
        (Basic::String(x), Basic::String(y)) => x.cmp(&y) == Ordering::Less,
        (Basic::Int(x), Basic::Uint(y)) => u64::try_from(x).map_or(true, |x| x < y),
        (Basic::Uint(x), Basic::Int(y)) => u64::try_from(y).is_ok_and(|y| x < y),
        _ => return Err(incompatible(a, b)),
    })
}

/// `<=`: less or equal, each asked as its own question.
pub(super) fn le(a: &Value, b: &Value) -> Result<bool, CallError> {
    Ok(lt(a, b)? || equal(a, b)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{List, Map};

    #[test]
    fn signed_and_unsigned_integers_compare_by_value() {
        assert!(equal(&Value::from(5), &Value::from(5u64)).unwrap());
        assert!(!equal(&Value::from(-1), &Value::from(u64::MAX)).unwrap());
        assert!(lt(&Value::from(-1), &Value::from(0u64)).unwrap());
        assert!(!lt(&Value::from(0u64), &Value::from(-1)).unwrap());
    }

    #[test]
    fn an_integer_and_a_float_are_incompatible() {
        let error = equal(&Value::from(1), &Value::from(1.0)).unwrap_err();
        assert_eq!(error.to_string(), "incompatible types for comparison: int and float64");
    }

    #[test]
    fn maps_compare_to_nil_only() {
        let map = Value::Map(Map::from_iter([("a", 1)]));
        assert!(!equal(&map, &Value::Nil).unwrap());
        assert!(equal(&Value::Map(Map::nil(&Type::MAP)), &Value::Nil).unwrap());
        let error = equal(&map, &map).unwrap_err().to_string();
        assert_eq!(error, "non-comparable type map[a:%!s(int=1)]: map[string]interface {}");
        let error = equal(&map, &Value::List(List::new(vec![]))).unwrap_err().to_string();
        assert_eq!(
            error,
            "non-comparable types map[a:%!s(int=1)]: map[string]interface {}, []interface {}: []"
        );
    }
}
