//! Lists (sprig's list.go). They are never changed in place.

use std::borrow::Cow;

use helm_template::{CallError, List, Signature, Type, Value};

use crate::defaults::is_empty;
use crate::register::{NIL_POINTER, Register, Result, arg, fail, int};

pub(crate) fn register(all: &mut Register) {
    let list = Signature::variadic(&[], &Type::Any, Type::SLICE);
    all.add("list", list, |args| Ok(Value::from(args.to_vec())));
    all.add("tuple", list, |args| Ok(Value::from(args.to_vec())));
    let one = Signature::new(&[Type::Any], Type::Any);
    let rest = Signature::new(&[Type::Any], Type::SLICE);
    both(all, "first", "mustFirst", one, |args| pick(args, "find first on", <[Value]>::first));
    both(all, "last", "mustLast", one, |args| pick(args, "find last on", <[Value]>::last));
    both(all, "rest", "mustRest", rest, |args| part(args, "find rest on", |items| items.get(1..)));
    both(all, "initial", "mustInitial", rest, |args| {
        part(args, "find initial on", |items| items.split_last().map(|(_, rest)| rest))
    });
    both(all, "reverse", "mustReverse", rest, |args| {
        Ok(Value::from(items(args, 0, "find reverse on")?.iter().rev().cloned().collect::<Vec<_>>()))
    });
    adding(all);
    filtering(all);
    both(all, "slice", "mustSlice", Signature::variadic(&[Type::Any], &Type::Any, Type::Any), slice);
    both(all, "chunk", "mustChunk", Signature::new(&[Type::INT, Type::Any], CHUNKS), chunk);
}

/// The plain function panics where the `must` one returns an error; a template reports both alike.
fn both(
    all: &mut Register,
    name: &'static str,
    must: &'static str,
    signature: Signature,
    body: fn(&[Value]) -> Result,
) {
    all.add(name, signature, body);
    all.add(must, signature.fallible(), body);
}

/// The elements of a slice of any type.
fn elements(value: &Value) -> Option<Cow<'_, [Value]>> {
    match value {
        Value::List(list) => Some(Cow::Borrowed(list.as_slice())),
        Value::Bytes(bytes) => Some(Cow::Owned(bytes.iter().copied().map(Value::from).collect())),
        Value::Object(object) => elements(&object.underlying()?).map(|items| Cow::Owned(items.into_owned())),
        _ => None,
    }
}

/// The elements of a slice; Go asks the type of anything else, which nil has none of.
fn items<'a>(
    args: &'a [Value],
    index: usize,
    what: &str,
) -> std::result::Result<Cow<'a, [Value]>, CallError> {
    let value = arg(args, index);
    elements(value).ok_or_else(|| match value {
        Value::Nil => fail(NIL_POINTER),
        other => fail(format!("Cannot {what} type {}", other.kind().name())),
    })
}

fn pick(args: &[Value], what: &str, choose: fn(&[Value]) -> Option<&Value>) -> Result {
    Ok(choose(&items(args, 0, what)?).cloned().unwrap_or(Value::Nil))
}

fn part(args: &[Value], what: &str, choose: fn(&[Value]) -> Option<&[Value]>) -> Result {
    match choose(&items(args, 0, what)?) {
        Some(part) => Ok(Value::from(part.to_vec())),
        None => Ok(Value::List(List::nil(&Type::SLICE))),
    }
}

fn adding(all: &mut Register) {
    let signature = Signature::new(&[Type::Any, Type::Any], Type::SLICE);
    for (name, must) in [("append", "mustAppend"), ("push", "mustPush")] {
        both(all, name, must, signature, |args| {
            let mut out = items(args, 0, "push on")?.into_owned();
            out.push(arg(args, 1).clone());
            Ok(Value::from(out))
        });
    }
    both(all, "prepend", "mustPrepend", signature, |args| {
        let mut out = vec![arg(args, 1).clone()];
        out.extend_from_slice(&items(args, 0, "prepend on")?);
        Ok(Value::from(out))
    });
    all.add("concat", Signature::variadic(&[], &Type::Any, Type::Any), |args| {
        let mut out = Vec::new();
        for value in args {
            match (elements(value), value) {
                (Some(items), _) => out.extend_from_slice(&items),
                (None, Value::Nil) => return Err(fail(NIL_POINTER)),
                (None, other) => {
                    return Err(fail(format!("Cannot concat type {} as list", other.kind().name())));
                }
            }
        }
        Ok(if out.is_empty() { Value::List(List::nil(&Type::SLICE)) } else { Value::from(out) })
    });
}

