//! What follows a failure, as an entry says it.

use pilothouse_sdk::{
    Gvk, ObjectRef, Patch,
    harness::{Fault, Verb, every_crash},
};
use serde_json::{Value, json};

use crate::scene::{NAMESPACE, Scene, chart};

fn scene(spec: &Value, release: &Value) -> Scene {
    let mut scene = Scene::with(spec, &chart(&[]), &json!({ "release": release }));
    scene.settle();
    scene
}

/// An upgrade whose migration is about to fail.
fn migrating(release: &Value) -> Scene {
    migrating_with(&json!({"migrate": true}), release)
}

fn migrating_with(hooks: &Value, release: &Value) -> Scene {
    let mut scene = scene(&json!({"replicas": 1, "extra": true, "hooks": hooks}), release);
    assert_eq!(scene.statuses(), ["deployed"]);
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"]);
    scene
}

#[test]
fn a_failed_upgrade_can_be_answered_by_a_new_installation() {
    let release = json!({"upgrade": {"remediation": {"strategy": "uninstall"}}});
    let mut scene = migrating_with(&json!({"migrate": true, "dump": true}), &release);
    let uid = |scene: &Scene| scene.get(&scene.deployment()).unwrap()["metadata"]["uid"].clone();
    let before = uid(&scene);
    scene.fail("migrate");
    assert_eq!(
        scene.truth("Reconciling").0,
        "WaitingForHook",
        "what goes before a deletion goes before this one"
    );
    assert!(scene.get(&scene.deployment()).is_some());
    scene.complete("dump");
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!((scene.history()[0].revision, scene.replicas()), (1, Some(2)));
    assert_ne!(uid(&scene), before, "it was made anew");
    assert!(scene.events().iter().any(|(reason, _)| reason == "UpgradeRemediated"), "{:?}", scene.events());
    assert_eq!(scene.condition("ReleaseFailed"), None);
}

#[test]
fn a_new_installation_waits_until_the_old_one_is_gone() {
    let mut scene = migrating(&json!({"upgrade": {"remediation": {"strategy": "uninstall"}}}));
    let hold = |held: &Value| Patch::merge(&json!({"metadata": {"finalizers": held}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.extra(), &hold(&json!(["example.com/slow"]))).unwrap();
    scene.fail("migrate");
    scene.run_for(60);
    assert_eq!(scene.truth("Reconciling").0, "WaitingForDeletion");
    assert_eq!(scene.get(&scene.deployment()), None);
    scene.cluster.kubectl().patch_ref::<Value>(&scene.extra(), &hold(&Value::Null)).unwrap();
    scene.run_for(60);
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(2)));
    assert!(scene.get(&scene.extra()).is_some());
}

#[test]
fn the_way_to_a_new_installation_ends_there_wherever_it_was_killed() {
    let crashes = every_crash(|crash| {
        let mut scene = migrating(&json!({"upgrade": {"remediation": {"strategy": "uninstall"}}}));
        scene.cluster.fail_job(NAMESPACE, "migrate", "no").unwrap();
        scene.cluster.crash_after_write(crash);
        scene.run_for(60);
        assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(2)), "crash {crash}");
        scene.cluster
    });
    assert!(crashes > 10, "only {crashes} crashes");
}

#[test]
fn an_object_can_go_while_its_release_is_made_anew() {
    let mut scene = migrating(&json!({"upgrade": {"remediation": {"strategy": "uninstall"}}}));
    let hold = |held: &Value| Patch::merge(&json!({"metadata": {"finalizers": held}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.extra(), &hold(&json!(["example.com/slow"]))).unwrap();
    scene.fail("migrate");
    scene.delete();
    scene.settle();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.extra(), &hold(&Value::Null)).unwrap();
    scene.run_for(60);
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.history().is_empty() && scene.objects().is_empty(), "{:?}", scene.objects());
}

#[test]
fn a_failed_upgrade_can_be_left_and_made_again_after_an_interval() {
    let strategy = json!({"name": "RetryOnFailure", "retryInterval": "2m"});
    let mut scene = migrating(&json!({"upgrade": {"strategy": strategy}}));
    scene.fail("migrate");
    assert_eq!(scene.statuses(), ["deployed", "failed"]);
    assert_eq!(scene.replicas(), Some(2), "left as it is");
    assert!(scene.truth("Stalled").1.contains("the next attempt is due at"));
    scene.run_for(115);
    assert_eq!((scene.statuses().len(), scene.replicas()), (2, Some(2)));
    scene.run_for(6);
    assert_eq!(scene.statuses(), ["deployed", "failed", "pending-upgrade"]);
    scene.complete("migrate");
    assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"]);
    assert_eq!(scene.condition("ReleaseFailed"), None);
}

