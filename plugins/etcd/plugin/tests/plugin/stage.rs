//! A restore into a cluster whose pods are played: each takes the backup if it waits for one, then runs etcd.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, time::Duration};

use pilothouse_sdk::{
    DeleteOptions, Gvk, HttpError, HttpErrorKind, HttpRequest, ObjectRef,
    harness::{Cluster, HttpAnswer, Runner},
};
use serde_json::{Value, json};

use crate::restore::{KEY, STORE, base, etcd, object, read, restore, runner, snapshot};

/// What has become of the pod of a member.
#[derive(Debug, Default)]
struct Member {
    uid: String,
    /// Seconds since it was first seen.
    age: u32,
    /// It waits for the backup.
    listens: bool,
    /// It has the backup.
    got: bool,
    /// etcd answers.
    runs: bool,
}

type Members = Rc<RefCell<BTreeMap<String, Member>>>;

/// One member, whose data outlives its pod.
fn single() -> Value {
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    object("EtcdCluster", "example", &json!({"size": 1, "pod": {"persistentVolumeClaimSpec": claim}}))
}

/// The cluster, the operator, and the pods.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    runner: Runner,
    members: Members,
}

fn answer(members: &Members, request: &HttpRequest) -> Result<HttpAnswer, HttpError> {
    let nobody = || HttpError::new(HttpErrorKind::Unreachable, "nobody");
    let name = request.url.trim_start_matches("http://").split('.').next().unwrap();
    let mut members = members.borrow_mut();
    let member = members.get_mut(name).ok_or_else(nobody)?;
    if request.url.ends_with("/cgi-bin/snapshot") {
        if !member.listens {
            return Err(nobody());
        }
        member.got = request.body == snapshot();
        member.listens = !member.got;
        return Ok(HttpAnswer::new(if member.got { 200 } else { 422 }, ""));
    }
    if !member.runs {
        return Err(nobody());
    }
    // Whoever begins a cluster alone makes identifiers of its own.
    let id =
        name.bytes().fold(1_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())).to_string();
    let revision = if member.got { "1000000007" } else { "9" };
    let header = json!({"cluster_id": id, "member_id": id, "revision": revision});
    let list =
        json!([{"ID": id, "name": name, "peerURLs": [format!("http://{name}.example.default.svc:2380")]}]);
    Ok(HttpAnswer::json(&match request.url.rsplit('/').next() {
        Some("status") => {
            json!({"header": header, "version": "3.6.16", "leader": id, "storageVersion": "3.6.0"})
        }
        Some("list") => json!({"header": header, "members": list}),
        _ => json!({"header": header}),
    }))
}

impl Stage {
    /// A cluster that is there already, or nothing but a backup.
    pub(crate) fn new(exists: bool) -> Self {
        let (cluster, members) = (base(), Members::default());
        let served = Rc::clone(&members);
        cluster.serve("http://*.example.default.svc:2379", move |request, _| answer(&served, request));
        cluster.store(STORE, KEY, snapshot());
        let runner = runner(&cluster);
        let mut stage = Self { cluster, runner, members };
        if exists {
            stage.cluster.create([single()]).unwrap();
            stage.play(15);
            assert_eq!(stage.status("EtcdCluster")["phase"], "Running", "{}", stage.status("EtcdCluster"));
        }
        stage
    }

    /// Is the cluster as it was asked for?
    pub(crate) fn is_ready(&self) -> bool {
        let ready = self.cluster.condition(&etcd("EtcdCluster", "example"), "Ready");
        ready.is_some_and(|ready| ready.status.as_str() == "True")
    }

    /// Has the claim of this member the backup?
    pub(crate) fn has_backup(&self, member: &str) -> bool {
        self.members.borrow().get(member).is_some_and(|member| member.got)
    }

    /// Asks for the restore, and for the cluster if there is none.
    pub(crate) fn ask(&self) {
        self.cluster.create([restore("example")]).unwrap();
        if self.cluster.kubectl().get_ref::<Value>(&etcd("EtcdCluster", "example")).unwrap().is_none() {
            self.cluster.create([single()]).unwrap();
        }
    }

    /// Deletes the restore.
    pub(crate) fn withdraw(&self) {
        let restore = etcd("EtcdRestore", "example");
        self.cluster.kubectl().delete_ref(&restore, &DeleteOptions::default()).unwrap();
    }

    /// So many seconds.
    pub(crate) fn play(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.runner.run_for(Duration::from_secs(1)).unwrap();
            self.kubelet();
        }
    }

    pub(crate) fn pods(&self) -> Vec<Value> {
        self.cluster.kubectl().list_ref(Gvk::new("", "v1", "Pod"), "default").all().unwrap()
    }

    pub(crate) fn status(&self, kind: &str) -> Value {
        read(&self.cluster, &etcd(kind, "example"))["status"].clone()
    }

    pub(crate) fn uid(&self, kind: &str) -> Value {
        read(&self.cluster, &etcd(kind, "example"))["metadata"]["uid"].clone()
    }

    fn kubelet(&self) {
        let pods = self.pods();
        let mut members = self.members.borrow_mut();
        let uid = |pod: &Value| pod["metadata"]["uid"].as_str().unwrap().to_owned();
        for member in members.values_mut() {
            if !pods.iter().any(|pod| uid(pod) == member.uid) {
                // What it has got is in its claim.
                *member = Member { got: member.got, ..Member::default() };
            }
        }
        for pod in &pods {
            let name = pod["metadata"]["name"].as_str().unwrap();
            let member = members.entry(name.to_owned()).or_default();
            (member.uid, member.age) = (uid(pod), member.age + 1);
            let status = next(member, fetches(pod));
            let place = ObjectRef::new(Gvk::new("", "v1", "Pod"), "default", name);
            if pod["status"] != status {
                self.cluster.set_status(&place, &status).unwrap();
            }
        }
    }
}

fn fetches(pod: &Value) -> bool {
    let init = pod["spec"]["initContainers"].as_array();
    init.into_iter().flatten().any(|container| container["name"] == "fetch-backup")
}

/// One second of a pod; its status then.
fn next(member: &mut Member, fetches: bool) -> Value {
    let status = |phase: &str, ready: &str, fetch: &str| {
        let mut status = json!({"phase": phase, "podIP": "10.0.0.1", "conditions": [
            {"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
        if fetches {
            status["initContainerStatuses"] = json!([{"name": "fetch-backup", "state": {fetch: {}}}]);
        }
        status
    };
    if member.age < 3 {
        return status("Pending", "False", "waiting");
    }
    if fetches && !member.got {
        member.listens = true;
        return status("Pending", "False", "running");
    }
    if member.age < 12 && !member.runs && fetches {
        member.age = member.age.max(9);
        return status("Running", "False", "terminated");
    }
    member.runs = true;
    status("Running", "True", "terminated")
}
