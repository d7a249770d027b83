//! Releases that nobody looks after for now.

use pilothouse_sdk::{ObjectRef, Patch};
use serde_json::{Value, json};

use crate::scene::Scene;

fn patch(scene: &Scene, object: &ObjectRef, patch: &Value) {
    let patch = Patch::merge(patch).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(object, &patch).unwrap();
}

fn suspend(scene: &mut Scene, value: Value) {
    let annotations = json!({"metadata": {"annotations": {"helm.pilothouse.dev/suspend": value}}});
    patch(scene, &scene.object(), &annotations);
    scene.settle();
}

#[test]
fn what_is_ready_stays_so_while_it_is_suspended() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.come_up();
    suspend(&mut scene, json!("true"));
    assert_eq!(scene.truth("Paused").0, "Suspended");
    scene.truth("Ready");
    assert_eq!(scene.condition("Reconciling"), None);
    // Another specification is not what is there.
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.condition("Ready").unwrap().reason, "Suspended");
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.condition("Ready").unwrap().reason, "Suspended");
    suspend(&mut scene, Value::Null);
    scene.come_up();
    assert_eq!((scene.condition("Paused"), scene.replicas()), (None, Some(2)));
}

#[test]
fn what_failed_is_told_as_before_while_it_is_suspended() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.set(&json!({"broken": true}));
    scene.settle();
    let failed = scene.truth("Stalled");
    let told = scene.truth("Irreconcilable");
    suspend(&mut scene, json!("true"));
    scene.truth("Paused");
    assert_eq!((scene.truth("Stalled"), scene.truth("Irreconcilable")), (failed, told));
    suspend(&mut scene, Value::Null);
    assert_eq!(scene.condition("Paused"), None, "it is looked after again, although it still fails");
    scene.truth("Stalled");
}

#[test]
fn what_is_suspended_is_left_alone_until_it_is_resumed() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    suspend(&mut scene, json!("true"));
    scene.truth("Paused");
    scene.set(&json!({"replicas": 2}));
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5}}));
    scene.settle();
    assert_eq!((scene.replicas(), scene.statuses()), (Some(5), vec!["deployed"]));
    suspend(&mut scene, Value::Null);
    assert_eq!(scene.replicas(), Some(2));
    assert_eq!(scene.condition("Paused"), None);
}

#[test]
fn what_somebody_changed_while_it_was_suspended_is_looked_at_when_it_is_resumed() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.come_up();
    suspend(&mut scene, json!("true"));
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(5));
    suspend(&mut scene, Value::Null);
    assert_eq!(scene.replicas(), Some(1));
}