#[test]
fn what_was_left_is_gone_back_from_when_the_old_is_wanted_again() {
    let remediation = json!({"retries": 0, "remediateLastFailure": false});
    let mut scene = migrating(&json!({"upgrade": {"remediation": remediation}}));
    scene.fail("migrate");
    scene.run_for(7200);
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed", "failed"], Some(2)));
    assert!(scene.truth("Stalled").1.contains("it is not tried again"));
    scene.set(&json!({"replicas": 1}));
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["superseded", "failed", "deployed"], Some(1)));
}

#[test]
fn a_failed_installation_can_be_left_and_made_again_over_what_it_left() {
    let release = json!({"install": {"strategy": {"name": "RetryOnFailure", "retryInterval": "2m"}}});
    let mut scene = Scene::with(&json!({}), &chart(&[]), &json!({ "release": release }));
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment"));
    scene.settle();
    assert_eq!(scene.statuses(), ["failed"]);
    assert!(scene.get(&scene.role()).is_some(), "left as it is");
    scene.run_for(115);
    assert_eq!(scene.statuses(), ["failed"]);
    scene.run_for(6);
    assert_eq!(scene.statuses(), ["failed", "deployed"]);
    scene.delete();
    scene.settle();
    assert!(scene.objects().is_empty(), "{:?}", scene.objects());
}

#[test]
fn an_installation_can_be_tried_so_often_and_its_last_failure_left() {
    let release = json!({"install": {"remediation": {"retries": 1, "remediateLastFailure": false}}});
    let mut scene = Scene::with(&json!({}), &chart(&[]), &json!({ "release": release }));
    let no = || Fault::webhook("no").verb(Verb::Apply).kind("Deployment");
    scene.cluster.fail(no());
    scene.settle();
    assert_eq!((scene.statuses(), scene.get(&scene.role())), (vec!["failed"], None));
    scene.cluster.fail(no().nth(2).times(1000));
    scene.run_for(31);
    assert_eq!(scene.statuses(), ["failed", "failed"]);
    assert!(scene.get(&scene.role()).is_some(), "the last one stays to be looked at");
    scene.run_for(7200);
    assert_eq!(scene.statuses(), ["failed", "failed"]);
}

#[test]
fn failures_of_tests_can_be_told_for_upgrades_and_count_for_installations() {
    let release = json!({"test": {"enable": true}, "upgrade": {"remediation": {"ignoreTestFailures": true}}});
    let mut scene = scene(&json!({"replicas": 1, "hooks": {"probe": true}}), &release);
    scene.complete("probe");
    assert_eq!(scene.statuses(), ["deployed"]);
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene.fail("probe");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.condition("TestSuccess").unwrap().status.as_str(), "False");
}

#[test]
fn an_uninstall_deletes_as_the_entry_says() {
    let release = json!({"uninstall": {"disableWait": false, "deletionPropagation": "orphan"}});
    let mut scene = scene(&json!({"extra": true}), &release);
    let owner = scene.get(&scene.deployment()).unwrap();
    let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": owner["metadata"]["uid"]});
    let metadata = json!({"name": "left", "namespace": NAMESPACE, "ownerReferences": [owner]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "a", "image": "b"}]}});
    scene.cluster.create([&pod]).unwrap();
    let hold = |held: &Value| Patch::merge(&json!({"metadata": {"finalizers": held}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.extra(), &hold(&json!(["example.com/slow"]))).unwrap();
    scene.delete();
    scene.settle();
    assert_eq!(scene.truth("Reconciling").0, "WaitingForDeletion");
    scene.cluster.kubectl().patch_ref::<Value>(&scene.extra(), &hold(&Value::Null)).unwrap();
    scene.run_for(31);
    assert_eq!(scene.get(&scene.object()), None);
    assert_eq!(scene.get(&scene.deployment()), None);
    let left = ObjectRef::new(Gvk::new("", "v1", "Pod"), NAMESPACE, "left");
    assert!(scene.get(&left).is_some(), "what its objects owned stays");
}
