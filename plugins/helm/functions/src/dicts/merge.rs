//! `merge` and `mergeOverwrite`: `deepMerge` of mergo for maps of interfaces.

use helm_template::{CallError, Kind, Map, Signature, Type, Value};

use crate::defaults::is_empty;
use crate::register::{Register, Result, arg, fail};

/// Deeper than values can be printed; a map that contains itself has no end.
const MAX_DEPTH: usize = 1_000;

pub(super) fn register(all: &mut Register) {
    let signature = Signature::variadic(&[Type::MAP], &Type::MAP, Type::Any);
    for (name, must, overwrite) in
        [("merge", "mustMerge", false), ("mergeOverwrite", "mustMergeOverwrite", true)]
    {
        let body = move |args: &[Value]| merged(args, overwrite);
        all.add(name, signature, body);
        all.add(must, signature.fallible(), body);
    }
}

fn merged(args: &[Value], overwrite: bool) -> Result {
    let Some(mut target) = arg(args, 0).as_map().cloned() else { return Ok(arg(args, 0).clone()) };
    for source in args.iter().skip(1).filter_map(Value::as_map) {
        // The parameter itself can be set where a map within cannot.
        if target.is_nil() && !source.is_nil() {
            target = Map::new();
        }
        merge_into(&target, source, overwrite, 0)?;
    }
    Ok(Value::Map(target))
}

/// Nested maps are merged. Anything else gives way where it is empty, or where it is to be overwritten; then even to
/// something empty.
fn merge_into(
    target: &Map,
    source: &Map,
    overwrite: bool,
    depth: usize,
) -> std::result::Result<(), CallError> {
    if depth > MAX_DEPTH {
        return Err(fail("maps are nested too deep to be merged"));
    }
    if target.is_nil() || target.same(source) {
        return Ok(());
    }
    for (key, value) in source.snapshot() {
        let existing = target.get_str(&key);
        if matches!(value, Value::Nil) {
            if overwrite {
                set(target, key, value, source)?;
            }
            continue;
        }
        if let (Some(Value::Map(inner)), Value::Map(outer)) = (&existing, &value) {
            merge_into(inner, outer, overwrite, depth + 1)?;
        }
        let keeps = existing.as_ref().is_some_and(|existing| !is_empty(existing));
        let both_maps = matches!((&existing, &value), (Some(Value::Map(_)), Value::Map(_)));
        if !keeps || (overwrite && !both_maps) {
            set(target, key, value, source)?;
        }
    }
    Ok(())
}

/// `SetMapIndex`: the value has the element type of the map it comes from, which may be no type for this one.
fn set(
    target: &Map,
    key: helm_template::Str,
    value: Value,
    source: &Map,
) -> std::result::Result<(), CallError> {
    let (from, to) = (source.elem(), target.elem());
    if to.kind() != Kind::Interface && !from.assignable_to(to) {
        return Err(fail(format!(
            "reflect.Value.SetMapIndex: value of type {from} is not assignable to type {to}"
        )));
    }
    target.insert(key, value);
    Ok(())
}
