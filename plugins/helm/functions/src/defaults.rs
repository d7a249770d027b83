//! What counts as empty, and what stands in for it.

use helm_template::{Signature, Type, Value};

use crate::register::{Register, arg, fail, text};

const ANYS: Signature = Signature::variadic(&[], &Type::Any, Type::Any);

pub(crate) fn register(all: &mut Register) {
    all.add("default", Signature::variadic(&[Type::Any], &Type::Any, Type::Any), |args| {
        let given = args.get(1);
        Ok(given.filter(|value| !is_empty(value)).unwrap_or(arg(args, 0)).clone())
    });
    all.add("empty", Signature::new(&[Type::Any], Type::Bool), |args| {
        Ok(Value::Bool(is_empty(arg(args, 0))))
    });
    all.add("coalesce", ANYS, |args| {
        Ok(args.iter().find(|value| !is_empty(value)).cloned().unwrap_or(Value::Nil))
    });
    let bools = Signature::variadic(&[], &Type::Any, Type::Bool);
    all.add("all", bools, |args| Ok(Value::Bool(!args.iter().any(is_empty))));
    all.add("any", bools, |args| Ok(Value::Bool(args.iter().any(|value| !is_empty(value)))));
    all.add("ternary", Signature::new(&[Type::Any, Type::Any, Type::Bool], Type::Any), |args| {
        Ok(arg(args, usize::from(arg(args, 2).as_bool() != Some(true))).clone())
    });
    all.add("fail", Signature::new(&[Type::String], Type::String).fallible(), |args| {
        Err(fail(String::from_utf8_lossy(text(args, 0))))
    });
}

/// sprig's `empty`: as a template's truth, except that structs are never empty.
pub(crate) fn is_empty(value: &Value) -> bool {
    !value.truth()
}
