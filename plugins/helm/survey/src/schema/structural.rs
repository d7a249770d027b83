//! A JSON schema of any draft into a structural one.
//!
//! The result takes at least what the schema takes. What a CRD cannot say (`not`, `if`, `patternProperties`, dependencies) is
//! left out; `allOf` is folded, and so is `anyOf` where its branches are of one type. Required fields are required in items of
//! lists only: everywhere else they may come from the chart's defaults, to which the schema is applied together with the
//! values.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::node::{Kind, Node};
use super::references::resolve;

/// Deeper values may be anything.
const MOST_DEPTH: usize = 20;
/// Schemas that are looked at; each reference counts again.
const MOST_NODES: usize = 6000;
/// How often a definition may contain itself.
const MOST_REPEATS: usize = 2;

/// Converts one schema.
pub(super) struct Converter<'s> {
    root: &'s Value,
    /// Words beside a `$ref` count since the draft of 2019.
    siblings: bool,
    /// The references that are being followed.
    open: Vec<&'s str>,
    nodes: usize,
    notes: BTreeSet<String>,
}

/// Where a schema stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    depth: usize,
    /// Within a list, which takes the place of the chart's own as a whole.
    in_list: bool,
}

impl Place {
    fn below(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

impl<'s> Converter<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let siblings = draft.contains("2019-09") || draft.contains("2020-12");
        Self { root, siblings, open: Vec::new(), nodes: 0, notes: BTreeSet::new() }
    }

    pub(super) fn convert(&mut self) -> Node {
        self.schema(self.root, Place { depth: 0, in_list: false })
    }

    pub(super) fn into_notes(self) -> BTreeSet<String> {
        self.notes
    }

    fn schema(&mut self, schema: &'s Value, place: Place) -> Node {
        self.nodes += 1;
        let Value::Object(fields) = schema else { return Node::any() };
        let description = description(fields);
        if place.depth > MOST_DEPTH || self.nodes > MOST_NODES {
            self.notes.insert(
                "values.schema.json is told in part: it is nested deep, or contains itself often".into(),
            );
            return Node { description, ..Node::any() };
        }
        let node = match fields.get("$ref").or_else(|| fields.get("$dynamicRef")).and_then(Value::as_str) {
            Some(reference) => {
                let referred = self.reference(reference, place);
                if self.siblings { self.plain(fields, place).both(referred) } else { referred }
            }
            None => self.plain(fields, place),
        };
        let said = if description.is_empty() { node.description.clone() } else { description };
        Node { description: with_choice(said, node.values.as_deref()), ..node }
    }

    fn reference(&mut self, reference: &'s str, place: Place) -> Node {
        let Some(found) = resolve(self.root, reference) else {
            self.notes.insert(format!(
                "values.schema.json refers to {reference}, which is not in it: it may be anything"
            ));
            return Node::any();
        };
        if self.open.iter().filter(|open| **open == reference).count() >= MOST_REPEATS {
            return Node::any();
        }
        self.open.push(reference);
        let node = self.schema(found, place);
        self.open.pop();
        node
    }

    /// A schema without its reference.
    fn plain(&mut self, fields: &'s Map<String, Value>, place: Place) -> Node {
        let mut node = self.own(fields, place);
        for schema in list(fields, "allOf") {
            let part = self.schema(schema, place);
            node = node.both(part);
        }
        for word in ["anyOf", "oneOf"] {
            let (nulls, rest): (Vec<_>, Vec<_>) =
                list(fields, word).iter().partition(|branch| is_null(branch));
            node.nullable |= !nulls.is_empty();
            let mut branches = rest.into_iter();
            let Some(first) = branches.next() else { continue };
            let mut either = self.schema(first, place);
            for branch in branches {
                let branch = self.schema(branch, place);
                either = either.either(branch);
            }
            either.required.clear();
            // A branch without a type only adds to what stands beside it.
            if either.kind.is_some() || node.kind.is_none() {
                node = node.both(either);
            } else {
                node.preserve |= node.kind == Some(Kind::Object);
            }
        }
        if ["if", "then", "else", "not", "dependentSchemas", "dependencies"]
            .iter()
            .any(|word| fields.contains_key(*word))
        {
            node.preserve |= node.kind == Some(Kind::Object);
        }
        node
    }

