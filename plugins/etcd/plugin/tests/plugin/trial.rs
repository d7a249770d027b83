//! Backups from which a member has to be started before they count; the test plays its pod.

use std::{cell::Cell, rc::Rc, time::Duration};

use pilothouse_sdk::{
    DeleteOptions, Gvk, ObjectRef,
    harness::{Cluster, HttpAnswer, Runner, every_crash},
};
use serde_json::{Value, json};

use crate::backup::{STORE, cluster, reference, runner, snapshot, status};

fn trials() -> Value {
    json!({"backupIntervalInSecond": 3600, "verification": "Restore"})
}

pub(crate) fn list(cluster: &Cluster, kind: &str) -> Vec<Value> {
    cluster.kubectl().list_ref(Gvk::new("", "v1", kind), "default").all().unwrap()
}

fn pod(cluster: &Cluster) -> Option<Value> {
    let mut pods = list(cluster, "Pod");
    assert!(pods.len() < 2, "{pods:?}");
    pods.pop()
}

fn tell(cluster: &Cluster, status: &Value) {
    let Some(pod) = pod(cluster) else { return };
    let name = pod["metadata"]["name"].as_str().unwrap();
    cluster.set_status(&ObjectRef::new(Gvk::new("", "v1", "Pod"), "default", name), status).unwrap();
}

fn receives() -> Value {
    json!({"phase": "Pending", "initContainerStatuses": [{"name": "fetch-backup", "state": {"running": {}}}]})
}

/// etcd runs in the pod and has this revision.
pub(crate) fn runs(revision: i64) -> Value {
    let said = json!({"header": {"revision": revision.to_string()}, "leader": "2"}).to_string();
    json!({"phase": "Running", "containerStatuses": [
        {"name": "etcd", "state": {"running": {}}},
        {"name": "witness", "state": {"terminated": {"exitCode": 0, "message": said}}}]})
}

/// The pod takes the file if somebody sends it.
pub(crate) fn listens(cluster: &Cluster) -> Rc<Cell<u32>> {
    let (expected, got) = (snapshot(7), Rc::new(Cell::new(0)));
    let count = Rc::clone(&got);
    cluster.serve("http://*.default.svc:2379", move |request, _| {
        if !request.url.ends_with("/cgi-bin/snapshot") {
            return crate::backup::answer(request, 7, false);
        }
        count.set(count.get() + 1);
        Ok(HttpAnswer::new(if request.body == expected { 200 } else { 422 }, ""))
    });
    got
}

/// Plays the pod for so many seconds: it waits for the file, then does what it is told.
pub(crate) fn play(cluster: &Cluster, runner: &mut Runner, seconds: u32, then: &Value) {
    for _ in 0..seconds {
        runner.run_for(Duration::from_secs(1)).unwrap();
        match status(cluster)["run"]["state"].as_str() {
            Some("Trying") if pod(cluster).is_some_and(|pod| pod["status"]["phase"] == "Pending") => {
                tell(cluster, then);
            }
            Some("Trying") => tell(cluster, &receives()),
            _ => {}
        }
    }
}

#[test]
fn a_member_is_started_from_the_backup_before_it_counts_and_nothing_is_left_of_it() {
    let (cluster, _member) = cluster(&trials());
    let got = listens(&cluster);
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(3602)).unwrap();
    let told = status(&cluster);
    assert_eq!((&told["succeeded"], &told["run"]["state"]), (&json!(false), &json!("Trying")), "{told}");
    let names: Vec<Value> = pod(&cluster).unwrap()["spec"]["initContainers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|container| container["name"].clone())
        .collect();
    assert_eq!(names, ["clear-datadir", "fetch-backup", "restore-datadir", "place-datadir"]);
    assert_eq!(list(&cluster, "Service").len(), 1);
    tell(&cluster, &receives());
    runner.run_for(Duration::from_secs(5)).unwrap();
    assert_eq!(status(&cluster)["succeeded"], false);
    tell(&cluster, &runs(1_000_000_007));
    runner.run_for(Duration::from_secs(5)).unwrap();
    let told = status(&cluster);
    assert_eq!((&told["succeeded"], &told["verified"]), (&json!(true), &json!("Restore")), "{told}");
    let shown = cluster.condition(&reference(), "Verified").unwrap();
    assert_eq!((shown.reason.as_str(), got.get()), ("Restore", 1));
    assert_eq!((list(&cluster, "Pod").len(), list(&cluster, "Service").len()), (0, 0));
    assert_eq!(cluster.stored_keys(STORE).len(), 1);
}

#[test]
fn the_host_may_die_anywhere_and_no_pod_is_left_behind() {
    let crashes = every_crash(|nth| {
        let (cluster, _member) = cluster(&trials());
        listens(&cluster);
        cluster.crash_after_write(nth);
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_secs(3601)).unwrap();
        play(&cluster, &mut runner, 90, &runs(1_000_000_007));
        let told = status(&cluster);
        assert_eq!((&told["succeeded"], &told["run"]), (&json!(true), &Value::Null), "crash {nth}: {told}");
        assert_eq!(cluster.stored_keys(STORE).len(), 1, "crash {nth}");
        assert_eq!((list(&cluster, "Pod").len(), list(&cluster, "Service").len()), (0, 0), "crash {nth}");
        cluster
    });
    assert!(crashes >= 5, "{crashes} places where it can die");
}

