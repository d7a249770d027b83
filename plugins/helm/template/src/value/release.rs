//! Storage of lists and maps that is freed without recursion.
//!
//! A template can nest values as deep as it can loop (`$x = list $x`). Freeing such a chain the
//! usual way needs one stack frame for each level, which a small WebAssembly stack does not have.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;
use std::rc::Rc;

use super::{Str, Value};

/// The elements of a list.
pub(super) struct Backing(Vec<Value>);

impl Backing {
    pub(super) fn new(items: Vec<Value>) -> Self {
        Self(items)
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[Value] {
        &self.0
    }
}

/// The entries of a map, in the order of their keys' bytes.
#[derive(Default)]
pub(super) struct Entries(pub(super) RefCell<BTreeMap<Str, Value>>);

impl Drop for Backing {
    fn drop(&mut self) {
        if self.0.iter().any(is_container) {
            release(mem::take(&mut self.0));
        }
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        let entries = self.0.get_mut();
        if entries.values().any(is_container) {
            release(mem::take(entries).into_values().collect());
        }
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_))
}

/// Frees values level by level: whatever is held by nobody else hands its children to `pending`
/// before it goes.
fn release(mut pending: Vec<Value>) {
    while let Some(value) = pending.pop() {
        match value {
            Value::List(list) => {
                if let Some(mut backing) = list.into_backing().and_then(|rc| Rc::try_unwrap(rc).ok()) {
                    pending.append(&mut backing.0);
                }
            }
            Value::Map(map) => {
                if let Some(mut entries) = map.into_entries().and_then(|rc| Rc::try_unwrap(rc).ok()) {
                    pending.extend(mem::take(entries.0.get_mut()).into_values());
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{List, Map, Value};

    #[test]
    fn a_very_deep_chain_of_lists_and_maps_is_freed_without_deep_recursion() {
        let mut value = Value::Nil;
        for level in 0..1_000_000 {
            value = if level % 2 == 0 {
                Value::List(List::new(vec![value]))
            } else {
                Value::Map(Map::from_iter([("k", value)]))
            };
        }
        drop(value);
    }

    #[test]
    fn a_part_that_is_still_held_elsewhere_survives() {
        let inner = Value::List(List::new(vec![Value::from("kept")]));
        let outer = Value::List(List::new(vec![inner.clone(), Value::from(1)]));
        drop(outer);
        assert!(matches!(&inner, Value::List(list) if list.get(0) == Some(&Value::from("kept"))));
    }
}
