//! [`Map`]: a Go map with string keys.

use std::cell::{Ref, RefMut};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::release::Entries;
use super::{Str, Type, Value};

/// A Go `map[string]T`: a handle to shared entries. A change made through one handle is seen
/// through all of them, which is what sprig's `set`, `unset` and `merge` rely on.
///
/// Entries are kept in the order of their keys' bytes, the order in which Go's `range` action and
/// `fmt` go through them.
///
/// The type belongs to the handle, not to the entries: Go's conversion between `common.Values` and
/// `map[string]interface {}` shares the entries too.
#[derive(Clone)]
pub struct Map {
    ty: &'static Type,
    /// `None` is the nil map.
    entries: Option<Rc<Entries>>,
}

impl Map {
    /// An empty `map[string]interface {}`.
    pub fn new() -> Self {
        Self::typed(&Type::MAP)
    }

    /// An empty map of the given map type, named or not.
    pub fn typed(ty: &'static Type) -> Self {
        Self { ty, entries: Some(Rc::default()) }
    }

    /// The nil map of a type: it reads as empty and takes no entries.
    pub fn nil(ty: &'static Type) -> Self {
        Self { ty, entries: None }
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<Value> {
        self.entries.as_deref()?.0.borrow().get(key.as_ref()).cloned()
    }

    /// The value of a key that is a [`Str`] already, which is found faster.
    #[inline]
    pub fn get_str(&self, key: &Str) -> Option<Value> {
        self.entries.as_deref()?.0.borrow().get(key).cloned()
    }

    /// Whether there is an entry of that key.
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> bool {
        self.entries.as_deref().is_some_and(|entries| entries.0.borrow().contains_key(key.as_ref()))
    }

    /// Sets an entry and returns what it replaced. The nil map stays as it is: in Go that is the
    /// run-time error `assignment to entry in nil map`, so ask [`Map::is_nil`] where it can happen.
    pub fn insert(&self, key: impl Into<Str>, value: impl Into<Value>) -> Option<Value> {
        self.entries.as_deref()?.0.borrow_mut().insert(key.into(), value.into())
    }

    /// Removes an entry and returns its value.
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Option<Value> {
        self.entries.as_deref()?.0.borrow_mut().remove(key.as_ref())
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.as_deref().map_or(0, |entries| entries.0.borrow().len())
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys, in the order of their bytes.
    pub fn keys(&self) -> Vec<Str> {
        self.borrow().map_or_else(Vec::new, |entries| entries.keys().cloned().collect())
    }

    /// A copy of all entries in key order, for loops whose body may change the map.
    pub fn snapshot(&self) -> Vec<(Str, Value)> {
        self.borrow()
            .map_or_else(Vec::new, |entries| entries.iter().map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    /// The entries in place, `None` for the nil map. While the guard lives, changing the same map
    /// panics: do not call anything that may (functions, methods, templates).
    pub fn borrow(&self) -> Option<Ref<'_, BTreeMap<Str, Value>>> {
        self.entries.as_deref().map(|entries| entries.0.borrow())
    }

    /// The entries for changing in place, `None` for the nil map. The rule of [`Map::borrow`] holds
    /// for reading as well.
    pub fn borrow_mut(&self) -> Option<RefMut<'_, BTreeMap<Str, Value>>> {
        self.entries.as_deref().map(|entries| entries.0.borrow_mut())
    }

    /// The map type, named or not.
    pub fn ty(&self) -> Type {
        *self.ty
    }

    pub(crate) fn static_ty(&self) -> &'static Type {
        self.ty
    }

    /// Where the entries lie, for telling maps apart; 0 for the nil map.
    pub fn address(&self) -> usize {
        self.entries.as_ref().map_or(0, |entries| Rc::as_ptr(entries).addr())
    }

    /// The type of the values.
    pub fn elem(&self) -> Type {
        self.ty.elem()
    }

    /// Whether it is the nil map.
    pub fn is_nil(&self) -> bool {
        self.entries.is_none()
    }

    /// Whether both handles share their entries.
    pub fn same(&self, other: &Self) -> bool {
        match (&self.entries, &other.entries) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// The same entries under another map type of the same element type (a Go conversion).
    #[must_use]
    pub fn with_type(mut self, ty: &'static Type) -> Self {
        self.ty = ty;
        self
    }

    /// Gives up the shared entries, for freeing them.
    pub(super) fn into_entries(self) -> Option<Rc<Entries>> {
        self.entries
    }
}

impl Default for Map {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Into<Str>, V: Into<Value>> FromIterator<(K, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let map = Self::new();
        map.extend_from(entries);
        map
    }
}

impl Map {
    /// Inserts every entry given; later ones win.
    pub fn extend_from<K: Into<Str>, V: Into<Value>>(&self, entries: impl IntoIterator<Item = (K, V)>) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

/// Shows one level only: maps can contain themselves.
impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.ty, self.keys())
    }
}
