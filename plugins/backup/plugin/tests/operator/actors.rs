//! Who acts in the cluster beside the plugin: Jobs with their pods, the etcd plugin, the driver of snapshots. They outlive the host.

use std::collections::{BTreeMap, VecDeque};

use pilothouse_sdk::{BlobErrorKind, Gvk, ObjectRef, harness::Cluster};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::scene::{NAMESPACE, STORE};

/// What happens to one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It does its work.
    Well,
    /// The container of the database fails.
    Fails,
    /// The sender is killed in the middle.
    CutOff,
    /// Its node puts it out.
    Evicted,
    /// Its image is nowhere.
    NoImage,
    /// It never ends.
    Hangs,
    /// It does its work, and then something else is under its key.
    Corrupts,
}

/// Everybody.
#[derive(Debug, Default)]
pub(crate) struct Actors {
    /// What the database holds.
    pub(crate) data: Vec<u8>,
    /// Of the next tasks of a role, the first one first; those without one do their work.
    pub(crate) fates: BTreeMap<&'static str, VecDeque<Fate>>,
    decided: BTreeMap<String, Fate>,
}

pub(crate) fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn list(cluster: &Cluster, kind: Gvk) -> Vec<Value> {
    cluster.kubectl().list_ref(kind, NAMESPACE).all().unwrap()
}

pub(crate) fn jobs(cluster: &Cluster) -> Vec<Value> {
    list(cluster, Gvk::new("batch", "v1", "Job"))
}

