//! Values that plainly fit a schema of the usual keywords, told without compiling it.
//!
//! Most schemas of charts say types, properties, bounds and choices, and most values fit them. Compiling such a schema and
//! checking it against its own schema takes many times longer than rendering the chart. So whatever is unusual or does
//! not fit is left to the library, which alone finds out what is wrong and how to say it.

use helm_template::{List, Map, Value};
use regex::Regex;
use serde_json::{Map as Object, Value as Json};
use std::cell::Cell;
use std::collections::HashMap;

/// Whole numbers up to here are the same as floats.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// References may go round.
const MAX_DEPTH: usize = 64;
/// Compiling many takes as long as the library does.
const MAX_PATTERNS: usize = 32;
/// References below references multiply: looking at more schemas than this takes longer than the library does.
const MAX_STEPS: u32 = 1_000_000;
/// Comparing all entries of a longer list with each other takes longer, too.
const MAX_DISTINCT: usize = 512;

/// What `$schema` may say: drafts in which the keywords below mean the same.
const DRAFTS: [&str; 7] = [
    "http://json-schema.org/schema",
    "https://json-schema.org/schema",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft/2020-12/schema",
];

/// Keywords of any of the drafts that are not known here. All others that are not known say nothing about values.
const UNUSUAL: [&str; 35] = [
    "additionalItems",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "id",
    "if",
    "maxContains",
    "maxProperties",
    "minContains",
    "minProperties",
    "multipleOf",
    "not",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$schema",
    "$vocabulary",
];

/// A schema that is well formed and has no other keywords than these.
#[derive(Debug)]
pub(super) struct Plain<'s> {
    root: &'s Json,
    patterns: &'s Patterns,
    steps: Cell<u32>,
}

/// The patterns of a schema, compiled.
pub(super) type Patterns = HashMap<String, Regex>;

/// Whether all of a schema is well formed and uses nothing but the keywords that are known here; then its patterns.
pub(super) fn patterns(schema: &Json) -> Option<Patterns> {
    let draft = match schema.get("$schema") {
        None => true,
        Some(Json::String(draft)) => DRAFTS.contains(&draft.strip_suffix('#').unwrap_or(draft)),
        Some(_) => false,
    };
    let mut patterns = Patterns::new();
    (draft && Reader { root: schema, patterns: &mut patterns }.schema(schema, true)).then_some(patterns)
}

/// Looks at all of a schema.
struct Reader<'s> {
    root: &'s Json,
    patterns: &'s mut Patterns,
}

impl Reader<'_> {
    fn schema(&mut self, schema: &Json, is_root: bool) -> bool {
        match schema {
            Json::Bool(_) => true,
            Json::Object(keywords) => {
                (!keywords.contains_key("$ref") || keywords.keys().all(|keyword| beside_reference(keyword)))
                    && keywords.iter().all(|(keyword, value)| {
                        (is_root && is_of_root(keyword, value)) || self.keyword(keyword, value)
                    })
            }
            _ => false,
        }
    }

    /// Whether a keyword is known and its value is what the drafts allow.
    fn keyword(&mut self, keyword: &str, value: &Json) -> bool {
        match keyword {
            "title" | "description" | "$comment" => value.is_string(),
            "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
            "examples" => value.is_array(),
            "enum" => value.as_array().is_some_and(|choices| !choices.is_empty() && distinct(choices)),
            "default" | "const" => true,
            "minimum" | "maximum" => number(value).is_some(),
            "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
            "pattern" => value.as_str().is_some_and(|pattern| self.pattern(pattern)),
            "type" => match value {
                Json::Array(names) => !names.is_empty() && distinct(names) && names.iter().all(is_type),
                name => is_type(name),
            },
            "required" => {
                value.as_array().is_some_and(|names| names.iter().all(Json::is_string) && distinct(names))
            }
            "properties" | "definitions" | "$defs" => value
                .as_object()
                .is_some_and(|schemas| schemas.values().all(|schema| self.schema(schema, false))),
            "items" | "additionalProperties" => self.schema(value, false),
            "allOf" | "anyOf" | "oneOf" => value.as_array().is_some_and(|schemas| {
                !schemas.is_empty() && schemas.iter().all(|schema| self.schema(schema, false))
            }),
            "$ref" => target(self.root, value).is_some(),
            _ => !keyword.starts_with('$') && !UNUSUAL.contains(&keyword),
        }
    }

    /// Without a backslash a pattern means the same in the library, which turns JavaScript's classes into Rust's.
    fn pattern(&mut self, pattern: &str) -> bool {
        if pattern.contains('\\') || self.patterns.len() >= MAX_PATTERNS {
            return false;
        }
        Regex::new(pattern).is_ok_and(|regex| {
            self.patterns.insert(pattern.to_owned(), regex);
            true
        })
    }
}

