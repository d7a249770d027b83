//! What the API server asks of a CRD's schema (`apiextensions-apiserver/pkg/apiserver/schema` and its validation), as far as a
//! generated one could break it.

use serde_json::Value;

/// Words that a structural schema may have.
const WORDS: [&str; 20] = [
    "type",
    "description",
    "nullable",
    "properties",
    "additionalProperties",
    "items",
    "required",
    "enum",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "anyOf",
    "x-kubernetes-preserve-unknown-fields",
];
const EXTENSIONS: [&str; 3] =
    ["x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"];

/// What is wrong with the schemas of a CRD.
pub(crate) fn wrong(crd: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
        let schema = &version["schema"]["openAPIV3Schema"];
        if schema["type"] != "object" {
            wrong.push("the root is no object".to_owned());
        }
        check(schema, "$", &mut wrong);
    }
    wrong
}

fn check(schema: &Value, path: &str, wrong: &mut Vec<String>) {
    let Some(fields) = schema.as_object() else {
        return wrong.push(format!("{path} is no object"));
    };
    for word in fields.keys().filter(|word| !WORDS.contains(&&***word) && !EXTENSIONS.contains(&&***word)) {
        wrong.push(format!("{path} has {word}"));
    }
    let is = |word: &str| fields.get(word) == Some(&Value::Bool(true));
    let kind = fields.get("type").and_then(Value::as_str);
    let open = is("x-kubernetes-preserve-unknown-fields");
    if kind.is_none() && !open && !is("x-kubernetes-int-or-string") {
        wrong.push(format!("{path} has no type"));
    }
    if kind.is_some() && is("x-kubernetes-int-or-string") {
        wrong.push(format!("{path} is int-or-string with a type"));
    }
    if fields.contains_key("anyOf") && !is("x-kubernetes-int-or-string") {
        wrong.push(format!("{path} has anyOf"));
    }
    if fields.contains_key("properties") && fields.contains_key("additionalProperties") {
        wrong.push(format!("{path} has properties and additionalProperties"));
    }
    if kind == Some("array") && !fields.contains_key("items") {
        wrong.push(format!("{path} has no items"));
    }
    if fields.get("enum").is_some_and(|values| values.as_array().is_none_or(Vec::is_empty)) {
        wrong.push(format!("{path} has an empty enum"));
    }
    for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
        check(property, &format!("{path}.{name}"), wrong);
    }
    for word in ["items", "additionalProperties"] {
        if let Some(below) = fields.get(word) {
            check(below, &format!("{path}.{word}"), wrong);
        }
    }
}