pub(crate) fn etcd(kind: &str) -> Gvk {
    Gvk::new("etcd.database.coreos.com", "v1beta2", kind)
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn name_of(object: &Value) -> String {
    text(object, "/metadata/name").to_owned()
}

fn is_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

impl Actors {
    pub(crate) fn new(data: &[u8]) -> Self {
        Self { data: data.to_vec(), ..Self::default() }
    }

    pub(crate) fn fate(&mut self, role: &'static str, fates: &[Fate]) {
        self.fates.entry(role).or_default().extend(fates);
    }

    fn fate_of(&mut self, object: &Value, role: &str) -> Fate {
        let uid = text(object, "/metadata/uid").to_owned();
        let fates = self.fates.iter_mut().find(|(known, _)| **known == role).map(|(_, fates)| fates);
        let next = || fates.and_then(VecDeque::pop_front).unwrap_or(Fate::Well);
        *self.decided.entry(uid).or_insert_with(next)
    }

    /// Everybody goes on with what he does. True: somebody has something to do.
    pub(crate) fn act(&mut self, cluster: &Cluster) -> bool {
        let mut busy = false;
        for job in jobs(cluster) {
            busy = true;
            if !is_deleted(&job) && job.pointer("/status/conditions").is_none() {
                self.work(cluster, &job);
            }
        }
        for backup in list(cluster, etcd("EtcdBackup")) {
            busy = true;
            self.take_snapshot(cluster, &backup);
        }
        for restore in list(cluster, etcd("EtcdRestore")) {
            busy = true;
            self.restore_snapshot(cluster, &restore);
        }
        busy
    }

    /// One step of a Job: its pod is made, then it does its work.
    fn work(&mut self, cluster: &Cluster, job: &Value) {
        let (name, role) =
            (name_of(job), text(job, "/metadata/labels/backup.pilothouse.dev~1role").to_owned());
        let fate = self.fate_of(job, &role);
        let Some(token) = cluster.handover_token(NAMESPACE, &name) else {
            panic!("the pod of {name} waits for a Secret that is not there");
        };
        let pod = ObjectRef::new(Gvk::new("", "v1", "Pod"), NAMESPACE, name.as_str());
        if cluster.kubectl().get_ref::<Value>(&pod).unwrap().is_none() {
            return begin(cluster, job, fate);
        }
        let (database, own) = if role == "dump" { ("dump", "sent") } else { ("restore", "read") };
        let done = match fate {
            Fate::NoImage | Fate::Hangs => return,
            Fate::Evicted => {
                let status =
                    json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."});
                cluster.set_status(&pod, &status).unwrap();
                return cluster.fail_job(NAMESPACE, &name, "it has no pod").unwrap();
            }
            Fate::Fails => {
                Err((2, "connecting\nERROR 1045: Access denied".to_owned(), format!("nothing was {own}")))
            }
            Fate::CutOff => {
                // A host that was begun anew does not know the token any more.
                let _ = cluster.cut_off(&token, 7);
                Err((141, String::new(), "the stream was cut".to_owned()))
            }
            Fate::Well | Fate::Corrupts => self.transfer(cluster, &role, &token),
        };
        match done {
            Ok(told) => {
                let containers = json!([ended(database, 0, ""), ended("transfer", 0, &told)]);
                cluster
                    .set_status(&pod, &json!({"phase": "Succeeded", "containerStatuses": containers}))
                    .unwrap();
                if fate == Fate::Corrupts {
                    let keys = cluster.stored_keys(STORE);
                    cluster.store(STORE, keys.last().unwrap(), vec![b'?'; self.data.len()]);
                }
                cluster.complete_job(NAMESPACE, &name).unwrap();
            }
            Err((code, said, why)) => {
                let why = json!({"reason": "Unavailable", "message": why}).to_string();
                let containers = json!([ended(database, code, &said), ended("transfer", 1, &why)]);
                cluster
                    .set_status(&pod, &json!({"phase": "Failed", "containerStatuses": containers}))
                    .unwrap();
                cluster.fail_job(NAMESPACE, &name, "its pod failed").unwrap();
            }
        }
    }

    /// What `transfer` tells; or with what the other container ends, what that says, and why.
    fn transfer(
        &mut self,
        cluster: &Cluster,
        role: &str,
        token: &str,
    ) -> Result<String, (i32, String, String)> {
        let refused = |error: pilothouse_sdk::BlobError| (141, String::new(), error.message);
        if role == "dump" {
            cluster.hand_in(token, &self.data).map_err(refused)?;
            return Ok(json!({"size": self.data.len(), "sha256": sha256(&self.data)}).to_string());
        }
        let content = cluster.hand_out(token).map_err(refused)?;
        if role == "restore" {
            self.data.clone_from(&content);
        }
        Ok(json!({"size": content.len(), "sha256": sha256(&content)}).to_string())
    }

    fn take_snapshot(&mut self, cluster: &Cluster, backup: &Value) {
        let over = backup.pointer("/status/succeeded") == Some(&json!(true))
            || !text(backup, "/status/Reason").is_empty();
        if over || is_deleted(backup) {
            return;
        }
        let reference = ObjectRef::new(etcd("EtcdBackup"), NAMESPACE, name_of(backup));
        let fate = self.fate_of(backup, "etcd");
        match fate {
            Fate::Hangs => {}
            Fate::Well | Fate::Corrupts => {
                let key = text(backup, "/spec/s3/path").strip_prefix("backups/").unwrap().to_owned();
                cluster.store(STORE, &key, self.data.clone());
                let artefact = json!({"uri": format!("{STORE}/{key}"), "size": self.data.len(), "sha256": sha256(&self.data), "etcdVersion": "3.6.1"});
                if fate == Fate::Corrupts {
                    cluster.store(STORE, &key, vec![b'?'; self.data.len()]);
                }
                cluster.set_status(&reference, &json!({"succeeded": true, "artifact": artefact})).unwrap();
            }
            _ => cluster
                .set_status(&reference, &json!({"succeeded": false, "Reason": "no member answers"}))
                .unwrap(),
        }
    }

    fn restore_snapshot(&mut self, cluster: &Cluster, restore: &Value) {
        if !text(restore, "/status/state").is_empty() || is_deleted(restore) {
            return;
        }
        let reference = ObjectRef::new(etcd("EtcdRestore"), NAMESPACE, name_of(restore));
        let fate = self.fate_of(restore, "etcd-restore");
        match fate {
            Fate::Well => {
                let key = text(restore, "/spec/s3/path").strip_prefix("backups/").unwrap();
                self.data = cluster.stored(STORE, key).unwrap();
                cluster.set_status(&reference, &json!({"succeeded": true, "state": "Succeeded"})).unwrap();
            }
            Fate::Hangs => {}
            _ => {
                let status = json!({"succeeded": false, "state": "Failed", "reason": "no quorum"});
                cluster.set_status(&reference, &status).unwrap();
            }
        }
    }
}

fn ended(container: &str, code: i32, message: &str) -> Value {
    let reason = if code == 0 { "Completed" } else { "Error" };
    let at = if code == 1 { "2026-01-01T00:00:02Z" } else { "2026-01-01T00:00:01Z" };
    json!({"name": container, "state": {"terminated": {"exitCode": code, "reason": reason, "message": message, "finishedAt": at}}})
}

fn begin(cluster: &Cluster, job: &Value, fate: Fate) {
    let name = name_of(job);
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"], "controller": true}]);
    let labels = json!({"batch.kubernetes.io/job-name": name});
    let metadata = json!({"name": name, "namespace": NAMESPACE, "labels": labels, "ownerReferences": owner});
    let spec = job["spec"]["template"]["spec"].clone();
    let status = if fate == Fate::NoImage {
        let waiting = json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}});
        json!({"phase": "Pending", "containerStatuses": [{"name": "dump", "state": waiting}]})
    } else {
        json!({"phase": "Running"})
    };
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    cluster.create([pod]).unwrap();
    let pod = ObjectRef::new(Gvk::new("", "v1", "Pod"), NAMESPACE, name.as_str());
    cluster.set_status(&pod, &status).unwrap();
    cluster
        .set_status(
            &ObjectRef::new(Gvk::new("batch", "v1", "Job"), NAMESPACE, name.as_str()),
            &json!({"active": 1}),
        )
        .unwrap();
}

/// A token that is not known opens nothing.
pub(crate) fn is_closed(cluster: &Cluster, token: &str) -> bool {
    cluster.hand_in(token, b"late").is_err_and(|error| error.kind == BlobErrorKind::Denied)
}
