//! A restore from a store in memory into a cluster whose pods the test plays.

use std::{cell::RefCell, rc::Rc, time::Duration};

use pilothouse_sdk::{
    Gvk, HttpError, HttpErrorKind, HttpRequest, ObjectRef,
    harness::{Cluster, HttpAnswer, Runner, StoreFault},
};
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::{
    MANIFEST,
    database::{Layout, database},
    definitions,
};

pub(crate) const STORE: &str = "s3+http://minio.default.svc:9000/backups";
pub(crate) const KEY: &str = "etcd/daily_v7_2026-01-10-02:03:04";

pub(crate) fn etcd(kind: &str, name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("etcd.database.coreos.com", "v1beta2", kind), "default", name)
}

pub(crate) fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": kind,
        "metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

pub(crate) fn restore(name: &str) -> Value {
    let s3 = json!({"path": format!("backups/{KEY}"), "endpoint": "http://minio.default.svc:9000", "forcePathStyle": true});
    object(
        "EtcdRestore",
        name,
        &json!({"backupStorageType": "S3", "s3": s3, "etcdCluster": {"name": "example"}}),
    )
}

pub(crate) fn snapshot() -> Vec<u8> {
    let mut content = b"data at 7".to_vec();
    let trailer = sha2::Sha256::digest(&content);
    content.extend(trailer);
    content
}

/// What the pod of the first member has got, and whether etcd runs in it.
#[derive(Default)]
struct Member {
    got: RefCell<Vec<Vec<u8>>>,
    runs: RefCell<bool>,
}

fn answer(member: &Member, request: &HttpRequest) -> Result<HttpAnswer, HttpError> {
    if request.url.ends_with("/cgi-bin/snapshot") {
        member.got.borrow_mut().push(request.body.clone());
        return Ok(HttpAnswer::new(200, ""));
    }
    let header = json!({"cluster_id": "1", "member_id": "2", "revision": "1000000007"});
    let list = json!([{"ID": "2", "name": "example-a", "peerURLs": []}]);
    match request.url.rsplit('/').next() {
        _ if !*member.runs.borrow() => Err(HttpError::new(HttpErrorKind::Unreachable, "nobody")),
        Some("status") => Ok(HttpAnswer::json(
            &json!({"header": header, "version": "3.6.16", "leader": "2", "storageVersion": "3.6.0"}),
        )),
        Some("list") => Ok(HttpAnswer::json(&json!({"header": header, "members": list}))),
        _ => Ok(HttpAnswer::json(&json!({"header": header}))),
    }
}

/// A Kubernetes that knows the definitions.
pub(crate) fn base() -> Cluster {
    let cluster = Cluster::new();
    for definition in definitions() {
        cluster.define(&definition).unwrap();
    }
    cluster
}

fn cluster() -> (Cluster, Rc<Member>) {
    let cluster = base();
    let member = Rc::new(Member::default());
    let served = Rc::clone(&member);
    cluster.serve("http://*.example.default.svc:2379", move |request, _| answer(&served, request));
    (cluster, member)
}

pub(crate) fn runner(cluster: &Cluster) -> Runner {
    Runner::new(cluster, etcd_plugin::plugin).manifest(MANIFEST).unwrap()
}

pub(crate) fn read(cluster: &Cluster, reference: &ObjectRef) -> Value {
    cluster.kubectl().get_ref(reference).unwrap().unwrap()
}

fn pods(cluster: &Cluster) -> Vec<Value> {
    cluster.kubectl().list_ref(Gvk::new("", "v1", "Pod"), "default").all().unwrap()
}