/// The definition that a reference names.
fn target<'s>(root: &'s Json, reference: &Json) -> Option<&'s Json> {
    let path = reference.as_str()?.strip_prefix("#/")?;
    let (place, name) = path.split_once('/')?;
    let simple = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !matches!(place, "definitions" | "$defs") || !name.bytes().all(simple) {
        return None;
    }
    root.get(place)?.get(name)
}

impl<'s> Plain<'s> {
    /// A schema with its [`patterns`].
    pub(super) fn new(root: &'s Json, patterns: &'s Patterns) -> Self {
        Self { root, patterns, steps: Cell::new(MAX_STEPS) }
    }

    /// Whether a value fits; `None` where that is not sure.
    pub(super) fn allows(&self, value: &Value) -> Option<bool> {
        self.fits(self.root, value, MAX_DEPTH)
    }

    fn fits(&self, schema: &Json, value: &Value, depth: usize) -> Option<bool> {
        let depth = depth.checked_sub(1)?;
        self.steps.set(self.steps.get().checked_sub(1)?);
        match schema {
            Json::Bool(allowed) => Some(*allowed),
            Json::Object(keywords) => match keywords.get("$ref") {
                Some(reference) => self.fits(target(self.root, reference)?, value, depth),
                None => self.fits_keywords(keywords, value, depth),
            },
            _ => None,
        }
    }

    fn fits_keywords(&self, keywords: &Object<String, Json>, value: &Value, depth: usize) -> Option<bool> {
        let keyword = |(keyword, wanted): (&String, &Json)| match keyword.as_str() {
            "type" => match wanted {
                Json::Array(names) => any(names.iter().map(|name| has_type(value, name))),
                name => has_type(value, name),
            },
            "enum" => any(wanted.as_array()?.iter().map(|choice| equal(value, choice))),
            "const" => equal(value, wanted),
            "allOf" => all(self.each(wanted, value, depth)?),
            "anyOf" => any(self.each(wanted, value, depth)?),
            "oneOf" => {
                let fits: Option<Vec<bool>> = self.each(wanted, value, depth)?.collect();
                Some(fits?.into_iter().filter(|fits| *fits).count() == 1)
            }
            _ => Some(true),
        };
        let whole = match value {
            Value::Map(map) => self.fits_object(keywords, map, depth),
            Value::List(list) => self.fits_list(keywords, list, depth),
            Value::String(text) => self.fits_text(keywords, text.as_bytes()),
            Value::Int(..) | Value::Uint(..) | Value::Float(..) => in_bounds(keywords, value),
            Value::Nil | Value::Bool(_) => Some(true),
            _ => None,
        };
        all(keywords.iter().map(keyword).chain([whole]))
    }

    /// Whether a value fits, for each schema of a list.
    fn each<'v>(
        &'v self,
        schemas: &'v Json,
        value: &'v Value,
        depth: usize,
    ) -> Option<impl Iterator<Item = Option<bool>> + 'v> {
        Some(schemas.as_array()?.iter().map(move |schema| self.fits(schema, value, depth)))
    }

    fn fits_list(&self, keywords: &Object<String, Json>, list: &List, depth: usize) -> Option<bool> {
        let length = within(keywords, ["minItems", "maxItems"], list.len());
        let schema = keywords.get("items").into_iter();
        let items = schema.flat_map(|schema| list.iter().map(|item| self.fits(schema, item, depth)));
        all([Some(length)].into_iter().chain(items))
    }

    fn fits_text(&self, keywords: &Object<String, Json>, text: &[u8]) -> Option<bool> {
        let text = std::str::from_utf8(text).ok()?;
        if let Some(pattern) = keywords.get("pattern")
            && !self.patterns.get(pattern.as_str()?)?.is_match(text)
        {
            return Some(false);
        }
        let bounded = keywords.contains_key("minLength") || keywords.contains_key("maxLength");
        Some(!bounded || within(keywords, ["minLength", "maxLength"], text.chars().count()))
    }

    fn fits_object(&self, keywords: &Object<String, Json>, map: &Map, depth: usize) -> Option<bool> {
        let has = |name: &Json| name.as_str().is_some_and(|name| map.get(name).is_some());
        if !keywords.get("required").and_then(Json::as_array).is_none_or(|names| names.iter().all(has)) {
            return Some(false);
        }
        let (properties, others) = (keywords.get("properties"), keywords.get("additionalProperties"));
        if properties.is_none() && others.is_none() {
            return Some(true);
        }
        let entries = map.snapshot();
        all(entries.iter().map(|(name, value)| {
            let name = std::str::from_utf8(name.as_bytes()).ok()?;
            match properties.and_then(|properties| properties.get(name)).or(others) {
                Some(schema) => self.fits(schema, value, depth),
                None => Some(true),
            }
        }))
    }
}

