//! Schemas of values, of every draft.

use serde_json::{Map, Value as Json, json};

use crate::Random;

const DRAFTS: [&str; 7] = [
    "",
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/schema#",
];
/// The keys that made-up values have.
const KEYS: [&str; 8] = ["a", "b", "c", "d", "enabled", "global", "kid", "name"];
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "object", "array", "null"];
const REFERENCES: [&str; 10] = [
    "#/definitions/x",
    "#/$defs/x",
    "#",
    "#/properties/a",
    "#x",
    "#missing",
    "#/definitions/missing",
    "urn:some:thing",
    "#/definitions/a~1b",
    "sub.json",
];
const FORMATS: [&str; 12] = [
    "date",
    "date-time",
    "email",
    "ipv4",
    "ipv6",
    "uri",
    "hostname",
    "regex",
    "uuid",
    "duration",
    "json-pointer",
    "unknown",
];
const PATTERNS: [&str; 8] = ["^a", "^[a-z]+$", "", "\\d", "(", "^(a|b|c)$", "\\p{L}", "x{2,}"];

/// The text of a schema.
pub(super) fn schema(random: &mut Random) -> String {
    if random.one_in(20) {
        return random
            .pick(&["", "{", "null", "1", "[]", "\"x\"", "{} x", "{\"type\": \"nothing\"}"])
            .to_owned();
    }
    let draft = random.pick(&DRAFTS);
    let mut maker = Maker { random, old: draft.contains("draft-04") };
    let mut top = maker.object(3);
    if !draft.is_empty() {
        top.insert("$schema".to_owned(), json!(draft));
    }
    for name in ["definitions", "$defs"] {
        if maker.random.one_in(3) {
            let (x, slashed) = (maker.node(1), maker.node(1));
            top.insert(name.to_owned(), json!({"x": x, "a/b": slashed}));
        }
    }
    Json::Object(top).to_string()
}

struct Maker<'r> {
    random: &'r mut Random,
    /// Draft 4: no schema is a truth value, exclusive limits are.
    old: bool,
}

impl Maker<'_> {
    fn node(&mut self, depth: usize) -> Json {
        if !self.old && self.random.one_in(12) {
            return json!(self.random.one_in(2));
        }
        Json::Object(self.object(depth))
    }

    fn object(&mut self, depth: usize) -> Map<String, Json> {
        let mut out = Map::new();
        for _ in 0..1 + self.random.below(3) {
            let (name, value) = match self.random.below(if depth == 0 { 5 } else { 12 }) {
                0 | 1 => self.limit(),
                2 => ("type", self.types()),
                3 => self.choice(),
                4 => self.members(),
                5 | 6 => ("properties", self.named(depth)),
                7 => self.combined(depth),
                8 => self.of_object(depth),
                9 => self.of_array(depth),
                10 => ("$ref", json!(self.random.pick(&REFERENCES))),
                _ => ("if", self.node(depth - 1)),
            };
            if name == "if" {
                for branch in ["then", "else"] {
                    if self.random.one_in(2) {
                        out.insert(branch.to_owned(), self.node(depth - 1));
                    }
                }
            }
            out.insert(name.to_owned(), value);
        }
        out
    }

    fn types(&mut self) -> Json {
        let kind = self.random.pick(&TYPES);
        if self.random.one_in(3) { json!([kind, self.random.pick(&["string", "null"])]) } else { json!(kind) }
    }

    fn limit(&mut self) -> (&'static str, Json) {
        let number =
            [json!(0), json!(1), json!(2), json!(1.5), json!(-1), json!(0.1)][self.random.below(6)].clone();
        let count = json!(self.random.below(4));
        match self.random.below(14) {
            0 => ("minimum", number),
            1 => ("maximum", number),
            2 => ("multipleOf", number),
            3 if self.old => ("exclusiveMinimum", json!(true)),
            3 => ("exclusiveMinimum", number),
            4 if self.old => ("exclusiveMaximum", json!(true)),
            4 => ("exclusiveMaximum", number),
            5 => ("minLength", count),
            6 => ("maxLength", count),
            7 => ("minItems", count),
            8 => ("maxItems", count),
            9 => ("minProperties", count),
            10 => ("maxProperties", count),
            11 => ("uniqueItems", json!(true)),
            12 => ("pattern", json!(self.random.pick(&PATTERNS))),
            _ => ("format", json!(self.random.pick(&FORMATS))),
        }
    }

    fn choice(&mut self) -> (&'static str, Json) {
        let mut some = || {
            [
                json!(1),
                json!("x"),
                json!(null),
                json!(true),
                json!([]),
                json!({"b": 1}),
                json!(1.5),
                json!("s"),
            ][self.random.below(8)]
            .clone()
        };
        let (first, second, third) = (some(), some(), some());
        if self.random.one_in(2) { ("const", first) } else { ("enum", json!([first, second, third])) }
    }

    fn key(&mut self) -> &'static str {
        KEYS[self.random.below(KEYS.len())]
    }

    fn members(&mut self) -> (&'static str, Json) {
        let (first, second, third) = (self.key(), self.key(), self.key());
        match self.random.below(4) {
            0 => ("dependentRequired", json!({first: [second, third]})),
            1 => ("dependencies", json!({first: [second], third: ["none"]})),
            _ if first == second => ("required", json!([first])),
            _ => ("required", json!([first, second])),
        }
    }

    fn named(&mut self, depth: usize) -> Json {
        let mut out = Map::new();
        for _ in 0..1 + self.random.below(3) {
            out.insert(self.key().to_owned(), self.node(depth - 1));
        }
        Json::Object(out)
    }

    fn combined(&mut self, depth: usize) -> (&'static str, Json) {
        let (first, second) = (self.node(depth - 1), self.node(depth - 1));
        match self.random.below(4) {
            0 => ("allOf", json!([first, second])),
            1 => ("anyOf", json!([first, second])),
            2 => ("oneOf", json!([first, second])),
            _ => ("not", first),
        }
    }

    fn of_object(&mut self, depth: usize) -> (&'static str, Json) {
        let node = self.node(depth - 1);
        match self.random.below(6) {
            0 | 1 => {
                let no = self.random.one_in(2);
                ("additionalProperties", if no { json!(false) } else { node })
            }
            2 => ("patternProperties", json!({self.random.pick(&PATTERNS): node})),
            3 => ("propertyNames", node),
            4 => ("unevaluatedProperties", if self.old { json!(false) } else { node }),
            _ => ("dependentSchemas", json!({self.key(): node})),
        }
    }

    fn of_array(&mut self, depth: usize) -> (&'static str, Json) {
        let (node, other) = (self.node(depth - 1), self.node(depth - 1));
        match self.random.below(7) {
            0 | 1 => ("items", node),
            2 => ("items", json!([node, other])),
            3 => ("prefixItems", json!([node, other])),
            4 => ("additionalItems", node),
            5 => ("contains", node),
            _ => ("unevaluatedItems", node),
        }
    }
}
