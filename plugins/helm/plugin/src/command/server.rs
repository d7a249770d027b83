//! `--dry-run=server`: what was rendered, held against the cluster as an installation would (`kube.Client.Build` and
//! `existingResourceConflict`). Like Helm's it asks only whether kinds are served and whose objects are that are there already.

use helm_chart::manifest::split_manifests;
use helm_yaml::Duplicates;
use pilothouse_sdk::{Gvk, Kube, KubeError, ObjectRef};
use serde_json::Value;

use super::options::TemplateOptions;
use crate::{kinds::Kinds, objects::Object, ownership};

/// Refuses what could not be installed.
pub(super) fn check(
    kube: &Kube,
    kinds: &Kinds,
    manifest: &str,
    release: &str,
    asked: &TemplateOptions,
) -> Result<(), String> {
    let objects = build(kinds, manifest, asked)
        .map_err(|error| format!("unable to build kubernetes objects from release manifest: {error}"))?;
    if asked.is_upgrade {
        return Ok(());
    }
    objects.iter().try_for_each(|object| {
        conflict(kube, object, release, asked)
            .map_err(|error| format!("unable to continue with install: {error}"))
    })
}

/// The objects of a manifest; what is wrong with all that are none.
fn build(kinds: &Kinds, manifest: &str, asked: &TemplateOptions) -> Result<Vec<Object>, String> {
    let (mut objects, mut errors) = (Vec::new(), Vec::new());
    for document in split_manifests(manifest) {
        let read = helm_yaml::yaml_to_json(document.as_bytes(), Duplicates::LastWins);
        let added = match read {
            Ok(Value::Null) => Ok(()),
            Ok(value) => add(value, kinds, asked, false, &mut objects),
            Err(error) => Err(format!("error parsing : {error}")),
        };
        errors.extend(added.err());
    }
    match errors.as_slice() {
        [] => Ok(objects),
        [error] => Err(error.clone()),
        errors => Err(format!("[{}]", errors.join(", "))),
    }
}

fn add(
    value: Value,
    kinds: &Kinds,
    asked: &TemplateOptions,
    is_item: bool,
    objects: &mut Vec<Object>,
) -> Result<(), String> {
    let (api_version, kind) = head(&value, asked)?;
    if let Some(items) = value.get("items").and_then(Value::as_array) {
        return items.iter().try_for_each(|item| add(item.clone(), kinds, asked, true, objects));
    }
    let gvk = Gvk::from_api_version(&api_version, &kind);
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
    let Some(namespaced) = kinds.is_namespaced(&gvk) else {
        let unknown = format!("no matches for kind {kind:?} in version {api_version:?}");
        return Err(if is_item {
            format!("unable to recognize {unknown}")
        } else {
            format!(
                "resource mapping not found for name: {name:?} namespace: {namespace:?} from \"\": {unknown}\n\
                 ensure CRDs are installed first"
            )
        });
    };
    let namespace = if namespace.is_empty() { asked.namespace.clone() } else { namespace };
    let reference = ObjectRef { kind: gvk, namespace: namespaced.then_some(namespace), name };
    objects.push(Object { reference, value });
    Ok(())
}

/// `apiVersion` and `kind`, which every object has.
fn head(value: &Value, asked: &TemplateOptions) -> Result<(String, String), String> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("apiVersion"), text("kind")) {
        (Some(api_version), Some(kind)) => Ok((api_version.to_owned(), kind.to_owned())),
        (api_version, kind) if asked.skip_open_api_validation => {
            let missing = if kind.is_none() { "Kind" } else { "apiVersion" };
            debug_assert!(kind.is_none() || api_version.is_none(), "one of them is missing");
            Err(format!("unable to decode \"\": Object '{missing}' is missing in '{value}'"))
        }
        (None, None) => Err(invalid("[apiVersion not set, kind not set]")),
        (None, Some(_)) => Err(invalid("apiVersion not set")),
        (Some(_), None) => Err(invalid("kind not set")),
    }
}

fn invalid(why: &str) -> String {
    format!("error validating \"\": error validating data: {why}")
}

/// Refuses an object that is there and belongs to somebody else.
fn conflict(kube: &Kube, object: &Object, release: &str, asked: &TemplateOptions) -> Result<(), String> {
    let unknown = |error: &str| format!("could not get information about the resource {object}: {error}");
    if object.reference.name.is_empty() {
        return Err(unknown("resource name may not be empty"));
    }
    let kube = kube.clone().only(["metadata.labels", "metadata.annotations"]);
    let found: Option<Value> = match kube.get_ref(&object.reference) {
        Ok(found) => found,
        Err(KubeError::NotFound(_)) => None,
        Err(error) => return Err(unknown(&error.to_string())),
    };
    let foreign = found
        .filter(|_| !asked.take_ownership)
        .and_then(|found| ownership::foreign(&found, release, &asked.namespace));
    match foreign {
        Some(reason) => {
            Err(format!("{object} exists and cannot be imported into the current release: {reason}"))
        }
        None => Ok(()),
    }
}
