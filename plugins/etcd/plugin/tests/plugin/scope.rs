//! Two hosts side by side, one for what is marked and one for the rest: each object is exactly one's.

use std::time::Duration;

use pilothouse_sdk::{
    DeleteOptions, Gvk, ObjectRef, Patch,
    harness::{Cluster, Runner},
};
use serde_json::{Value, json};

use crate::{
    MANIFEST,
    backup::{STORE, cluster, reference, snapshot, status},
    definitions,
};

fn host(cluster: &Cluster, wide: bool) -> Runner {
    let runner = Runner::new(cluster, etcd_plugin::plugin).manifest(MANIFEST).unwrap();
    runner.config(&json!({"clusterWide": wide}))
}

fn mark(cluster: &Cluster, object: &ObjectRef) {
    let marked = json!({"metadata": {"annotations": {"etcd.database.coreos.com/scope": "clusterwide"}}});
    cluster.kubectl().patch_ref::<Value>(object, &Patch::merge(&marked).unwrap()).unwrap();
}

/// The cluster that the backup is of.
fn example(cluster: &Cluster, annotations: &Value) {
    let metadata = json!({"name": "example", "namespace": "default", "annotations": annotations});
    let object = json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "metadata": metadata,
        "spec": {"size": 1, "paused": true}});
    cluster.create([object]).unwrap();
}

fn etcd_cluster() -> Gvk {
    Gvk::new("etcd.database.coreos.com", "v1beta2", "EtcdCluster")
}

fn delete(cluster: &Cluster) {
    cluster.kubectl().delete_ref(&reference(), &DeleteOptions::default()).unwrap();
}

fn is_gone(cluster: &Cluster) -> bool {
    cluster.kubectl().get_ref::<Value>(&reference()).unwrap().is_none()
}

#[test]
fn a_backup_is_taken_by_the_one_whose_it_is_and_the_other_writes_nothing_on_it() {
    for (marked, wide) in [(true, true), (true, false), (false, true), (false, false)] {
        let (cluster, _member) = cluster(&Value::Null);
        if marked {
            mark(&cluster, &reference());
        }
        host(&cluster, wide).run_for(Duration::from_mins(1)).unwrap();
        let taken = cluster.stored(STORE, "etcd/daily").is_some();
        assert_eq!(taken, marked == wide, "marked: {marked}, host: {wide}");
        assert_eq!(status(&cluster).is_null(), !taken, "{}", status(&cluster));
    }
}

#[test]
fn of_two_hosts_only_one_takes_backups_and_throws_older_ones_away() {
    let (cluster, _member) = cluster(&json!({"backupIntervalInSecond": 600, "maxBackups": 1}));
    let mut hosts = [host(&cluster, true), host(&cluster, false)];
    for _ in 0..1_300 {
        for host in &mut hosts {
            host.run_for(Duration::from_secs(1)).unwrap();
        }
    }
    let begun = cluster
        .http_calls()
        .iter()
        .filter(|call| call.request.url.ends_with("/v3/maintenance/status"))
        .count();
    assert_eq!((begun, cluster.stored_keys(STORE).len()), (4, 1));
}

#[test]
fn a_backup_without_an_operator_of_its_own_may_be_deleted() {
    let (cluster, _member) = cluster(&Value::Null);
    let mut other = host(&cluster, true);
    other.run_for(Duration::from_secs(5)).unwrap();
    delete(&cluster);
    other.run_for(Duration::from_secs(5)).unwrap();
    assert!(is_gone(&cluster));
}

#[test]
fn backups_that_are_to_go_with_their_object_are_deleted_by_the_one_that_took_them() {
    let (cluster, _member) = cluster(&json!({"deleteWithObject": true}));
    example(&cluster, &json!({}));
    let (mut own, mut other) = (host(&cluster, false), host(&cluster, true));
    own.run_for(Duration::from_secs(5)).unwrap();
    delete(&cluster);
    other.run_for(Duration::from_secs(5)).unwrap();
    assert!(!is_gone(&cluster) && cluster.stored(STORE, "etcd/daily") == Some(snapshot(7)));
    own.run_for(Duration::from_secs(5)).unwrap();
    assert!(is_gone(&cluster) && cluster.stored(STORE, "etcd/daily").is_none());
}

