//! Values with Go's own types, for the documents in which something may not pass into JSON.
//!
//! The reader builds them only to find out what Go says about such a document; its value is built without them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use super::decoder::{Leaf, Sink};
use super::failure::Failure;
use super::target::key_text;
use crate::strconv::{self, FloatStyle};

/// The number of a value in its [`GoValues`].
pub(super) type Id = usize;

#[derive(Debug)]
enum GoValue<'d> {
    Leaf(Leaf<'d>),
    List(Vec<Id>),
    Map(Vec<(Id, Id)>),
}

/// All values of a document, each one behind what it holds.
#[derive(Debug, Default)]
pub(super) struct GoValues<'d>(Vec<GoValue<'d>>);

impl<'d> GoValues<'d> {
    fn push(&mut self, value: GoValue<'d>) -> Id {
        self.0.push(value);
        self.0.len() - 1
    }

    fn leaf_at(&self, id: Id) -> Option<&Leaf<'d>> {
        match self.0.get(id) {
            Some(GoValue::Leaf(leaf)) => Some(leaf),
            _ => None,
        }
    }

    /// What `convertToJSONableObject` says about the first key that JSON cannot have.
    pub(super) fn unsupported_key(&self, root: Id) -> Option<String> {
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            match self.0.get(id) {
                Some(GoValue::List(items)) => pending.extend(items.iter().rev()),
                Some(GoValue::Map(entries)) => {
                    for (key, value) in entries {
                        let name = match self.leaf_at(*key) {
                            Some(Leaf::Null) => "%!s(<nil>)",
                            Some(Leaf::Uint(_)) => "uint64",
                            _ => continue,
                        };
                        let shown = self.go_syntax(*key);
                        let value = self.go_syntax(*value);
                        return Some(format!(
                            "unsupported map key of type: {name}, key: {shown}, value: {value}"
                        ));
                    }
                    pending.extend(entries.iter().rev().map(|(_, value)| value));
                }
                _ => {}
            }
        }
        None
    }

    /// The first number, in the order of the JSON text, that JSON cannot have.
    pub(super) fn unsupported_number(&self, root: Id) -> Option<&'static str> {
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            match self.0.get(id) {
                Some(GoValue::Leaf(Leaf::Float(value))) if !value.is_finite() => {
                    return Some(strconv::non_finite(*value));
                }
                Some(GoValue::List(items)) => pending.extend(items.iter().rev()),
                Some(GoValue::Map(entries)) => {
                    let mut sorted: Vec<(Cow<'_, str>, Id)> = entries
                        .iter()
                        .filter_map(|(key, value)| Some((key_text(self.leaf_at(*key)?.clone())?, *value)))
                        .collect();
                    sorted.sort();
                    pending.extend(sorted.iter().rev().map(|(_, value)| value));
                }
                _ => {}
            }
        }
        None
    }

    /// A value as Go's `%#v` prints it.
    fn go_syntax(&self, root: Id) -> String {
        enum Piece {
            Value(Id),
            Text(&'static str),
        }
        if let Some(Leaf::Null) = self.leaf_at(root) {
            return "<nil>".to_owned();
        }
        let mut out = String::new();
        let mut pending = vec![Piece::Value(root)];
        while let Some(piece) = pending.pop() {
            let id = match piece {
                Piece::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Piece::Value(id) => id,
            };
            let open = pending.len();
            match self.0.get(id) {
                Some(GoValue::Leaf(leaf)) => push_leaf(&mut out, leaf),
                Some(GoValue::List(items)) => {
                    out.push_str("[]interface {}{");
                    for (at, item) in items.iter().enumerate() {
                        pending.push(Piece::Text(if at == 0 { "" } else { ", " }));
                        pending.push(Piece::Value(*item));
                    }
                    pending.push(Piece::Text("}"));
                }
                Some(GoValue::Map(entries)) => {
                    out.push_str("map[interface {}]interface {}{");
                    for (at, (key, value)) in self.sorted(entries).into_iter().enumerate() {
                        pending.push(Piece::Text(if at == 0 { "" } else { ", " }));
                        pending.push(Piece::Value(key));
                        pending.push(Piece::Text(":"));
                        pending.push(Piece::Value(value));
                    }
                    pending.push(Piece::Text("}"));
                }
                None => {}
            }
            // The pieces were put down in reading order.
            pending.get_mut(open..).unwrap_or_default().reverse();
        }
        out
    }

    /// Entries in the order of Go's `fmt`: by kind of key, then by key.
    fn sorted(&self, entries: &[(Id, Id)]) -> Vec<(Id, Id)> {
        let mut sorted = entries.to_vec();
        sorted.sort_by(|(a, _), (b, _)| compare_keys(self.leaf_at(*a), self.leaf_at(*b)));
        sorted
    }
}

