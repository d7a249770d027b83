//! What is no backup is deleted, and backups that are to go with their object go with it; nobody else's do.

use std::time::Duration;

use pilothouse_sdk::{
    BlobErrorKind, DeleteOptions, Patch,
    harness::{Cluster, StoreFault, every_crash},
};
use serde_json::{Value, json};

use crate::backup::{STORE, cluster, reference, runner, snapshot, status};

const THEIRS: &str = "etcd/daily-of-others_v1_2020-01-01-00:00:00";

/// The next backup that is read back is not what was sent.
fn spoil(cluster: &Cluster) {
    cluster.fail_store(StoreFault::new(BlobErrorKind::Other, "its hash is another one").operation("get"));
}

#[test]
fn a_backup_that_is_not_read_back_well_is_deleted_and_does_not_count() {
    let crashes = every_crash(|nth| {
        let (cluster, member) = cluster(&json!({"backupIntervalInSecond": 600, "maxBackups": 2}));
        let mut runner = runner(&cluster);
        for revision in [7, 8] {
            *member.revision.borrow_mut() = revision;
            runner.run_for(Duration::from_secs(602)).unwrap();
        }
        let before = cluster.stored_keys(STORE);
        assert_eq!(before.len(), 2, "{before:?}");
        spoil(&cluster);
        cluster.fail_store(StoreFault::new(BlobErrorKind::Denied, "not now").operation("delete").times(2));
        cluster.crash_after_write(nth);
        *member.revision.borrow_mut() = 9;
        runner.run_for(Duration::from_secs(602)).unwrap();
        runner.run_for(Duration::from_mins(3)).unwrap();
        let (told, keys) = (status(&cluster), cluster.stored_keys(STORE));
        assert_eq!(
            (&told["succeeded"], &told["etcdRevision"]),
            (&json!(true), &json!(9)),
            "crash {nth}: {told}"
        );
        assert!(told["discarded"].is_null(), "crash {nth}: {told}");
        let revisions: Vec<bool> =
            ["_v8_", "_v9_"].map(|part| keys.iter().filter(|key| key.contains(part)).count() == 1).to_vec();
        assert_eq!((keys.len(), revisions), (2, vec![true, true]), "crash {nth}: {keys:?}");
        assert!(
            told["artifact"]["uri"].as_str().is_some_and(|uri| keys.iter().any(|key| uri.ends_with(key)))
        );
        cluster
    });
    assert!(crashes >= 3, "{crashes} places where it can die");
}

#[test]
fn what_is_no_backup_does_not_count_as_long_as_it_cannot_be_deleted() {
    let (cluster, member) = cluster(&json!({"backupIntervalInSecond": 600, "maxBackups": 1}));
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(602)).unwrap();
    let first = cluster.stored_keys(STORE);
    spoil(&cluster);
    *member.revision.borrow_mut() = 9;
    // Nothing can be deleted, so nothing is thrown away either.
    cluster.fail_store(StoreFault::new(BlobErrorKind::Denied, "locked").operation("delete").times(9));
    runner.run_for(Duration::from_secs(605)).unwrap();
    let told = status(&cluster);
    assert_eq!(told["discarded"].as_array().map(Vec::len), Some(1), "{told}");
    assert!(
        cluster.stored_keys(STORE).contains(&first[0]),
        "the only backup was thrown away for what is none"
    );
    runner.run_for(Duration::from_mins(9)).unwrap();
    let keys = cluster.stored_keys(STORE);
    assert!(!keys.iter().any(|key| Some(key.as_str()) == told["discarded"][0].as_str()), "{keys:?}");
    assert!(status(&cluster)["discarded"].is_null());
}

#[test]
fn one_that_does_not_repeat_leaves_nothing_under_its_key_that_is_no_backup() {
    let (cluster, _member) = cluster(&Value::Null);
    cluster.fail_store(
        StoreFault::new(BlobErrorKind::Other, "its hash is another one").operation("get").times(5),
    );
    runner(&cluster).run_for(Duration::from_mins(10)).unwrap();
    let told = status(&cluster);
    assert_eq!(told["succeeded"], false);
    assert_eq!(cluster.stored_keys(STORE), [""; 0], "{told}");
}

#[test]
fn a_store_that_does_not_answer_costs_no_older_backup_under_the_same_key() {
    let (cluster, member) = cluster(&Value::Null);
    cluster.store(STORE, "etcd/daily", "older");
    *member.cut.borrow_mut() = true;
    runner(&cluster).run_for(Duration::from_mins(10)).unwrap();
    assert_eq!(status(&cluster)["succeeded"], false);
    assert_eq!(cluster.stored(STORE, "etcd/daily"), Some(b"older".to_vec()));
}

