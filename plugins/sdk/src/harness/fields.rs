//! Sets of field paths: what a field manager owns, as `FieldsV1` of `metadata.managedFields` says it.

use std::{collections::BTreeSet, fmt};

use serde_json::{Map, Value};

use super::schema::{ListKind, is_atomic_map, item_key, list_kind};

/// One step down into an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// A field by name (`f:`).
    Field(String),
    /// An item of a list by its keys, as JSON (`k:`).
    Item(String),
    /// A member of a set by its value, as JSON (`v:`).
    Member(String),
}

/// A place in an object.
pub(super) type Path = Vec<Step>;

/// `.spec.containers[name="app"].image`, as the API server writes it in conflicts.
pub(super) fn show(path: &[Step]) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        for step in path {
            match step {
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Item(keys) => {
                    let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                    let keys: Vec<_> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
                    write!(f, "[{}]", keys.join(","))?;
                }
                Step::Member(value) => write!(f, "[={value}]")?,
            }
        }
        Ok(())
    })
}

/// Fields nobody owns: they name the object, or the server writes them.
const UNOWNED: &[&str] = &[
    "name",
    "namespace",
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
];

/// A set of places: leaves, and items of keyed lists as such.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields(pub(super) BTreeSet<Path>);

impl Fields {
    /// All owned places of an object.
    pub(super) fn of(object: &Value, custom: bool) -> Self {
        let mut fields = Self::default();
        let mut path = Vec::new();
        for (name, value) in object.as_object().into_iter().flatten() {
            if name != "apiVersion" && name != "kind" {
                fields.enter(Step::Field(name.clone()), value, &mut path, custom);
            }
        }
        fields.0.retain(|path| !is_unowned(path));
        fields
    }

    fn enter(&mut self, step: Step, value: &Value, path: &mut Path, custom: bool) {
        path.push(step);
        self.walk(value, path, custom);
        path.pop();
    }

    fn walk(&mut self, value: &Value, path: &mut Path, custom: bool) {
        match value {
            // Nothing is asked for: as if the field were not there.
            Value::Null => {}
            Value::Object(members) if !members.is_empty() && !is_atomic_map(path, custom) => {
                for (name, value) in members {
                    self.enter(Step::Field(name.clone()), value, path, custom);
                }
            }
            Value::Array(items) if !items.is_empty() => match list_kind(path, custom) {
                ListKind::Map(keys) if items.iter().all(|item| item_key(item, keys).is_some()) => {
                    for item in items {
                        let step = Step::Item(item_key(item, keys).unwrap_or_default());
                        path.push(step);
                        self.0.insert(path.clone());
                        self.walk(item, path, custom);
                        path.pop();
                    }
                }
                ListKind::Set => {
                    for item in items {
                        let mut member = path.clone();
                        member.push(Step::Member(self::member(item)));
                        self.0.insert(member);
                    }
                }
                ListKind::Atomic | ListKind::Map(_) => self.insert(path),
            },
            _ => self.insert(path),
        }
    }

    fn insert(&mut self, path: &Path) {
        self.0.insert(path.clone());
    }

    /// Is this place, or anything below it, in the set?
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.0.range(path.clone()..).next().is_some_and(|found| found.starts_with(path))
    }
}

fn is_unowned(path: &Path) -> bool {
    matches!(path.as_slice(), [Step::Field(metadata), Step::Field(name), ..]
        if metadata == "metadata" && UNOWNED.contains(&name.as_str()))
}

/// The value at a place.
pub(super) fn lookup<'a>(object: &'a Value, path: &[Step], custom: bool) -> Option<&'a Value> {
    let mut value = object;
    for (depth, step) in path.iter().enumerate() {
        value = match step {
            Step::Field(name) => value.get(name)?,
            Step::Item(_) | Step::Member(_) => {
                let items = value.as_array()?;
                let parent = path.get(..depth).unwrap_or_default();
                items.get(position(items, step, list_kind(parent, custom))?)?
            }
        };
    }
    Some(value)
}

/// Takes away what is at a place, and the maps and lists that become empty by it.
pub(super) fn remove(object: &mut Value, path: &[Step], custom: bool) {
    fn go(value: &mut Value, path: &[Step], depth: usize, custom: bool) {
        let Some(step) = path.get(depth) else { return };
        let last = depth + 1 == path.len();
        match (value, step) {
            (Value::Object(members), Step::Field(name)) => {
                let Some(inner) = members.get_mut(name) else { return };
                if !last {
                    go(inner, path, depth + 1, custom);
                }
                if last || is_empty(inner) {
                    members.shift_remove(name);
                }
            }
            (Value::Array(items), step) => {
                let kind = list_kind(path.get(..depth).unwrap_or_default(), custom);
                let Some(position) = position(items, step, kind) else { return };
                match items.get_mut(position) {
                    Some(item) if !last => go(item, path, depth + 1, custom),
                    _ => drop(items.remove(position)),
                }
            }
            _ => {}
        }
    }
    go(object, path, 0, custom);
}

/// A member of a set, as its step names it.
fn member(item: &Value) -> String {
    item.to_string()
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// Where the item at the end of a path is in its list.
pub(super) fn position_of(items: &[Value], path: &[Step], custom: bool) -> Option<usize> {
    let (step, parent) = path.split_last()?;
    position(items, step, list_kind(parent, custom))
}

fn position(items: &[Value], step: &Step, kind: ListKind) -> Option<usize> {
    items.iter().position(|item| match (step, kind) {
        (Step::Item(wanted), ListKind::Map(keys)) => item_key(item, keys).as_ref() == Some(wanted),
        (Step::Member(wanted), _) => member(item) == *wanted,
        _ => false,
    })
}