fn filtering(all: &mut Register) {
    both(all, "compact", "mustCompact", Signature::new(&[Type::Any], Type::SLICE), |args| {
        let items = items(args, 0, "compact on")?;
        Ok(Value::from(items.iter().filter(|item| !is_empty(item)).cloned().collect::<Vec<_>>()))
    });
    both(all, "uniq", "mustUniq", Signature::new(&[Type::Any], Type::SLICE), |args| {
        let mut out: Vec<Value> = Vec::new();
        for item in items(args, 0, "find uniq on")?.iter() {
            if !out.iter().any(|other| item.deep_equal(other)) {
                out.push(item.clone());
            }
        }
        Ok(Value::from(out))
    });
    both(all, "without", "mustWithout", Signature::variadic(&[Type::Any], &Type::Any, Type::SLICE), |args| {
        let unwanted = args.get(1..).unwrap_or_default();
        let items = items(args, 0, "find without on")?;
        let kept = items.iter().filter(|item| !unwanted.iter().any(|other| item.deep_equal(other)));
        Ok(Value::from(kept.cloned().collect::<Vec<_>>()))
    });
    both(all, "has", "mustHas", Signature::new(&[Type::Any, Type::Any], Type::Bool), |args| {
        if matches!(arg(args, 1), Value::Nil) {
            return Ok(Value::Bool(false));
        }
        Ok(Value::Bool(items(args, 1, "find has on")?.iter().any(|item| arg(args, 0).deep_equal(item))))
    });
}

/// `slice`: the type stays; an end may lie beyond the length as far as the capacity goes.
fn slice(args: &[Value]) -> Result {
    let value = arg(args, 0);
    let Some(items) = elements(value) else {
        return Err(match value {
            Value::Nil => fail(NIL_POINTER),
            other => fail(format!("list should be type of slice or array but {}", other.kind().name())),
        });
    };
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let out_of_range = || fail("reflect.Value.Slice: slice index out of bounds");
    let index = |place: usize, default: usize| {
        args.get(place).map_or(Ok(default), |at| {
            usize::try_from(crate::conversion::to_int64(at)).map_err(|_| out_of_range())
        })
    };
    let range = index(1, 0)?..index(2, items.len())?;
    let cut = match value {
        Value::List(list) => list.slice(range).map(Value::List),
        Value::Bytes(bytes) => bytes.get(range).map(Value::bytes),
        _ => items.get(range).map(|part| Value::from(part.to_vec())),
    };
    cut.ok_or_else(out_of_range)
}

const CHUNKS: Type = Type::Slice(&Type::SLICE);

/// `chunk`. What Go makes of a size that is none is a slice of impossible length, or no chunk at all.
fn chunk(args: &[Value]) -> Result {
    let (size, items) = (int(args, 0), items(args, 1, "chunk")?);
    if let Some(size) = usize::try_from(size).ok().filter(|size| *size > 0) {
        let chunks = items.chunks(size).map(|chunk| Value::from(chunk.to_vec())).collect();
        return Ok(Value::List(List::typed(&CHUNKS, chunks)));
    }
    let before_last = i64::try_from(items.len()).unwrap_or(i64::MAX) - 1;
    if size < -1 && before_last == 0 {
        return Ok(Value::List(List::typed(&CHUNKS, vec![Value::from(items.to_vec())])));
    }
    if size < 0 && before_last > 0 && size.checked_neg().is_none_or(|size| before_last <= size) {
        return Ok(Value::List(List::typed(&CHUNKS, Vec::new())));
    }
    Err(fail("runtime error: makeslice: len out of range"))
}
