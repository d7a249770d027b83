//! Maps. They are shared: what `set` and `merge` change is seen under every name.

use helm_template::{CallError, List, Map, Signature, Str, Type, Value};

use crate::register::{Register, Result, arg, fail, text};
use crate::strval::strval;

mod merge;

pub(crate) fn register(all: &mut Register) {
    all.add("dict", Signature::variadic(&[], &Type::Any, Type::MAP), |args| {
        let map = Map::new();
        for pair in args.chunks(2) {
            let key = strval(arg(pair, 0))?;
            map.insert(key, pair.get(1).cloned().unwrap_or_else(|| Value::from("")));
        }
        Ok(Value::Map(map))
    });
    all.add("get", Signature::new(&[Type::MAP, Type::String], Type::Any), |args| {
        Ok(map(args, 0).and_then(|map| map.get(text(args, 1))).unwrap_or_else(|| Value::from("")))
    });
    all.add("set", Signature::new(&[Type::MAP, Type::String, Type::Any], Type::MAP), |args| {
        match map(args, 0) {
            Some(target) if !target.is_nil() => {
                target.insert(Str::from_bytes(text(args, 1)), arg(args, 2).clone());
                Ok(arg(args, 0).clone())
            }
            _ => Err(fail("assignment to entry in nil map")),
        }
    });
    all.add("unset", Signature::new(&[Type::MAP, Type::String], Type::MAP), |args| {
        if let Some(target) = map(args, 0) {
            target.remove(text(args, 1));
        }
        Ok(arg(args, 0).clone())
    });
    all.add("hasKey", Signature::new(&[Type::MAP, Type::String], Type::Bool), |args| {
        Ok(Value::Bool(map(args, 0).is_some_and(|map| map.contains_key(text(args, 1)))))
    });
    selecting(all);
    listing(all);
    merge::register(all);
    all.add("dig", Signature::variadic(&[], &Type::Any, Type::Any).fallible(), dig);
    let copy = |args: &[Value]| match arg(args, 0) {
        Value::Nil => Err(fail("reflect: call of reflect.Value.Type on zero Value")),
        // copystructure leaves unexported fields behind, which are all a version has.
        value if crate::semver::is_object(value) => Ok(crate::semver::zero()),
        value => value.deep_copy().map_err(|error| fail(error.to_string())),
    };
    all.add("deepCopy", Signature::new(&[Type::Any], Type::Any), copy);
    all.add("mustDeepCopy", Signature::new(&[Type::Any], Type::Any).fallible(), copy);
    let equal = Signature::new(&[Type::Any, Type::Any], Type::Bool);
    all.add("deepEqual", equal, |args| Ok(Value::Bool(arg(args, 0).deep_equal(arg(args, 1)))));
}

fn map(args: &[Value], index: usize) -> Option<&Map> {
    arg(args, index).as_map()
}

fn selecting(all: &mut Register) {
    let some_keys = Signature::variadic(&[Type::MAP], &Type::String, Type::MAP);
    all.add("pick", some_keys, |args| {
        let (picked, source) = (Map::new(), map(args, 0));
        for key in args.iter().skip(1).filter_map(Value::as_string) {
            if let Some(value) = source.and_then(|source| source.get(key)) {
                picked.insert(key.clone(), value);
            }
        }
        Ok(Value::Map(picked))
    });
    all.add("omit", some_keys, |args| {
        let kept = Map::new();
        kept.extend_from(map(args, 0).map(Map::snapshot).unwrap_or_default());
        for key in args.iter().skip(1).filter_map(Value::as_string) {
            kept.remove(key);
        }
        Ok(Value::Map(kept))
    });
}

fn listing(all: &mut Register) {
    // Go's maps have no order; a sorted one is one of the orders Go might give.
    all.add("keys", Signature::variadic(&[], &Type::MAP, Type::STRINGS), |args| {
        let keys = args.iter().filter_map(Value::as_map).flat_map(Map::keys);
        Ok(Value::List(List::strings(keys)))
    });
    all.add("values", Signature::new(&[Type::MAP], Type::SLICE), |args| {
        let values = map(args, 0).map(Map::snapshot).unwrap_or_default();
        Ok(Value::from(values.into_iter().map(|(_, value)| value).collect::<Vec<_>>()))
    });
    all.add("pluck", Signature::variadic(&[Type::String], &Type::MAP, Type::SLICE), |args| {
        let found = args.iter().skip(1).filter_map(Value::as_map).filter_map(|map| map.get(text(args, 0)));
        Ok(Value::from(found.collect::<Vec<_>>()))
    });
}

/// `dig "a" "b" default dict`.
fn dig(args: &[Value]) -> Result {
    let [path @ .., default, dict] = args else {
        return Err(fail("dig needs at least three arguments"));
    };
    if path.is_empty() {
        return Err(fail("dig needs at least three arguments"));
    }
    let wrong = |value: &Value, wanted: &str| {
        let given = if matches!(value, Value::Nil) { "nil".to_owned() } else { value.type_name() };
        fail(format!("interface conversion: interface {{}} is {given}, not {wanted}"))
    };
    let table = |value: &Value| match value {
        Value::Map(map) if map.ty() == Type::MAP => Ok(map.clone()),
        other => Err(wrong(other, "map[string]interface {}")),
    };
    let mut at = table(dict)?;
    let keys: std::result::Result<Vec<&Str>, CallError> =
        path.iter().map(|key| key.as_string().ok_or_else(|| wrong(key, "string"))).collect();
    let mut keys = keys?.into_iter().peekable();
    while let Some(key) = keys.next() {
        match at.get_str(key) {
            None => return Ok(default.clone()),
            Some(found) if keys.peek().is_none() => return Ok(found),
            Some(found) => at = table(&found)?,
        }
    }
    Ok(default.clone())
}
