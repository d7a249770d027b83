//! What the API server refuses, where plugins meet it: names, labels, sizes.

use serde_json::Value;

use super::{
    object::{text, unprocessable},
    selector::label_value,
};
use crate::KubeError;

/// Refuses a name that is no DNS subdomain (RFC 1123); RBAC's names may be anything that fits a path.
pub(super) fn name(group: &str, kind: &str, name: &str) -> Result<(), KubeError> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let is_subdomain = name.chars().all(fits) && edge(name.chars().next()) && edge(name.chars().last());
    let free = group == "rbac.authorization.k8s.io";
    if name.len() > 253 || name.is_empty() || !(free || is_subdomain) {
        return Err(unprocessable(format!(
            "{kind} {name:?} is invalid: metadata.name: Invalid value: {name:?}: a lowercase RFC 1123 subdomain must consist \
             of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
        )));
    }
    Ok(())
}

/// Refuses labels whose values are none (`ValidateLabels`).
pub(super) fn labels(object: &Value) -> Result<(), KubeError> {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    for value in labels.into_iter().flatten().filter_map(|(_, value)| value.as_str()) {
        label_value(value).map_err(|why| {
            let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
            unprocessable(format!(
                "{kind} {name:?} is invalid: metadata.labels: Invalid value: {value:?}: {why}"
            ))
        })?;
    }
    Ok(())
}

/// The most bytes of data in a ConfigMap or a Secret.
const MOST_DATA: usize = 1 << 20;

/// Refuses more data than a ConfigMap or a Secret may have.
pub(super) fn size(object: &Value) -> Result<(), KubeError> {
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    if text(object, "/apiVersion") != "v1" || !matches!(kind, "ConfigMap" | "Secret") {
        return Ok(());
    }
    let bytes = |text: &Value| text.as_str().map_or(0, str::len);
    // Base64 is as long as it is without line breaks, which nobody here writes.
    let decoded = |text: &Value| {
        let padding =
            text.as_str().unwrap_or_default().bytes().rev().take_while(|byte| *byte == b'=').count();
        (bytes(text) / 4 * 3).saturating_sub(padding)
    };
    let all = |field: &str, length: &dyn Fn(&Value) -> usize| -> usize {
        object
            .get(field)
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|data| data.values())
            .map(length)
            .sum()
    };
    let data = if kind == "Secret" { all("data", &decoded) } else { all("data", &bytes) };
    if data + all("binaryData", &decoded) <= MOST_DATA {
        return Ok(());
    }
    Err(unprocessable(format!(
        "{kind} {name:?} is invalid: data: Too long: may not be more than {MOST_DATA} bytes"
    )))
}

/// Which field of a namespaced or cluster-scoped reference is wrong, if one is.
pub(super) fn scope(kind: &super::kinds::Kind, namespace: Option<&str>) -> Result<(), KubeError> {
    match (kind.namespaced, namespace) {
        (true, None) => {
            Err(super::object::bad_request(format!("{} is namespaced: a namespace is needed", kind.gvk)))
        }
        (false, Some(_)) => {
            Err(super::object::bad_request(format!("{} is cluster-scoped: it has no namespace", kind.gvk)))
        }
        _ => Ok(()),
    }
}
