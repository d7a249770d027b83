//! The ClusterServiceVersion: the base that people write, and what is known from the manifests.

use serde_json::{Map, Value, json};

use super::rights::Rights;
use super::{BundleError, Object, Options};

const CSV: &str = "ClusterServiceVersion";

/// The ClusterServiceVersion, and the objects that it stands for.
pub(super) struct Made<'a> {
    pub(super) csv: Value,
    pub(super) absorbed: Vec<(&'a str, &'a str)>,
    pub(super) notes: Vec<String>,
}

pub(super) fn csv<'a>(
    objects: &[Object<'a>],
    rights: &Rights,
    options: &Options,
) -> Result<Made<'a>, BundleError> {
    let bases: Vec<&Object<'a>> = objects.iter().filter(|object| object.kind() == CSV).collect();
    let base = match bases.as_slice() {
        [base] => **base,
        [] => return Err(BundleError::NoBase),
        more => return Err(BundleError::ManyBases(more.len())),
    };
    let deployments: Vec<Object<'a>> =
        objects.iter().filter(|object| object.is("apps", "Deployment")).copied().collect();
    if deployments.is_empty() {
        return Err(BundleError::NoDeployment);
    }
    let crds: Vec<Object<'a>> =
        objects.iter().filter(|object| object.kind() == "CustomResourceDefinition").copied().collect();
    let examples: Vec<Object<'a>> =
        objects.iter().filter(|object| crds.iter().any(|crd| is_one_of(**object, *crd))).copied().collect();
    let mut csv = base.0.clone();
    put(&mut csv, &["metadata", "name"], json!(format!("{}.v{}", options.package, options.version)));
    put(&mut csv, &["metadata", "namespace"], json!("placeholder"));
    annotate(&mut csv, &examples, &deployments, options);
    put(&mut csv, &["spec", "version"], json!(options.version));
    put(&mut csv, &["spec", "install"], install(&deployments, rights));
    let mut notes = Vec::new();
    let owned = owned(base, &crds, &mut notes);
    put(&mut csv, &["spec", "customresourcedefinitions", "owned"], Value::Array(owned));
    let related = related_images(&deployments);
    if !related.is_empty() {
        put(&mut csv, &["spec", "relatedImages"], Value::Array(related));
    }
    drop_empty_icon(&mut csv);
    for crd in crds.iter().filter(|crd| !examples.iter().any(|example| is_one_of(*example, **crd))) {
        notes.push(format!("no sample for {}: OLM shows no example of it", crd.name()));
    }
    let gone = [base].into_iter().chain(deployments).chain(examples);
    Ok(Made { csv, absorbed: gone.map(|object| (object.kind(), object.name())).collect(), notes })
}

/// Whether an object is of the kind that a definition defines.
fn is_one_of(object: Object<'_>, crd: Object<'_>) -> bool {
    object.group() == crd.text("/spec/group") && object.kind() == crd.text("/spec/names/kind")
}

fn put(value: &mut Value, path: &[&str], new: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    if let Some(map) = value.as_object_mut() {
        put(map.entry((*first).to_owned()).or_insert(Value::Null), rest, new);
    }
}

fn annotate(csv: &mut Value, examples: &[Object<'_>], deployments: &[Object<'_>], options: &Options) {
    let shown: Vec<Value> = examples.iter().map(|example| without_namespace(example.0)).collect();
    let examples = serde_json::to_string_pretty(&shown).unwrap_or_else(|_| "[]".to_owned());
    let image = deployments.first().map(|deployment| manager_image(*deployment)).unwrap_or_default();
    let builder = format!("pilothouse-v{}", env!("CARGO_PKG_VERSION"));
    for (key, text) in [
        ("alm-examples", examples),
        ("containerImage", image.to_owned()),
        ("createdAt", options.created_at.clone()),
        ("operators.operatorframework.io/builder", builder),
        ("operators.operatorframework.io/project_layout", options.layout.clone()),
    ] {
        put(csv, &["metadata", "annotations", key], json!(text));
    }
    let has_level = csv.pointer("/metadata/annotations/capabilities").is_some();
    if !has_level {
        put(csv, &["metadata", "annotations", "capabilities"], json!("Basic Install"));
    }
}

fn without_namespace(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("namespace");
    }
    object
}

fn manager_image(deployment: Object<'_>) -> &str {
    let containers = deployment.list("/spec/template/spec/containers");
    let manager = containers.iter().find(|container| Object(container).text("/name") == "manager");
    manager.or(containers.first()).map_or("", |container| Object(container).text("/image"))
}

