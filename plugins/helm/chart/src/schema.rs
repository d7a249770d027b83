//! `values.schema.json`: values checked per chart, with the texts of the library Helm uses
//! (santhosh-tekuri/jsonschema v6).
//!
//! Where Go goes through properties in random order we go by their names; which places those are is said where the
//! conformance tool compares. Schemas at other addresses are not
//! loaded; `urn:` references allow everything, as in Helm.

mod collapsed;
mod formats;
mod location;
mod number;
mod plain;
mod text;

use crate::{
    chart::Chart,
    coalesce::Warnings,
    log::{Level, Remark},
    values::is_table,
};
use boon::{Compiler, SchemaIndex, Schemas, UrlLoader};
use helm_template::{Map, Value, fmt::quote};
use plain::{Patterns, Plain};
use std::{cell::OnceCell, collections::HashMap, error::Error, fmt::Write as _, rc::Rc};
use thiserror::Error as ThisError;

const LOCATION: &str = "file:///values.schema.json";

/// Values that break a schema, or a schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
pub struct SchemaError(pub String);

/// Schemas that were looked at, kept by their bytes.
#[derive(Default)]
pub struct SchemaCache {
    schemas: HashMap<Rc<[u8]>, Rc<Schema>>,
}

impl std::fmt::Debug for SchemaCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SchemaCache({} schemas)", self.schemas.len())
    }
}

struct Schema {
    document: Result<serde_json::Value, String>,
    /// Those of a plain schema.
    patterns: Option<Patterns>,
    /// Made when it is needed.
    compiled: OnceCell<Result<(Schemas, SchemaIndex), String>>,
}

impl SchemaCache {
    /// Checks coalesced values against the schemas of a chart and its dependencies (`ValidateAgainstSchema`).
    ///
    /// # Errors
    /// [`SchemaError`] with everything that is wrong, chart by chart.
    pub fn validate(&mut self, chart: &Chart, values: &Map) -> Result<(), SchemaError> {
        let mut report = String::new();
        self.check(chart, values, &mut report);
        if report.is_empty() { Ok(()) } else { Err(SchemaError(report)) }
    }

    fn check(&mut self, chart: &Chart, values: &Map, report: &mut String) {
        if let Some(schema) = &chart.schema
            && let Err(error) = self.check_one(schema, values)
        {
            let _ = write!(report, "{}:\n{error}", chart.name());
        }
        for dependency in &chart.dependencies {
            match values.get(dependency.name()) {
                None | Some(Value::Nil) => {}
                Some(Value::Map(values)) => self.check(dependency, &values, report),
                Some(other) => {
                    debug_assert!(!is_table(&other), "tables are matched above");
                    let (name, found) = (dependency.name(), other.type_name());
                    let _ = writeln!(
                        report,
                        "{name}:\ninvalid type for values: expected object (map), got {found}"
                    );
                }
            }
        }
    }

    /// Checks values against one schema (`ValidateAgainstSingleSchema`).
    pub(crate) fn check_one(&mut self, schema: &Rc<[u8]>, values: &Map) -> Result<(), String> {
        let schema = self.schemas.entry(Rc::clone(schema)).or_insert_with(|| Rc::new(Schema::read(schema)));
        schema.check(values)
    }
}

impl Schema {
    fn read(schema: &[u8]) -> Self {
        let document = serde_json::from_slice(schema).map_err(|_| unreadable(schema));
        let patterns = document.as_ref().ok().and_then(plain::patterns);
        Self { document, patterns, compiled: OnceCell::new() }
    }

    fn check(&self, values: &Map) -> Result<(), String> {
        let document = self.document.as_ref().map_err(Clone::clone)?;
        let values = Value::Map(values.clone());
        let plain = self.patterns.as_ref().map(|patterns| Plain::new(document, patterns));
        if plain.and_then(|plain| plain.allows(&values)) == Some(true) {
            return Ok(());
        }
        let compiled = self.compiled.get_or_init(|| compile(document));
        let (schemas, index) = compiled.as_ref().map_err(Clone::clone)?;
        let instance = to_json(&values);
        schemas.validate(&instance, *index).map_err(|error| text::report(&error, document, &instance))
    }
}

