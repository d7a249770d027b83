//! A schema that is made of a chart's values.
//!
//! A default says little about what else a chart takes: `tag: latest` may be 8, `resources: {}` may hold a list, and
//! `existingClaim: false` a name. So a type is told only where another one would make no sense: objects with fields, lists with
//! items, truth values that templates only ask, and texts that are no number written as one. A whole number may be given as a
//! text. All else may be anything; what it usually is stands in the description.

use helm_chart::Chart;
use helm_template::{Map, Value};
use serde_json::Value as Json;

use super::comments::Comments;
use super::evidence::Evidence;
use super::node::{Kind, Node};

/// Longer defaults are not told.
const MOST_DEFAULT: usize = 80;
/// Deeper values may be anything.
const MOST_DEPTH: usize = 24;
/// What quantities are called: numbers with or without a fraction and a unit.
const QUANTITIES: [&str; 8] = ["cpu", "memory", "storage", "size", "limits", "requests", "ratio", "weight"];
/// What texts that are no numbers are called.
const TEXTS: [&str; 12] = [
    "repository",
    "registry",
    "image",
    "name",
    "host",
    "hostname",
    "path",
    "url",
    "policy",
    "class",
    "type",
    "namespace",
];

/// What the values say of themselves.
pub(super) fn infer(chart: &Chart, defaults: &Map, comments: &Comments) -> Node {
    let inference = Inference { comments, evidence: Evidence::of(chart) };
    let mut node = inference.map(defaults, &mut Vec::new());
    node.nullable = false;
    node
}

/// Adds comments and defaults to a schema that was written by somebody.
pub(super) fn describe(node: &mut Node, defaults: &Map, comments: &Comments) {
    describe_at(node, Some(&Value::Map(defaults.clone())), comments, &mut Vec::new());
}

fn describe_at(node: &mut Node, default: Option<&Value>, comments: &Comments, path: &mut Vec<String>) {
    if node.description.is_empty() {
        comments.get(path).clone_into(&mut node.description);
    }
    if let Some(default) = default {
        node.description = with_default(&node.description, default);
    }
    for (name, property) in &mut node.properties {
        path.push(name.clone());
        let below = default.and_then(Value::as_map).and_then(|map| map.get(name));
        describe_at(property, below.as_ref(), comments, path);
        path.pop();
    }
}

/// A description that ends with the default, when that is short.
fn with_default(said: &str, default: &Value) -> String {
    let json = match default {
        Value::Map(map) if map.is_empty() => Some(Json::Object(serde_json::Map::new())),
        Value::Map(_) | Value::Nil => None,
        other => helm_yaml::json::to_json(other).ok().and_then(|json| serde_json::from_slice(&json).ok()),
    };
    let Some(text) = json.map(|json| json.to_string()).filter(|text| text.len() <= MOST_DEFAULT) else {
        return said.to_owned();
    };
    match said {
        "" => format!("Default: {text}"),
        said if said.ends_with(['.', '!', '?', '…', ')']) => format!("{said} Default: {text}"),
        said => format!("{said}. Default: {text}"),
    }
}

struct Inference<'a> {
    comments: &'a Comments,
    evidence: Evidence,
}

impl Inference<'_> {
    fn map(&self, map: &Map, path: &mut Vec<String>) -> Node {
        let mut node = Node { nullable: true, ..Node::object() };
        for (key, value) in map.snapshot() {
            let key = key.to_string();
            path.push(key.clone());
            node.properties.insert(key, self.value(&value, path));
            path.pop();
        }
        node
    }

    fn value(&self, value: &Value, path: &mut Vec<String>) -> Node {
        let asked = self.evidence.is_asked(path);
        let node = match value {
            Value::Map(map) if !map.is_empty() && path.len() < MOST_DEPTH => {
                let node = self.map(map, path);
                if asked { Node { kind: None, ..node } } else { node }
            }
            _ if asked => Node::any(),
            Value::List(list) if !list.is_empty() => Node {
                kind: Some(Kind::Array),
                nullable: true,
                items: Some(Box::new(Node::any())),
                ..Node::default()
            },
            Value::Bool(_) if !self.evidence.is_written(path) && !self.evidence.is_compared(path) => {
                Node { kind: Some(Kind::Boolean), nullable: true, ..Node::default() }
            }
            Value::String(_) | Value::Float(..) | Value::Int(..) | Value::Uint(..) => scalar(value, path),
            _ => Node::any(),
        };
        let said = self.comments.get(path);
        Node { description: with_default(said, value), ..node }
    }
}

fn scalar(value: &Value, path: &[String]) -> Node {
    let kind = match value {
        Value::Float(number, _) if number.fract() == 0.0 && !is_quantity(path) => Some(Kind::IntOrString),
        Value::Int(..) | Value::Uint(..) if !is_quantity(path) => Some(Kind::IntOrString),
        Value::String(text) => text.as_str().and_then(|text| of_text(text, path)),
        _ => None,
    };
    match kind {
        Some(_) => Node { kind, nullable: true, ..Node::default() },
        None => Node::any(),
    }
}

/// The last words of the keys `imagePullPolicy` and `storage_class` are policy and class.
fn ends_with_any(path: &[String], words: &[&str]) -> bool {
    path.last().is_some_and(|key| {
        let key = key.to_lowercase();
        words.iter().any(|word| key.ends_with(word))
    })
}

fn is_quantity(path: &[String]) -> bool {
    ends_with_any(path, &QUANTITIES) || path.iter().any(|key| matches!(&**key, "limits" | "requests"))
}

fn of_text(text: &str, path: &[String]) -> Option<Kind> {
    let is_wordy =
        text.chars().any(|c| c.is_ascii_alphabetic()) && !text.starts_with(|c: char| c.is_ascii_digit());
    let is_truth =
        matches!(&*text.to_lowercase(), "true" | "false" | "yes" | "no" | "on" | "off" | "auto" | "null");
    if !is_wordy || is_truth || is_quantity(path) {
        return None;
    }
    let is_text = ends_with_any(path, &TEXTS) || text.contains(['/', ' ', '{', '\n', ':']);
    // Versions are told with and without a dot.
    let is_version = ends_with_any(path, &["tag", "version"]);
    if is_version {
        return None;
    }
    Some(if is_text { Kind::String } else { Kind::IntOrString })
}
