//! Everything but the store is lost: the database comes back in another namespace.

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::rows::Rows;
use super::{A_WHILE, Scene, database};
use crate::demo::look::Look;
use crate::steps::say;

/// Where it comes back.
const NAMESPACE: &str = "again";

/// Plays it.
///
/// # Errors
/// The step that was not seen.
pub(super) fn play(scene: &Scene<'_>, before: &Rows) -> Result<()> {
    scene.look.access.kubectl(&["delete", "namespace", scene.look.namespace, "--timeout=180s"])?;
    say("the namespace is deleted, with the database, its volume and every Backup");
    let look = Look { namespace: NAMESPACE, ..scene.look };
    scene.secrets(look)?;
    scene.apply(look, &database(1))?;
    look.seen_within(A_WHILE, "the database is installed anew, without rows", || {
        Rows::read(look).is_ok_and(|rows| rows != *before)
    })?;
    scene.apply(look, &restore(scene)?)?;
    look.seen_within(A_WHILE, "the newest artefact that the store's catalogue tells of is restored", || {
        ["Completed", "Failed"].contains(&look.value("restores/again", "{.status.phase}").as_str())
    })?;
    let now = Rows::read(look).with_context(|| look.value("restores/again", "{.status.message}"))?;
    if now != *before {
        bail!("written were {before}, and after the restore there are {now}");
    }
    say(&format!("every row is back: {now}"));
    Ok(())
}

/// All it needs stands beside the artefact.
fn restore(scene: &Scene<'_>) -> Result<Value> {
    let entry = scene.store.newest_entry("MariaDB")?;
    let of =
        |pointer: &str| entry.pointer(pointer).cloned().with_context(|| format!("{entry} has no {pointer}"));
    Ok(json!({
        "apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": "Restore", "metadata": {"name": "again"},
        "spec": {
            "artefact": {
                "storage": scene.store.storage(), "key": of("/artefact/key")?, "sha256": of("/artefact/sha256")?,
                "format": of("/artefact/format")?,
            },
            "target": of("/subject")?,
            "job": of("/plan/strategy/job")?,
        },
    }))
}
