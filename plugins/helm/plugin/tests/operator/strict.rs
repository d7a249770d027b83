//! Strict drift detection: what others add to objects of the release goes, and what is not theirs stays.

use pilothouse_sdk::{ObjectRef, Patch, Reason};
use serde_json::{Value, json};

use crate::scene::{Scene, chart};

fn strategic(scene: &Scene, object: &ObjectRef, patch: &Value) {
    let patch = Patch::strategic(patch).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(object, &patch).unwrap();
}

fn scene_with(spec: &Value, files: &[(&str, &str)], more: &Value) -> Scene {
    let mut drift = json!({"mode": "strict"});
    drift.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut scene = Scene::with(spec, &chart(files), &json!({"release": {"driftDetection": drift}}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    scene.cluster.forget_calls();
    scene
}

fn strict() -> Scene {
    scene_with(&json!({"replicas": 1, "extra": true}), &[], &json!({}))
}

/// Nothing is written when the object is reconciled again.
fn assert_rest(scene: &mut Scene) {
    scene.cluster.forget_calls();
    let object = scene.object();
    for reason in [Reason::Resync, Reason::Changed] {
        scene.runner.wake(&object, reason);
        scene.settle();
    }
    assert!(scene.cluster.writes().is_empty(), "{:?}", scene.cluster.writes());
}

#[test]
fn what_others_added_is_gone_and_told_once() {
    let mut scene = strict();
    strategic(
        &scene,
        &scene.extra(),
        &json!({"data": {"added": "x"}, "metadata": {"labels": {"tier": "front"}}}),
    );
    let variable = json!({"name": "web", "env": [{"name": "DEBUG", "value": "1"}]});
    strategic(
        &scene,
        &scene.deployment(),
        &json!({"spec": {"template": {"spec": {"containers": [variable]}}}}),
    );
    scene.settle();
    let extra = scene.get(&scene.extra()).unwrap();
    assert_eq!(extra["data"], json!({"a": "b"}));
    assert_eq!(extra["metadata"]["labels"].get("tier"), None);
    let deployment = scene.get(&scene.deployment()).unwrap();
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0].get("env"), None);
    let told: Vec<String> = scene
        .events()
        .into_iter()
        .filter(|(reason, _)| reason == "DriftCorrected")
        .map(|(_, told)| told)
        .collect();
    let all = told.join("\n");
    assert!(
        all.contains("v1 ConfigMap shop/web-extra (kubectl: .data.added, .metadata.labels.tier)"),
        "{all}"
    );
    assert!(all.contains("(kubectl: .spec.template.spec.containers[name=\"web\"].env)"), "{all}");
    assert_rest(&mut scene);
    assert!(!scene.events().iter().any(|(reason, _)| reason == "DriftCorrected"), "told once");
}

#[test]
fn what_kubernetes_wrote_and_who_scales_a_release_that_does_not_name_replicas_stays() {
    let text = crate::scene::DEPLOYMENT.replace("  replicas: {{ .Values.replicas }}\n", "");
    let scaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 9, \
                  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n";
    let files = [("templates/deployment.yaml", text.as_str()), ("templates/scaler.yaml", scaler)];
    let mut scene = scene_with(&json!({}), &files, &json!({}));
    let scale = Patch::merge(&json!({"spec": {"replicas": 4}})).unwrap();
    scene
        .cluster
        .kubectl()
        .patch_ref::<Value>(&scene.deployment(), &scale.clone().subresource("scale"))
        .unwrap();
    scene.cluster.set_status(&scene.deployment(), &json!({"replicas": 4, "readyReplicas": 4})).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(4));
    // The same without the subresource.
    let scale = Patch::merge(&json!({"spec": {"replicas": 5}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &scale).unwrap();
    let revision = json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "2"}}});
    strategic(&scene, &scene.deployment(), &revision);
    scene.settle();
    let deployment = scene.get(&scene.deployment()).unwrap();
    assert_eq!(scene.replicas(), Some(5));
    assert_eq!(deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
    assert_eq!(deployment["status"]["readyReplicas"], 4);
    assert_rest(&mut scene);
}

