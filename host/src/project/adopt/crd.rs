//! CustomResourceDefinitions: of the version that is still served, with a status of their own and columns.

use serde_json::{Map, Value, json};

use super::{Log, Watched};
use crate::project::Files;
use crate::project::naming::Gvk;
use crate::project::survey::Survey;
use crate::project::yaml_edit::{Document, EditError, below, documents, item, keys};
use crate::project::yaml_text;

/// Where definitions are.
pub(super) const DIRECTORIES: [&str; 2] = ["config/crd/bases", "deploy/crds"];

const OLD: &str = "apiextensions.k8s.io/v1beta1";
const NEW: &str = "apiextensions.k8s.io/v1";

/// What the resource of a kind is called in the project's own definition.
pub(super) fn plural(files: &dyn Files, gvk: &Gvk) -> Option<String> {
    for directory in DIRECTORIES {
        for name in files.names(directory) {
            let text = files.text(&format!("{directory}/{name}")).unwrap_or_default();
            let parts = documents(&text).into_iter().filter_map(|part| yaml_text::read(&part).ok());
            let found = parts
                .filter(|crd| is_of(crd, gvk))
                .find_map(|crd| Some(crd.pointer("/spec/names/plural")?.as_str()?.to_owned()));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Whether a file defines a kind.
pub(super) fn defines(text: &str, watched: &Watched) -> bool {
    let is_it = |part: &String| yaml_text::read(part).is_ok_and(|crd| is_of(&crd, &watched.gvk));
    documents(text).iter().any(is_it)
}

fn is_of(crd: &Value, gvk: &Gvk) -> bool {
    let text = |path: &str| crd.pointer(path).and_then(Value::as_str).unwrap_or_default();
    text("/kind") == "CustomResourceDefinition"
        && text("/spec/group") == gvk.group
        && text("/spec/names/kind") == gvk.kind
}

/// Brings a definition up to date. Its schema stays as open as it is: objects that are there have to stay valid.
pub(super) fn edit(document: &mut Document, watched: &[Watched]) -> Result<Log, EditError> {
    let mut log = Log::default();
    let Some(watched) = watched.iter().find(|watched| is_of(document.value(), &watched.gvk)) else {
        return Ok(log);
    };
    if document.value().get("apiVersion").and_then(Value::as_str) == Some(OLD) {
        let new = converted(document.value())
            .ok_or_else(|| EditError::Form("a conversion by webhook".to_owned()))?;
        let head: String = document
            .text()
            .lines()
            .take_while(|line| line.starts_with('#') || *line == "---")
            .map(|line| format!("{line}\n"))
            .collect();
        *document = Document::parse(&format!("{head}{}", yaml_text::write(&new)?))?;
        log.did(format!("{NEW} instead of {OLD}, which Kubernetes 1.22 and later refuse"));
    }
    let versions = keys(&["spec", "versions"]);
    let list = document.get(&versions).and_then(Value::as_array).cloned().unwrap_or_default();
    let is_watched =
        |one: &Value| one.get("name").and_then(Value::as_str) == Some(watched.gvk.version.as_str());
    let Some(index) = list.iter().position(is_watched) else {
        log.note(format!(
            "watches.yaml has version {} of {}, which is not defined",
            watched.gvk.version, watched.gvk.kind
        ));
        return Ok(log);
    };
    let version = item(&versions, index);
    let status = below(&version, &["subresources", "status"]);
    if document.get(&status).is_none() {
        document.set(&status, json!({}))?;
        log.did("the subresource `status`");
    }
    let columns = below(&version, &["additionalPrinterColumns"]);
    if document.get(&columns).is_none()
        && let Some(wanted) = watched.survey.as_ref().ok().and_then(columns_of)
    {
        document.set(&columns, wanted)?;
        log.did("columns for `kubectl get`");
    }
    Ok(log)
}

fn columns_of(survey: &Survey) -> Option<Value> {
    survey.crd.pointer("/spec/versions/0/additionalPrinterColumns").cloned()
}

/// A definition in today's form; none when a webhook converts its objects.
fn converted(old: &Value) -> Option<Value> {
    let spec = old.get("spec")?;
    if spec.pointer("/conversion/strategy").and_then(Value::as_str) == Some("Webhook") {
        return None;
    }
    let of_all = |key: &str| spec.get(key).cloned();
    let listed = spec.get("versions").and_then(Value::as_array).cloned().unwrap_or_default();
    let listed = if listed.is_empty() {
        vec![json!({"name": spec.get("version")?, "served": true, "storage": true})]
    } else {
        listed
    };
    let mut versions = Vec::new();
    for old in &listed {
        let own = |key: &str| old.get(key).cloned();
        let mut new = Map::new();
        new.insert("name".to_owned(), own("name")?);
        if let Some(columns) = own("additionalPrinterColumns").or_else(|| of_all("additionalPrinterColumns"))
        {
            new.insert("additionalPrinterColumns".to_owned(), with_new_paths(&columns));
        }
        let schema = own("schema").or_else(|| of_all("validation"));
        let schema = schema.and_then(|schema| schema.get("openAPIV3Schema").cloned());
        new.insert("schema".to_owned(), json!({"openAPIV3Schema": open(schema)}));
        new.insert("served".to_owned(), own("served").unwrap_or(json!(true)));
        new.insert("storage".to_owned(), own("storage").unwrap_or(json!(true)));
        if let Some(subresources) = own("subresources").or_else(|| of_all("subresources")) {
            new.insert("subresources".to_owned(), subresources);
        }
        versions.push(Value::Object(new));
    }
    Some(json!({
        "apiVersion": NEW,
        "kind": "CustomResourceDefinition",
        "metadata": old.get("metadata")?,
        "spec": {
            "group": spec.get("group")?,
            "names": spec.get("names")?,
            "scope": spec.get("scope").cloned().unwrap_or(json!("Namespaced")),
            "versions": versions,
        },
    }))
}

fn with_new_paths(columns: &Value) -> Value {
    let column = |column: &Value| {
        let entries = column.as_object().into_iter().flatten();
        let renamed = entries.map(|(key, value)| {
            (if key == "JSONPath" { "jsonPath".to_owned() } else { key.clone() }, value.clone())
        });
        Value::Object(renamed.collect())
    };
    Value::Array(columns.as_array().into_iter().flatten().map(column).collect())
}

/// A schema that takes at least what v1beta1 took: fields it does not know stay.
fn open(schema: Option<Value>) -> Value {
    let mut schema = schema.unwrap_or_else(|| json!({}));
    if let Some(map) = schema.as_object_mut() {
        map.entry("type").or_insert(json!("object"));
        map.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    }
    for part in ["spec", "status"] {
        let Some(properties) =
            schema.as_object_mut().map(|map| map.entry("properties").or_insert_with(|| json!({})))
        else {
            continue;
        };
        let Some(properties) = properties.as_object_mut() else { continue };
        let part = properties.entry(part).or_insert_with(|| json!({}));
        if let Some(map) = part.as_object_mut() {
            map.entry("type").or_insert(json!("object"));
            map.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
        }
    }
    schema
}
