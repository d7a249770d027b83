//! A claim in the host's pod, in which backups are kept without any server.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::access::Access;
use super::stage;

/// The claim, and the name under which the chart mounts it.
pub(super) const CLAIM: &str = "backups";

/// Creates the host's namespace, and the claim in it.
pub(super) fn put(access: &Access, work: &Path) -> Result<()> {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM, "namespace": stage::NAMESPACE},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let file = work.join("claim.json");
    std::fs::write(&file, claim.to_string())?;
    access.kubectl(&["create", "namespace", stage::NAMESPACE])?;
    access.kubectl(&["apply", "--filename", &file.display().to_string()]).map(drop)
}

/// The directory of a namespace in it, as storages are named; `NAMESPACE` stands for all.
pub(super) fn url(namespace: &str) -> String {
    format!("file:///var/claims/{CLAIM}/{namespace}")
}

/// Has the chart mount it.
pub(super) fn mount(values: &mut Value) -> Result<()> {
    let all = values.as_object_mut().context("no values")?;
    all.insert("claims".to_owned(), json!([{"name": CLAIM, "claimName": CLAIM}]));
    Ok(())
}
