//! Strategic merge patches.

mod directive;
mod list;

use serde_json::{Map, Value};

use crate::{
    id::Id,
    merge::directive::Directive,
    schema::{self, Field, Type},
};

/// Merges a patch into an object; `None` if the patch deletes it. What an object is called cannot be patched.
pub(crate) fn object(object: Value, patch: &Value) -> Result<Option<Value>, String> {
    let id = Id::of(&object);
    let named = |field: &str| object.get(field).cloned();
    let (version, kind) = (named("apiVersion"), named("kind"));
    let metadata = |field: &str| object.get("metadata").and_then(|metadata| metadata.get(field)).cloned();
    let (name, namespace) = (metadata("name"), metadata("namespace"));

    let of = schema::of(&id.group, &id.kind).map(Field::Object);
    let Some(mut merged) = value(Some(object), Some(patch.clone()), of)? else { return Ok(None) };
    if let Value::Object(map) = &mut merged {
        keep(map, "apiVersion", version);
        keep(map, "kind", kind);
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            keep(metadata, "name", name);
            keep(metadata, "namespace", namespace);
        }
    }
    Ok(Some(merged))
}

fn keep(map: &mut Map<String, Value>, field: &str, value: Option<Value>) {
    match value {
        Some(value) => map.insert(field.to_owned(), value),
        None => map.shift_remove(field),
    };
}

/// Merges what a patch says of a place into what is there; `None` if nothing is to be left.
pub(crate) fn value(
    there: Option<Value>,
    patch: Option<Value>,
    of: Option<Field>,
) -> Result<Option<Value>, String> {
    match (there, patch) {
        (there, None) => Ok(there),
        (None | Some(Value::Null), Some(patch)) => fresh(patch, of),
        (Some(_), Some(Value::Null)) => Ok(None),
        (Some(Value::Object(there)), Some(Value::Object(patch))) => map(there, patch, of),
        (Some(Value::Array(there)), Some(Value::Array(patch))) => list::merge(there, patch, of),
        (Some(there), Some(patch)) => match (node(&there), node(&patch)) {
            ("ScalarNode", "ScalarNode") => Ok(Some(patch)),
            (wanted, found) => Err(format!("wrong node kind: expected {wanted} but was {found}: {patch}")),
        },
    }
}

fn node(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "MappingNode",
        Value::Array(_) => "SequenceNode",
        _ => "ScalarNode",
    }
}

fn map(
    mut there: Map<String, Value>,
    mut patch: Map<String, Value>,
    of: Option<Field>,
) -> Result<Option<Value>, String> {
    match directive::strategy(&mut patch)? {
        Directive::Delete => return Ok(None),
        Directive::Replace => return fresh(Value::Object(patch), of),
        Directive::Merge => {}
    }
    let orders = directive::take(&mut patch, "$setElementOrder/");
    let deletions = directive::take(&mut patch, "$deleteFromPrimitiveList/");
    let retained = patch.shift_remove("$retainKeys");
    for (field, gone) in deletions {
        directive::delete_elements(there.get_mut(&field), &gone);
    }
    // What was there is what an order is relative to.
    let before: Vec<_> = orders.iter().map(|(field, _)| there.get(field).cloned()).collect();
    for (field, patch) in patch {
        let of = inside(of, &field);
        // The place of a field in its map is kept.
        let old = there.get_mut(&field).map(Value::take);
        match value(old, Some(patch), of)? {
            Some(merged) => there.insert(field, merged),
            None => there.shift_remove(&field),
        };
    }
    for ((field, order), before) in orders.iter().zip(before) {
        list::reorder(there.get_mut(field), order, before.as_ref(), inside(of, field));
    }
    if let Some(Value::Array(keys)) = retained {
        there.retain(|key, _| keys.iter().any(|kept| kept.as_str() == Some(key)));
    }
    Ok(Some(Value::Object(there)))
}

fn inside(of: Option<Field>, field: &str) -> Option<Field> {
    match of {
        Some(Field::Object(of)) => of.field(field),
        _ => None,
    }
}

/// The elements of a keyed list, as the type they have.
pub(crate) fn element(of: &'static Type) -> Option<Field> {
    Some(Field::Object(of))
}

/// What a patch adds where nothing was: without its nulls and directives. Lists that are not merged are taken as they are.
pub(crate) fn fresh(patch: Value, of: Option<Field>) -> Result<Option<Value>, String> {
    match patch {
        Value::Null => Ok(None),
        Value::Object(mut patch) => {
            if directive::strategy(&mut patch)? == Directive::Delete {
                return Ok(None);
            }
            directive::take(&mut patch, "$setElementOrder/");
            directive::take(&mut patch, "$deleteFromPrimitiveList/");
            patch.shift_remove("$retainKeys");
            let mut added = Map::new();
            for (field, value) in patch {
                let of = inside(of, &field);
                if let Some(value) = fresh(value, of)? {
                    added.insert(field, value);
                }
            }
            Ok(Some(Value::Object(added)))
        }
        Value::Array(patch) => list::fresh(patch, of),
        scalar => Ok(Some(scalar)),
    }
}
