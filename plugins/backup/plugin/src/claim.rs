//! Claims and the pods that use them.

use pilothouse_sdk::{Context, Error, Gvk};
use serde_json::Value;

const FIELDS: [&str; 3] = ["metadata.name", "status.phase", "spec.volumes"];

/// Names of the pods that have a claim mounted and are not over. It is asked of the API server: files are about to be replaced below them.
///
/// # Errors
/// As for any request.
pub(crate) fn users(ctx: &Context, namespace: &str, claim: &str) -> Result<Vec<String>, Error> {
    let mut users = Vec::new();
    for pod in ctx.kube().only(FIELDS).live().list_ref::<Value>(Gvk::new("", "v1", "Pod"), namespace) {
        let pod = pod?;
        let text = |path| pod.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if !["Succeeded", "Failed"].contains(&text("/status/phase")) && mounts(&pod, claim) {
            users.push(text("/metadata/name").to_owned());
        }
    }
    Ok(users)
}

fn mounts(pod: &Value, claim: &str) -> bool {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    let is =
        |volume: &Value| volume.pointer("/persistentVolumeClaim/claimName").is_some_and(|name| name == claim);
    volumes.into_iter().flatten().any(is)
}