    /// What the schema says itself.
    fn own(&mut self, fields: &'s Map<String, Value>, place: Place) -> Node {
        let (kind, nullable) = match kind(fields) {
            (None, nullable) if !fields.contains_key("type") => {
                (kind_of(values(fields).as_deref()), nullable)
            }
            told => told,
        };
        let mut node = Node { kind, nullable, preserve: kind.is_none(), ..Node::default() };
        if matches!(kind, Some(Kind::Object) | None) {
            self.object(&mut node, fields, place);
        }
        if kind == Some(Kind::Array) {
            let items =
                fields.get("items").filter(|items| items.is_object() && !fields.contains_key("prefixItems"));
            let below = Place { in_list: true, ..place.below() };
            node.items = items.map(|items| Box::new(self.schema(items, below)));
        }
        // An object's fields may come from the chart's defaults.
        let is_whole = place.in_list || !matches!(kind, Some(Kind::Object) | None);
        if is_whole && kind != Some(Kind::IntOrString) {
            node.values = values(fields);
        }
        if let Some(kind) = kind {
            node.bounds = bounds(fields, kind);
        }
        node
    }

    fn object(&mut self, node: &mut Node, fields: &'s Map<String, Value>, place: Place) {
        let properties = fields.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            let mut property = self.schema(schema, place.below());
            // Null takes a default away, but in lists it is a value.
            property.nullable |= !place.in_list;
            node.properties.insert(name.clone(), property);
        }
        let unsure = ["patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref"];
        let is_sure = !unsure.iter().any(|word| fields.contains_key(*word));
        match fields.get("additionalProperties") {
            Some(Value::Bool(false)) if is_sure => node.preserve = node.kind.is_none(),
            Some(schema @ Value::Object(_))
                if is_sure && node.properties.is_empty() && node.kind.is_some() =>
            {
                let below = self.schema(schema, place.below());
                node.fields = Some(Box::new(Node { nullable: true, ..below }));
            }
            _ => node.preserve = true,
        }
        if place.in_list && node.kind.is_some() {
            let required = list(fields, "required").iter().filter_map(Value::as_str);
            let mut seen = BTreeSet::new();
            node.required = required.filter(|name| seen.insert(*name)).map(str::to_owned).collect();
        }
    }
}

/// What may be chosen, as a sentence.
fn with_choice(said: String, values: Option<&[Value]>) -> String {
    let Some(values) = values.filter(|values| values.len() <= 24 && !said.contains("One of ")) else {
        return said;
    };
    let words: Vec<String> = values.iter().map(Value::to_string).collect();
    let end = if said.is_empty() || said.ends_with(['.', '!', '?', '…', ')']) { "" } else { "." };
    format!("{said}{end} One of {}.", words.join(", ")).trim().to_owned()
}

fn list<'s>(fields: &'s Map<String, Value>, word: &str) -> &'s [Value] {
    fields.get(word).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn description(fields: &Map<String, Value>) -> String {
    let text = |word: &str| fields.get(word).and_then(Value::as_str).unwrap_or_default().trim();
    let said = if text("description").is_empty() { text("title") } else { text("description") };
    let deprecated = fields.get("deprecated") == Some(&Value::Bool(true));
    let mut said = super::comments::shortened(said);
    if deprecated {
        said = if said.is_empty() { "Deprecated.".to_owned() } else { format!("Deprecated. {said}") };
    }
    said
}

/// The type, and whether null is one.
fn kind(fields: &Map<String, Value>) -> (Option<Kind>, bool) {
    let named = |name: &str| match name {
        "object" => Some(Kind::Object),
        "array" => Some(Kind::Array),
        "string" => Some(Kind::String),
        "number" => Some(Kind::Number),
        "integer" => Some(Kind::Integer),
        "boolean" => Some(Kind::Boolean),
        _ => None,
    };
    match fields.get("type") {
        Some(Value::String(name)) => (named(name), name == "null"),
        Some(Value::Array(names)) => {
            let names: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
            let nullable = names.contains("null");
            let kinds: Vec<&str> = names.into_iter().filter(|name| *name != "null").collect();
            let kind = match kinds.as_slice() {
                [name] => named(name),
                ["integer", "string"] => Some(Kind::IntOrString),
                ["integer", "number"] => Some(Kind::Number),
                _ => None,
            };
            (kind, nullable)
        }
        _ => (None, true),
    }
}

