//! Members that take a request and never answer it.

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, SystemTime},
};

use pilothouse_sdk::{
    Gvk, HttpError, HttpErrorKind, HttpRequest, ObjectRef,
    harness::{Cluster, HttpAnswer, Runner},
};
use serde_json::{Value, json};

use crate::{MANIFEST, definitions};

/// When each request was sent and how long it took, by the member that it went to.
type Asked = Rc<RefCell<Vec<(String, SystemTime, Duration)>>>;

pub(crate) fn member(number: usize) -> String {
    format!("example-{}", ["a", "b", "c", "d", "e", "f", "g"][number])
}

pub(crate) fn pod(number: usize, uid: &Value, ready: bool) -> Value {
    let name = member(number);
    let labels =
        json!({"app": "etcd", "etcd_cluster": "example", "etcd_node": name, "etcd_incarnation": "0"});
    let owner = json!([{"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": "example",
        "uid": uid, "controller": true}]);
    let conditions = json!([{"type": "Ready", "status": if ready { "True" } else { "False" },
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels, "ownerReferences": owner,
            "annotations": {"etcd.version": "3.6.16"}},
        "spec": {"containers": [{"name": "etcd", "image": "quay.io/coreos/etcd:v3.6.16"}]},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": conditions},
    })
}

pub(crate) fn record(members: usize) -> Value {
    let member = |number: usize| {
        json!({"name": member(number), "serial": number, "incarnation": 0, "id": format!("{:x}", number + 1),
            "voter": true, "claim": false, "version": "3.6.16"})
    };
    let members: Vec<Value> = (0..members).map(member).collect();
    json!({"incarnation": 0, "clusterID": "1", "nextSerial": members.len(), "members": members})
}

/// Those below `hang` take every request and answer none. The others answer, and know no leader.
pub(crate) fn cluster(members: usize, hang: usize) -> (Cluster, Asked) {
    let cluster = Cluster::new();
    for definition in definitions() {
        cluster.define(&definition).unwrap();
    }
    let object = json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
        "metadata": {"name": "example", "namespace": "default"}, "spec": {"size": members}});
    cluster.create([object]).unwrap();
    let gvk = Gvk::new("etcd.database.coreos.com", "v1beta2", "EtcdCluster");
    let reference = ObjectRef::new(gvk, "default", "example");
    cluster.set_status(&reference, &json!({"phase": "Running", "record": record(members)})).unwrap();
    let found: Value = cluster.kubectl().get_ref(&reference).unwrap().unwrap();
    for number in 0..members {
        let pod = pod(number, &found["metadata"]["uid"], number >= hang);
        let place = ObjectRef::new(Gvk::new("", "v1", "Pod"), "default", member(number));
        cluster.create([pod.clone()]).unwrap();
        cluster.set_status(&place, &pod["status"]).unwrap();
    }
    let asked = Asked::default();
    let (log, clock) = (Rc::clone(&asked), cluster.clone());
    cluster.serve("http://*.example.default.svc:2379", move |request, _| {
        let name = request.url.trim_start_matches("http://").split('.').next().unwrap().to_owned();
        let (begun, number) = (clock.now(), (0..members).position(|number| member(number) == name).unwrap());
        let answer = answer(&clock, request, number, number < hang);
        let spent = clock.now().duration_since(begun).unwrap();
        log.borrow_mut().push((name, begun, spent));
        answer
    });
    (cluster, asked)
}

fn answer(
    clock: &Cluster,
    request: &HttpRequest,
    number: usize,
    hangs: bool,
) -> Result<HttpAnswer, HttpError> {
    // Without a leader, a list that a majority stands behind is waited for in vain.
    if hangs || request.url.ends_with("/list") && String::from_utf8_lossy(&request.body).contains("true") {
        clock.advance(request.timeout.expect("no request without an end"));
        return Err(HttpError::new(HttpErrorKind::Timeout, "it took too long"));
    }
    let header = json!({"cluster_id": "1", "member_id": (number + 1).to_string(), "revision": "7"});
    Ok(HttpAnswer::json(&json!({"header": header, "version": "3.6.16", "members": []})))
}

/// The longest time that was spent on requests without a pause: in one call of the plugin.
fn longest_call(asked: &[(String, SystemTime, Duration)]) -> Duration {
    let (mut longest, mut current, mut end) = (Duration::ZERO, Duration::ZERO, SystemTime::UNIX_EPOCH);
    for (_, begun, spent) in asked {
        current = if *begun == end { current + *spent } else { *spent };
        (end, longest) = (*begun + *spent, longest.max(current));
    }
    longest
}

#[test]
fn a_call_ends_in_time_however_many_members_hang() {
    for (members, hang) in [(3, 1), (5, 2), (5, 3), (7, 4), (7, 7)] {
        let (cluster, asked) = cluster(members, hang);
        let mut runner = Runner::new(&cluster, etcd_plugin::plugin).manifest(MANIFEST).unwrap();
        runner.run_for(Duration::from_secs(30)).unwrap();
        let asked = asked.borrow();
        let spent = longest_call(&asked);
        assert!(spent <= Duration::from_secs(10), "{hang} of {members} hang: {spent:?}\n{asked:?}");
        for number in 0..members {
            assert!(
                asked.iter().any(|(name, ..)| *name == member(number)),
                "{} was not asked",
                member(number)
            );
        }
    }
}

#[test]
fn members_that_work_are_asked_before_those_that_may_hang() {
    let (cluster, asked) = cluster(7, 4);
    Runner::new(&cluster, etcd_plugin::plugin).manifest(MANIFEST).unwrap().settle().unwrap();
    let first: Vec<String> = asked.borrow().iter().take(3).map(|(name, ..)| name.clone()).collect();
    assert_eq!(first, ["example-e", "example-f", "example-g"]);
}

#[test]
fn a_cluster_of_another_operator_is_left_alone_without_a_word() {
    let (cluster, asked) = cluster(3, 0);
    let reference =
        ObjectRef::new(Gvk::new("etcd.database.coreos.com", "v1beta2", "EtcdCluster"), "default", "example");
    let before: Value = cluster.kubectl().get_ref(&reference).unwrap().unwrap();
    let runner = Runner::new(&cluster, etcd_plugin::plugin).manifest(MANIFEST).unwrap();
    runner.config(&json!({"clusterWide": true})).settle().unwrap();
    let after: Value = cluster.kubectl().get_ref(&reference).unwrap().unwrap();
    assert_eq!((before, asked.borrow().len()), (after, 0));
}