#[test]
fn a_backup_from_which_no_member_can_be_started_does_not_count_and_is_deleted() {
    let ended = json!({"phase": "Failed", "containerStatuses": [{"name": "etcd", "state": {"terminated": {"exitCode": 2}}}]});
    // What a restore adds to a revision says nothing of the backup.
    let unmoved = ("revision 7, and from revision 7 it would have 1000000007", runs(7));
    let (ends, old) = (
        ("etcd ended on the restored data with code 2", ended),
        ("revision 1000000006", runs(1_000_000_006)),
    );
    let ways = [trials(), json!({"verification": "Restore"})];
    for ((said, pod), way) in
        [ends, old, unmoved].into_iter().flat_map(|pod| ways.iter().map(move |way| (pod.clone(), way)))
    {
        let (cluster, _member) = cluster(way);
        listens(&cluster);
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_secs(if *way == trials() { 3601 } else { 1 })).unwrap();
        play(&cluster, &mut runner, 400, &pod);
        let told = status(&cluster);
        assert_eq!((&told["succeeded"], &told["run"]), (&json!(false), &Value::Null), "{told}");
        assert!(told["Reason"].as_str().is_some_and(|why| why.contains(said)), "{told}");
        assert_eq!(cluster.stored_keys(STORE), [""; 0], "{told}");
        assert_eq!((list(&cluster, "Pod").len(), list(&cluster, "Service").len()), (0, 0));
    }
}

#[test]
fn a_pod_that_never_starts_is_given_up_in_time() {
    let (cluster, _member) = cluster(&trials());
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(3602)).unwrap();
    assert_eq!(status(&cluster)["run"]["state"], "Trying");
    runner.run_for(Duration::from_secs(590)).unwrap();
    assert_eq!(status(&cluster)["run"]["state"], "Trying");
    let first = pod(&cluster).unwrap()["metadata"]["name"].clone();
    runner.run_for(Duration::from_secs(15)).unwrap();
    assert_eq!(status(&cluster)["run"]["state"], "Waiting", "{}", status(&cluster));
    assert!(pod(&cluster).is_none() && list(&cluster, "Service").is_empty());
    runner.run_for(Duration::from_secs(20)).unwrap();
    assert_ne!(pod(&cluster).unwrap()["metadata"]["name"], first, "each attempt has its own");
}

#[test]
fn an_object_that_is_deleted_takes_its_pod_with_it() {
    let (cluster, _member) = cluster(&trials());
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(3602)).unwrap();
    assert!(pod(&cluster).is_some());
    cluster.kubectl().delete_ref(&reference(), &DeleteOptions::default()).unwrap();
    runner.run_for(Duration::from_secs(30)).unwrap();
    assert!(pod(&cluster).is_none());
}

#[test]
fn a_backup_that_does_not_repeat_and_that_nobody_could_try_stays_and_is_told_of() {
    let (cluster, _member) = cluster(&json!({"verification": "Restore", "deleteWithObject": true}));
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_hours(2)).unwrap();
    let told = status(&cluster);
    assert_eq!((&told["succeeded"], &told["run"]), (&json!(false), &Value::Null), "{told}");
    assert!(told["Reason"].as_str().is_some_and(|why| why.contains("within 600 seconds")), "{told}");
    assert_eq!((&told["verified"], &told["etcdRevision"]), (&json!("Hash"), &json!(0)), "{told}");
    assert_eq!(told["artifact"]["uri"], format!("{STORE}/etcd/daily"), "{told}");
    assert_eq!(cluster.stored_keys(STORE), ["etcd/daily"]);
    cluster.kubectl().delete_ref(&reference(), &DeleteOptions::default()).unwrap();
    runner.run_for(Duration::from_mins(1)).unwrap();
    assert_eq!(cluster.stored_keys(STORE), [""; 0]);
}

#[test]
fn a_backup_of_a_version_that_forgets_deletions_is_held_against_what_is_left_of_them() {
    for (version, revision, counts) in
        [("3.5.12", 1_000_000_006, true), ("3.5.16", 1_000_000_006, false), ("3.5.12", 6, false)]
    {
        let (cluster, _member) = cluster(&trials());
        cluster.serve("http://*.default.svc:2379", move |request, _| {
            if request.url.ends_with("/cgi-bin/snapshot") {
                return Ok(HttpAnswer::new(200, ""));
            }
            if request.url.ends_with("/v3/maintenance/status") {
                let header = json!({"cluster_id": "1", "member_id": "2", "revision": "7"});
                return Ok(HttpAnswer::json(&json!({"header": header, "version": version, "leader": "2"})));
            }
            crate::backup::answer(request, 7, false)
        });
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_secs(3601)).unwrap();
        play(&cluster, &mut runner, 400, &runs(revision));
        let told = status(&cluster);
        assert_eq!(told["succeeded"], counts, "{version} at {revision}: {told}");
    }
}

#[test]
fn a_backup_whose_run_is_dropped_by_old_definitions_is_given_up_with_a_word_about_them() {
    let mut old = crate::definitions();
    for definition in &mut old {
        let run = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/run/properties";
        let run = definition.pointer_mut(run).and_then(Value::as_object_mut);
        run.into_iter().for_each(|run| drop(run.remove("artifact")));
    }
    let (cluster, _member) = crate::backup::cluster_with(&old, &json!({}));
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_mins(10)).unwrap();
    let told = status(&cluster);
    assert!(told["Reason"].as_str().is_some_and(|why| why.contains("older than the operator")), "{told}");
    assert!(cluster.http_calls().len() < 20, "{} requests", cluster.http_calls().len());
}
