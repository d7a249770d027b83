//! What somebody else changes is changed back; what nobody changed costs nothing.

use pilothouse_sdk::{Gvk, ObjectRef, Patch};
use serde_json::{Value, json};

use crate::scene::{self, Scene, chart};

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
    assert_eq!(drift.1, "changed back to revision 1: apps/v1 Deployment shop/web (kubectl: .spec.replicas)");
    assert_eq!(scene.statuses(), ["deployed"]);
}

#[test]
fn an_upgrade_tells_once_whose_fields_it_took_over() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    // Somebody's own field until the chart has it too.
    let added = json!({"metadata": {"labels": {"tier": "front"}}});
    patch(&scene, &scene.deployment(), &added);
    scene.settle();
    let text = scene::DEPLOYMENT
        .replace("  name: {{ .Release.Name }}\n", "  name: {{ .Release.Name }}\n  labels: {tier: back}\n");
    scene.runner = scene.runner.asset("charts/site", chart(&[("templates/deployment.yaml", &text)]));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.get(&scene.deployment()).unwrap()["metadata"]["labels"]["tier"], "back");
    let told = |scene: &Scene| {
        let events = scene.events().into_iter().filter(|(reason, _)| reason == "FieldsTakenOver");
        events.map(|(_, message)| message).collect::<Vec<_>>()
    };
    let once = [
        "revision 2 took fields of others over: apps/v1 Deployment shop/web (kubectl: .metadata.labels.tier)",
    ];
    assert_eq!(told(&scene), once);
    scene.set(&json!({"replicas": 3}));
    scene.settle();
    scene.runner.restart();
    scene.settle();
    assert_eq!(told(&scene), once);
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

const SCALER: &str = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  maxReplicas: 9\n";

#[test]
fn replicas_that_an_autoscaler_of_the_release_set_stay() {
    let mut scene =
        Scene::with(&json!({"replicas": 1}), &chart(&[("templates/scaler.yaml", SCALER)]), &json!({}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(1), "at first as the chart has it");
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 4}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(4));
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 3, "minReadySeconds": 7}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(3));
    scene.set(&json!({"image": "nginx:2"}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(3), "an upgrade scales nothing either");
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(1), "what is made anew is made as the chart has it");
}

#[test]
fn replicas_that_an_autoscaler_beside_the_release_set_stay() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "mine", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 9}});
    scene.cluster.create([scaler]).unwrap();
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 4}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(4));
    assert!(!scene.events().iter().any(|(reason, _)| reason == "DriftCorrected"));
}

#[test]
fn an_autoscaler_that_may_not_be_looked_at_is_known_by_what_it_wrote() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.cluster.forbid("list", "horizontalpodautoscalers");
    let scale = |who: &str, replicas: u64| {
        let patch = Patch::merge(&json!({"spec": {"replicas": replicas}})).unwrap().subresource("scale");
        scene.cluster.user(who).patch_ref::<Value>(&scene.deployment(), &patch).unwrap();
    };
    scale("kube-controller-manager", 4);
    scene.settle();
    assert_eq!(scene.replicas(), Some(4));
    assert!(!scene.events().iter().any(|(reason, _)| reason == "DriftCorrected"), "{:?}", scene.events());
    let scaled = json!({"spec": {"replicas": 4, "minReadySeconds": 7}});
    patch(&scene, &scene.deployment(), &scaled);
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.replicas(), Some(4), "nor after a restart");
    scene.set(&json!({"image": "nginx:2"}));
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["superseded", "deployed"], Some(4)));
}

#[test]
fn a_person_who_scales_is_no_autoscaler() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.cluster.forbid("list", "horizontalpodautoscalers");
    let patch = Patch::merge(&json!({"spec": {"replicas": 4}})).unwrap().subresource("scale");
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &patch).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(1));
}

fn with_release(release: &Value) -> Scene {
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&[]), &json!({ "release": release }));
    scene.settle();
    scene.cluster.forget_calls();
    scene
}

