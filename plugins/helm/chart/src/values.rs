//! Values of a chart: looking into them and merging them (Helm's `pkg/chart/common/values.go` and
//! `pkg/chart/v2/loader`).

use helm_template::{List, MAX_DEPTH, Map, NamedType, TooDeep, Type, Value};

/// Name of the values table that every chart of a tree sees.
pub const GLOBAL_KEY: &str = "global";

/// Go's `common.Values`: what `.Values` and a template's top-level dot are.
pub static VALUES_TYPE: Type = Type::Named(&VALUES);

pub(crate) static VALUES: NamedType =
    NamedType { name: "common.Values", underlying: Type::MAP, methods: &crate::values_methods::METHODS };

/// A table inside values by its dotted path (`Values.Table`); `None` when it, or something on the way, is not
/// a table. Keys that contain dots cannot be reached, as in Helm.
#[must_use]
pub fn table(values: &Map, path: &str) -> Option<Map> {
    let mut table = values.clone();
    for key in path.split('.') {
        table = match table.get(key) {
            Some(Value::Map(inner)) => inner,
            _ => return None,
        };
    }
    Some(table)
}

/// A value that is not a table, by its dotted path (`Values.PathValue`). `Some(Value::Nil)` for a null.
#[must_use]
pub fn path_value(values: &Map, path: &str) -> Option<Value> {
    let found = match path.rsplit_once('.') {
        Some((parent, key)) => table(values, parent)?.get(key),
        None => values.get(path),
    };
    found.filter(|value| !is_table(value))
}

/// Whether a value is a table: a map.
#[must_use]
pub fn is_table(value: &Value) -> bool {
    matches!(value, Value::Map(_))
}

/// A new map with the entries of `base` and `over`; what is a table in both is merged, else `over` wins
/// (`loader.MergeMaps`, the rule between values files).
#[must_use]
pub fn merge_maps(base: &Map, over: &Map) -> Map {
    let merged = Map::from_iter(base.snapshot());
    for (key, value) in over.snapshot() {
        let value = match (merged.get(&key), value) {
            (Some(Value::Map(below)), Value::Map(above)) => Value::Map(merge_maps(&below, &above)),
            (_, value) => value,
        };
        merged.insert(key, value);
    }
    merged
}

/// What happens to nulls when a value is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    Keep,
    /// Entries of maps that are null are left out, at every level; elements of lists stay.
    Drop,
}

/// A copy that shares no map with the original.
///
/// # Errors
/// [`TooDeep`] for values nested deeper than [`MAX_DEPTH`], so also for those that contain themselves: imported
/// values can be made to.
pub(crate) fn deep_copy(value: &Value, nulls: Nulls) -> Result<Value, TooDeep> {
    copy_at(value, nulls, 0)
}

/// [`deep_copy`] of a map.
///
/// # Errors
/// [`TooDeep`].
pub(crate) fn deep_copy_map(map: &Map, nulls: Nulls) -> Result<Map, TooDeep> {
    copy_map_at(map, nulls, 0)
}

fn copy_at(value: &Value, nulls: Nulls, depth: usize) -> Result<Value, TooDeep> {
    Ok(match value {
        Value::Map(map) => Value::Map(copy_map_at(map, nulls, depth)?),
        Value::List(list) if list.iter().any(holds_values) => {
            if depth > MAX_DEPTH {
                return Err(TooDeep);
            }
            // Helm's `cleanNilValues` does not look into lists.
            let items = list.iter().map(|item| copy_at(item, Nulls::Keep, depth + 1));
            Value::List(List::new(items.collect::<Result<_, _>>()?))
        }
        other => other.clone(),
    })
}

fn copy_map_at(map: &Map, nulls: Nulls, depth: usize) -> Result<Map, TooDeep> {
    if depth > MAX_DEPTH {
        return Err(TooDeep);
    }
    let copy = Map::new();
    if let (Some(from), Some(mut to)) = (map.borrow(), copy.borrow_mut()) {
        for (key, value) in from.iter() {
            if nulls == Nulls::Keep || !matches!(value, Value::Nil) {
                to.insert(key.clone(), copy_at(value, nulls, depth + 1)?);
            }
        }
    }
    Ok(copy)
}

