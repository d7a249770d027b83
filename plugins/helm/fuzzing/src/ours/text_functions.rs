//! The twins of the functions of `testbed/helm-oracle/text/functions.go`.

use helm_template::{
    CallError, Context, Function, Functions, IntType, List, Map, Render, Signature, Type, UintType, Value,
    fmt,
};

use super::text_types::{MILLIS, Millis, VALUES};

type Body = fn(&mut Context, &[Value]) -> Result<Value, CallError>;

const INT: Type = Type::INT;
const ANY: Type = Type::Any;
const STRING: Type = Type::String;
const INT8: Type = Type::Int(IntType::Int8);
const UINT8: Type = Type::Uint(UintType::Uint8);
const FLOAT32: Type = Type::Float(helm_template::FloatType::Float32);
static ONE_VALUES: [Type; 1] = [Type::Named(&VALUES)];
static ONE_MILLIS: [Type; 1] = [Type::Named(&MILLIS)];

/// All functions.
pub(crate) fn functions() -> Functions {
    let mut functions: Functions =
        plain().into_iter().map(|(name, sig, body)| Function::new(name, sig, body)).collect();
    functions.extend(rendering());
    functions
}

fn plain() -> Vec<(&'static str, Signature, Body)> {
    const ADD: Signature = Signature::new(&[INT, INT], INT);
    vec![
        ("add", ADD, |_, a| Ok(Value::int(a[0].as_i64().unwrap().wrapping_add(a[1].as_i64().unwrap())))),
        ("upper", Signature::new(&[STRING], STRING), |_, a| Ok(text(&a[0]).to_uppercase().into())),
        ("glue", Signature::variadic(&[STRING], &STRING, STRING), |_, a| {
            let parts: Vec<String> = a[1..].iter().map(text).collect();
            Ok(parts.join(&text(&a[0])).into())
        }),
        ("ident", Signature::new(&[ANY], ANY), |_, a| Ok(a[0].clone())),
        ("size", Signature::new(&[Type::MAP], INT), |_, a| Ok(a[0].as_map().unwrap().len().into())),
        ("typed", Signature::new(&ONE_VALUES, STRING), |_, a| Ok(a[0].type_name().into())),
        ("first", Signature::new(&[Type::SLICE], ANY).fallible(), |_, a| {
            a[0].as_list().unwrap().get(0).cloned().ok_or_else(|| "empty list".into())
        }),
        ("fail", Signature::new(&[STRING], STRING).fallible(), |_, a| Err(text(&a[0]).into())),
        ("half", Signature::new(&[Type::FLOAT64], Type::FLOAT64), |_, a| {
            Ok((a[0].as_f64().unwrap() / 2.0).into())
        }),
        ("byte", Signature::new(&[UINT8], UINT8), |_, a| Ok(a[0].clone())),
        ("wide", Signature::new(&[Type::INT64], Type::INT64), |_, a| Ok(a[0].clone())),
        ("small", Signature::new(&[INT8], INT8), |_, a| Ok(a[0].clone())),
        ("single", Signature::new(&[FLOAT32], FLOAT32), |_, a| Ok(a[0].clone())),
        ("flag", Signature::new(&[Type::Bool], Type::Bool), |_, a| Ok(a[0].clone())),
        ("typeof", Signature::new(&[ANY], STRING), |_, a| Ok(a[0].type_name().into())),
        ("set", Signature::new(&[Type::MAP, STRING, ANY], Type::MAP), set),
        ("dict", Signature::variadic(&[], &ANY, Type::MAP), dict),
        ("list", Signature::variadic(&[], &ANY, Type::SLICE), |_, a| Ok(list(&Type::SLICE, a))),
        ("strs", Signature::variadic(&[], &STRING, Type::STRINGS), |_, a| Ok(list(&Type::STRINGS, a))),
        ("nothing", Signature::new(&[], ANY), |_, _| Ok(Value::Nil)),
        ("nilmap", Signature::new(&[], Type::MAP), |_, _| Ok(Value::Map(Map::nil(&Type::MAP)))),
        ("hello", Signature::new(&[], STRING), |_, _| Ok("hello".into())),
        ("strlist", Signature::new(&[Type::STRINGS], INT), |_, a| Ok(a[0].as_list().unwrap().len().into())),
        ("millis", Signature::new(&ONE_MILLIS, STRING), |_, a| {
            let number = a[0].as_object::<Millis>().map(|millis| millis.0).or(a[0].as_i64()).unwrap();
            Ok(format!("{number}ms").into())
        }),
        // The same as include by way of the native stack.
        ("render", Signature::new(&[STRING, ANY], STRING).fallible(), |context, a| {
            context.execute_template(&text(&a[0]), a[1].clone())
        }),
    ]
}

fn text(value: &Value) -> String {
    value.as_string().unwrap().to_string()
}

/// A nil slice when there are no arguments, as Go's variadic parameters are.
fn list(ty: &'static Type, items: &[Value]) -> Value {
    Value::List(List::typed(ty, items.to_vec()))
}

fn set(_: &mut Context, args: &[Value]) -> Result<Value, CallError> {
    let map = args[0].as_map().unwrap();
    if map.is_nil() {
        return Err("assignment to entry in nil map".into());
    }
    map.insert(args[1].as_string().unwrap(), args[2].clone());
    Ok(args[0].clone())
}

fn dict(_: &mut Context, args: &[Value]) -> Result<Value, CallError> {
    let map = Map::new();
    for pair in args.chunks(2) {
        map.insert(fmt::sprint(&pair[..1])?, pair.get(1).cloned().unwrap_or_else(Value::empty_string));
    }
    Ok(Value::Map(map))
}

fn rendering() -> [Function; 3] {
    const NAMED: Signature = Signature::new(&[STRING, ANY], STRING).fallible();
    [
        Function::rendering("include", NAMED, |_, args| {
            Ok(Render::template(args[0].as_string().unwrap(), args[1].clone()))
        }),
        Function::rendering("attempt", Signature::new(&[STRING, ANY], STRING), |_, args| {
            Ok(Render::template(args[0].as_string().unwrap(), args[1].clone()).then(|result| {
                Ok(match result {
                    Ok(text) => text.into(),
                    Err(error) => format!("failed: {error}").into(),
                })
            }))
        }),
        Function::rendering("tpl", NAMED, |context, args| {
            let text = args[0].as_string().unwrap().clone();
            let shown = fmt::quote(text.as_bytes());
            Ok(Render::text(context.set_name(), text, args[1].clone()).then(move |result| match result {
                Ok(text) => Ok(text.into()),
                Err(error @ CallError::Parse(_)) => {
                    Err(error.context(format!("cannot parse template {shown}: ")))
                }
                Err(error) => {
                    Err(error.context(format!("error during tpl function execution for {shown}: ")))
                }
            }))
        }),
    ]
}