fn install(deployments: &[Object<'_>], rights: &Rights) -> Value {
    let entries: Vec<Value> = deployments
        .iter()
        .map(|deployment| {
            let mut entry = Map::new();
            if let Some(labels) = deployment.0.pointer("/metadata/labels") {
                entry.insert("label".to_owned(), labels.clone());
            }
            entry.insert("name".to_owned(), json!(deployment.name()));
            entry.insert("spec".to_owned(), deployment.0.get("spec").cloned().unwrap_or_default());
            Value::Object(entry)
        })
        .collect();
    let mut spec = Map::new();
    if !rights.cluster_permissions.is_empty() {
        spec.insert("clusterPermissions".to_owned(), json!(rights.cluster_permissions));
    }
    spec.insert("deployments".to_owned(), json!(entries));
    if !rights.permissions.is_empty() {
        spec.insert("permissions".to_owned(), json!(rights.permissions));
    }
    json!({"spec": spec, "strategy": "deployment"})
}

/// One entry for each version of each definition. What the base says of it stays.
fn owned(base: Object<'_>, crds: &[Object<'_>], notes: &mut Vec<String>) -> Vec<Value> {
    let written = base.list("/spec/customresourcedefinitions/owned");
    let mut owned: Vec<Value> = Vec::new();
    for crd in crds {
        for version in crd.list("/spec/versions") {
            let name = Object(version).text("/name");
            let known = written.iter().find(|entry| {
                Object(entry).text("/name") == crd.name() && Object(entry).text("/version") == name
            });
            let mut entry = known.cloned().unwrap_or_else(|| json!({}));
            put(&mut entry, &["kind"], json!(crd.text("/spec/names/kind")));
            put(&mut entry, &["name"], json!(crd.name()));
            put(&mut entry, &["version"], json!(name));
            for (key, part) in [("specDescriptors", "spec"), ("statusDescriptors", "status")] {
                let descriptors = descriptors(version, part);
                if entry.get(key).is_none() && !descriptors.is_empty() {
                    put(&mut entry, &[key], Value::Array(descriptors));
                }
            }
            owned.push(sorted(&entry));
        }
    }
    for entry in written {
        let name = Object(entry).text("/name");
        if !crds.iter().any(|crd| crd.name() == name) {
            notes.push(format!("the base tells of {name}, which is not among the manifests; it is left out"));
        }
    }
    owned
}

/// What the fields of a schema are, for forms.
fn descriptors(version: &Value, part: &str) -> Vec<Value> {
    let fields = version.pointer(&format!("/schema/openAPIV3Schema/properties/{part}/properties"));
    let fields = fields.and_then(Value::as_object).into_iter().flatten();
    fields
        .map(|(name, schema)| {
            let described = Object(schema).text("/description");
            let description = if described.is_empty() {
                format!("The value {name} of the chart.")
            } else {
                described.to_owned()
            };
            let description = if part == "status" && described.is_empty() {
                format!("What the operator says in {name}.")
            } else {
                description
            };
            json!({
                "description": description,
                "displayName": crate::project::skeleton::title(&crate::project::api::words_of(name)),
                "path": name,
            })
        })
        .collect()
}

fn sorted(entry: &Value) -> Value {
    let Some(map) = entry.as_object() else { return entry.clone() };
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort();
    Value::Object(keys.into_iter().filter_map(|key| Some((key.clone(), map.get(key)?.clone()))).collect())
}

/// Images that charts are told of by the environment, as operator-sdk finds them.
fn related_images(deployments: &[Object<'_>]) -> Vec<Value> {
    let mut images = Vec::new();
    for deployment in deployments {
        for container in deployment.list("/spec/template/spec/containers") {
            for variable in Object(container).list("/env") {
                let variable = Object(variable);
                let Some(name) = variable.text("/name").strip_prefix("RELATED_IMAGE_") else { continue };
                let name = name.to_ascii_lowercase().replace('_', "-");
                let image = json!({"image": variable.text("/value"), "name": name});
                if !images.contains(&image) {
                    images.push(image);
                }
            }
        }
    }
    images
}

/// operator-sdk writes an icon of nothing, which validators complain of.
fn drop_empty_icon(csv: &mut Value) {
    let empty = csv.pointer("/spec/icon/0/base64data").and_then(Value::as_str) == Some("");
    if let (true, Some(spec)) = (empty, csv.get_mut("spec").and_then(Value::as_object_mut)) {
        spec.shift_remove("icon");
    }
}
