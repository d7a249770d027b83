//! A document to values: the second half of go-yaml's `decode.go`, for a target of type `interface{}`.
//!
//! Nothing here recurses, so nesting costs heap and no stack.

mod budget;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use self::budget::Budget;
use super::document::{Document, NodeKind};
use super::failure::Failure;
use crate::resolve::{BINARY_TAG, MERGE_TAG, Scalar, resolve_plain, resolve_tagged};

/// The value of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Leaf<'d> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(&'d str),
    /// What a `!!binary` scalar holds.
    Bytes(Vec<u8>),
}

/// What values are made of.
pub(crate) trait Sink<'d> {
    type Value;
    type Key;
    type Map;

    fn leaf(&mut self, leaf: Leaf<'d>) -> Self::Value;
    fn key(&mut self, leaf: Leaf<'d>) -> Self::Key;
    /// A sequence or mapping stands where a key should: what to say about it.
    fn collection_key(&mut self, value: Self::Value) -> Failure;
    fn list(&mut self, items: Vec<Self::Value>) -> Self::Value;
    fn new_map(&mut self) -> Self::Map;
    /// Sets an entry, but in strict mode only if there is none yet; then the key as Go's `%#v` prints it is returned.
    fn insert(
        &mut self,
        map: &mut Self::Map,
        key: Self::Key,
        value: Self::Value,
        strict: bool,
    ) -> Option<String>;
    fn map(&mut self, map: Self::Map) -> Self::Value;
}

/// What is being built, innermost last.
enum Frame<V, K> {
    List {
        at: usize,
        end: usize,
        items: Vec<V>,
    },
    /// Entries of the innermost map; a `merged` mapping adds to a map that another frame finishes.
    Map {
        at: usize,
        end: usize,
        key: Option<K>,
        line: usize,
        merged: bool,
    },
    /// Until the value of an alias is known.
    Alias {
        node: usize,
        merged: bool,
    },
    /// Mappings to merge, from the last to the first.
    Merges {
        pending: Vec<usize>,
    },
}

pub(crate) struct Decoder<'d, 't, S: Sink<'d>> {
    document: &'d Document<'t>,
    pub(crate) sink: S,
    strict: bool,
    frames: Vec<Frame<S::Value, S::Key>>,
    maps: Vec<S::Map>,
    budget: Budget,
    /// For every node whether it is an alias whose value is being built.
    active: Vec<bool>,
    type_errors: Vec<String>,
}

