//! What the API server adds to objects by itself, where plugins meet it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::object::{section, text};

/// Defaults of a new object.
pub(super) fn on_create(object: &mut Value, number: u64) {
    always(object);
    match (text(object, "/apiVersion"), text(object, "/kind")) {
        ("v1", "Namespace") => {
            let name = object.pointer("/metadata/name").cloned().unwrap_or_default();
            let metadata = section(object, "metadata");
            let labels = metadata.entry("labels").or_insert_with(|| json!({}));
            if let Some(labels) = labels.as_object_mut() {
                labels.insert("kubernetes.io/metadata.name".to_owned(), name);
            }
            section(object, "status").insert("phase".to_owned(), "Active".into());
        }
        ("v1", "Pod" | "PersistentVolumeClaim") => {
            section(object, "status").insert("phase".to_owned(), "Pending".into());
        }
        ("v1", "Service") if text(object, "/spec/type") != "ExternalName" => {
            let address = format!("10.96.{}.{}", number / 250 % 250, number % 250 + 1);
            section(object, "spec").entry("clusterIP").or_insert_with(|| address.into());
        }
        _ => {}
    }
}

/// Defaults of a new object and of a changed one.
pub(super) fn always(object: &mut Value) {
    match (text(object, "/apiVersion"), text(object, "/kind")) {
        ("v1", "Secret") => secret(object),
        ("v1", "Service") => {
            let spec = section(object, "spec");
            spec.entry("type").or_insert_with(|| "ClusterIP".into());
            for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(port) = port.as_object_mut() {
                    port.entry("protocol").or_insert_with(|| "TCP".into());
                }
            }
        }
        ("apps/v1", "Deployment" | "StatefulSet" | "ReplicaSet") => {
            section(object, "spec").entry("replicas").or_insert_with(|| 1.into());
        }
        ("batch/v1", "Job") => {
            let spec = section(object, "spec");
            spec.entry("backoffLimit").or_insert_with(|| 6.into());
            spec.entry("completions").or_insert_with(|| 1.into());
            spec.entry("parallelism").or_insert_with(|| 1.into());
        }
        _ => {}
    }
}

/// `stringData` is written only: it goes into `data`.
fn secret(object: &mut Value) {
    let Some(members) = object.as_object_mut() else { return };
    members.entry("type").or_insert_with(|| "Opaque".into());
    let Some(Value::Object(plain)) = members.shift_remove("stringData") else { return };
    let data = section(object, "data");
    for (name, value) in plain {
        data.insert(name, STANDARD.encode(value.as_str().unwrap_or_default()).into());
    }
}
