//! Restores: of a file that somebody changed; into the cluster that the backup is of, from a server; into a new one, from a directory. Clients
//! write and read before and after the one that takes their writes away.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::backups::{DISK, ON_DISK, Store, apply};
use super::traffic::{Client, Traffic};
use crate::demo::look::Look;
use crate::steps::say;

const CLUSTER: &str = "etcdclusters/example";
const RESTORE: &str = "etcdrestores/example";

/// Plays it, on a cluster `example` of which there are two backups, and that has been written to until now.
///
/// # Errors
/// The step that was not seen, or a write that is lost.
pub(super) fn play(
    look: Look<'_>,
    store: &Store,
    work: &Path,
    address: &str,
    traffic: Traffic,
) -> Result<()> {
    Client::new(address).put("later", "than the backup")?;
    tampered(look, store, work, address)?;
    check(traffic)?;
    apply(look, work, &restore("example", &from_server(store, "once")))?;
    look.seen("an EtcdRestore of the same cluster has succeeded", || {
        look.value(RESTORE, "{.status.succeeded}") == "true"
    })?;
    look.seen("three members are ready on the data of the backup", || rests(look, CLUSTER))?;
    expect(address, "greeting", Some("hello"))?;
    expect(address, "later", None)?;
    let traffic = Traffic::start(address);
    into_a_new_one(look, work)?;
    check(traffic)?;
    look.kubectl(&["delete", "etcdrestores", "--all", "--timeout=60s"]).map(drop)
}

/// Everything that was acknowledged is there.
fn check(traffic: Traffic) -> Result<()> {
    let writes = traffic.check()?;
    say(&format!("{writes} writes were acknowledged, and every one of them is there"));
    Ok(())
}

fn from_server(store: &Store, backup: &str) -> Value {
    json!({"backupStorageType": "S3", "s3": store.source(backup)})
}

fn restore(cluster: &str, from: &Value) -> Value {
    let mut spec = from.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.insert("etcdCluster".to_owned(), json!({"name": cluster}));
    }
    json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdRestore", "metadata": {"name": cluster}, "spec": spec,
    })
}

fn rests(look: Look<'_>, cluster: &str) -> bool {
    let ready = look.value(cluster, "{.status.members.ready[*]}").split_whitespace().count();
    ready == 3 && look.value(cluster, "{.status.conditions[?(@.type==\"Ready\")].status}") == "True"
}

fn expect(address: &str, key: &str, value: Option<&str>) -> Result<()> {
    let found = Client::new(address).all(key)?;
    match found.get(key).map(String::as_str) == value {
        true => Ok(()),
        false => bail!("{key} is {:?} and should be {value:?}", found.get(key)),
    }
}

/// One byte is another one: the restore is refused, and the cluster goes on.
fn tampered(look: Look<'_>, store: &Store, work: &Path, address: &str) -> Result<()> {
    let mut content = std::fs::read(store.file("once"))?;
    let middle = content.len() / 2;
    if let Some(byte) = content.get_mut(middle) {
        *byte ^= 1;
    }
    std::fs::write(store.file("changed"), content)?;
    let members = look.value(CLUSTER, "{.status.members.ready[*]}");
    apply(look, work, &restore("example", &from_server(store, "changed")))?;
    look.seen("a backup of which one byte was changed is refused", || {
        look.value(RESTORE, "{.status.state}") == "Failed"
    })?;
    println!("  {}", look.value(RESTORE, "{.status.reason}"));
    if look.value(CLUSTER, "{.status.members.ready[*]}") != members {
        bail!("the cluster was touched");
    }
    expect(address, "later", Some("than the backup"))?;
    look.kubectl(&["delete", RESTORE, "--timeout=60s"]).map(drop)
}

/// Restore and cluster are created together: its first data is the backup.
fn into_a_new_one(look: Look<'_>, work: &Path) -> Result<()> {
    let cluster = json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "metadata": {"name": "fresh"},
        "spec": {"size": 3, "version": "3.7.3"},
    });
    let disk = json!({"backupStorageType": "Store", "store": {"name": DISK, "path": ON_DISK}});
    apply(look, work, &restore("fresh", &disk))?;
    apply(look, work, &cluster)?;
    look.seen("a new cluster has begun with the backup", || {
        look.value("etcdrestores/fresh", "{.status.succeeded}") == "true" && rests(look, "etcdclusters/fresh")
    })?;
    let address = format!("{}:2379", look.value("service/fresh-client", "{.spec.clusterIP}"));
    expect(&address, "greeting", Some("hello"))?;
    look.kubectl(&["delete", "etcdclusters/fresh", "--timeout=60s"]).map(drop)
}