fn holds_values(value: &Value) -> bool {
    matches!(value, Value::Map(_) | Value::List(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, Value)]) -> Map {
        entries.iter().map(|(key, value)| (*key, value.clone())).collect()
    }

    fn nested() -> Map {
        let inner = map(&[("title", "Loomings".into()), ("none", Value::Nil)]);
        map(&[("one", Value::Map(map(&[("two", Value::Map(inner))]))), ("top", true.into())])
    }

    #[test]
    fn path_value_finds_scalars_and_refuses_tables() {
        let values = nested();
        assert_eq!(path_value(&values, "one.two.title"), Some("Loomings".into()));
        assert_eq!(path_value(&values, "one.two.none"), Some(Value::Nil));
        assert_eq!(path_value(&values, "top"), Some(true.into()));
        for missing in ["one", "one.two", "one.x.title", "top.x", "missing"] {
            assert_eq!(path_value(&values, missing), None, "{missing}");
        }
    }

    #[test]
    fn table_follows_a_dotted_path_and_shares_what_it_finds() {
        let values = nested();
        table(&values, "one.two").unwrap().insert("new", 1);
        assert_eq!(path_value(&values, "one.two.new"), Some(1.into()));
        assert!(table(&values, "top").is_none());
    }

    #[test]
    fn merging_maps_lets_the_later_win_and_changes_neither() {
        let base = map(&[("a", Value::Map(map(&[("x", 1.into()), ("y", 1.into())]))), ("b", 1.into())]);
        let over = map(&[("a", Value::Map(map(&[("y", 2.into())]))), ("b", Value::Map(Map::new()))]);
        let merged = merge_maps(&base, &over);
        assert_eq!(path_value(&merged, "a.x"), Some(1.into()));
        assert_eq!(path_value(&merged, "a.y"), Some(2.into()));
        assert!(table(&merged, "b").is_some());
        assert_eq!(path_value(&base, "a.y"), Some(1.into()));
    }

    #[test]
    fn a_deep_copy_shares_no_map_even_inside_lists() {
        let inner = map(&[("k", 1.into())]);
        let original = map(&[("list", Value::List(List::new(vec![Value::Map(inner.clone())])))]);
        let copy = deep_copy_map(&original, Nulls::Keep).unwrap();
        inner.insert("k", 2);
        let Some(Value::List(list)) = copy.get("list") else { panic!("list expected") };
        assert_eq!(list.get(0).and_then(Value::as_map).and_then(|map| map.get("k")), Some(1.into()));
    }

    #[test]
    fn dropping_nulls_reaches_nested_maps_but_not_lists() {
        let in_list = map(&[("kept", Value::Nil)]);
        let original = map(&[
            ("gone", Value::Nil),
            ("map", Value::Map(map(&[("gone", Value::Nil), ("stays", 1.into())]))),
            ("list", Value::List(List::new(vec![Value::Nil, Value::Map(in_list)]))),
        ]);
        let copy = deep_copy_map(&original, Nulls::Drop).unwrap();
        assert!(!copy.contains_key("gone"));
        assert_eq!(table(&copy, "map").unwrap().len(), 1);
        let Some(Value::List(list)) = copy.get("list") else { panic!("list expected") };
        assert_eq!(list.len(), 2);
        assert!(list.get(1).and_then(Value::as_map).unwrap().contains_key("kept"));
    }

    #[test]
    fn a_map_that_contains_itself_cannot_be_copied() {
        let map = Map::new();
        map.insert("self", List::new(vec![Value::Map(map.clone())]));
        assert_eq!(deep_copy_map(&map, Nulls::Keep).unwrap_err(), TooDeep);
        map.remove("self");
    }
}