fn delete(cluster: &Cluster) {
    cluster.kubectl().delete_ref(&reference(), &DeleteOptions::default()).unwrap();
}

fn is_gone(cluster: &Cluster) -> bool {
    cluster.kubectl().get_ref::<Value>(&reference()).unwrap().is_none()
}

#[test]
fn backups_go_with_their_object_where_that_is_asked_for_and_nobody_elses_do() {
    let crashes = every_crash(|nth| {
        let (cluster, _member) = cluster(&json!({"backupIntervalInSecond": 600, "deleteWithObject": true}));
        cluster.store(STORE, THEIRS, "theirs");
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_mins(35)).unwrap();
        assert_eq!(cluster.stored_keys(STORE).len(), 4);
        cluster.crash_after_write(nth);
        delete(&cluster);
        runner.run_for(Duration::from_mins(5)).unwrap();
        assert!(is_gone(&cluster), "crash {nth}: {}", status(&cluster));
        assert_eq!(cluster.stored_keys(STORE), [THEIRS], "crash {nth}");
        cluster
    });
    assert!(crashes >= 1, "{crashes} places where it can die");
}

#[test]
fn backups_stay_without_their_object_by_default() {
    let (cluster, _member) = cluster(&json!({"backupIntervalInSecond": 600}));
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_mins(11)).unwrap();
    delete(&cluster);
    runner.run_for(Duration::from_mins(1)).unwrap();
    assert!(is_gone(&cluster));
    assert_eq!(cluster.stored_keys(STORE).len(), 1);
}

#[test]
fn what_the_operator_before_left_on_an_object_does_not_hold_it() {
    let (cluster, _member) = cluster(&json!({"backupIntervalInSecond": 600}));
    let theirs = json!({"metadata": {"finalizers": ["backup-operator-periodic"]}});
    let patch = Patch::merge(&theirs).unwrap();
    cluster.kubectl().patch_ref::<Value>(&reference(), &patch).unwrap();
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_mins(1)).unwrap();
    let found: Value = cluster.kubectl().get_ref(&reference()).unwrap().unwrap();
    assert_eq!(found["metadata"]["finalizers"], json!(["etcd.database.coreos.com/backup"]));
    delete(&cluster);
    runner.run_for(Duration::from_mins(1)).unwrap();
    assert!(is_gone(&cluster));
}

#[test]
fn one_that_does_not_repeat_goes_with_its_object_if_it_is_what_was_taken() {
    for (instead, stays) in [(None, false), (Some("of somebody else by now"), true)] {
        let (cluster, _member) = cluster(&json!({"deleteWithObject": true}));
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_secs(5)).unwrap();
        assert_eq!(cluster.stored(STORE, "etcd/daily"), Some(snapshot(7)));
        if let Some(content) = instead {
            cluster.store(STORE, "etcd/daily", content);
        }
        delete(&cluster);
        runner.run_for(Duration::from_mins(1)).unwrap();
        assert!(is_gone(&cluster));
        assert_eq!(cluster.stored(STORE, "etcd/daily").is_some(), stays);
    }
}

#[test]
fn what_stood_under_the_key_before_does_not_go_with_an_object_that_took_nothing() {
    let (cluster, _member) = cluster(&json!({"deleteWithObject": true, "suspend": true}));
    cluster.store(STORE, "etcd/daily", "older");
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(5)).unwrap();
    delete(&cluster);
    runner.run_for(Duration::from_mins(1)).unwrap();
    assert!(is_gone(&cluster));
    assert_eq!(cluster.stored(STORE, "etcd/daily"), Some(b"older".to_vec()));
}

#[test]
fn a_store_that_does_not_let_backups_go_holds_the_object_and_people_may_let_it_go() {
    let (cluster, _member) = cluster(&json!({"backupIntervalInSecond": 600, "deleteWithObject": true}));
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_mins(11)).unwrap();
    cluster.fail_store(StoreFault::new(BlobErrorKind::Denied, "locked").operation("delete").times(1_000));
    delete(&cluster);
    runner.run_for(Duration::from_mins(20)).unwrap();
    let stalled = cluster.condition(&reference(), "Stalled").unwrap();
    assert_eq!(stalled.reason, "DeletionFailed");
    assert!(
        stalled.message.contains("locked") && stalled.message.contains("deleteWithObject"),
        "{}",
        stalled.message
    );
    let patch = Patch::merge(&json!({"spec": {"backupPolicy": {"deleteWithObject": false}}})).unwrap();
    cluster.kubectl().patch_ref::<Value>(&reference(), &patch).unwrap();
    runner.run_for(Duration::from_mins(1)).unwrap();
    assert!(is_gone(&cluster));
    assert_eq!(cluster.stored_keys(STORE).len(), 1);
}