/// A backup, and an `EtcdRestore` of it for a cluster that is not there.
fn with_restore() -> (Cluster, ObjectRef) {
    let cluster = Cluster::new();
    for definition in definitions() {
        cluster.define(&definition).unwrap();
    }
    cluster.store(STORE, "etcd/daily", snapshot(7));
    let s3 = json!({"path": "backups/etcd/daily", "endpoint": "http://minio.default.svc:9000", "forcePathStyle": true});
    let spec = json!({"backupStorageType": "S3", "s3": s3, "etcdCluster": {"name": "example"}});
    let object = json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdRestore",
        "metadata": {"name": "example", "namespace": "default"}, "spec": spec});
    cluster.create([object]).unwrap();
    let gvk = Gvk::new("etcd.database.coreos.com", "v1beta2", "EtcdRestore");
    (cluster, ObjectRef::new(gvk, "default", "example"))
}

#[test]
fn a_restore_is_carried_out_by_the_one_whose_it_is() {
    for (marked, wide) in [(true, true), (true, false), (false, true), (false, false)] {
        let (cluster, restore) = with_restore();
        if marked {
            mark(&cluster, &restore);
        }
        host(&cluster, wide).run_for(Duration::from_secs(30)).unwrap();
        let found: Value = cluster.kubectl().get_ref(&restore).unwrap().unwrap();
        let expected = if marked == wide { json!("Seeding") } else { Value::Null };
        assert_eq!(found["status"]["state"], expected, "marked: {marked}, host: {wide}");
    }
}

#[test]
fn what_does_not_say_whose_it_is_goes_with_its_cluster() {
    for (endpoint, ours) in [
        ("http://example-client:2379", true),
        ("http://example-client.default.svc:2379", true),
        ("http://other-client:2379", false),
        ("http://example-client.other.svc:2379", false),
    ] {
        let (cluster, _member) = cluster(&Value::Null);
        example(&cluster, &json!({"etcd.database.coreos.com/scope": "clusterwide"}));
        let changed = json!({"spec": {"etcdEndpoints": [endpoint]}});
        cluster.kubectl().patch_ref::<Value>(&reference(), &Patch::merge(&changed).unwrap()).unwrap();
        host(&cluster, true).run_for(Duration::from_secs(20)).unwrap();
        assert_eq!(!status(&cluster).is_null(), ours, "{endpoint}: {}", status(&cluster));
        host(&cluster, false).run_for(Duration::from_secs(20)).unwrap();
        assert!(!status(&cluster).is_null(), "{endpoint} is nobody's");
    }
}

#[test]
fn backups_whose_cluster_went_first_are_deleted_by_whoever_is_there() {
    for wide in [true, false] {
        let (cluster, _member) = cluster(&json!({"deleteWithObject": true}));
        let marked = json!({"etcd.database.coreos.com/scope": "clusterwide"});
        example(&cluster, &if wide { json!({}) } else { marked });
        // The one whose it is takes it, and is not there any more when it is deleted.
        host(&cluster, !wide).run_for(Duration::from_secs(5)).unwrap();
        assert!(cluster.stored(STORE, "etcd/daily").is_some());
        let example = ObjectRef::new(etcd_cluster(), "default", "example");
        let unheld = Patch::merge(&json!({"metadata": {"finalizers": null}})).unwrap();
        cluster.kubectl().patch_ref::<Value>(&example, &unheld).unwrap();
        cluster.kubectl().delete_ref(&example, &DeleteOptions::default()).unwrap();
        assert_eq!(cluster.kubectl().get_ref::<Value>(&example).unwrap(), None);
        delete(&cluster);
        host(&cluster, wide).run_for(Duration::from_secs(5)).unwrap();
        assert!(is_gone(&cluster) && cluster.stored(STORE, "etcd/daily").is_none(), "host: {wide}");
    }
}

#[test]
fn a_restore_that_is_there_before_its_marked_cluster_is_taken_up_with_it() {
    let (cluster, restore) = with_restore();
    let mut wide = host(&cluster, true);
    wide.run_for(Duration::from_secs(5)).unwrap();
    example(&cluster, &json!({"etcd.database.coreos.com/scope": "clusterwide"}));
    wide.run_for(Duration::from_secs(5)).unwrap();
    let found: Value = cluster.kubectl().get_ref(&restore).unwrap().unwrap();
    assert_eq!(found["status"]["state"], "Seeding", "{found}");
}
