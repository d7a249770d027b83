//! The API's patch formats, except apply.

use serde_json::{Map, Value};

use super::{
    fields::{Path, Step},
    object::{bad_request, unprocessable},
    schema::{ListKind, list_kind},
};
use crate::{KubeError, PatchFormat};

/// The object after a patch.
///
/// # Errors
/// 400 for text that is no patch, 422 for a patch that does not fit, and 400 (415 at an API server) for a strategic
/// merge patch of a custom kind.
pub(super) fn patched(
    object: &Value,
    format: PatchFormat,
    body: &str,
    custom: bool,
) -> Result<Value, KubeError> {
    let patch: Value =
        serde_json::from_str(body).map_err(|error| bad_request(format!("the patch: {error}")))?;
    let mut object = object.clone();
    match format {
        PatchFormat::Json => {
            let operations = serde_json::from_value::<json_patch::Patch>(patch)
                .map_err(|error| bad_request(format!("the JSON patch: {error}")))?;
            json_patch::patch(&mut object, &operations)
                .map_err(|error| unprocessable(format!("the server rejected our request: {error}")))?;
        }
        PatchFormat::Merge => json_patch::merge(&mut object, &patch),
        PatchFormat::StrategicMerge if custom => {
            return Err(bad_request(
                "the body of the request was in an unknown format - strategic merge patches are not \
                                    for custom kinds",
            ));
        }
        PatchFormat::StrategicMerge => strategic(&mut object, &patch, &mut Vec::new())?,
    }
    Ok(object)
}

/// Merges as `strategicpatch.StrategicMergePatch`: maps by key, lists of named items by their merge key, with the
/// directives `$patch: delete | replace`, `$retainKeys` and `$deleteFromPrimitiveList/…`; `$setElementOrder/…` only
/// orders, and is left out.
fn strategic(live: &mut Value, patch: &Value, path: &mut Path) -> Result<(), KubeError> {
    let (Value::Object(_), Value::Object(changes)) = (&*live, patch) else {
        *live = without_directives(patch);
        return Ok(());
    };
    match changes.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *live = without_directives(patch);
            return Ok(());
        }
        Some("delete") => {
            *live = Value::Object(Map::new());
            return Ok(());
        }
        Some("merge") | None => {}
        Some(other) => return Err(bad_request(format!("unknown patch type found: {other}"))),
    }
    let Value::Object(live) = live else { return Ok(()) };
    if let Some(keep) = changes.get("$retainKeys").and_then(Value::as_array) {
        live.retain(|name, _| keep.iter().any(|kept| kept == name));
    }
    for (name, change) in changes {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = change.as_array().map(Vec::as_slice).unwrap_or_default();
            if let Some(items) = live.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        if name.starts_with('$') {
            continue;
        }
        path.push(Step::Field(name.clone()));
        strategic_field(live, name, change, path)?;
        path.pop();
    }
    Ok(())
}

fn strategic_field(
    live: &mut Map<String, Value>,
    name: &str,
    change: &Value,
    path: &mut Path,
) -> Result<(), KubeError> {
    match (live.get_mut(name), change) {
        (_, Value::Null) => {
            live.shift_remove(name);
        }
        (Some(Value::Array(items)), Value::Array(changes)) => strategic_list(items, changes, path)?,
        (Some(inner), change) => strategic(inner, change, path)?,
        (None, change) => {
            live.insert(name.to_owned(), without_directives(change));
        }
    }
    Ok(())
}

fn strategic_list(items: &mut Vec<Value>, changes: &[Value], path: &mut Path) -> Result<(), KubeError> {
    let replace =
        changes.iter().any(|change| change.get("$patch").and_then(Value::as_str) == Some("replace"));
    let merge_key = match list_kind(path, false) {
        ListKind::Map(keys) if !replace => keys.first().copied(),
        ListKind::Set => {
            let new: Vec<_> = changes.iter().filter(|item| !items.contains(item)).cloned().collect();
            items.extend(new);
            return Ok(());
        }
        ListKind::Map(_) | ListKind::Atomic => None,
    };
    let Some(key) = merge_key else {
        let keep = changes.iter().filter(|change| change.get("$patch").is_none());
        *items = keep.map(without_directives).collect();
        return Ok(());
    };
    for change in changes {
        let Some(wanted) = change.get(key) else {
            return Err(bad_request(format!("map: {change} does not contain declared merge key: {key}")));
        };
        let same = |item: &Value| item.get(key) == Some(wanted);
        if change.get("$patch").and_then(Value::as_str) == Some("delete") {
            items.retain(|item| !same(item));
            continue;
        }
        path.push(Step::Item(String::new()));
        match items.iter_mut().find(|item| same(item)) {
            Some(item) => strategic(item, change, path)?,
            None => items.push(without_directives(change)),
        }
        path.pop();
    }
    Ok(())
}