#[test]
fn what_a_rule_names_is_left_as_somebody_else_set_it() {
    let rules = json!([{"paths": ["/spec/replicas"], "target": {"kind": "Deployment", "name": "we."}}]);
    let mut scene = with_release(&json!({"driftDetection": {"ignore": rules}}));
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5, "revisionHistoryLimit": 3}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(5));
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "other"}]}}}});
    patch(&scene, &scene.deployment(), &image);
    scene.settle();
    let deployment = scene.get(&scene.deployment()).unwrap();
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "nginx", "all else is not");
    assert_eq!(scene.replicas(), Some(5));
}

#[test]
fn drift_may_only_be_told() {
    let mut scene = with_release(&json!({"driftDetection": {"mode": "warn"}}));
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(5));
    let (reason, message) = scene.truth("Drifted");
    assert_eq!(
        (reason.as_str(), message.as_str()),
        ("DriftDetected", "differs from revision 1: apps/v1 Deployment shop/web (kubectl: .spec.replicas)")
    );
    let object = scene.object();
    scene.runner.wake(&object, pilothouse_sdk::Reason::Resync);
    scene.settle();
    let told = scene.events().into_iter().filter(|(reason, _)| reason == "DriftDetected").count();
    assert_eq!(told, 1, "once");
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 1}}));
    scene.settle();
    assert_eq!(scene.condition("Drifted"), None);
}

#[test]
fn an_object_may_opt_out_and_so_may_all_of_them() {
    let mut scene = with_release(&json!({"driftDetection": {"mode": "disabled"}}));
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(5));
    let mut scene = with_release(&json!({}));
    let annotations =
        json!({"metadata": {"annotations": {"helm.pilothouse.dev/driftDetection": "disabled"}}});
    patch(&scene, &scene.deployment(), &annotations);
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(5));
}

#[test]
fn a_changed_rule_counts_at_once_and_one_that_is_none_is_told() {
    let mut scene = with_release(&json!({}));
    let rules = |name: &str| json!({"driftDetection": {"ignore": [{"paths": ["/spec/replicas"], "target": {"name": name}}]}});
    scene.runner = scene.runner.binding(&json!({"chart": "charts/site", "release": rules("web")}));
    let object = scene.object();
    scene.runner.wake(&object, pilothouse_sdk::Reason::Configuration);
    scene.settle();
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(5));
    scene.runner = scene.runner.binding(&json!({"chart": "charts/site", "release": rules("web(")}));
    scene.runner.wake(&object, pilothouse_sdk::Reason::Configuration);
    scene.settle();
    let told = scene.web()["status"].to_string();
    assert!(told.contains("is no pattern"), "{told}");
}

#[test]
fn a_field_that_only_looks_different_is_not_taken_away() {
    let rules = json!([{"paths": ["/spec/replicas"]}]);
    let mut scene = with_release(&json!({"driftDetection": {"ignore": rules}}));
    // Nobody but the chart changes it: it is still ours, and would go if it were left out.
    scene.set(&json!({"replicas": 3}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(1), "what a rule names stays as it is");
    scene.cluster.forget_calls();
    for _ in 0..3 {
        let object = scene.object();
        scene.runner.wake(&object, pilothouse_sdk::Reason::Start);
        scene.settle();
    }
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
    assert_eq!(scene.replicas(), Some(1));
}

#[test]
fn who_opts_out_of_repairs_gets_new_revisions_all_the_same() {
    let mut scene = with_release(&json!({}));
    let annotations =
        json!({"metadata": {"annotations": {"helm.pilothouse.dev/driftDetection": "disabled"}}});
    patch(&scene, &scene.deployment(), &annotations);
    scene.set(&json!({"replicas": 3}));
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["superseded", "deployed"], Some(3)));
    patch(&scene, &scene.deployment(), &json!({"spec": {"replicas": 5}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(5));
}
