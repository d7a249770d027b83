//! Backups from a scripted member into a store in memory, with the host dying at every place and everything else that goes wrong.

use std::{cell::RefCell, rc::Rc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pilothouse_sdk::{
    BlobErrorKind, DeleteOptions, Gvk, HttpError, HttpErrorKind, HttpRequest, ObjectRef, Patch,
    harness::{Cluster, HttpAnswer, Runner, StoreFault, every_crash},
};
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::{MANIFEST, definitions};

pub(crate) const STORE: &str = "s3+http://minio.default.svc:9000/backups";

pub(crate) fn reference() -> ObjectRef {
    ObjectRef::new(Gvk::new("etcd.database.coreos.com", "v1beta2", "EtcdBackup"), "default", "daily")
}

fn backup(policy: &Value) -> Value {
    let s3 = json!({"path": "backups/etcd/daily", "awsSecret": "aws", "endpoint": "http://minio.default.svc:9000", "forcePathStyle": true});
    let mut spec = json!({"etcdEndpoints": ["http://example-client:2379"], "storageType": "S3", "s3": s3});
    if !policy.is_null() {
        spec["backupPolicy"] = policy.clone();
    }
    json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdBackup",
        "metadata": {"name": "daily", "namespace": "default"}, "spec": spec})
}

/// A member whose revision can be set, and whose snapshots tell it.
pub(crate) struct Member {
    pub(crate) revision: Rc<RefCell<i64>>,
    pub(crate) cut: Rc<RefCell<bool>>,
}

pub(crate) fn snapshot(revision: i64) -> Vec<u8> {
    let mut content = format!("data at {revision}").into_bytes();
    let trailer = sha2::Sha256::digest(&content);
    content.extend(trailer);
    content
}

fn serve(cluster: &Cluster) -> Member {
    let member = Member { revision: Rc::new(RefCell::new(7)), cut: Rc::default() };
    let (revision, cut) = (Rc::clone(&member.revision), Rc::clone(&member.cut));
    cluster.serve("http://*.default.svc:2379", move |request, _| {
        answer(request, *revision.borrow(), *cut.borrow())
    });
    member
}

pub(crate) fn answer(request: &HttpRequest, revision: i64, cut: bool) -> Result<HttpAnswer, HttpError> {
    if request.url.ends_with("/v3/maintenance/status") {
        let header = json!({"cluster_id": "1", "member_id": "2", "revision": revision.to_string()});
        return Ok(HttpAnswer::json(&json!({"header": header, "version": "3.6.16", "leader": "2"})));
    }
    if !request.url.ends_with("/v3/maintenance/snapshot") {
        return Err(HttpError::new(HttpErrorKind::Unreachable, "nobody"));
    }
    let line = |bytes: &[u8]| format!("{}\n", json!({"result": {"blob": STANDARD.encode(bytes)}}));
    let content = snapshot(revision);
    let (first, rest) = content.split_at(5);
    let answer = HttpAnswer::new(200, line(first));
    Ok(if cut { answer.breaks_off() } else { answer.piece(line(rest)) })
}

pub(crate) fn cluster(policy: &Value) -> (Cluster, Member) {
    cluster_with(&definitions(), policy)
}

pub(crate) fn cluster_with(definitions: &[Value], policy: &Value) -> (Cluster, Member) {
    let cluster = Cluster::new();
    for definition in definitions {
        cluster.define(definition).unwrap();
    }
    let login = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "aws", "namespace": "default"},
        "stringData": {"credentials": "hidden"}});
    let member = serve(&cluster);
    cluster.create([login, backup(policy)]).unwrap();
    (cluster, member)
}

pub(crate) fn runner(cluster: &Cluster) -> Runner {
    Runner::new(cluster, etcd_plugin::plugin).manifest(MANIFEST).unwrap()
}

pub(crate) fn status(cluster: &Cluster) -> Value {
    let found: Value = cluster.kubectl().get_ref(&reference()).unwrap().unwrap();
    found["status"].clone()
}

