//! What is signed: a chart's `Chart.yaml` and, after a line of three dots, the checksums of files.

use std::collections::BTreeMap;

use helm_template::{FloatType, Map, Value, fmt::sprintf};
use helm_yaml::Duplicates;

use crate::error::SumsError;

const SEPARATOR: &[u8] = b"\n...\n";

/// The checksums of files, by their names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) files: BTreeMap<String, String>,
}

impl Sums {
    /// Reads the checksums in a message.
    pub(crate) fn read(message: &[u8]) -> Result<Self, SumsError> {
        let start = memchr::memmem::find(message, SEPARATOR).ok_or(SumsError::Missing)? + SEPARATOR.len();
        let rest = message.get(start..).unwrap_or_default();
        let end = memchr::memmem::find(rest, SEPARATOR).unwrap_or(rest.len());
        let part = rest.get(..end).unwrap_or_default();
        let fields = match helm_yaml::from_yaml_exact(part, Duplicates::LastWins)? {
            Value::Map(map) => map,
            Value::Nil => Map::new(),
            other => return Err(shape(&other, "Go value of type provenance.SumCollection")),
        };
        let mut sums = Self::default();
        for (name, value) in &fields.snapshot() {
            let name = name.to_string();
            match name.to_ascii_lowercase().as_str() {
                "files" => sums.files.append(&mut entries(&name, value)?),
                // Nobody looks at the checksums of images, but they have to be some.
                "images" => drop(entries(&name, value)?),
                _ => {}
            }
        }
        Ok(sums)
    }
}

fn entries(field: &str, value: &Value) -> Result<BTreeMap<String, String>, SumsError> {
    let map = match value {
        Value::Map(map) => map,
        Value::Nil => return Ok(BTreeMap::new()),
        other => return Err(shape(other, target(&[field], "map[string]string"))),
    };
    let entry = |(name, value): &(helm_template::Str, Value)| {
        let name = name.to_string();
        let text = text(value).ok_or_else(|| shape(value, target(&[field, &name], "string")))?;
        Ok((name, text))
    };
    map.snapshot().iter().map(entry).collect()
}

/// Go's words for where a value stands. It writes a JSON pointer with dots for slashes, and takes what ends with a
/// number for an element of a list.
fn target(path: &[&str], go_type: &str) -> String {
    let is_element =
        path.last().is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()));
    let mut text = if is_element { String::new() } else { "Go struct field ".to_owned() };
    for name in path {
        text.push('.');
        text.push_str(&name.replace('~', "~0").replace('/', "~1"));
    }
    text + " of type " + go_type
}

/// A scalar as sigs.k8s.io/yaml makes a string of it.
fn text(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.to_string(),
        Value::Nil => String::new(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number, _) => number.to_string(),
        Value::Uint(number, _) => number.to_string(),
        #[expect(clippy::cast_possible_truncation, reason = "Go formats with 32 bits")]
        Value::Float(number, _) => {
            let number = Value::Float(f64::from(*number as f32), FloatType::Float32);
            sprintf("%g", &[number]).ok()?.to_string()
        }
        _ => return None,
    })
}

fn shape(value: &Value, target: impl Into<String>) -> SumsError {
    let found = match value {
        Value::List(_) => "array",
        Value::Map(_) => "object",
        Value::Bool(_) => "bool",
        Value::Int(..) | Value::Uint(..) | Value::Float(..) => "number",
        _ => "string",
    };
    SumsError::Shape { found, target: target.into() }
}
