//! Values as they come out of the trip over JSON that sigs.k8s.io/yaml takes: string keys, and what JSON cannot hold
//! refused.

use std::borrow::Cow;

use super::decoder::{Leaf, Sink};
use super::failure::Failure;
use crate::{strconv, utf8};

/// What a document is read into.
pub(crate) trait Target {
    type Value;
    type Map;

    fn null(&mut self) -> Self::Value;
    fn bool(&mut self, value: bool) -> Self::Value;
    fn int(&mut self, value: i64) -> Self::Value;
    fn uint(&mut self, value: u64) -> Self::Value;
    fn float(&mut self, value: f64) -> Self::Value;
    fn text(&mut self, value: &str) -> Self::Value;
    fn list(&mut self, items: Vec<Self::Value>) -> Self::Value;
    fn new_map(&mut self) -> Self::Map;
    /// Sets an entry, a former one of that key is replaced. Returns whether there was one.
    fn insert(&mut self, map: &mut Self::Map, key: &str, value: Self::Value) -> bool;
    fn map(&mut self, map: Self::Map) -> Self::Value;
}

/// Builds the values of a [`Target`], as long as there is nothing odd.
#[derive(Debug)]
pub(crate) struct JsonSink<T> {
    target: T,
    /// Whether something came up that may be an error: a key or number that JSON does not have, or a key set twice
    /// where that is not allowed. What was built stands if it turns out to be none.
    pub(crate) odd: bool,
}

impl<T> JsonSink<T> {
    pub(crate) fn new(target: T) -> Self {
        Self { target, odd: false }
    }
}

impl<'d, T: Target> Sink<'d> for JsonSink<T> {
    type Value = T::Value;
    type Key = Cow<'d, str>;
    type Map = T::Map;

    #[inline]
    fn leaf(&mut self, leaf: Leaf<'d>) -> T::Value {
        match leaf {
            Leaf::Null => self.target.null(),
            Leaf::Bool(value) => self.target.bool(value),
            Leaf::Int(value) => self.target.int(value),
            Leaf::Uint(value) => self.target.uint(value),
            Leaf::Float(value) if value.is_finite() => self.target.float(value),
            Leaf::Float(_) => {
                self.odd = true;
                self.target.null()
            }
            Leaf::Text(text) => self.target.text(text),
            Leaf::Bytes(bytes) => self.target.text(&utf8::to_valid(&bytes)),
        }
    }

    #[inline]
    fn key(&mut self, leaf: Leaf<'d>) -> Cow<'d, str> {
        match key_text(leaf) {
            Some(text) => text,
            None => {
                self.odd = true;
                Cow::Borrowed("")
            }
        }
    }

    fn collection_key(&mut self, _: T::Value) -> Failure {
        self.odd = true;
        Failure::Document("invalid map key".to_owned())
    }

    #[inline]
    fn list(&mut self, items: Vec<T::Value>) -> T::Value {
        self.target.list(items)
    }

    fn new_map(&mut self) -> T::Map {
        self.target.new_map()
    }

    #[inline]
    fn insert(
        &mut self,
        map: &mut T::Map,
        key: Cow<'d, str>,
        value: T::Value,
        strict: bool,
    ) -> Option<String> {
        let replaced = self.target.insert(map, &key, value);
        self.odd |= strict && replaced;
        None
    }

    fn map(&mut self, map: T::Map) -> T::Value {
        self.target.map(map)
    }
}

/// A key as `convertToJSONableObject` of sigs.k8s.io/yaml spells it; `None` for those it refuses.
pub(super) fn key_text(leaf: Leaf<'_>) -> Option<Cow<'_, str>> {
    let mut out = Vec::new();
    match leaf {
        Leaf::Text(text) => return Some(Cow::Borrowed(text)),
        Leaf::Bytes(bytes) => return Some(Cow::Owned(utf8::to_valid(&bytes).into_owned())),
        Leaf::Bool(value) => return Some(Cow::Borrowed(if value { "true" } else { "false" })),
        Leaf::Int(value) => strconv::push_i64(&mut out, value),
        Leaf::Float(value) => strconv::push_float32(&mut out, value),
        Leaf::Null | Leaf::Uint(_) => return None,
    }
    let text = match String::from_utf8(out).unwrap_or_default() {
        text if text == "+Inf" => ".inf".to_owned(),
        text if text == "-Inf" => "-.inf".to_owned(),
        text if text == "NaN" => ".nan".to_owned(),
        text => text,
    };
    Some(Cow::Owned(text))
}