#[test]
fn a_backup_is_taken_once_and_told_as_the_old_operator_told_it() {
    let (cluster, _member) = cluster(&Value::Null);
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(5)).unwrap();
    let told = status(&cluster);
    assert_eq!(cluster.stored(STORE, "etcd/daily"), Some(snapshot(7)), "{told}");
    assert_eq!(
        (&told["succeeded"], &told["etcdRevision"], &told["etcdVersion"]),
        (&json!(true), &json!(7), &json!("3.6.16"))
    );
    let artefact = &told["artifact"];
    assert_eq!(artefact["uri"], format!("{STORE}/etcd/daily"));
    assert_eq!(artefact["size"], snapshot(7).len());
    assert_eq!(artefact["sha256"].as_str().map(str::len), Some(64));
    assert!(told["lastSuccessDate"].is_string() && told["run"].is_null());
    assert!(!told.to_string().contains("hidden"));
    let before = cluster.http_calls().len();
    runner.run_for(Duration::from_hours(30)).unwrap();
    assert_eq!(cluster.http_calls().len(), before, "it is taken once");
}

#[test]
fn the_host_may_die_anywhere_and_there_is_one_whole_backup_in_the_end() {
    for policy in [Value::Null, json!({"backupIntervalInSecond": 600})] {
        let crashes = every_crash(|nth| {
            let (cluster, _member) = cluster(&policy);
            cluster.crash_after_write(nth);
            let mut runner = runner(&cluster);
            runner.run_for(Duration::from_mins(11)).unwrap();
            let told = status(&cluster);
            assert_eq!(told["succeeded"], true, "crash {nth}: {told}");
            let keys = cluster.stored_keys(STORE);
            assert_eq!(keys.len(), 1, "crash {nth}: {keys:?}");
            assert_eq!(cluster.stored(STORE, &keys[0]), Some(snapshot(7)));
            cluster
        });
        assert!(crashes >= 3, "{crashes} places where it can die");
    }
}

#[test]
fn what_breaks_off_leaves_nothing_and_is_told_after_five_attempts() {
    let (cluster, member) = cluster(&Value::Null);
    *member.cut.borrow_mut() = true;
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(30)).unwrap();
    assert_eq!(status(&cluster)["run"]["state"], "Waiting");
    runner.run_for(Duration::from_mins(10)).unwrap();
    let told = status(&cluster);
    assert_eq!((&told["succeeded"], &told["run"]), (&json!(false), &Value::Null), "{told}");
    assert!(told["Reason"].as_str().is_some_and(|why| !why.is_empty()));
    assert_eq!(cluster.condition(&reference(), "Stalled").unwrap().reason, "BackupFailed");
    assert_eq!(cluster.stored_keys(STORE), [""; 0]);
}

#[test]
fn a_store_that_fails_for_a_while_is_asked_again() {
    let (cluster, _member) = cluster(&Value::Null);
    cluster.fail_store(StoreFault::unavailable().times(3));
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_mins(5)).unwrap();
    assert_eq!(status(&cluster)["succeeded"], true);
    assert_eq!(cluster.stored(STORE, "etcd/daily"), Some(snapshot(7)));
}

#[test]
fn backups_repeat_do_not_overlap_and_the_newest_are_kept() {
    let (cluster, member) = cluster(&json!({"backupIntervalInSecond": 600, "maxBackups": 2}));
    cluster.store(STORE, "etcd/daily-of-others_v1_2020-01-01-00:00:00", "theirs");
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_mins(5)).unwrap();
    assert_eq!(cluster.stored_keys(STORE).len(), 1, "the first one is taken after an interval");
    for revision in [98, 99, 100] {
        *member.revision.borrow_mut() = revision;
        runner.run_for(Duration::from_mins(10)).unwrap();
        assert_eq!(status(&cluster)["etcdRevision"], revision);
    }
    let keys = cluster.stored_keys(STORE);
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert!(
        keys.iter().any(|key| key.contains("_v99_")) && keys.iter().any(|key| key.contains("_v100_")),
        "{keys:?}"
    );
    assert!(keys.contains(&"etcd/daily-of-others_v1_2020-01-01-00:00:00".to_owned()), "{keys:?}");
    assert!(status(&cluster)["nextScheduleTime"].is_string());
}

