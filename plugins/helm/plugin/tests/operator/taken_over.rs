//! Releases that helm-operator leaves behind, rendered by Helm 3.

use helm_release::ApplyMethod;
use pilothouse_sdk::{Patch, Reason};
use serde_json::{Value, json};

use crate::{
    by_hand::helm_writes,
    scene::{DEPLOYMENT, Scene, chart},
};

const VALUES: &str = "replicas: 1\nimage: nginx\nextra: false\npassword: hunter2\nbroken: false\nnothing: null\n\
                      hooks: {backup: false, migrate: false, restore: false, dump: false, bye: false, probe: false}\n";

/// A release whose pods say whether a default that is null is there, which Helm 3 and 4 answer otherwise.
fn release_of(method: Option<ApplyMethod>) -> Scene {
    let text = DEPLOYMENT.replace(
        "metadata: {labels: {app: web}}",
        "metadata: {labels: {app: web, known: {{ hasKey .Values \"nothing\" | quote }}}}\n  # {{ lookup \"v1\" \"ConfigMap\" \"shop\" \"settings\" | len }}",
    );
    let files = chart(&[("templates/deployment.yaml", &text), ("values.yaml", VALUES)]);
    let mut scene = Scene::with(&json!({}), &files, &json!({}));
    scene.settle();
    assert_eq!(known(&scene), "false", "Helm 4");
    let mut release = scene.stored(1).release;
    release.manifest = release.manifest.replace("known: \"false\"", "known: \"true\"");
    release.apply_method = method;
    helm_writes(&scene, &release);
    let labels = json!({"spec": {"template": {"metadata": {"labels": {"known": "true"}}}}});
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &Patch::merge(&labels).unwrap()).unwrap();
    let forget = Patch::merge(&json!({"status": {"release": null}})).unwrap().subresource("status");
    scene.cluster.kubectl().patch_ref::<Value>(&scene.object(), &forget).unwrap();
    scene.runner.restart();
    scene.settle();
    scene
}

fn known(scene: &Scene) -> Value {
    scene.get(&scene.deployment()).unwrap()["spec"]["template"]["metadata"]["labels"]["known"].clone()
}

#[test]
fn what_helm_3_rendered_otherwise_is_taken_over_as_it_is_and_no_pod_is_restarted() {
    let mut scene = release_of(None);
    assert_eq!((scene.statuses(), known(&scene)), (vec!["deployed"], json!("true")));
    scene.come_up();
    assert_eq!(scene.condition("ManualRevision"), None);
    scene.cluster.forget_calls();
    scene.runner.wake(&scene.object(), Reason::Resync);
    scene.settle();
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!((scene.statuses(), known(&scene)), (vec!["superseded", "deployed"], json!("false")));
}

#[test]
fn what_is_looked_up_beside_what_helm_3_rendered_restarts_no_pod() {
    let mut scene = release_of(None);
    scene.come_up();
    let metadata = json!({"name": "settings", "namespace": "shop"});
    scene.cluster.create([json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})]).unwrap();
    scene.runner.wake(&scene.object(), Reason::Resync);
    scene.settle();
    assert_eq!((scene.statuses(), known(&scene)), (vec!["deployed"], json!("true")));
    scene.truth("Ready");
}

#[test]
fn what_helm_4_rendered_otherwise_is_upgraded() {
    let scene = release_of(Some(ApplyMethod::ServerSide));
    assert_eq!((scene.statuses(), known(&scene)), (vec!["superseded", "deployed"], json!("false")));
}
