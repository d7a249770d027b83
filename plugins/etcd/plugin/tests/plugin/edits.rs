//! Specs of backups that are changed: nothing of a change is overlooked, and nothing is taken again without need.

use std::time::Duration;

use pilothouse_sdk::{
    BlobErrorKind, Patch,
    harness::{Cluster, StoreFault, every_crash},
};
use serde_json::{Value, json};

use crate::backup::{STORE, cluster, reference, runner, snapshot, status};

fn edit(cluster: &Cluster, spec: &Value) {
    let patch = Patch::merge(&json!({"spec": spec})).unwrap();
    cluster.kubectl().patch_ref::<Value>(&reference(), &patch).unwrap();
}

fn elsewhere() -> Value {
    json!({"s3": {"path": "backups/etcd/other"}})
}

/// How often a member was chosen to take a backup from.
fn begun(cluster: &Cluster) -> usize {
    cluster.http_calls().iter().filter(|call| call.request.url.ends_with("/v3/maintenance/status")).count()
}

#[test]
fn one_that_failed_is_tried_again_as_soon_as_its_spec_is_changed() {
    let (cluster, _member) = cluster(&Value::Null);
    let no_bucket = StoreFault::new(BlobErrorKind::NotFound, "there is no such bucket");
    cluster.fail_store(no_bucket.operation("put").times(5));
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_mins(10)).unwrap();
    let told = status(&cluster);
    assert_eq!((&told["succeeded"], &told["Reason"]), (&json!(false), &json!("there is no such bucket")));
    runner.run_for(Duration::from_hours(30)).unwrap();
    assert_eq!(begun(&cluster), 5, "it is not tried again by itself");
    edit(&cluster, &elsewhere());
    runner.run_for(Duration::from_secs(5)).unwrap();
    let told = status(&cluster);
    assert_eq!((&told["succeeded"], &told["Reason"]), (&json!(true), &Value::Null), "{told}");
    assert_eq!(cluster.stored(STORE, "etcd/other"), Some(snapshot(7)));
    assert_eq!(cluster.condition(&reference(), "Ready").unwrap().status.as_str(), "True");
}

#[test]
fn the_next_attempt_begins_at_once_and_with_all_of_its_successors_when_the_spec_is_changed() {
    let (cluster, _member) = cluster(&Value::Null);
    cluster.fail_store(StoreFault::new(BlobErrorKind::Denied, "no").operation("put").times(6));
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(100)).unwrap();
    assert_eq!(status(&cluster)["run"]["attempt"], 4);
    edit(&cluster, &elsewhere());
    runner.run_for(Duration::from_secs(2)).unwrap();
    assert_eq!(status(&cluster)["run"]["attempt"], 1);
    runner.run_for(Duration::from_mins(1)).unwrap();
    assert_eq!(status(&cluster)["succeeded"], true);
}

#[test]
fn one_that_succeeded_is_taken_again_where_it_would_be_another_one() {
    let crashes = every_crash(|nth| {
        let (cluster, _member) = cluster(&Value::Null);
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_secs(5)).unwrap();
        cluster.crash_after_write(nth);
        edit(&cluster, &elsewhere());
        runner.run_for(Duration::from_mins(1)).unwrap();
        let told = status(&cluster);
        let uri = format!("{STORE}/etcd/other");
        assert_eq!(
            (&told["succeeded"], &told["artifact"]["uri"]),
            (&json!(true), &json!(uri)),
            "crash {nth}: {told}"
        );
        for key in ["etcd/daily", "etcd/other"] {
            assert_eq!(cluster.stored(STORE, key), Some(snapshot(7)), "crash {nth}");
        }
        cluster
    });
    assert!(crashes >= 3, "{crashes} places where it can die");
}

#[test]
fn nobody_takes_the_word_about_a_backup_before_for_the_one_that_is_asked_for() {
    let (cluster, _member) = cluster(&Value::Null);
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(5)).unwrap();
    edit(&cluster, &elsewhere());
    cluster.hold_transfers(true);
    runner.run_for(Duration::from_secs(5)).unwrap();
    let told = status(&cluster);
    assert_eq!((&told["observedGeneration"], &told["succeeded"]), (&json!(2), &json!(false)), "{told}");
    cluster.hold_transfers(false);
    runner.run_for(Duration::from_secs(5)).unwrap();
    assert_eq!(status(&cluster)["succeeded"], true);
}

#[test]
fn what_is_asked_for_while_a_backup_is_being_taken_is_done_after_it() {
    let (cluster, _member) = cluster(&Value::Null);
    cluster.hold_transfers(true);
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(5)).unwrap();
    edit(&cluster, &json!({"etcdEndpoints": ["http://second-client:2379"]}));
    runner.run_for(Duration::from_secs(5)).unwrap();
    cluster.hold_transfers(false);
    runner.run_for(Duration::from_secs(10)).unwrap();
    assert_eq!(status(&cluster)["succeeded"], true);
    let last = cluster.http_calls().iter().map(|call| call.request.url.clone()).next_back().unwrap();
    assert!(last.starts_with("http://second-client"), "{last}");
}

#[test]
fn what_makes_no_backup_another_one_takes_none() {
    for change in [
        json!({"backupPolicy": {"deleteWithObject": true, "timeoutInSecond": 90}}),
        json!({"s3": {"forcePathStyle": true, "awsSecret": "aws", "withoutChecksums": true}}),
    ] {
        let (cluster, _member) = cluster(&Value::Null);
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_secs(5)).unwrap();
        edit(&cluster, &change);
        runner.run_for(Duration::from_mins(5)).unwrap();
        assert_eq!(begun(&cluster), 1, "{change}");
        assert_eq!(status(&cluster)["succeeded"], true);
    }
}

#[test]
fn backups_of_before_are_not_taken_again_and_changes_are_seen_from_then_on() {
    for before in [
        json!({"succeeded": true, "etcdRevision": 3, "etcdVersion": "3.2.13"}),
        json!({"succeeded": false, "Reason": "no bucket"}),
        json!({"succeeded": false, "Reason": "no bucket", "observedGeneration": 1}),
    ] {
        let (cluster, _member) = cluster(&Value::Null);
        cluster.set_status(&reference(), &before).unwrap();
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_mins(5)).unwrap();
        assert_eq!(begun(&cluster), 0, "{before}");
        edit(&cluster, &elsewhere());
        runner.run_for(Duration::from_mins(1)).unwrap();
        assert_eq!(cluster.stored(STORE, "etcd/other"), Some(snapshot(7)), "{before}");
    }
}
