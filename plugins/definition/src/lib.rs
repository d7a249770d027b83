//! CustomResourceDefinitions of namespaced kinds, with structural schemas as Rust types give them.

use kube_core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::{JsonSchema, generate::SchemaSettings, transform::AddNullable};
use serde_json::{Value, json};

/// One kind.
#[derive(Debug, Clone)]
pub struct Kind<'a> {
    /// API group.
    pub group: &'a str,
    /// Version of the group: served and stored.
    pub version: &'a str,
    /// UpperCamelCase.
    pub kind: &'a str,
    /// Lower case.
    pub plural: &'a str,
    /// Lower case.
    pub singular: &'a str,
    /// For people at a command line.
    pub short: &'a [&'a str],
    /// What it is.
    pub description: &'a str,
    /// Schema of `spec`.
    pub spec: Value,
    /// Schema of `status`.
    pub status: Value,
    /// What a list shows.
    pub columns: Vec<Value>,
    /// Rules in CEL over the whole object.
    pub rules: Vec<Value>,
}

impl Kind<'_> {
    /// The definition, to be applied to a cluster.
    pub fn definition(&self) -> Value {
        let mut root = json!({
            "description": self.description,
            "type": "object",
            "required": ["spec"],
            "properties": {"spec": self.spec, "status": self.status},
        });
        if let Some(root) = root.as_object_mut().filter(|_| !self.rules.is_empty()) {
            root.insert("x-kubernetes-validations".to_owned(), json!(self.rules));
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group)},
            "spec": {
                "group": self.group,
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": self.plural,
                    "singular": self.singular,
                    "shortNames": self.short,
                },
                "scope": "Namespaced",
                "versions": [{
                    "name": self.version,
                    "served": true,
                    "storage": true,
                    "additionalPrinterColumns": self.columns,
                    "schema": {"openAPIV3Schema": root},
                    "subresources": {"status": {}},
                }],
            },
        })
    }
}

/// A structural schema of a type.
pub fn schema<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema
}

/// Takes away titles and `nullable`: an optional field is left out, never `null`.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            // A field may be called so.
            if map.get("title").is_some_and(Value::is_string) {
                map.remove("title");
            }
            if map.get("nullable").is_some_and(Value::is_boolean) {
                map.remove("nullable");
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// What a list shows of an object.
pub fn column(name: &str, kind: &str, path: &str, description: &str) -> Value {
    json!({"name": name, "type": kind, "jsonPath": path, "description": description})
}

/// The same, shown only by `-o wide`.
pub fn wide(name: &str, kind: &str, path: &str, description: &str) -> Value {
    json!({"name": name, "type": kind, "jsonPath": path, "description": description, "priority": 1})
}

/// How old an object is.
pub fn age() -> Value {
    json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
}

/// Keywords that a structural schema may not have, and values that have no type, by their path; empty: it is structural.
pub fn unstructural(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(schema, "", &mut found);
    found
}

fn look(schema: &Value, at: &str, found: &mut Vec<String>) {
    let Some(map) = schema.as_object() else { return };
    let free = ["x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"];
    if !map.contains_key("type") && !free.iter().any(|keyword| map.contains_key(*keyword)) {
        found.push(format!("{at}: no type"));
    }
    for keyword in ["$ref", "$schema", "definitions", "patternProperties", "nullable", "title"] {
        if map.contains_key(keyword) {
            found.push(format!("{at}: {keyword}"));
        }
    }
    for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        look(property, &format!("{at}.{name}"), found);
    }
    for nested in ["items", "additionalProperties"] {
        if let Some(schema) = map.get(nested) {
            look(schema, &format!("{at}.{nested}"), found);
        }
    }
}
