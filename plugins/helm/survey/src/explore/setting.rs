//! What a rendering is given: values that differ from the chart's, and facts of cluster and release.

use std::collections::{BTreeMap, BTreeSet};

use helm_template::{List, Map, Value};

/// A step into values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    Key(String),
    Item(usize),
}

/// A place in the chart's values.
pub(crate) type Place = Vec<Step>;

/// What a condition asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    Value(Place),
    /// Whether the cluster serves an API.
    Api(String),
    /// Whether this is an upgrade.
    Upgrade,
}

/// What differs from a rendering with defaults.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setting {
    values: BTreeMap<Place, Value>,
    pub(crate) with_apis: BTreeSet<String>,
    pub(crate) without_apis: BTreeSet<String>,
    pub(crate) upgrade: bool,
}

impl Setting {
    /// Sets a value. What was set within goes.
    pub(crate) fn set(&mut self, place: Place, value: Value) {
        self.values.retain(|known, _| !known.starts_with(&place));
        self.values.insert(place, value);
    }

    /// Whether it is that of a rendering with defaults.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.with_apis.is_empty() && self.without_apis.is_empty() && !self.upgrade
    }

    /// The values in the form of a values file; `defaults` tells what lists hold.
    pub(crate) fn overlay(&self, defaults: &Map) -> Map {
        let mut overlay = Value::Map(Map::new());
        for (place, value) in &self.values {
            overlay = with(Some(overlay), Some(&Value::Map(defaults.clone())), place, value);
        }
        overlay.as_map().cloned().unwrap_or_default()
    }
}

/// `current` with the value at a place below it. Lists are not merged with defaults, so they are taken whole.
fn with(current: Option<Value>, default: Option<&Value>, place: &[Step], value: &Value) -> Value {
    match place {
        [] => copy(value),
        [Step::Key(key), rest @ ..] => {
            let map = match current {
                Some(Value::Map(map)) => map,
                _ => Map::new(),
            };
            let below = default.and_then(Value::as_map).and_then(|map| map.get(key));
            map.insert(key, with(map.get(key), below.as_ref(), rest, value));
            Value::Map(map)
        }
        [Step::Item(index), rest @ ..] => {
            let ((Some(Value::List(list)), _) | (_, Some(Value::List(list)))) = (&current, default) else {
                return Value::List(List::new(vec![with(None, None, rest, value)]));
            };
            let mut items: Vec<Value> = list.iter().map(copy).collect();
            if let Some(item) = items.get_mut(*index) {
                *item = with(Some(item.clone()), None, rest, value);
            }
            Value::List(List::new(items))
        }
    }
}

/// Templates change maps in place, so each rendering gets its own.
fn copy(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            Value::Map(map.snapshot().into_iter().map(|(key, value)| (key, copy(&value))).collect::<Map>())
        }
        Value::List(list) => Value::List(List::new(list.iter().map(copy).collect())),
        other => other.clone(),
    }
}

/// The value at a place.
pub(crate) fn at(values: &Map, place: &[Step]) -> Option<Value> {
    let mut current = Value::Map(values.clone());
    for step in place {
        current = match (step, &current) {
            (Step::Key(key), Value::Map(map)) => map.get(key)?,
            (Step::Item(index), Value::List(list)) => list.get(*index)?.clone(),
            _ => return None,
        };
    }
    Some(current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use helm_chart::yaml::load_values;

    fn key(name: &str) -> Step {
        Step::Key(name.to_owned())
    }

    fn yaml(setting: &Setting, defaults: &str) -> String {
        let overlay = setting.overlay(&load_values(defaults.as_bytes()).unwrap());
        String::from_utf8(helm_yaml::to_yaml(&Value::Map(overlay)).unwrap()).unwrap()
    }

    #[test]
    fn only_what_differs_is_in_the_overlay_but_lists_are_whole() {
        let mut setting = Setting::default();
        setting.set(vec![key("a"), key("b")], true.into());
        setting.set(vec![key("l"), Step::Item(1), key("x")], 7_i64.into());
        assert_eq!(
            yaml(&setting, "a: {c: 1}\nl: [{x: 1}, {x: 2, z: 3}]"),
            "a:\n  b: true\nl:\n- x: 1\n- x: 7\n  z: 3\n"
        );
    }

    #[test]
    fn a_value_takes_the_place_of_what_was_set_within() {
        let mut setting = Setting::default();
        setting.set(vec![key("a"), key("b")], true.into());
        setting.set(vec![key("a")], Value::Nil);
        assert_eq!(yaml(&setting, "{}"), "a: null\n");
        setting.set(vec![key("a"), key("b")], 1_i64.into());
        assert_eq!(yaml(&setting, "{}"), "a:\n  b: 1\n");
    }
}
