//! What never gets as far as the host: the API server refuses it by the definitions.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::demo::look::Look;
use crate::steps::say;

/// Plays it.
///
/// # Errors
/// What was taken though it cannot be carried out, or was refused for another reason.
pub(super) fn play(look: Look<'_>, work: &Path) -> Result<()> {
    let long = "a".repeat(53);
    let label = json!({"size": 1, "pod": {"labels": {"app": "mine"}}});
    let member = json!({"size": 1, "pod": {"labels": {"etcd_node": "mine"}}});
    let wrong = [
        (long.as_str(), json!({"size": 1}), "name"),
        ("wrong", label, "reserved label"),
        ("wrong", member, "reserved label"),
        ("wrong", json!({"size": 0}), "spec.size"),
        ("wrong", json!({"size": -1}), "spec.size"),
        ("wrong", json!({"size": 100}), "spec.size"),
        ("wrong", json!({"size": 1, "version": "latest"}), "released version"),
        ("wrong", json!({"size": 1, "version": "3"}), "released version"),
        ("wrong", json!({"size": 1, "backup": {}}), "unknown field"),
        (
            "wrong",
            json!({"size": 1, "pod": {"etcdEnv": [{"name": "ETCD_WAL_DIR", "value": "/wal"}]}}),
            "reserved",
        ),
    ];
    for (name, spec, words) in &wrong {
        refused(look, work, &cluster(name, spec), words)?;
    }
    let s3 = json!({"path": "backups/a", "awsSecret": "aws"});
    let spec = json!({"backupStorageType": "S3", "s3": s3, "etcdCluster": {"name": "other"}});
    refused(look, work, &object("EtcdRestore", "example", &spec), "name")?;
    say(&format!("seen: the API server itself refuses {} objects that cannot be", wrong.len() + 1));
    taken(look, work, &cluster("v", &json!({"size": 1, "version": "v3.6.16"})))
}

/// Changes of a cluster of 3.5 without TLS that cannot be carried out.
///
/// # Errors
/// As above.
pub(super) fn changes(look: Look<'_>, resource: &str) -> Result<()> {
    let wrong = [
        (json!({"version": "3.7.3"}), "one minor at a time"),
        (json!({"version": "v3.3.27"}), "released version"),
        (json!({"TLS": {"managed": {}}}), "TLS"),
        (json!({"size": 8}), "spec.size"),
    ];
    for (spec, words) in &wrong {
        let patch = json!({"spec": spec}).to_string();
        let change = ["patch", resource, "--dry-run=server", "--type=merge", "--patch", &patch];
        refusal(look.kubectl(&change).map(drop), &patch, words)?;
    }
    say(&format!("seen: the API server itself refuses {} changes that cannot be carried out", wrong.len()));
    Ok(())
}

fn cluster(name: &str, spec: &Value) -> Value {
    object("EtcdCluster", name, spec)
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// As `kubectl create` does it, but nothing is kept.
fn taken(look: Look<'_>, work: &Path, object: &Value) -> Result<()> {
    let file = work.join("tried.json");
    std::fs::write(&file, object.to_string())?;
    let create = ["create", "--dry-run=server", "--validate=strict", "--filename"];
    look.kubectl(&[create.as_slice(), &[&file.display().to_string()]].concat()).map(drop)
}

fn refused(look: Look<'_>, work: &Path, object: &Value, words: &str) -> Result<()> {
    refusal(taken(look, work, object), &object.to_string(), words)
}

fn refusal(tried: Result<()>, what: &str, words: &str) -> Result<()> {
    match tried {
        Ok(()) => bail!("the API server takes {what}"),
        Err(error) if error.to_string().contains(words) => Ok(()),
        Err(error) => bail!("{what} should be refused because of {words}: {error}"),
    }
}
