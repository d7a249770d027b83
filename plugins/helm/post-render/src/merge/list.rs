//! Merging lists. Elements of a patch come before those that were there, as with kustomize.

use serde_json::Value;

use crate::{
    merge::{
        self,
        directive::{self, Directive},
    },
    schema::{Field, Type},
};

pub(crate) fn merge(
    there: Vec<Value>,
    patch: Vec<Value>,
    of: Option<Field>,
) -> Result<Option<Value>, String> {
    match of {
        Some(Field::Keyed(keys, of)) => keyed(there, patch, keys, of),
        Some(Field::Set) => Ok(Some(Value::Array(set(patch.into_iter().chain(there))))),
        _ => Ok(Some(Value::Array(patch))),
    }
}

/// A list that was not there.
pub(crate) fn fresh(mut patch: Vec<Value>, of: Option<Field>) -> Result<Option<Value>, String> {
    match of {
        Some(Field::Keyed(_, of)) => {
            if directive::list_strategy(&mut patch)? == Directive::Delete {
                return Ok(None);
            }
            let added = patch.into_iter().map(|element| merge::fresh(element, merge::element(of)));
            let added: Result<Vec<_>, _> = added.collect();
            Ok(Some(Value::Array(
                added?.into_iter().flatten().filter(|element| !is_empty(element)).collect(),
            )))
        }
        Some(Field::Set) => Ok(Some(Value::Array(set(patch)))),
        _ => Ok(Some(Value::Array(patch))),
    }
}

fn is_empty(element: &Value) -> bool {
    element.as_object().is_some_and(serde_json::Map::is_empty)
}

fn set(elements: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut seen: Vec<Value> = Vec::new();
    for element in elements {
        if !seen.contains(&element) {
            seen.push(element);
        }
    }
    seen
}

fn keyed(
    mut there: Vec<Value>,
    mut patch: Vec<Value>,
    keys: &[&str],
    of: &'static Type,
) -> Result<Option<Value>, String> {
    match directive::list_strategy(&mut patch)? {
        Directive::Delete => return Ok(None),
        Directive::Replace => return fresh(patch, Some(Field::Keyed(&[], of))),
        Directive::Merge => {}
    }
    // With several keys in use the elements that were there keep their places.
    let used = |key: &&str| there.iter().chain(&patch).any(|element| given(element, key).is_some());
    let in_place = keys.iter().filter(|key| used(key)).count() > 1;
    let mut first = Vec::new();
    for element in patch {
        let place = there.iter().position(|old| is_same(old, &element, keys));
        let merged = match place.and_then(|place| there.get_mut(place)) {
            Some(old) => merge::value(Some(old.take()), Some(element), merge::element(of))?,
            None => merge::fresh(element, merge::element(of))?,
        };
        match (merged.filter(|merged| !is_empty(merged)), place) {
            (Some(merged), Some(place)) if in_place => {
                if let Some(old) = there.get_mut(place) {
                    *old = merged;
                }
            }
            (merged, place) => {
                if let Some(place) = place {
                    there.remove(place);
                }
                first.extend(merged);
            }
        }
    }
    first.extend(there);
    Ok(Some(Value::Array(first)))
}

fn given<'a>(element: &'a Value, key: &str) -> Option<&'a Value> {
    element.get(key).filter(|value| !value.is_null())
}

/// The first key must be equal; the others only where both elements have them.
fn is_same(left: &Value, right: &Value, keys: &[&str]) -> bool {
    keys.iter().enumerate().all(|(index, key)| match (given(left, key), given(right, key)) {
        (Some(left), Some(right)) => left == right,
        _ => index > 0,
    }) && !keys.is_empty()
}

/// `$setElementOrder`: what it names comes in its order; the rest stays before what it was before.
pub(crate) fn reorder(list: Option<&mut Value>, order: &[Value], before: Option<&Value>, of: Option<Field>) {
    let keys: &[&str] = match of {
        Some(Field::Keyed(keys, _)) => keys,
        _ => &[],
    };
    let same = |left: &Value, right: &Value| {
        if keys.is_empty() { left == right } else { is_same(left, right, keys) }
    };
    let Some(list) = list.and_then(Value::as_array_mut) else { return };
    let place = |element: &Value| order.iter().position(|named| same(named, element));
    let (mut named, rest): (Vec<Value>, Vec<Value>) =
        std::mem::take(list).into_iter().partition(|element| place(element).is_some());
    named.sort_by_key(|element| place(element));
    let old = |element: &Value| before.and_then(Value::as_array)?.iter().position(|old| same(old, element));
    let mut rest = rest.into_iter().peekable();
    for element in named {
        let until = old(&element);
        while let Some(earlier) = rest.next_if(|rest| until.is_some() && old(rest) < until) {
            list.push(earlier);
        }
        list.push(element);
    }
    list.extend(rest);
}
