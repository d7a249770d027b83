//! `index`, `slice` and `len` (text/template/funcs.go).

use crate::error::CallError;
use crate::machine::{Form, Operand, zero_element};
use crate::value::{Kind, Str, Value};

fn fail<T>(message: impl Into<String>) -> Result<T, CallError> {
    Err(CallError::Message(message.into()))
}

/// An object as the plain value it stands for.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(object) => object.underlying().unwrap_or_else(|| value.clone()),
        other => other.clone(),
    }
}

/// The type of a value, or of what it points to.
fn target_name(value: &Value) -> String {
    match value {
        Value::Object(object) => object.ty().target().to_string(),
        other => other.type_name(),
    }
}

/// A position in something of that capacity (`indexArg`).
fn position(index: &Value, capacity: usize) -> Result<usize, CallError> {
    let number = match plain(index) {
        Value::Int(number, _) => number,
        #[expect(clippy::cast_possible_wrap, reason = "Go's conversion wraps")]
        Value::Uint(number, _) => number as i64,
        Value::Nil => return fail("cannot index slice/array with nil"),
        _ => return fail(format!("cannot index slice/array with type {}", index.type_name())),
    };
    match usize::try_from(number) {
        Ok(position) if position <= capacity => Ok(position),
        _ => fail(format!("index out of range: {number}")),
    }
}

/// `index x 1 2`: `x[1][2]`.
pub(super) fn index(args: &[Value]) -> Result<Operand, CallError> {
    let Some((item, indexes)) = args.split_first() else { return Ok(Operand::ABSENT) };
    if matches!(item, Value::Nil) {
        return fail("index of untyped nil");
    }
    let mut current = Operand { value: item.clone(), form: Form::Concrete };
    for index in indexes {
        current = element(&current.value, index)?;
    }
    Ok(current)
}

fn element(item: &Value, index: &Value) -> Result<Operand, CallError> {
    let missing = |what: &str| fail(format!("reflect: {what} index out of range"));
    match plain(item) {
        Value::Nil => fail("index of nil pointer"),
        Value::Object(object) if object.is_nil() => fail("index of nil pointer"),
        Value::String(text) => match text.as_bytes().get(position(index, text.len())?) {
            Some(byte) => Ok(Operand::concrete((*byte).into())),
            None => missing("string"),
        },
        Value::Bytes(bytes) => match bytes.get(position(index, bytes.len())?) {
            Some(byte) => Ok(Operand::concrete((*byte).into())),
            None => missing("slice"),
        },
        Value::List(list) => match list.get(position(index, list.len())?) {
            Some(item) => Ok(Operand::of_type(item.clone(), list.elem())),
            None => missing("slice"),
        },
        Value::Map(map) => {
            let key = match index {
                Value::String(key) => key,
                Value::Nil => return fail("value is nil; should be of type string"),
                other => return fail(format!("value has type {}; should be string", other.type_name())),
            };
            Ok(map
                .get_str(key)
                .map_or_else(|| zero_element(&map), |value| Operand::of_type(value, map.elem())))
        }
        _ => fail(format!("can't index item of type {}", target_name(item))),
    }
}

/// `slice x 1 2`: `x[1:2]`. Unlike `index`, Go does not look for the indexes inside of interfaces.
pub(super) fn slice(args: &[Value], forms: &[Form]) -> Result<Value, CallError> {
    let Some((item, indexes)) = args.split_first() else { return Ok(Value::Nil) };
    let inner = plain(item);
    if matches!(item, Value::Nil) {
        return fail("slice of untyped nil");
    }
    if item.kind() == Kind::Pointer && item.is_nil() {
        return fail("slice of nil pointer");
    }
    if indexes.len() > 3 {
        return fail(format!("too many slice indexes: {}", indexes.len()));
    }
    let (length, capacity) = match &inner {
        Value::String(_) if indexes.len() == 3 => return fail("cannot 3-index slice a string"),
        Value::String(text) => (text.len(), text.len()),
        Value::Bytes(bytes) => (bytes.len(), bytes.len()),
        Value::List(list) => (list.len(), list.capacity()),
        _ => return fail(format!("can't slice item of type {}", target_name(item))),
    };
    let mut bounds = [0, length, capacity];
    let forms = forms.iter().skip(1);
    for ((bound, index), form) in bounds.iter_mut().zip(indexes).zip(forms) {
        if *form == Form::Interface {
            return fail("cannot index slice/array with type interface {}");
        }
        *bound = position(index, capacity)?;
    }
    let [start, end, limit] = bounds;
    if start > end {
        return fail(format!("invalid slice index: {start} > {end}"));
    }
    if end > limit {
        return fail(format!("invalid slice index: {end} > {limit}"));
    }
    Ok(match inner {
        Value::String(text) => Str::from_bytes(text.as_bytes().get(start..end).unwrap_or_default()).into(),
        Value::Bytes(bytes) => Value::bytes(bytes.get(start..end).unwrap_or_default()),
        Value::List(list) => list.slice(start..end).map_or(Value::Nil, Value::List),
        other => other,
    })
}

/// The length of a string, list or map.
pub(super) fn len(item: &Value, form: Form) -> Result<usize, CallError> {
    match plain(item) {
        // Go's function asks no value for its type, which panics.
        Value::Nil if form == Form::Absent => fail("reflect: call of reflect.Value.Type on zero Value"),
        Value::Nil => fail("len of nil pointer"),
        Value::Object(object) if object.is_nil() => fail("len of nil pointer"),
        Value::String(text) => Ok(text.len()),
        Value::Bytes(bytes) => Ok(bytes.len()),
        Value::List(list) => Ok(list.len()),
        Value::Map(map) => Ok(map.len()),
        _ => fail(format!("len of type {}", target_name(item))),
    }
}