#[test]
fn a_transfer_that_does_not_end_is_given_up_in_time() {
    let (cluster, _member) = cluster(&json!({"timeoutInSecond": 30}));
    cluster.hold_transfers(true);
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(20)).unwrap();
    assert_eq!(status(&cluster)["run"]["state"], "Streaming");
    runner.run_for(Duration::from_secs(15)).unwrap();
    assert_eq!(status(&cluster)["run"]["state"], "Waiting", "{}", status(&cluster));
    cluster.hold_transfers(false);
    runner.run_for(Duration::from_mins(2)).unwrap();
    assert_eq!(status(&cluster)["succeeded"], true);
}

#[test]
fn a_store_that_refuses_is_told_in_its_own_words_and_without_credentials() {
    for (kind, said) in [
        (BlobErrorKind::Other, "no space is left in the bucket"),
        (BlobErrorKind::Denied, "the access key is not known"),
        (BlobErrorKind::Credentials, "Secret default/aws has no entry credentials"),
        (BlobErrorKind::NotFound, "there is no such bucket"),
    ] {
        let (cluster, _member) = cluster(&Value::Null);
        cluster.fail_store(StoreFault::new(kind, said).operation("put").times(5));
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_secs(3)).unwrap();
        let waits = cluster.condition(&reference(), "Reconciling").unwrap();
        assert!(waits.reason == "Retrying" && waits.message.contains(said), "{waits:?}");
        runner.run_for(Duration::from_mins(10)).unwrap();
        let told = status(&cluster);
        assert_eq!((&told["succeeded"], &told["Reason"]), (&json!(false), &json!(said)), "{told}");
        assert_eq!(cluster.condition(&reference(), "Stalled").unwrap().reason, "BackupFailed");
        assert!(!told.to_string().contains("hidden"));
        assert_eq!(cluster.stored_keys(STORE), [""; 0]);
    }
}

#[test]
fn a_secret_for_tls_is_refused_where_members_are_talked_to_without() {
    let (cluster, _member) = cluster(&Value::Null);
    let edit = |spec: &Value| {
        let patch = Patch::merge(&json!({"spec": spec})).unwrap();
        cluster.kubectl().patch_ref::<Value>(&reference(), &patch).unwrap();
    };
    edit(&json!({"clientTLSSecret": "aws"}));
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_mins(5)).unwrap();
    let stalled = cluster.condition(&reference(), "Stalled").unwrap();
    assert_eq!(stalled.reason, "InvalidSpec");
    assert!(stalled.message.contains("clientTLSSecret") && stalled.message.contains("http://example-client"));
    assert!(cluster.http_calls().is_empty());
    edit(&json!({"clientTLSSecret": null}));
    runner.run_for(Duration::from_secs(5)).unwrap();
    assert_eq!(status(&cluster)["succeeded"], true, "{}", status(&cluster));
}

#[test]
fn a_secret_that_is_not_there_is_waited_for() {
    let (cluster, _member) = cluster(&Value::Null);
    let secret = ObjectRef::new(Gvk::new("", "v1", "Secret"), "default", "aws");
    let found: Value = cluster.kubectl().get_ref(&secret).unwrap().unwrap();
    cluster.kubectl().delete_ref(&secret, &DeleteOptions::default()).unwrap();
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(3)).unwrap();
    let waits = cluster.condition(&reference(), "Reconciling").unwrap();
    assert!(waits.message.contains("default/aws"), "{}", waits.message);
    cluster
        .create([
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "aws", "namespace": "default"},
            "stringData": found["stringData"]}),
        ])
        .unwrap();
    runner.run_for(Duration::from_mins(1)).unwrap();
    assert_eq!(status(&cluster)["succeeded"], true, "{}", status(&cluster));
}
