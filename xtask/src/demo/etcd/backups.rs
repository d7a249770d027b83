//! Backups of the cluster into a real server that speaks like S3, judged by the real etcdutl, and into a claim of the host's pod.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use pilothouse_testbed::etcd_images;
use pilothouse_testbed::object_store::{ACCESS_KEY, ObjectStore, SECRET_KEY};
use serde_json::{Value, json};

use crate::demo::look::Look;
use crate::steps::{output, say};

/// The bucket of the scene.
pub(super) const BUCKET: &str = "backups";
/// The file system of the scene, as the plugin's settings name it.
pub(super) const DISK: &str = "disk";
/// The backup in it.
pub(super) const ON_DISK: &str = "etcd/kept";
const ONCE: &str = "etcdbackups/once";
const OFTEN: &str = "etcdbackups/often";

/// A store, and where its objects lie as files.
pub(super) struct Store {
    server: ObjectStore,
    files: PathBuf,
}

impl Store {
    /// A store that pods reach at this address of the machine.
    pub(super) fn open(work: &Path, address: &str) -> Result<Self> {
        let directory = work.join("store");
        let server = ObjectStore::at(&directory, BUCKET, address)?;
        Ok(Self { server, files: directory.join("data").join(BUCKET) })
    }

    /// A backup in it, as resources name it.
    pub(super) fn source(&self, name: &str) -> Value {
        json!({
            "path": format!("{BUCKET}/etcd/{name}"), "awsSecret": "aws",
            "endpoint": format!("http://{}", self.address()), "forcePathStyle": true,
        })
    }

    /// The file of a backup.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.files.join("etcd").join(name)
    }

    /// `host:port`.
    pub(super) fn address(&self) -> String {
        self.server.address()
    }
}

/// Plays it, on a cluster with one `EtcdCluster` called `example`.
///
/// # Errors
/// The step that was not seen.
pub(super) fn play(look: Look<'_>, store: &mut Store, work: &Path) -> Result<()> {
    let credentials =
        format!("[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "aws"},
        "stringData": {"credentials": credentials}});
    apply(look, work, &secret)?;
    apply(look, work, &backup(store, "once", &json!({})))?;
    look.seen("an EtcdBackup has succeeded", || look.value(ONCE, "{.status.succeeded}") == "true")?;
    let told: Value = serde_json::from_str(&look.value(ONCE, "{.status.artifact}"))?;
    println!("  {told}");
    judge(&store.files.join("etcd/once"), &told)?;
    say("etcdutl takes the file for a whole snapshot, of the revision that was told");
    often(look, store, work)?;
    on_disk(look, work)?;
    store_is_down(look, store, work)
}

fn backup(store: &Store, name: &str, policy: &Value) -> Value {
    let spec = json!({"storageType": "S3", "s3": store.source(name), "backupPolicy": policy});
    object(name, spec)
}

fn object(name: &str, mut spec: Value) -> Value {
    if let Some(fields) = spec.as_object_mut() {
        fields.insert("etcdEndpoints".to_owned(), json!(["http://example-client:2379"]));
    }
    json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdBackup", "metadata": {"name": name}, "spec": spec,
    })
}

/// Into a directory, from which a member is started before the backup counts.
fn on_disk(look: Look<'_>, work: &Path) -> Result<()> {
    let policy = json!({"verification": "Restore", "timeoutInSecond": 600});
    let spec =
        json!({"storageType": "Store", "store": {"name": DISK, "path": ON_DISK}, "backupPolicy": policy});
    apply(look, work, &object("kept", spec))?;
    look.seen("a backup in a directory, from which a member was started, has succeeded", || {
        look.value("etcdbackups/kept", "{.status.succeeded}") == "true"
    })?;
    println!("  {}", look.value("etcdbackups/kept", "{.status.artifact.uri}"));
    Ok(())
}

pub(super) fn apply(look: Look<'_>, work: &Path, object: &Value) -> Result<()> {
    let file = work.join("object.json");
    std::fs::write(&file, object.to_string())?;
    look.kubectl(&["apply", "--filename", &file.display().to_string()]).map(drop)
}

/// The real tool's word on a file.
fn judge(file: &Path, told: &Value) -> Result<()> {
    let mut command = Command::new(etcd_images::etcdutl()?);
    let said = output(command.args(["snapshot", "status", "--write-out=json"]).arg(file))?;
    let said: Value = serde_json::from_str(&said).context("etcdutl says no JSON")?;
    let size = std::fs::metadata(file)?.len();
    if told.get("size").and_then(Value::as_u64) != Some(size) {
        bail!("{} has {size} bytes, and the status says {told}", file.display());
    }
    // Clients may have written between the question for the revision and the snapshot.
    let (real, claimed) =
        (said.get("revision").and_then(Value::as_i64), told.get("revision").and_then(Value::as_i64));
    if real < claimed || claimed.is_none() {
        bail!("the snapshot is of revision {real:?}, and the status says {claimed:?}");
    }
    Ok(())
}

/// Every few seconds, and two are kept.
fn often(look: Look<'_>, store: &Store, work: &Path) -> Result<()> {
    apply(look, work, &backup(store, "often", &json!({"backupIntervalInSecond": 3, "maxBackups": 2})))?;
    let mut taken = std::collections::BTreeSet::new();
    look.seen("four backups by an interval of three seconds", || {
        taken.insert(look.value(OFTEN, "{.status.artifact.uri}"));
        taken.remove("");
        taken.len() >= 4
    })?;
    look.seen("the two newest are kept", || kept(store).is_ok_and(|kept| kept.len() == 2))?;
    look.patch(OFTEN, r#"{"spec":{"backupPolicy":{"suspend":true}}}"#)?;
    if !store.files.join("etcd/once").is_file() {
        bail!("the backup of another EtcdBackup was deleted");
    }
    Ok(())
}

fn kept(store: &Store) -> Result<Vec<String>> {
    let names = std::fs::read_dir(store.files.join("etcd"))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter(|name| name.starts_with("often_v")).collect())
}

/// Nobody answers for a while: that is told, and made good.
fn store_is_down(look: Look<'_>, store: &mut Store, work: &Path) -> Result<()> {
    store.server.stop();
    let started = Instant::now();
    apply(look, work, &backup(store, "later", &json!({})))?;
    let reason =
        || look.value("etcdbackups/later", "{.status.conditions[?(@.type==\"Reconciling\")].reason}");
    look.seen("the store is down: an EtcdBackup says that it is tried again", || reason() == "Retrying")?;
    store.server.start()?;
    look.seen("the store is back: it has succeeded", || {
        look.value("etcdbackups/later", "{.status.succeeded}") == "true"
    })?;
    if started.elapsed() < Duration::from_secs(1) {
        bail!("that was too quick to have been down");
    }
    look.kubectl(&["delete", "etcdbackups", "--all", "--timeout=60s"]).map(drop)
}
