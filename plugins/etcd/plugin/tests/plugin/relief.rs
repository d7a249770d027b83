//! Space that is made by members whose databases take long to be defragmented, and definitions that drop what is to be remembered.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    time::{Duration, SystemTime},
};

use pilothouse_sdk::{
    Gvk, HttpError, HttpErrorKind, ObjectRef,
    harness::{Cluster, HttpAnswer, Runner},
};
use serde_json::{Value, json};

use crate::{
    MANIFEST, definitions,
    hanging::{member, pod, record},
};

/// Requests by path and member.
type Asked = Rc<RefCell<BTreeMap<String, u32>>>;

fn reference() -> ObjectRef {
    ObjectRef::new(Gvk::new("etcd.database.coreos.com", "v1beta2", "EtcdCluster"), "default", "example")
}

/// Three members that are well, the last one leads, and history is compacted already or not. A database takes so long to be defragmented;
/// after four seconds nobody waits for it any more, and its member reads nothing for the rest of the time.
fn full(definitions: &[Value], compacted: bool, takes: Duration) -> (Cluster, Asked) {
    let cluster = Cluster::new();
    for definition in definitions {
        cluster.define(definition).unwrap();
    }
    let object = json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
        "metadata": {"name": "example", "namespace": "default"}, "spec": {"size": 3}});
    cluster.create([object]).unwrap();
    let mut record = record(3);
    record["relief"] = json!({"revision": 7, "pending": [member(0), member(1), member(2)],
        "since": "2026-01-01T00:00:00Z", "compacted": compacted, "inVain": false});
    cluster.set_status(&reference(), &json!({"phase": "Running", "record": record})).unwrap();
    let found: Value = cluster.kubectl().get_ref(&reference()).unwrap().unwrap();
    for number in 0..3 {
        let pod = pod(number, &found["metadata"]["uid"], true);
        let place = ObjectRef::new(Gvk::new("", "v1", "Pod"), "default", member(number));
        cluster.create([pod.clone()]).unwrap();
        cluster.set_status(&place, &pod["status"]).unwrap();
    }
    let asked = Asked::default();
    serve(&cluster, &asked, takes);
    (cluster, asked)
}

fn serve(cluster: &Cluster, asked: &Asked, takes: Duration) {
    let (log, clock) = (Rc::clone(asked), cluster.clone());
    let (leader, alarm) = (Cell::new(3), Cell::new(true));
    let busy = RefCell::new(BTreeMap::<String, SystemTime>::new());
    cluster.serve("http://*.example.default.svc:2379", move |request, _| {
        let name = request.url.trim_start_matches("http://").split('.').next().unwrap().to_owned();
        let path = request.url.rsplit("/v3/").next().unwrap().to_owned();
        *log.borrow_mut().entry(format!("{path} {name}")).or_default() += 1;
        let late = || HttpError::new(HttpErrorKind::Timeout, "it took too long");
        let now = clock.now();
        let blocked = busy.borrow().get(&name).is_some_and(|end| *end > now);
        let body = String::from_utf8_lossy(&request.body).into_owned();
        match path.as_str() {
            "kv/range" if blocked => {
                clock.advance(request.timeout.unwrap());
                return Err(late());
            }
            "maintenance/defragment" => {
                assert!(!busy.borrow().values().any(|end| *end > now), "two at a time: {name}");
                busy.borrow_mut().insert(name, now + takes);
                let waited = takes.min(request.timeout.unwrap());
                clock.advance(waited);
                return if waited < takes { Err(late()) } else { Ok(HttpAnswer::json(&json!({}))) };
            }
            "maintenance/transfer-leadership" => leader.set(1),
            "maintenance/alarm" if body.contains("DEACTIVATE") => alarm.set(false),
            _ => {}
        }
        let number = (0..3).position(|number| member(number) == name).unwrap() + 1;
        let leader = leader.get().to_string();
        let header = json!({"cluster_id": "1", "member_id": number.to_string(), "revision": "7"});
        let members: Vec<Value> = (0..3)
            .map(|number| {
                let url = format!("http://{0}.example.default.svc:2380", member(number));
                json!({"ID": (number + 1).to_string(), "name": member(number), "peerURLs": [url]})
            })
            .collect();
        Ok(HttpAnswer::json(&match path.as_str() {
            "maintenance/status" => json!({"header": header, "version": "3.6.16", "leader": leader,
                "storageVersion": "3.6.0", "dbSize": "1000", "dbSizeInUse": "1000", "dbSizeQuota": "1000000"}),
            "cluster/member/list" => json!({"header": header, "members": members}),
            "maintenance/alarm" if alarm.get() => json!({"alarms": [{"memberID": "1", "alarm": "NOSPACE"}]}),
            _ => json!({"header": header}),
        }))
    });
}

/// How often each member was asked for this.
fn times(asked: &Asked, path: &str) -> Vec<u32> {
    let count = |number| asked.borrow().get(&format!("{path} {}", member(number))).copied().unwrap_or(0);
    (0..3).map(count).collect()
}

#[test]
fn a_database_is_defragmented_once_however_long_that_takes() {
    for takes in [Duration::ZERO, Duration::from_millis(3_500), Duration::from_secs(30)] {
        let (cluster, asked) = full(&definitions(), true, takes);
        let relief = || {
            let found: Value = cluster.kubectl().get_ref(&reference()).unwrap().unwrap();
            found["status"]["record"]["relief"].clone()
        };
        let mut runner = Runner::new(&cluster, etcd_plugin::plugin).manifest(MANIFEST).unwrap();
        for _ in 0..180 {
            if relief().is_null() {
                break;
            }
            runner.run_for(Duration::from_secs(1)).unwrap();
        }
        assert_eq!(times(&asked, "maintenance/defragment"), [1, 1, 1], "{takes:?}");
        assert!(relief().is_null(), "{takes:?}: {}", relief());
    }
}

#[test]
fn definitions_that_drop_what_is_to_be_remembered_are_told_and_nothing_is_done_again_and_again() {
    let mut old = definitions();
    let relief =
        "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/record/properties/relief";
    for definition in &mut old {
        let Some(schema) = definition.pointer_mut(relief) else { continue };
        schema["properties"].as_object_mut().unwrap().remove("compacted");
        schema.as_object_mut().unwrap().remove("required");
    }
    let (cluster, asked) = full(&old, false, Duration::ZERO);
    let mut runner = Runner::new(&cluster, etcd_plugin::plugin).manifest(MANIFEST).unwrap();
    runner.run_for(Duration::from_secs(60)).unwrap();
    let compactions: u32 = times(&asked, "kv/compaction").iter().sum();
    assert!((1..=10).contains(&compactions), "{compactions} in a minute");
    let stalled = cluster.condition(&reference(), "Stalled").unwrap();
    assert!(stalled.message.contains("older than the operator"), "{}", stalled.message);
}