impl<'d, 't, S: Sink<'d>> Decoder<'d, 't, S> {
    /// A decoder that refuses a key which is set twice if `strict`.
    pub(crate) fn new(document: &'d Document<'t>, sink: S, strict: bool) -> Self {
        Self {
            document,
            sink,
            strict,
            frames: Vec::new(),
            maps: Vec::new(),
            budget: Budget::default(),
            active: Vec::new(),
            type_errors: Vec::new(),
        }
    }

    /// The value of the document; `None` if there is none.
    ///
    /// # Errors
    ///
    /// go-yaml's, when a scalar does not fit its tag, an alias is wrong, or there are too many of them.
    pub(crate) fn run(&mut self) -> Result<Option<S::Value>, Failure> {
        if self.document.nodes.is_empty() {
            return Ok(None);
        }
        self.budget.spend()?;
        let mut ready = self.enter(0)?;
        loop {
            if let Some(value) = ready
                && let Some(root) = self.deliver(value)?
            {
                return if self.type_errors.is_empty() {
                    Ok(Some(root))
                } else {
                    Err(Failure::Document(format!("unmarshal errors:\n  {}", self.type_errors.join("\n  "))))
                };
            }
            ready = self.advance()?;
        }
    }

    /// Starts with a node; its value if that is known at once.
    fn enter(&mut self, mut at: usize) -> Result<Option<S::Value>, Failure> {
        loop {
            self.budget.spend()?;
            match self.document.get(at).map(|node| &node.kind) {
                Some(NodeKind::Scalar { text, tag, implicit }) => {
                    let leaf = leaf(text, tag.as_deref(), *implicit)?;
                    return Ok(Some(self.sink.leaf(leaf)));
                }
                Some(NodeKind::Alias { name, target }) => {
                    self.enter_alias(at, name, false)?;
                    at = *target;
                }
                Some(NodeKind::Sequence { end }) => {
                    self.frames.push(Frame::List { at: at + 1, end: *end, items: Vec::new() });
                    return Ok(None);
                }
                Some(NodeKind::Mapping { end }) => {
                    let map = self.sink.new_map();
                    self.maps.push(map);
                    self.push_map(at + 1, *end, false);
                    return Ok(None);
                }
                None => return Ok(Some(self.sink.leaf(Leaf::Null))),
            }
        }
    }

    fn push_map(&mut self, at: usize, end: usize, merged: bool) {
        self.frames.push(Frame::Map { at, end, key: None, line: 0, merged });
    }

    fn enter_alias(&mut self, node: usize, name: &str, merged: bool) -> Result<(), Failure> {
        if self.active.is_empty() {
            self.active.resize(self.document.nodes.len(), false);
        }
        if let Some(active) = self.active.get_mut(node) {
            if *active {
                return Err(Failure::Document(format!("anchor '{name}' value contains itself")));
            }
            *active = true;
        }
        self.budget.enter_alias();
        self.frames.push(Frame::Alias { node, merged });
        Ok(())
    }

    fn leave_alias(&mut self, node: usize) {
        if let Some(active) = self.active.get_mut(node) {
            *active = false;
        }
        self.budget.leave_alias();
    }

    /// Hands a value to what it belongs to; gives it back if that is nothing: it is the root.
    fn deliver(&mut self, value: S::Value) -> Result<Option<S::Value>, Failure> {
        loop {
            match self.frames.last_mut() {
                None => return Ok(Some(value)),
                Some(Frame::Alias { node, .. }) => {
                    let node = *node;
                    self.frames.pop();
                    self.leave_alias(node);
                }
                Some(Frame::List { items, .. }) => {
                    items.push(value);
                    return Ok(None);
                }
                Some(Frame::Map { key, line, .. }) => {
                    let line = *line;
                    let Some(key) = key.take() else { return Err(self.sink.collection_key(value)) };
                    if let Some(map) = self.maps.last_mut()
                        && let Some(key) = self.sink.insert(map, key, value, self.strict)
                    {
                        self.type_errors.push(format!("line {}: key {key} already set in map", line + 1));
                    }
                    return Ok(None);
                }
                Some(Frame::Merges { .. }) => return Ok(None),
            }
        }
    }

    /// Goes on with the innermost collection; its next or its own value if that is known at once.
    fn advance(&mut self) -> Result<Option<S::Value>, Failure> {
        match self.frames.last_mut() {
            None => Ok(None),
            Some(Frame::List { at, end, items }) => {
                if at == end {
                    let items = std::mem::take(items);
                    self.frames.pop();
                    return Ok(Some(self.sink.list(items)));
                }
                let node = *at;
                *at = self.document.behind(node);
                self.enter(node)
            }
            Some(Frame::Map { at, end, merged, .. }) => {
                if at == end {
                    let merged = *merged;
                    self.frames.pop();
                    return if merged { Ok(None) } else { Ok(self.maps.pop().map(|map| self.sink.map(map))) };
                }
                let key = *at;
                let value = self.document.behind(key);
                *at = self.document.behind(value);
                self.enter_entry(key, value)
            }
            Some(Frame::Merges { pending }) => {
                match pending.pop() {
                    Some(node) => self.merge(node)?,
                    None => {
                        self.frames.pop();
                    }
                }
                Ok(None)
            }
            Some(Frame::Alias { node, merged }) => {
                // The mapping behind a merged alias is done; any other alias gets its value delivered.
                let (node, merged) = (*node, *merged);
                if merged {
                    self.frames.pop();
                    self.leave_alias(node);
                }
                Ok(None)
            }
        }
    }

    fn enter_entry(&mut self, key: usize, value: usize) -> Result<Option<S::Value>, Failure> {
        if self.is_merge_key(key) {
            match self.document.get(value).map(|node| &node.kind) {
                Some(NodeKind::Sequence { end }) => {
                    let mut pending = Vec::new();
                    let mut child = value + 1;
                    while child < *end {
                        pending.push(child);
                        child = self.document.behind(child);
                    }
                    self.frames.push(Frame::Merges { pending });
                }
                _ => self.merge(value)?,
            }
            return Ok(None);
        }
        let Some(key) = self.enter_key(key)? else { return Ok(None) };
        let line = self.document.get(value).map_or(0, |node| node.line);
        if let Some(Frame::Map { key: slot, line: line_slot, .. }) = self.frames.last_mut() {
            *slot = Some(key);
            *line_slot = line;
        }
        self.enter(value)
    }

    /// The key at a node; `None` if a collection stands there, which is found out to be wrong once it is complete.
    fn enter_key(&mut self, at: usize) -> Result<Option<S::Key>, Failure> {
        let target = match self.document.get(at).map(|node| &node.kind) {
            Some(NodeKind::Alias { target, .. }) => *target,
            _ => at,
        };
        let Some(NodeKind::Scalar { text, tag, implicit }) = self.document.get(target).map(|node| &node.kind)
        else {
            self.enter(at)?;
            return Ok(None);
        };
        self.budget.spend()?;
        if target != at {
            self.budget.enter_alias();
            self.budget.spend()?;
            self.budget.leave_alias();
        }
        let leaf = leaf(text, tag.as_deref(), *implicit)?;
        Ok(Some(self.sink.key(leaf)))
    }

    fn is_merge_key(&self, at: usize) -> bool {
        match self.document.get(at).map(|node| &node.kind) {
            Some(NodeKind::Scalar { text, tag, implicit }) => {
                text == "<<" && (*implicit || tag.as_deref() == Some(MERGE_TAG))
            }
            _ => false,
        }
    }

    /// Adds the entries of a mapping, or of an alias for one, to the innermost map.
    fn merge(&mut self, at: usize) -> Result<(), Failure> {
        let kind = |at: usize| self.document.get(at).map(|node| &node.kind);
        match kind(at) {
            Some(NodeKind::Mapping { end }) => {
                self.budget.spend()?;
                self.push_map(at + 1, *end, true);
                Ok(())
            }
            Some(NodeKind::Alias { name, target }) if let Some(NodeKind::Mapping { end }) = kind(*target) => {
                self.budget.spend()?;
                self.enter_alias(at, name, true)?;
                self.budget.spend()?;
                self.push_map(target + 1, *end, true);
                Ok(())
            }
            _ => {
                let problem = "map merge requires map or sequence of maps as the value";
                Err(Failure::Document(problem.to_owned()))
            }
        }
    }
}

/// What a scalar means.
fn leaf<'d>(text: &'d str, tag: Option<&str>, implicit: bool) -> Result<Leaf<'d>, Failure> {
    let scalar = match tag {
        None if implicit => resolve_plain(text),
        None => Scalar::Text,
        Some(BINARY_TAG) => return decode_base64(text).map(Leaf::Bytes),
        Some(tag) => resolve_tagged(tag, text).map_err(Failure::Document)?,
    };
    Ok(match scalar {
        Scalar::Null => Leaf::Null,
        Scalar::Bool(value) => Leaf::Bool(value),
        Scalar::Int(value) => Leaf::Int(value),
        Scalar::Uint(value) => Leaf::Uint(value),
        Scalar::Float(value) => Leaf::Float(value),
        Scalar::Timestamp | Scalar::Text => Leaf::Text(text),
    })
}

/// `base64.StdEncoding.DecodeString`, which passes over line breaks and does not look at the unused last bits.
fn decode_base64(text: &str) -> Result<Vec<u8>, Failure> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
    );
    let text: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    LENIENT
        .decode(text)
        .map_err(|_| Failure::Document("!!binary value contains invalid base64 data".to_owned()))
}