#[test]
fn a_backup_is_checked_sent_to_the_first_member_and_then_the_cluster_holds_it() {
    let (cluster, member) = cluster();
    cluster.store(STORE, KEY, snapshot());
    cluster.create([restore("example"), object("EtcdCluster", "example", &json!({"size": 1}))]).unwrap();
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(10)).unwrap();
    let all = pods(&cluster);
    assert_eq!(all.len(), 1, "{}", read(&cluster, &etcd("EtcdRestore", "example"))["status"]);
    let init = &all[0]["spec"]["initContainers"];
    let names: Vec<_> = init.as_array().unwrap().iter().map(|container| container["name"].clone()).collect();
    assert_eq!(names, ["check-dns", "clear-datadir", "fetch-backup", "restore-datadir", "place-datadir"]);
    assert!(member.got.borrow().is_empty(), "nobody listens yet");
    let pod =
        ObjectRef::new(Gvk::new("", "v1", "Pod"), "default", all[0]["metadata"]["name"].as_str().unwrap());
    let waits = json!([{"name": "fetch-backup", "state": {"running": {}}}]);
    cluster
        .set_status(&pod, &json!({"phase": "Pending", "podIP": "10.0.0.1", "initContainerStatuses": waits}))
        .unwrap();
    runner.run_for(Duration::from_secs(5)).unwrap();
    assert_eq!(*member.got.borrow(), [snapshot()], "sent once");
    *member.runs.borrow_mut() = true;
    let conditions =
        json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    cluster
        .set_status(&pod, &json!({"phase": "Running", "podIP": "10.0.0.1", "conditions": conditions}))
        .unwrap();
    runner.run_for(Duration::from_secs(20)).unwrap();
    let told = read(&cluster, &etcd("EtcdRestore", "example"))["status"].clone();
    assert_eq!((&told["succeeded"], &told["state"]), (&json!(true), &json!("Succeeded")), "{told}");
    assert_eq!(told["artifact"]["revision"], 7);
    let status = read(&cluster, &etcd("EtcdCluster", "example"))["status"].clone();
    assert_eq!(status["phase"], "Running", "{status}");
}

#[test]
fn what_is_not_the_backup_is_refused_before_anything_is_touched() {
    let mut tampered = snapshot();
    tampered[0] ^= 1;
    for (content, said) in [(Some(tampered), ""), (Some(b"short".to_vec()), ""), (None, "")] {
        let (cluster, _) = cluster();
        if let Some(content) = content {
            cluster.store(STORE, KEY, content);
        }
        cluster.create([restore("example"), object("EtcdCluster", "example", &json!({"size": 1}))]).unwrap();
        runner(&cluster).run_for(Duration::from_secs(30)).unwrap();
        let held = cluster.condition(&etcd("EtcdCluster", "example"), "Stalled").unwrap();
        assert_eq!((held.status.as_str(), held.reason.as_str()), ("True", "RestoreFailed"));
        let told = read(&cluster, &etcd("EtcdRestore", "example"))["status"].clone();
        assert_eq!((&told["succeeded"], &told["state"]), (&json!(false), &json!("Failed")), "{told}");
        assert!(told["reason"].as_str().is_some_and(|why| !why.is_empty() && why.contains(said)), "{told}");
        assert_eq!(pods(&cluster).len(), 0);
    }
}

#[test]
fn a_backup_that_cannot_have_the_revision_that_is_asked_for_is_refused_before_anything_is_touched() {
    for (asked, state) in [(999_999, "Failed"), (8, "Failed"), (7, "Seeding"), (3, "Seeding")] {
        let (cluster, _) = cluster();
        cluster.store(STORE, KEY, snapshot());
        let mut object = restore("example");
        object["spec"]["revision"] = json!(asked);
        cluster.create([object]).unwrap();
        runner(&cluster).run_for(Duration::from_secs(10)).unwrap();
        let told = read(&cluster, &etcd("EtcdRestore", "example"))["status"].clone();
        assert_eq!(told["state"], state, "{told}");
        if state == "Failed" {
            let why = told["reason"].as_str().unwrap();
            assert!(why.contains("revision 7") && why.contains(&asked.to_string()), "{told}");
        }
    }
}