/// A map that is being built.
#[derive(Debug, Default)]
pub(super) struct Entries<'d> {
    entries: Vec<(Id, Id)>,
    /// Where the entry of each key is.
    index: HashMap<(u8, Cow<'d, [u8]>), usize>,
}

/// What tells keys of Go's `map[interface{}]interface{}` apart; `None` for NaN, which equals no key.
fn identity<'d>(leaf: &Leaf<'d>) -> Option<(u8, Cow<'d, [u8]>)> {
    let owned = |bytes: [u8; 8]| Cow::Owned(bytes.to_vec());
    Some(match leaf {
        Leaf::Null => (0, Cow::Borrowed(&[])),
        Leaf::Bool(false) => (1, Cow::Borrowed(&[0])),
        Leaf::Bool(true) => (1, Cow::Borrowed(&[1])),
        Leaf::Int(value) => (2, owned(value.to_le_bytes())),
        Leaf::Uint(value) => (3, owned(value.to_le_bytes())),
        Leaf::Float(value) if value.is_nan() => return None,
        // Adding 0 makes -0 equal to 0.
        Leaf::Float(value) => (4, owned((value + 0.0).to_le_bytes())),
        Leaf::Text(text) => (5, Cow::Borrowed(text.as_bytes())),
        Leaf::Bytes(bytes) => (5, Cow::Owned(bytes.clone())),
    })
}

fn compare_keys(a: Option<&Leaf<'_>>, b: Option<&Leaf<'_>>) -> std::cmp::Ordering {
    // Go compares keys of different types by where the linker put the types, which is this order in the helm binary.
    let kind = |leaf: Option<&Leaf<'_>>| match leaf {
        None | Some(Leaf::Null) => 0,
        Some(Leaf::Text(_) | Leaf::Bytes(_)) => 1,
        Some(Leaf::Uint(_)) => 2,
        Some(Leaf::Int(_)) => 3,
        Some(Leaf::Float(_)) => 4,
        Some(Leaf::Bool(_)) => 5,
    };
    match (a, b) {
        (Some(Leaf::Bool(a)), Some(Leaf::Bool(b))) => a.cmp(b),
        (Some(Leaf::Int(a)), Some(Leaf::Int(b))) => a.cmp(b),
        (Some(Leaf::Uint(a)), Some(Leaf::Uint(b))) => a.cmp(b),
        (Some(Leaf::Float(a)), Some(Leaf::Float(b))) => a.total_cmp(b),
        (Some(Leaf::Text(a)), Some(Leaf::Text(b))) => a.cmp(b),
        _ => kind(a).cmp(&kind(b)),
    }
}

fn push_leaf(out: &mut String, leaf: &Leaf<'_>) {
    // Writing to a string cannot fail.
    let _ = match leaf {
        Leaf::Null => write!(out, "interface {{}}(nil)"),
        Leaf::Bool(value) => write!(out, "{value}"),
        Leaf::Int(value) => write!(out, "{value}"),
        Leaf::Uint(value) => write!(out, "{value:#x}"),
        Leaf::Float(value) => {
            let mut digits = Vec::new();
            strconv::push_float(&mut digits, *value, FloatStyle::General);
            write!(out, "{}", String::from_utf8_lossy(&digits))
        }
        Leaf::Text(text) => write!(out, "{}", quote(text.as_bytes())),
        Leaf::Bytes(bytes) => write!(out, "{}", quote(bytes)),
    };
}

fn quote(text: &[u8]) -> String {
    helm_template::fmt::quote(text)
}

impl<'d> Sink<'d> for GoValues<'d> {
    type Value = Id;
    type Key = Id;
    type Map = Entries<'d>;

    fn leaf(&mut self, leaf: Leaf<'d>) -> Id {
        self.push(GoValue::Leaf(leaf))
    }

    fn key(&mut self, leaf: Leaf<'d>) -> Id {
        self.push(GoValue::Leaf(leaf))
    }

    fn collection_key(&mut self, value: Id) -> Failure {
        Failure::Document(format!("invalid map key: {}", self.go_syntax(value)))
    }

    fn list(&mut self, items: Vec<Id>) -> Id {
        self.push(GoValue::List(items))
    }

    fn new_map(&mut self) -> Entries<'d> {
        Entries::default()
    }

    fn insert(&mut self, map: &mut Entries<'d>, key: Id, value: Id, strict: bool) -> Option<String> {
        let identity = self.leaf_at(key).and_then(identity);
        let known = identity.as_ref().and_then(|identity| map.index.get(identity)).copied();
        match known.and_then(|at| map.entries.get_mut(at)) {
            Some(_) if strict => return Some(self.go_syntax(key)),
            Some((_, old)) => *old = value,
            None => {
                if let Some(identity) = identity {
                    map.index.insert(identity, map.entries.len());
                }
                map.entries.push((key, value));
            }
        }
        None
    }

    fn map(&mut self, map: Entries<'d>) -> Id {
        self.push(GoValue::Map(map.entries))
    }
}
