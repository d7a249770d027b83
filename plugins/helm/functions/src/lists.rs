//! Lists. They are never changed in place.

use helm_template::{List, Signature, Type, Value};

use crate::defaults::is_empty;
use crate::register::{Register, Result, arg, fail, int};

pub(crate) fn register(all: &mut Register) {
    let list = Signature::variadic(&[], &Type::Any, Type::SLICE);
    all.add("list", list, |args| Ok(Value::from(args.to_vec())));
    all.add("tuple", list, |args| Ok(Value::from(args.to_vec())));
    let one = Signature::new(&[Type::Any], Type::Any);
    let rest = Signature::new(&[Type::Any], Type::SLICE);
    both(all, "first", "mustFirst", one, |args| pick(args, "first", <[Value]>::first));
    both(all, "last", "mustLast", one, |args| pick(args, "last", <[Value]>::last));
    both(all, "rest", "mustRest", rest, |args| part(args, "rest", |items| items.get(1..)));
    both(all, "initial", "mustInitial", rest, |args| {
        part(args, "initial", |items| items.split_last().map(|(_, rest)| rest))
    });
    both(all, "reverse", "mustReverse", rest, |args| {
        Ok(Value::from(items(args, 0, "reverse")?.iter().rev().cloned().collect::<Vec<_>>()))
    });
    adding(all);
    filtering(all);
    cutting(all);
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

fn items<'a>(
    args: &'a [Value],
    index: usize,
    what: &str,
) -> std::result::Result<&'a [Value], helm_template::CallError> {
    match arg(args, index) {
        Value::List(list) => Ok(list.as_slice()),
        Value::Nil => Err(fail(format!("Cannot {what} on type invalid"))),
        other => Err(fail(format!("Cannot {what} on type {}", other.kind().name()))),
    }
}

fn pick(args: &[Value], what: &str, choose: fn(&[Value]) -> Option<&Value>) -> Result {
    Ok(choose(items(args, 0, what)?).cloned().unwrap_or(Value::Nil))
}

fn part(args: &[Value], what: &str, choose: fn(&[Value]) -> Option<&[Value]>) -> Result {
    match choose(items(args, 0, what)?) {
        Some(part) => Ok(Value::from(part.to_vec())),
        None => Ok(Value::List(List::nil(&Type::SLICE))),
    }
}

fn adding(all: &mut Register) {
    let signature = Signature::new(&[Type::Any, Type::Any], Type::SLICE);
    for (name, must) in [("append", "mustAppend"), ("push", "mustPush")] {
        both(all, name, must, signature, |args| {
            let mut out = items(args, 0, "push")?.to_vec();
            out.push(arg(args, 1).clone());
            Ok(Value::from(out))
        });
    }
    both(all, "prepend", "mustPrepend", signature, |args| {
        let mut out = vec![arg(args, 1).clone()];
        out.extend_from_slice(items(args, 0, "prepend")?);
        Ok(Value::from(out))
    });
    all.add("concat", Signature::variadic(&[], &Type::Any, Type::Any), |args| {
        let mut out = Vec::new();
        for index in 0..args.len() {
            match arg(args, index) {
                Value::List(list) => out.extend_from_slice(list.as_slice()),
                other => return Err(fail(format!("Cannot concat type {} as list", other.kind().name()))),
            }
        }
        Ok(Value::from(out))
    });
}

fn filtering(all: &mut Register) {
    both(all, "compact", "mustCompact", Signature::new(&[Type::Any], Type::SLICE), |args| {
        Ok(Value::from(
            items(args, 0, "compact")?.iter().filter(|item| !is_empty(item)).cloned().collect::<Vec<_>>(),
        ))
    });
    both(all, "uniq", "mustUniq", Signature::new(&[Type::Any], Type::SLICE), |args| {
        let mut out: Vec<Value> = Vec::new();
        for item in items(args, 0, "uniq")? {
            if !out.iter().any(|other| other.deep_equal(item)) {
                out.push(item.clone());
            }
        }
        Ok(Value::from(out))
    });
    both(all, "without", "mustWithout", Signature::variadic(&[Type::Any], &Type::Any, Type::SLICE), |args| {
        let unwanted = args.get(1..).unwrap_or_default();
        let kept = items(args, 0, "without")?
            .iter()
            .filter(|item| !unwanted.iter().any(|other| other.deep_equal(item)));
        Ok(Value::from(kept.cloned().collect::<Vec<_>>()))
    });
    both(all, "has", "mustHas", Signature::new(&[Type::Any, Type::Any], Type::Bool), |args| {
        if arg(args, 1).is_nil() {
            return Ok(Value::Bool(false));
        }
        Ok(Value::Bool(items(args, 1, "find has")?.iter().any(|item| item.deep_equal(arg(args, 0)))))
    });
}

fn cutting(all: &mut Register) {
    both(all, "slice", "mustSlice", Signature::variadic(&[Type::Any], &Type::Any, Type::Any), |args| {
        let items = items(args, 0, "slice")?;
        let index = |place: usize, default: usize| {
            args.get(place).map_or(Ok(default), |at| {
                usize::try_from(crate::conversion::to_int64(at)).map_err(|_| out_of_range())
            })
        };
        let (from, to) = (index(1, 0)?, index(2, items.len())?);
        if items.is_empty() {
            return Ok(Value::Nil);
        }
        items.get(from..to).map(|part| Value::from(part.to_vec())).ok_or_else(out_of_range)
    });
    both(
        all,
        "chunk",
        "mustChunk",
        Signature::new(&[Type::INT, Type::Any], Type::Slice(&Type::SLICE)),
        |args| {
            let size = usize::try_from(int(args, 0))
                .ok()
                .filter(|size| *size > 0)
                .ok_or_else(|| fail("runtime error: integer divide by zero"))?;
            let chunks = items(args, 1, "chunk")?.chunks(size).map(|chunk| Value::from(chunk.to_vec()));
            Ok(Value::List(List::typed(&CHUNKS, chunks.collect())))
        },
    );
}

const CHUNKS: Type = Type::Slice(&Type::SLICE);

fn out_of_range() -> helm_template::CallError {
    fail("reflect.Value.Slice: slice index out of bounds")
}
