//! What somebody else changes is changed back; what nobody changed costs nothing.

use pilothouse_sdk::{Gvk, ObjectRef, Patch};
use serde_json::{Value, json};

use crate::scene::{Scene, chart};

fn patch(scene: &Scene, object: &ObjectRef, patch: &Value) {
    let patch = Patch::merge(patch).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(object, &patch).unwrap();
}

#[test]
fn scaling_by_hand_is_reverted_at_once() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(1));
    assert_eq!(scene.writes(), ["apply apps/v1 Deployment shop/web"]);
    let drift = scene.events().into_iter().find(|(reason, _)| reason == "DriftCorrected").unwrap();
    assert_eq!(drift.1, "changed back to revision 1: apps/v1 Deployment shop/web");
    assert_eq!(scene.statuses(), ["deployed"]);
}

#[test]
fn a_deleted_object_comes_back() {
    let mut scene = Scene::installed(&json!({"extra": true}));
    for object in [scene.deployment(), scene.extra(), scene.role()] {
        scene.cluster.kubectl().delete_ref(&object, &Default::default()).unwrap();
        scene.settle();
        assert!(scene.get(&object).is_some(), "{object}");
    }
}

#[test]
fn a_changed_cluster_scoped_object_is_changed_back() {
    let mut scene = Scene::installed(&json!({}));
    patch(&scene, &scene.role(), &json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "me"}}}));
    scene.settle();
    assert_eq!(
        scene.get(&scene.role()).unwrap()["metadata"]["labels"]["app.kubernetes.io/managed-by"],
        "Helm"
    );
}

#[test]
fn what_others_add_stays() {
    let mut scene = Scene::installed(&json!({}));
    patch(&scene, &scene.deployment(), &json!({"metadata": {"annotations": {"other/note": "x"}}}));
    scene.settle();
    assert_eq!(scene.get(&scene.deployment()).unwrap()["metadata"]["annotations"]["other/note"], "x");
}

#[test]
fn at_rest_nothing_is_written_and_the_record_is_not_even_read() {
    let mut scene = Scene::installed(&json!({}));
    for _ in 0..3 {
        let object = scene.object();
        scene.runner.wake(&object, pilothouse_sdk::Reason::Resync);
        scene.settle();
    }
    assert!(scene.cluster.writes().is_empty(), "{:?}", scene.cluster.writes());
    let reads: Vec<String> = scene
        .cluster
        .calls()
        .iter()
        .map(ToString::to_string)
        .filter(|call| call.starts_with("list v1 Secret"))
        .collect();
    assert!(reads.is_empty(), "{reads:?}");
}

#[test]
fn what_is_at_rest_is_looked_at_once_in_a_while_all_the_same() {
    let mut scene = Scene::installed(&json!({}));
    let lists = |scene: &Scene| {
        let calls = scene.cluster.calls();
        calls.iter().filter(|call| call.to_string().starts_with("list v1 Secret")).count()
    };
    let resync = |scene: &mut Scene, seconds| {
        scene.cluster.forget_calls();
        scene.run_for(seconds);
        let object = scene.object();
        scene.runner.wake(&object, pilothouse_sdk::Reason::Resync);
        scene.settle();
    };
    resync(&mut scene, 60);
    assert_eq!(lists(&scene), 0);
    resync(&mut scene, 3601);
    assert_eq!(lists(&scene), 1);
    resync(&mut scene, 1);
    assert_eq!(lists(&scene), 0);
}

#[test]
fn without_watching_dependents_drift_waits_for_the_period() {
    let mut scene = Scene::with(&json!({}), &chart(&[]), &json!({"watchDependentResources": false}));
    scene.annotate("reconcile-period", "60s");
    scene.settle();
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(5));
    scene.run_for(61);
    assert_eq!(scene.replicas(), Some(1));
}

#[test]
fn a_release_record_that_is_deleted_by_hand_is_made_again() {
    let mut scene = Scene::installed(&json!({"replicas": 2}));
    scene.cluster.kubectl().delete_ref(&scene.secret(1), &Default::default()).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!(scene.replicas(), Some(2));
}

#[test]
fn drift_that_cannot_be_repaired_is_told_and_repaired_later() {
    let mut scene = Scene::installed(&json!({}));
    scene.cluster.forbid("patch", "deployments");
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5}}));
    scene.settle();
    let (reason, message) = scene.truth("Irreconcilable");
    assert_eq!(reason, "ReconcileError");
    assert!(message.contains("may not patch deployments.apps"), "{message}");
    scene.cluster.permit("patch", "deployments");
    scene.run_for(400);
    assert_eq!(scene.replicas(), Some(1));
    assert_eq!(scene.condition("Irreconcilable"), None);
}

#[test]
fn an_object_of_a_hook_is_not_brought_back() {
    let mut scene = Scene::installed(&json!({"hooks": {"migrate": true}}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene.complete("migrate");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    scene.cluster.kubectl().delete_ref(&scene.job("migrate"), &Default::default()).unwrap();
    scene.settle();
    assert_eq!(scene.get(&scene.job("migrate")), None);
    assert_eq!(Gvk::new("batch", "v1", "Job"), scene.job("migrate").kind);
}
