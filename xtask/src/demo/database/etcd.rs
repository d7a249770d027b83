//! An etcd cluster beside the databases: no upgrade and no deletion without a backup that was started from, and the way back by hand.

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::{A_WHILE, Scene};
use crate::demo::etcd::traffic::Client;
use crate::demo::look::Look;
use crate::steps::say;

const NAME: &str = "keys";
const RESOURCE: &str = "etcdclusters/keys";
const OLD: &str = "3.5.35";
const NEW: &str = "3.6.16";

/// Plays it.
///
/// # Errors
/// The step that was not seen.
pub(super) fn play(scene: &Scene<'_>) -> Result<()> {
    let look = scene.look;
    scene.apply(look, &policy(scene))?;
    scene.apply(look, &cluster(OLD))?;
    look.seen_within(A_WHILE, "an etcd cluster serves", || runs(look, OLD))?;
    write(look, "hello")?;
    upgrade(scene)?;
    back_and_forth(scene)?;
    deletion(scene)
}

fn upgrade(scene: &Scene<'_>) -> Result<()> {
    let look = scene.look;
    scene.apply(look, &cluster(NEW))?;
    look.seen_within(A_WHILE, "before its upgrade a member was started from a backup", || {
        // The upgrade goes on at once: what is looked at later may be of after it.
        taken(look, "pre-upgrade", Some(OLD))
    })?;
    look.seen_within(A_WHILE, "then it is upgraded", || runs(look, NEW))?;
    expect(look, "hello")
}

/// A backup by hand, a write too much, and the backup again.
fn back_and_forth(scene: &Scene<'_>) -> Result<()> {
    let look = scene.look;
    let group = "backup.pilothouse.dev/v1alpha1";
    let subject =
        json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": NAME});
    let metadata = json!({"name": NAME});
    let spec = json!({"subject": subject, "policyRef": {"name": NAME}});
    scene.apply(look, &json!({"apiVersion": group, "kind": "Backup", "metadata": metadata, "spec": spec}))?;
    look.verified(A_WHILE, "a backup of it by hand is verified", NAME)?;
    write(look, "spoiled")?;
    let spec = json!({"backupRef": {"name": NAME}});
    scene
        .apply(look, &json!({"apiVersion": group, "kind": "Restore", "metadata": metadata, "spec": spec}))?;
    let restore = format!("restores/{NAME}");
    look.seen_within(A_WHILE, "it is restored", || {
        ["Completed", "Failed"].contains(&look.value(&restore, "{.status.phase}").as_str())
    })
    .with_context(|| look.value(&restore, "{.status.phase}: {.status.message}"))?;
    if look.value(&restore, "{.status.phase}") != "Completed" {
        bail!("the restore failed: {}", look.value(&restore, "{.status.message}"));
    }
    look.seen_within(A_WHILE, "and serves again", || runs(look, NEW))?;
    expect(look, "hello")
}

fn deletion(scene: &Scene<'_>) -> Result<()> {
    let look = scene.look;
    look.kubectl(&["delete", RESOURCE, "--wait=false"])?;
    let pods = || look.kubectl(&["get", "pods", "--selector=etcd_cluster=keys", "--output=name"]);
    look.seen_within(A_WHILE, "it is deleted after a last backup", || {
        let there = look.kubectl(&["get", RESOURCE, "--ignore-not-found", "--output=name"]);
        there.is_ok_and(|there| there.trim().is_empty())
    })?;
    if !taken(look, "pre-delete", None) {
        bail!("there is no backup of before the deletion");
    }
    look.seen("and its pods are gone", || pods().is_ok_and(|pods| pods.trim().is_empty()))?;
    say("every change of the etcd cluster had its backup:");
    println!("{}", look.kubectl(&["get", "backups,lifecycleruns"])?);
    Ok(())
}

/// Is there a verified backup of before such a phase, and of this version?
fn taken(look: Look<'_>, phase: &str, version: Option<&str>) -> bool {
    let text = look.kubectl(&["get", "backups", "--output=json"]).unwrap_or_default();
    let list: Value = serde_json::from_str(&text).unwrap_or_default();
    let items = list.get("items").and_then(Value::as_array);
    let is = |backup: &Value, place: &str, value: &Value| backup.pointer(place) == Some(value);
    items.into_iter().flatten().any(|backup| {
        is(backup, "/spec/subject/name", &json!(NAME))
            && is(backup, "/spec/origin/phase", &json!(phase))
            && is(backup, "/status/verified", &json!(true))
            && version.is_none_or(|of| is(backup, "/status/artifact/subjectVersion", &json!(of)))
    })
}

fn runs(look: Look<'_>, version: &str) -> bool {
    look.value(RESOURCE, "{.status.currentVersion}") == version
        && look.value(RESOURCE, r#"{.status.conditions[?(@.type=="Ready")].status}"#) == "True"
}

fn client(look: Look<'_>) -> Client {
    Client::new(&format!("{}:2379", look.value(&format!("service/{NAME}-client"), "{.spec.clusterIP}")))
}

/// The Service leads to a member a moment after that is ready.
fn write(look: Look<'_>, value: &str) -> Result<()> {
    look.seen(&format!("{value:?} is written"), || client(look).put("greeting", value).is_ok())
}

fn expect(look: Look<'_>, value: &str) -> Result<()> {
    let mut all = None;
    look.seen("a client is answered", || {
        all = client(look).all("greeting").ok();
        all.is_some()
    })?;
    match all.iter().flatten().find(|(key, _)| *key == "greeting") {
        Some((_, told)) if told == value => Ok(()),
        _ => bail!("{all:?} is there, and should be {value}"),
    }
}

fn cluster(version: &str) -> Value {
    json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "metadata": {"name": NAME},
        "spec": {"size": 1, "version": version}})
}

fn policy(scene: &Scene<'_>) -> Value {
    json!({
        "apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": "BackupPolicy", "metadata": {"name": NAME},
        "spec": {
            "subjects": [{"apiGroup": "etcd.database.coreos.com", "kind": "EtcdCluster"}],
            "phases": ["pre-upgrade", "pre-delete"],
            "storage": scene.store.storage(),
            "strategy": {"etcd": {}},
            "verification": {"level": "Restore"},
        },
    })
}