#[test]
fn an_autoscaler_keeps_replicas_that_the_chart_names_and_the_rest_is_looked_after() {
    let scaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 9, \
                  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n";
    let mut scene = scene_with(&json!({"replicas": 1}), &[("templates/scaler.yaml", scaler)], &json!({}));
    let scale = Patch::merge(&json!({"spec": {"replicas": 4}})).unwrap().subresource("scale");
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &scale).unwrap();
    strategic(&scene, &scene.deployment(), &json!({"metadata": {"labels": {"tier": "front"}}}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(4));
    assert_eq!(scene.get(&scene.deployment()).unwrap()["metadata"]["labels"].get("tier"), None);
    assert_rest(&mut scene);
}

#[test]
fn what_a_rule_names_stays_and_so_does_an_object_that_opts_out() {
    let rules = json!({"ignore": [
        {"paths": ["/metadata/annotations/a~1note"], "target": {"kind": "Deployment"}},
        {"paths": ["/data"], "target": {"kind": "ConfigMap"}},
    ]});
    let mut scene = scene_with(&json!({"extra": true}), &[], &rules);
    let notes = json!({"metadata": {"annotations": {"a/note": "1", "b/note": "2"}}});
    strategic(&scene, &scene.deployment(), &notes);
    strategic(&scene, &scene.extra(), &json!({"data": {"added": "x"}}));
    scene.settle();
    let annotations = scene.get(&scene.deployment()).unwrap()["metadata"]["annotations"].clone();
    assert_eq!((&annotations["a/note"], annotations.get("b/note")), (&json!("1"), None));
    assert_eq!(scene.get(&scene.extra()).unwrap()["data"]["added"], "x");
    assert_rest(&mut scene);

    let opt_out = json!({"metadata": {"annotations": {"helm.pilothouse.dev/driftDetection": "disabled"}}});
    strategic(&scene, &scene.role(), &opt_out);
    scene.settle();
    strategic(&scene, &scene.role(), &json!({"metadata": {"labels": {"mine": "yes"}}}));
    scene.settle();
    let role = scene.get(&scene.role()).unwrap();
    assert_eq!(role["metadata"]["labels"]["mine"], "yes");
    assert_eq!(role["metadata"]["annotations"]["helm.pilothouse.dev/driftDetection"], "disabled");
    assert_rest(&mut scene);
}

#[test]
fn an_object_without_replicas_may_opt_out_of_ordinary_repairs_too() {
    let mut scene = Scene::installed(&json!({"extra": true}));
    let opt_out = json!({"metadata": {"annotations": {"helm.pilothouse.dev/driftDetection": "disabled"}}});
    strategic(&scene, &scene.extra(), &opt_out);
    strategic(&scene, &scene.extra(), &json!({"data": {"a": "mine"}}));
    scene.settle();
    assert_eq!(scene.get(&scene.extra()).unwrap()["data"]["a"], "mine");
    assert_rest(&mut scene);
}

#[test]
fn additions_that_the_cluster_does_not_let_go_are_told_and_fail_nothing() {
    let mut scene = strict();
    let freeze = Patch::merge(&json!({"immutable": true})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.extra(), &freeze).unwrap();
    scene.settle();
    let told = scene.events().into_iter().find(|(reason, _)| reason == "AdditionsStay").unwrap().1;
    assert!(
        told.starts_with("what others added to v1 ConfigMap shop/web-extra cannot be taken away: "),
        "{told}"
    );
    assert_eq!(scene.condition("Irreconcilable"), None);
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["superseded", "deployed"], Some(2)));
}

#[test]
fn a_container_beside_those_of_the_chart_goes_also_with_an_upgrade() {
    let mut scene = strict();
    let suspend = |scene: &Scene, value: Value| {
        let patch =
            Patch::merge(&json!({"metadata": {"annotations": {"helm.pilothouse.dev/suspend": value}}}))
                .unwrap();
        scene.cluster.kubectl().patch_ref::<Value>(&scene.object(), &patch).unwrap();
    };
    let names = |scene: &Scene| {
        let deployment = scene.get(&scene.deployment()).unwrap();
        let containers = deployment["spec"]["template"]["spec"]["containers"].as_array().unwrap().clone();
        containers.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    suspend(&scene, json!("true"));
    scene.settle();
    let sidecar = json!({"name": "sidecar", "image": "s"});
    strategic(
        &scene,
        &scene.deployment(),
        &json!({"spec": {"template": {"spec": {"containers": [sidecar]}}}}),
    );
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(names(&scene).len(), 2);
    suspend(&scene, Value::Null);
    scene.settle();
    assert_eq!((names(&scene), scene.replicas()), (vec!["web".to_owned()], Some(2)));
    assert_rest(&mut scene);
}
