//! A structural schema in the making.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Integer,
    Boolean,
    /// A whole number or a string.
    IntOrString,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::IntOrString => "",
        }
    }
}

/// What is known of a value.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Node {
    /// None: it may be anything.
    pub(super) kind: Option<Kind>,
    pub(super) nullable: bool,
    /// Fields that are not known are kept.
    pub(super) preserve: bool,
    pub(super) description: String,
    pub(super) properties: BTreeMap<String, Node>,
    /// Of all fields; then there are no properties.
    pub(super) fields: Option<Box<Node>>,
    pub(super) items: Option<Box<Node>>,
    pub(super) required: Vec<String>,
    pub(super) values: Option<Vec<Value>>,
    /// `minimum`, `pattern` and the like.
    pub(super) bounds: Map<String, Value>,
}

impl Node {
    /// Anything at all.
    pub(super) fn any() -> Self {
        Self { preserve: true, nullable: true, ..Self::default() }
    }

    /// An object with whatever fields.
    pub(super) fn object() -> Self {
        Self { kind: Some(Kind::Object), preserve: true, ..Self::default() }
    }

    /// As a CRD has it.
    pub(super) fn to_json(&self) -> Value {
        let mut json = Map::new();
        let mut put = |key: &str, value: Value| drop(json.insert(key.to_owned(), value));
        if !self.description.is_empty() {
            put("description", self.description.as_str().into());
        }
        match self.kind {
            None => put("x-kubernetes-preserve-unknown-fields", true.into()),
            Some(Kind::IntOrString) => {
                put("x-kubernetes-int-or-string", true.into());
                put("anyOf", json!([{"type": "integer"}, {"type": "string"}]));
            }
            Some(kind) => put("type", kind.name().into()),
        }
        if self.nullable {
            put("nullable", true.into());
        }
        self.validations(&mut put);
        match self.kind {
            Some(Kind::Object) => self.object_json(&mut put),
            None if !self.properties.is_empty() => self.object_json(&mut put),
            Some(Kind::Array) => {
                let items = self.items.as_deref().map_or_else(|| Self::any().to_json(), Self::to_json);
                put("items", items);
            }
            _ => {}
        }
        Value::Object(json)
    }

    fn validations(&self, put: &mut impl FnMut(&str, Value)) {
        // The API server takes null for a value of an enumeration only where it is no null to begin with.
        match &self.values {
            Some(values) if !self.nullable => put("enum", values.clone().into()),
            Some(values) if self.kind == Some(Kind::String) => put("pattern", one_of(values).into()),
            _ => {}
        }
        let has_pattern = self.values.is_some();
        let bounds = self.bounds.iter().filter(|(key, _)| !(has_pattern && *key == "pattern"));
        for (key, value) in bounds {
            put(key, value.clone());
        }
    }

    fn object_json(&self, put: &mut impl FnMut(&str, Value)) {
        if !self.required.is_empty() {
            put("required", self.required.clone().into());
        }
        if !self.properties.is_empty() {
            let properties = self.properties.iter().map(|(name, node)| (name.clone(), node.to_json()));
            put("properties", Value::Object(properties.collect()));
        }
        match &self.fields {
            Some(fields) if self.properties.is_empty() && !self.preserve => {
                put("additionalProperties", fields.to_json());
            }
            _ if self.preserve => put("x-kubernetes-preserve-unknown-fields", true.into()),
            _ => {}
        }
    }

    /// Takes all descriptions away but that of the root.
    pub(super) fn strip_descriptions(&mut self) {
        self.each_below(&mut |node| {
            node.description.clear();
            node.strip_descriptions();
        });
    }

    /// Makes anything of what lies deeper.
    pub(super) fn cut(&mut self, depth: usize) {
        self.each_below(&mut |node| match depth {
            0 | 1 => *node = Self { description: std::mem::take(&mut node.description), ..Self::any() },
            depth => node.cut(depth - 1),
        });
    }

    fn each_below(&mut self, change: &mut dyn FnMut(&mut Self)) {
        self.properties.values_mut().for_each(&mut *change);
        self.items.as_deref_mut().into_iter().for_each(&mut *change);
        self.fields.as_deref_mut().into_iter().for_each(&mut *change);
    }