/// What Helm logs, for who looks for an error, while it checks values.
pub(crate) fn remarks(chart: &Chart, values: &Map, warnings: &mut Warnings) {
    let name = chart.name();
    if let Some(schema) = &chart.schema {
        warnings.push(Remark::new(Level::Debug, "chart name", &[("chart-name", name)]));
        remark_on_schema(schema, warnings);
    }
    let count = chart.dependencies.len().to_string();
    let attributes = [("chart", name), ("dependencies", &count)];
    warnings.push(Remark::new(Level::Debug, "number of dependencies in the chart", &attributes));
    for dependency in &chart.dependencies {
        if let Some(Value::Map(values)) = values.get(dependency.name()) {
            remarks(dependency, &values, warnings);
        }
    }
}

/// [`remarks`] about one schema.
pub(crate) fn remark_on_schema(schema: &[u8], warnings: &mut Warnings) {
    if serde_json::from_slice::<serde_json::Value>(schema).is_ok() {
        let text = String::from_utf8_lossy(schema);
        let attributes = [("schema", &*text)];
        warnings.push(Remark::new(Level::Debug, "unmarshalled JSON schema", &attributes));
    }
}

fn compile(document: &serde_json::Value) -> Result<(Schemas, SchemaIndex), String> {
    let mut compiler = Compiler::new();
    formats::register(&mut compiler);
    compiler.use_loader(Box::new(Offline));
    let refused = |error| text::compile_error(&error, document);
    compiler.add_resource(LOCATION, document.clone()).map_err(refused)?;
    let mut schemas = Schemas::new();
    let index = compiler.compile(LOCATION, &mut schemas).map_err(refused)?;
    Ok((schemas, index))
}

/// Go's words for a schema that is no JSON.
fn unreadable(schema: &[u8]) -> String {
    match helm_yaml::json::first_from_json(schema) {
        Ok(None) => "EOF".to_owned(),
        Ok(Some(_)) => "invalid character after top-level value".to_owned(),
        Err(error) => error.message,
    }
}

/// Refuses to load anything: a chart is rendered from what it contains. Where Helm would look for a file there is none.
struct Offline;

impl UrlLoader for Offline {
    fn load(&self, url: &str) -> Result<serde_json::Value, Box<dyn Error>> {
        match url.split_once(':').unwrap_or_default() {
            ("urn", _) => Ok(serde_json::Value::Bool(true)),
            ("file", path) => {
                let path = text::percent_decoded(path.trim_start_matches("//"));
                Err(format!("open {path}: no such file or directory").into())
            }
            ("http" | "https", _) => {
                Err(format!("HTTP request failed for {url}: schemas are only loaded from the chart itself")
                    .into())
            }
            _ => Err(format!("no URLLoader registered for {}", quote(url.as_bytes())).into()),
        }
    }
}

/// Values as JSON. Whole numbers become integers, which is how the schema library sees them too.
fn to_json(value: &Value) -> serde_json::Value {
    use serde_json::Value as Json;
    match value {
        Value::Nil => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(number, _) => (*number).into(),
        Value::Uint(number, _) => (*number).into(),
        Value::Float(number, _) => number_to_json(*number),
        Value::List(list) => Json::Array(list.iter().map(to_json).collect()),
        Value::Map(map) => {
            let entries = map.snapshot();
            Json::Object(entries.iter().map(|(key, value)| (key.to_string(), to_json(value))).collect())
        }
        other => Json::String(String::from_utf8_lossy(other.as_bytes().unwrap_or_default()).into_owned()),
    }
}

fn number_to_json(number: f64) -> serde_json::Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
        return (number as i64).into();
    }
    number.into()
}

#[cfg(test)]
mod tests;
