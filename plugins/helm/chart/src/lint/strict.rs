//! `Chart.yaml` read strictly: no field twice and none that nobody knows.

use helm_template::{Map, Value};
use helm_yaml::Duplicates;

const FIELDS: &[&str] = &[
    "name",
    "home",
    "sources",
    "version",
    "description",
    "keywords",
    "maintainers",
    "icon",
    "apiVersion",
    "condition",
    "tags",
    "appVersion",
    "deprecated",
    "annotations",
    "kubeVersion",
    "dependencies",
    "type",
];
const MAINTAINER: &[&str] = &["name", "email", "url"];
const DEPENDENCY: &[&str] =
    &["name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"];

/// The first thing that is wrong, in Go's words and its order: that of the sorted keys, with what is inside of them.
pub(super) fn chart_yaml(data: &[u8]) -> Result<(), String> {
    let yaml = helm_yaml::from_yaml_exact(data, Duplicates::Refuse)
        .map_err(|error| format!("error converting YAML to JSON: {error}"))?;
    let Value::Map(fields) = yaml else { return Ok(()) };
    match unknown(&fields, FIELDS) {
        None => Ok(()),
        Some(key) => Err(format!(
            "error unmarshaling JSON: while decoding JSON: json: unknown field {}",
            helm_template::fmt::quote(key.as_bytes())
        )),
    }
}

fn unknown(map: &Map, known: &[&str]) -> Option<String> {
    map.snapshot().into_iter().find_map(|(key, value)| {
        let key = key.to_string();
        let Some(name) = known.iter().find(|name| name.eq_ignore_ascii_case(&key)) else { return Some(key) };
        match *name {
            "maintainers" => unknown_in_list(&value, MAINTAINER),
            "dependencies" => unknown_in_list(&value, DEPENDENCY),
            _ => None,
        }
    })
}

fn unknown_in_list(list: &Value, known: &[&str]) -> Option<String> {
    let Value::List(items) = list else { return None };
    items.iter().filter_map(Value::as_map).find_map(|item| unknown(item, known))
}
