//! A release is ready when its objects are, and says which of them is not.

use serde_json::{Value, json};

use crate::scene::{Scene, chart};

fn ready(scene: &Scene) -> (String, String, String) {
    let ready = scene.condition("Ready").unwrap();
    (ready.status.as_str().to_owned(), ready.reason, ready.message)
}

#[test]
fn what_is_not_ready_is_named_and_what_is_ready_is_told() {
    let mut scene = Scene::installed(&json!({"replicas": 2}));
    scene.truth("Deployed");
    let (status, reason, message) = ready(&scene);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "WaitingForReadiness"));
    assert!(message.starts_with("Deployment web"), "{message}");
    scene.cluster.set_ready(&scene.deployment()).unwrap();
    scene.settle();
    assert_eq!(ready(&scene).0, "True");
    scene.cluster.set_ready_replicas(&scene.deployment(), 1).unwrap();
    scene.settle();
    let (status, reason, _) = ready(&scene);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "WaitingForReadiness"));
    assert!(scene.writes().is_empty(), "looking costs no write: {:?}", scene.writes());
}

#[test]
fn what_does_not_get_ready_in_time_is_told_and_left_to_work_on() {
    let mut scene = Scene::installed(&json!({}));
    scene.run_for(301);
    assert_eq!(ready(&scene).1, "NotReady");
    scene.truth("Stalled");
    assert_eq!(scene.statuses(), ["deployed"], "nobody asked to have it undone");
    scene.cluster.set_ready(&scene.deployment()).unwrap();
    scene.settle();
    assert_eq!(ready(&scene).0, "True");
}

#[test]
fn a_long_period_does_not_put_the_verdict_off() {
    let mut scene = Scene::new(&json!({}));
    scene.annotate("reconcile-period", "12h");
    scene.settle();
    assert_eq!(ready(&scene).1, "WaitingForReadiness");
    scene.run_for(301);
    assert_eq!(ready(&scene).1, "NotReady");
    scene.truth("Stalled");
    let mut scene = Scene::with(&json!({}), &chart(&[]), &json!({"watchDependentResources": false}));
    scene.annotate("reconcile-period", "12h");
    scene.settle();
    scene.cluster.set_ready(&scene.deployment()).unwrap();
    scene.run_for(31);
    assert_eq!(ready(&scene).0, "True", "looked at although nobody tells");
}

fn waiting(release: &Value) -> Scene {
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&[]), &json!({ "release": release }));
    scene.settle();
    scene
}

#[test]
fn an_operation_that_waits_ends_when_everything_is_ready() {
    let mut scene = waiting(&json!({"wait": true}));
    assert_eq!(scene.statuses(), ["pending-install"]);
    let (_, reason, message) = ready(&scene);
    assert_eq!(reason, "WaitingForReadiness");
    assert!(message.starts_with("revision 1 is not ready yet: Deployment web"), "{message}");
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.statuses(), ["pending-install"]);
    scene.cluster.set_ready(&scene.deployment()).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!(ready(&scene).0, "True");
}

#[test]
fn an_upgrade_that_does_not_get_ready_in_time_is_rolled_back() {
    let mut scene = waiting(&json!({"wait": true, "timeout": "2m"}));
    scene.cluster.set_ready(&scene.deployment()).unwrap();
    scene.settle();
    scene.set(&json!({"image": "broken", "replicas": 2}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"]);
    scene.run_for(119);
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"]);
    scene.run_for(2);
    assert_eq!(scene.replicas(), Some(1));
    scene.cluster.set_ready(&scene.deployment()).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"]);
    let (reason, message) = scene.truth("ReleaseFailed");
    assert_eq!(reason, "UpgradeError");
    assert!(message.contains("not ready in time: Deployment web"), "{message}");
}

#[test]
fn a_timeout_that_is_none_is_told() {
    let scene = waiting(&json!({"timeout": "soon"}));
    let told = scene.web()["status"].to_string();
    assert!(told.contains("release.timeout \\\"soon\\\" is not a duration such as 5m"), "{told}");
}

#[test]
fn where_dependents_are_not_watched_they_are_looked_at_again_and_again() {
    let settings = json!({"watchDependentResources": false, "release": {"wait": true}});
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&[]), &settings);
    scene.settle();
    assert_eq!(scene.statuses(), ["pending-install"]);
    scene.cluster.set_ready(&scene.deployment()).unwrap();
    scene.run_for(11);
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!(ready(&scene).0, "True");
    let settings = json!({"watchDependentResources": false});
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&[]), &settings);
    scene.settle();
    scene.run_for(301);
    assert_eq!(ready(&scene).1, "NotReady");
    scene.cluster.set_ready(&scene.deployment()).unwrap();
    scene.run_for(31);
    assert_eq!(ready(&scene).0, "True");
}

#[test]
fn nobody_waits_any_more_when_the_entry_stops_asking_for_it() {
    let mut scene = waiting(&json!({"wait": true}));
    assert_eq!(scene.statuses(), ["pending-install"]);
    scene.runner = scene.runner.binding(&json!({"chart": "charts/site", "release": {"wait": false}}));
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
}
