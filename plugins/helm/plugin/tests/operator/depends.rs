//! Releases that wait for others, and patches over what a chart renders.

use pilothouse_sdk::{Gvk, ObjectRef, Patch};
use serde_json::{Value, json};

use crate::scene::{NAMESPACE, Scene, chart};

fn other(ready: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "base", "namespace": NAMESPACE}, "data": {"ready": ready}})
}

fn scene(release: &Value) -> Scene {
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&[]), &json!({ "release": release }));
    scene.settle();
    scene
}

#[test]
fn a_release_waits_until_what_it_depends_on_fulfils_its_condition() {
    let dependency = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "base", "readyExpr": "dep.data.ready == 'yes'"});
    let mut scene = scene(&json!({"dependsOn": [dependency]}));
    assert!(scene.history().is_empty());
    let (reason, message) = scene.truth("Reconciling");
    assert_eq!(reason, "DependencyNotReady");
    assert_eq!(message, "dependsOn: v1 ConfigMap shop/base is not there");
    scene.cluster.create([other("no")]).unwrap();
    scene.run_for(61);
    assert!(scene.history().is_empty());
    let base = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, "base");
    let set = |scene: &Scene, ready: &str| {
        let patch = Patch::merge(&json!({"data": {"ready": ready}})).unwrap();
        scene.cluster.kubectl().patch_ref::<Value>(&base, &patch).unwrap();
    };
    set(&scene, "yes");
    scene.run_for(61);
    assert_eq!(scene.statuses(), ["deployed"]);
    set(&scene, "no");
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(1)), "an upgrade waits as well");
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.run_for(61);
    assert_eq!(scene.replicas(), Some(1), "what is deployed stays repaired");
    set(&scene, "yes");
    scene.run_for(61);
    assert_eq!(scene.replicas(), Some(2));
}

#[test]
fn a_condition_that_is_none_is_told() {
    let dependency = json!({"apiVersion": "v1", "kind": "Namespace", "name": "shop", "readyExpr": "dep ="});
    let scene = scene(&json!({"dependsOn": [dependency]}));
    let told = scene.web()["status"].to_string();
    assert!(told.contains("readyExpr"), "{told}");
}

#[test]
fn patches_and_common_metadata_are_part_of_the_release_and_their_change_is_an_upgrade() {
    let release = |tag: &str| {
        json!({
            "commonMetadata": {"labels": {"team": "a"}},
            "postRenderers": [{"kustomize": {
                "images": [{"name": "nginx", "newTag": tag}],
                "patches": [{"target": {"kind": "Deployment"}, "patch": "- {op: add, path: /spec/paused, value: true}"}],
            }}],
        })
    };
    let mut scene = scene(&release("2"));
    let deployment = scene.get(&scene.deployment()).unwrap();
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    assert_eq!(deployment["spec"]["paused"], true);
    assert_eq!(scene.get(&scene.role()).unwrap()["metadata"]["labels"]["team"], "a");
    assert!(scene.stored(1).release.manifest.contains("nginx:2"), "helm get manifest shows it");
    scene.runner = scene.runner.binding(&json!({"chart": "charts/site", "release": release("3")}));
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}

#[test]
fn a_condition_that_cannot_be_told_now_keeps_what_is_deployed_repaired() {
    let dependency =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "base", "readyExpr": "dep.data.ready"});
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&[]), &json!({}));
    scene.settle();
    scene.cluster.create([other("text")]).unwrap();
    let binding = json!({"chart": "charts/site", "release": {"dependsOn": [dependency]}});
    scene.runner = scene.runner.binding(&binding);
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    let (reason, message) = scene.truth("Reconciling");
    assert_eq!(reason, "DependencyNotReady");
    assert!(message.contains("must be true or false"), "{message}");
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(1));
    let binding = json!({"chart": "charts/site", "release": {"dependsOn": [{"kind": "ConfigMap", "apiVersion": "v1", "name": "base", "readyExpr": "dep ="}]}});
    scene.runner = scene.runner.binding(&binding);
    scene.settle();
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(1), "nor does one that is none");
}