    /// A schema for what both take, or for more than that.
    pub(super) fn both(self, other: Self) -> Self {
        let Some(kind) = both_kinds(self.kind, other.kind) else {
            // Nothing fits both: who wrote that knows what the chart takes.
            return Self { description: first(self.description, other.description), ..Self::any() };
        };
        let mut properties = self.properties;
        for (name, node) in other.properties {
            let both = match properties.remove(&name) {
                Some(known) => known.both(node),
                None => node,
            };
            properties.insert(name, both);
        }
        let mut bounds = other.bounds;
        bounds.extend(self.bounds);
        let has_properties = !properties.is_empty();
        Self {
            kind,
            nullable: self.nullable || other.nullable,
            preserve: self.preserve || other.preserve || has_properties,
            description: first(self.description, other.description),
            fields: self.fields.or(other.fields).filter(|_| !has_properties),
            properties,
            items: both_items(self.items, other.items),
            required: [self.required, other.required].concat(),
            values: self.values.or(other.values),
            bounds,
        }
    }

    /// A schema for what one of them takes, or for more than that.
    pub(super) fn either(self, other: Self) -> Self {
        let nullable = self.nullable || other.nullable;
        let kind = match (self.kind, other.kind) {
            (Some(a), Some(b)) if a == b => Some(a),
            (
                Some(Kind::Integer | Kind::String | Kind::IntOrString),
                Some(Kind::Integer | Kind::String | Kind::IntOrString),
            ) => Some(Kind::IntOrString),
            (Some(Kind::Integer | Kind::Number), Some(Kind::Integer | Kind::Number)) => Some(Kind::Number),
            _ => None,
        };
        let Some(kind) = kind else { return Self { nullable, ..Self::any() } };
        let mut properties = self.properties;
        for (name, node) in other.properties {
            let either = match properties.remove(&name) {
                Some(known) => known.either(node),
                None => node,
            };
            properties.insert(name, either);
        }
        let values = match (self.values, other.values) {
            (Some(a), Some(b)) if kind != Kind::IntOrString => {
                let more = b.into_iter().filter(|value| !a.contains(value)).collect::<Vec<_>>();
                Some([a, more].concat())
            }
            _ => None,
        };
        let items = match (self.items, other.items) {
            (Some(a), Some(b)) => Some(Box::new(a.either(*b))),
            _ => None,
        };
        Self {
            kind: Some(kind),
            nullable,
            preserve: kind == Kind::Object,
            properties,
            items,
            values,
            bounds: if self.bounds == other.bounds { self.bounds } else { Map::new() },
            ..Self::default()
        }
    }
}

/// A pattern that only these texts fit.
fn one_of(values: &[Value]) -> String {
    let mut pattern = String::from("^(?:");
    for (index, text) in values.iter().filter_map(Value::as_str).enumerate() {
        if index > 0 {
            pattern.push('|');
        }
        for c in text.chars() {
            if "\\.+*?()|[]{}^$".contains(c) {
                pattern.push('\\');
            }
            pattern.push(c);
        }
    }
    pattern + ")$"
}

/// What both kinds take; none when nothing does.
#[expect(clippy::option_option, reason = "no kind is any kind")]
fn both_kinds(a: Option<Kind>, b: Option<Kind>) -> Option<Option<Kind>> {
    match (a, b) {
        (None, kind) | (kind, None) => Some(kind),
        (Some(a), Some(b)) if a == b => Some(Some(a)),
        (Some(Kind::Integer), Some(Kind::Number | Kind::IntOrString))
        | (Some(Kind::Number | Kind::IntOrString), Some(Kind::Integer)) => Some(Some(Kind::Integer)),
        (Some(Kind::String), Some(Kind::IntOrString)) | (Some(Kind::IntOrString), Some(Kind::String)) => {
            Some(Some(Kind::String))
        }
        _ => None,
    }
}

fn both_items(a: Option<Box<Node>>, b: Option<Box<Node>>) -> Option<Box<Node>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Box::new(a.both(*b))),
        (a, b) => a.or(b),
    }
}

fn first(a: String, b: String) -> String {
    if a.is_empty() { b } else { a }
}