/// Whether all hold: one that does not decides, however unsure others are.
fn all(mut known: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut sure = true;
    let fails = known.any(|holds| {
        sure &= holds.is_some();
        holds == Some(false)
    });
    if fails { Some(false) } else { sure.then_some(true) }
}

/// Whether one holds, likewise.
fn any(known: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all(known.map(|holds| holds.map(|holds| !holds))).map(|none| !none)
}

/// Keywords that only the whole schema may have here: its draft, which was looked at, and its name. References of the kind
/// that [`target`] knows mean the same whatever the name is.
fn is_of_root(keyword: &str, value: &Json) -> bool {
    let simple = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    let name = |name: &str| {
        let path = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://"));
        path.is_some_and(|path| {
            path.bytes().all(simple) && !path.is_empty() && !path.starts_with("json-schema.org")
        })
    };
    keyword == "$schema" || (keyword == "$id" && value.as_str().is_some_and(name))
}

/// What may stand beside `$ref`, which older drafts take alone and newer ones do not: nothing that checks values.
fn beside_reference(keyword: &str) -> bool {
    matches!(
        keyword,
        "$ref"
            | "$schema"
            | "$defs"
            | "definitions"
            | "title"
            | "description"
            | "default"
            | "examples"
            | "$comment"
            | "deprecated"
    )
}

fn is_type(name: &Json) -> bool {
    const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
    name.as_str().is_some_and(|name| TYPES.contains(&name))
}

fn distinct(values: &[Json]) -> bool {
    values.len() <= MAX_DISTINCT
        && values
            .iter()
            .enumerate()
            .all(|(index, value)| !values.iter().take(index).any(|other| other == value))
}

fn has_type(value: &Value, name: &Json) -> Option<bool> {
    let name = name.as_str()?;
    Some(match value {
        Value::Nil => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::List(_) => name == "array",
        Value::Map(_) => name == "object",
        Value::Int(..) | Value::Uint(..) => matches!(name, "integer" | "number"),
        Value::Float(..) => name == "number" || (name == "integer" && exact(value)?.fract() == 0.0),
        _ => return None,
    })
}

/// A number that comparisons are exact for.
fn number(value: &Json) -> Option<f64> {
    value.as_f64().filter(|number| number.abs() < EXACT)
}

fn equal(value: &Value, wanted: &Json) -> Option<bool> {
    match (value, wanted) {
        (Value::Nil, Json::Null) => Some(true),
        (Value::Bool(value), Json::Bool(wanted)) => Some(value == wanted),
        (Value::String(value), Json::String(wanted)) => Some(value.as_bytes() == wanted.as_bytes()),
        (Value::Int(..) | Value::Uint(..) | Value::Float(..), Json::Number(_)) => {
            Some(exact(value)? - number(wanted)? == 0.0)
        }
        (Value::List(_), Json::Array(_)) | (Value::Map(_), Json::Object(_)) => None,
        (Value::Bytes(_) | Value::Object(_) | Value::Func(_), _) => None,
        _ => Some(false),
    }
}

/// The number a value is, where floats hold it exactly.
fn exact(value: &Value) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "what is not exact is left out below")]
    let number = match value {
        Value::Int(number, _) => *number as f64,
        Value::Uint(number, _) => *number as f64,
        Value::Float(number, _) => *number,
        _ => return None,
    };
    (number.abs() < EXACT).then_some(number)
}

fn in_bounds(keywords: &Object<String, Json>, value: &Value) -> Option<bool> {
    let bound = |keyword: &str, holds: fn(&f64, &f64) -> bool| match keywords.get(keyword) {
        None => Some(true),
        Some(bound) => Some(holds(&exact(value)?, &number(bound)?)),
    };
    all([bound("minimum", f64::ge), bound("maximum", f64::le)].into_iter())
}

/// Whether a length keeps to its bounds.
fn within(keywords: &Object<String, Json>, [least, most]: [&str; 2], length: usize) -> bool {
    let bound = |keyword: &str| keywords.get(keyword).and_then(Json::as_u64);
    let length = length as u64;
    bound(least).is_none_or(|least| length >= least) && bound(most).is_none_or(|most| length <= most)
}

#[cfg(test)]
mod tests;