#[test]
fn a_hash_that_somebody_wrote_into_the_status_is_no_part_of_a_script() {
    let (cluster, _) = cluster();
    cluster.store(STORE, KEY, snapshot());
    cluster.create([restore("example"), object("EtcdCluster", "example", &json!({"size": 1}))]).unwrap();
    let artefact = json!({"uri": format!("{STORE}/{KEY}"), "sha256": "'; reboot; '", "revision": 7});
    let status = json!({"state": "Seeding", "artifact": artefact});
    cluster.set_status(&etcd("EtcdRestore", "example"), &status).unwrap();
    runner(&cluster).run_for(Duration::from_secs(10)).unwrap();
    assert_eq!(pods(&cluster).len(), 0);
    assert_eq!(
        cluster.condition(&etcd("EtcdCluster", "example"), "Stalled").unwrap().reason,
        "RestoreFailed"
    );
}

#[test]
fn a_restore_has_the_name_of_its_cluster() {
    let (cluster, _) = cluster();
    cluster.store(STORE, KEY, snapshot());
    cluster.create([restore("other")]).unwrap();
    runner(&cluster).run_for(Duration::from_secs(5)).unwrap();
    let told = read(&cluster, &etcd("EtcdRestore", "other"))["status"].clone();
    assert!(told["reason"].as_str().is_some_and(|why| why.contains("\"example\"")), "{told}");
}

#[test]
fn a_store_that_does_not_answer_is_asked_again() {
    let (cluster, _) = cluster();
    cluster.store(STORE, KEY, snapshot());
    cluster.fail_store(StoreFault::unavailable().times(3));
    cluster.create([restore("example")]).unwrap();
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_mins(5)).unwrap();
    let told = read(&cluster, &etcd("EtcdRestore", "example"))["status"].clone();
    assert_eq!(told["state"], "Seeding", "{told}");
}

/// A snapshot of a cluster of this version.
fn snapshot_of(version: &str) -> Vec<u8> {
    let mut content = database(Some(version), None, Layout::Page);
    let trailer = sha2::Sha256::digest(&content);
    content.extend(trailer);
    content
}

#[test]
fn a_backup_of_a_later_minor_is_refused_before_anything_is_touched() {
    for exists in [true, false] {
        let (cluster, _) = cluster();
        cluster.store(STORE, KEY, snapshot_of("3.7.0"));
        let object = object("EtcdCluster", "example", &json!({"size": 1, "version": "3.6.16"}));
        let mut runner = runner(&cluster);
        if exists {
            cluster.create([object.clone()]).unwrap();
            runner.run_for(Duration::from_secs(5)).unwrap();
        }
        let before = pods(&cluster);
        cluster.create([restore("example")]).unwrap();
        runner.run_for(Duration::from_secs(10)).unwrap();
        if !exists {
            cluster.create([object]).unwrap();
            runner.run_for(Duration::from_secs(10)).unwrap();
        }
        let told = read(&cluster, &etcd("EtcdRestore", "example"))["status"].clone();
        assert_eq!(
            (&told["state"], &told["artifact"]["etcdVersion"]),
            (&json!("Failed"), &json!("3.7.0")),
            "{told}"
        );
        assert!(
            told["reason"].as_str().is_some_and(|why| why.contains("3.7") && why.contains("3.6.16")),
            "{told}"
        );
        let names =
            |pods: &[Value]| pods.iter().map(|pod| pod["metadata"]["uid"].clone()).collect::<Vec<_>>();
        assert_eq!(names(&pods(&cluster)), names(&before));
        if !exists {
            let held = cluster.condition(&etcd("EtcdCluster", "example"), "Stalled").unwrap();
            assert!(held.reason == "RestoreFailed" && held.message.contains("3.7"), "{held:?}");
        }
    }
}

#[test]
fn a_backup_of_the_same_or_an_earlier_minor_is_restored() {
    for version in ["3.6.0", "3.5.0"] {
        let (cluster, _) = cluster();
        cluster.store(STORE, KEY, snapshot_of(version));
        let spec = json!({"size": 1, "version": "3.6.16"});
        cluster.create([restore("example"), object("EtcdCluster", "example", &spec)]).unwrap();
        runner(&cluster).run_for(Duration::from_secs(10)).unwrap();
        assert_eq!(pods(&cluster).len(), 1, "{version}");
    }
}
