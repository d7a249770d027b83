//! Everything but the store is lost: the database comes back in another namespace.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::rows::Rows;
use super::{A_WHILE, RELEASE, Scene, database};
use crate::demo::look::Look;
use crate::steps::{output, say};

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
    let newest = imported(scene, look)?;
    let restore = json!({
        "apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": "Restore", "metadata": {"name": "again"},
        "spec": {"backupRef": {"name": newest}},
    });
    scene.apply(look, &restore)?;
    look.seen_within(A_WHILE, "the newest of them is restored", || {
        ["Completed", "Failed"].contains(&look.value("restores/again", "{.status.phase}").as_str())
    })?;
    let now = Rows::read(look).with_context(|| look.value("restores/again", "{.status.message}"))?;
    if now != *before {
        bail!("written were {before}, and after the restore there are {now}");
    }
    say(&format!("every row is back: {now}"));
    Ok(())
}

/// Makes the Backups again that the store tells of; the name of the database's newest.
fn imported(scene: &Scene<'_>, look: Look<'_>) -> Result<String> {
    let place = scene.store.place();
    let import = ["import", "--storage", &place, "--credentials-secret", "store"];
    let hint = match backups(scene, &import) {
        Ok(table) => bail!("nothing was ever backed up in {NAMESPACE}, and this was imported: {table}"),
        Err(error) => error.to_string(),
    };
    if !hint.contains(scene.look.namespace) {
        bail!("whose backups are in the store is not said: {hint}");
    }
    let from = ["--from", scene.look.namespace];
    backups(scene, &[import.as_slice(), &from, &["--dry-run"]].concat())?;
    if !look.kubectl(&["get", "backups", "--output=name"])?.trim().is_empty() {
        bail!("only looking made Backups");
    }
    say("the Backups are made again that the store tells of");
    scene.apply(look, &scene.policy(&json!({})))?;
    println!("{}", backups(scene, &[["import", "--policy", "before-upgrades"].as_slice(), &from].concat())?);
    let told = backups(scene, &["--subject", &format!("mariadb/{RELEASE}"), "--output=json"])?;
    let rows: Vec<Value> = serde_json::from_str(&told).with_context(|| told.clone())?;
    let newest = rows.iter().find(|row| row.get("verified") == Some(&Value::Bool(true)));
    let name = newest.and_then(|row| row.get("name")?.as_str());
    name.map(str::to_owned).with_context(|| format!("none of them is verified: {told}"))
}

/// `pilothouse backups`, in the namespace where it comes back.
fn backups(scene: &Scene<'_>, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(&scene.command);
    command.env("PILOTHOUSE_BACKUP_PLUGIN", &scene.backup_plugin);
    command.env("PILOTHOUSE_CACHE_DIR", scene.work.join("compiled"));
    command.env("PILOTHOUSE_KUBECONFIG", scene.look.access.kubeconfig());
    output(command.arg("backups").args(arguments).args(["--namespace", NAMESPACE]))
}