/// What a patch adds where nothing was.
fn without_directives(patch: &Value) -> Value {
    match patch {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, value)| !name.starts_with('$') && !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_directives(value))).collect())
        }
        Value::Array(items) => {
            let kept = items.iter().filter(|item| item.get("$patch").is_none());
            Value::Array(kept.map(without_directives).collect())
        }
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn strategic(object: &Value, patch: &Value) -> Value {
        patched(object, PatchFormat::StrategicMerge, &patch.to_string(), false).unwrap()
    }

    #[test]
    fn a_strategic_merge_patch_merges_containers_by_name() {
        let object = json!({"spec": {"containers": [
            {"name": "app", "image": "a:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"name": "sidecar", "image": "s:1"}]}});
        let patch = json!({"spec": {"containers": [
            {"name": "app", "image": "a:2", "env": [{"name": "A", "$patch": "delete"}, {"name": "C", "value": "3"}]},
            {"name": "new", "image": "n:1", "command": null}]}});
        let after = strategic(&object, &patch);
        assert_eq!(
            after["spec"]["containers"],
            json!([
            {"name": "app", "image": "a:2", "env": [{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]},
            {"name": "sidecar", "image": "s:1"},
            {"name": "new", "image": "n:1"}])
        );
    }

    #[test]
    fn directives_replace_delete_and_retain() {
        let object =
            || json!({"a": {"x": 1, "y": 2}, "tolerations": [{"key": "k"}], "finalizers": ["f", "g"]});
        assert_eq!(strategic(&object(), &json!({"a": {"$patch": "replace", "z": 3}}))["a"], json!({"z": 3}));
        assert_eq!(
            strategic(&object(), &json!({"a": {"$retainKeys": ["x", "z"], "z": 3}}))["a"],
            json!({"x": 1, "z": 3})
        );
        assert_eq!(
            strategic(&object(), &json!({"tolerations": [{"key": "other"}]}))["tolerations"],
            json!([{"key": "other"}])
        );
        let finalizers = json!({"finalizers": ["h"], "$deleteFromPrimitiveList/finalizers": ["f"]});
        assert_eq!(strategic(&object(), &finalizers)["finalizers"], json!(["g", "h"]));
    }

    #[test]
    fn a_patch_that_does_not_fit_is_refused() {
        let object = json!({"spec": {"containers": [{"name": "a"}]}});
        let patch = |format, body: &str, custom| patched(&object, format, body, custom).unwrap_err().reason();
        assert_eq!(
            patch(PatchFormat::Json, r#"[{"op":"test","path":"/spec/replicas","value":1}]"#, false),
            "Invalid"
        );
        assert_eq!(patch(PatchFormat::Json, r#"{"op":"add"}"#, false), "Invalid");
        assert_eq!(patch(PatchFormat::Merge, "{", false), "Invalid");
        assert_eq!(patch(PatchFormat::StrategicMerge, "{}", true), "Invalid");
        let nameless = r#"{"spec":{"containers":[{"image":"x"}]}}"#;
        assert_eq!(patch(PatchFormat::StrategicMerge, nameless, false), "Invalid");
    }

    #[test]
    fn a_merge_patch_removes_what_is_null_and_replaces_lists() {
        let object = json!({"a": 1, "b": [1, 2], "c": {"d": 1, "e": 2}});
        let after =
            patched(&object, PatchFormat::Merge, r#"{"a":null,"b":[3],"c":{"e":null}}"#, true).unwrap();
        assert_eq!(after, json!({"b": [3], "c": {"d": 1}}));
    }
}