/// Whether a schema takes null and nothing else.
fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null") || schema.get("const") == Some(&Value::Null)
}

/// The type that all values have.
fn kind_of(values: Option<&[Value]>) -> Option<Kind> {
    let values = values?;
    let all = |is: fn(&Value) -> bool| values.iter().all(is);
    match () {
        () if all(Value::is_string) => Some(Kind::String),
        () if all(Value::is_boolean) => Some(Kind::Boolean),
        () if all(Value::is_number) => Some(Kind::Number),
        () => None,
    }
}

fn values(fields: &Map<String, Value>) -> Option<Vec<Value>> {
    let scalars = |values: &[Value]| values.iter().all(|value| !value.is_object() && !value.is_array());
    if let Some(value) = fields.get("const") {
        return scalars(std::slice::from_ref(value)).then(|| vec![value.clone()]);
    }
    let mut values = list(fields, "enum").to_vec();
    let mut seen = BTreeSet::new();
    values.retain(|value| seen.insert(value.to_string()));
    (!values.is_empty() && scalars(&values)).then_some(values)
}

/// Bounds that mean the same in both. Formats do not: what is an e-mail address or an URI is judged otherwise.
fn bounds(fields: &Map<String, Value>, kind: Kind) -> Map<String, Value> {
    let mut bounds = Map::new();
    match kind {
        Kind::String => {
            lengths(fields, &["minLength", "maxLength"], &mut bounds);
            let pattern = fields.get("pattern").filter(|pattern| {
                pattern.as_str().is_some_and(|pattern| helm_functions::check_regex(pattern).is_ok())
            });
            bounds.extend(pattern.map(|pattern| ("pattern".to_owned(), pattern.clone())));
        }
        Kind::Array => lengths(fields, &["minItems", "maxItems"], &mut bounds),
        Kind::Integer | Kind::Number => {
            limit(fields, "minimum", "exclusiveMinimum", f64::max, &mut bounds);
            limit(fields, "maximum", "exclusiveMaximum", f64::min, &mut bounds);
        }
        Kind::Object | Kind::Boolean | Kind::IntOrString => {}
    }
    bounds
}

fn lengths(fields: &Map<String, Value>, words: &[&str], bounds: &mut Map<String, Value>) {
    let length = |word: &&str| {
        fields.get(*word).filter(|length| length.as_u64().is_some_and(|length| length < 1 << 31))
    };
    bounds.extend(words.iter().filter_map(|word| Some(((*word).to_owned(), length(word)?.clone()))));
}

/// Since the sixth draft the exclusive limit is a number of its own.
fn limit(
    fields: &Map<String, Value>,
    word: &str,
    exclusive: &str,
    stricter: fn(f64, f64) -> f64,
    bounds: &mut Map<String, Value>,
) {
    let inclusive = fields.get(word).and_then(Value::as_f64);
    let (limit, is_exclusive) = match (inclusive, fields.get(exclusive)) {
        (Some(limit), Some(Value::Bool(is_exclusive))) => (limit, *is_exclusive),
        (Some(limit), None) => (limit, false),
        (inclusive, Some(Value::Number(number))) => {
            let own = number.as_f64().unwrap_or_default();
            match inclusive {
                Some(limit) if stricter(limit, own) != own => (limit, false),
                _ => (own, true),
            }
        }
        _ => return,
    };
    bounds.insert(word.to_owned(), whole(limit));
    if is_exclusive {
        bounds.insert(exclusive.to_owned(), true.into());
    }
}

/// Whole numbers without a fraction.
fn whole(number: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "numbers of this size have no fraction to lose")]
    let integer = number as i64;
    if number.fract() == 0.0 && number.abs() < 9e15 { integer.into() } else { number.into() }
}
