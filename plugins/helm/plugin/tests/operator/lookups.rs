//! What a chart looks up in the cluster is part of what it is made from.

use pilothouse_sdk::{
    Gvk, ObjectRef, Patch, Reason,
    harness::{Fault, Verb},
};
use serde_json::{Value, json};

use crate::scene::{NAMESPACE, Scene, chart};

const COPY: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-copy}\n\
                    data: {a: {{ (lookup \"v1\" \"ConfigMap\" \"shop\" \"settings\").data.a | quote }}}\n";
const GUARDED: &str = "{{ $old := lookup \"v1\" \"Secret\" .Release.Namespace \"web-guarded\" }}apiVersion: v1\nkind: Secret\n\
                       metadata: {name: web-guarded}\ndata: {word: {{ if $old }}{{ $old.data.word }}{{ else }}\
                       {{ randAlphaNum 9 | b64enc }}{{ end }}}\n";
const DICE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-dice}\ndata: {a: {{ randAlphaNum 9 }}}\n";

fn map(name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, name)
}

fn set(scene: &Scene, data: &Value) {
    let patch = Patch::merge(&json!({ "data": data })).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&map("settings"), &patch).unwrap();
}

/// The release at its next resync, with what led to it forgotten.
fn resync(scene: &mut Scene) {
    scene.cluster.forget_calls();
    scene.runner.wake(&scene.object(), Reason::Resync);
    scene.settle();
}

fn installed(templates: &[(&str, &str)]) -> Scene {
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(templates), &json!({}));
    let metadata = json!({"name": "settings", "namespace": NAMESPACE});
    let settings =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "one"}});
    scene.cluster.create([settings]).unwrap();
    scene.settle();
    scene.come_up();
    scene
}

fn copied(scene: &Scene) -> Value {
    scene.get(&map("web-copy")).unwrap()["data"]["a"].clone()
}

#[test]
fn what_is_looked_up_and_found_otherwise_is_an_upgrade_at_the_next_resync() {
    let mut scene = installed(&[("templates/copy.yaml", COPY)]);
    resync(&mut scene);
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
    set(&scene, &json!({"a": "two"}));
    resync(&mut scene);
    assert_eq!((scene.statuses(), copied(&scene)), (vec!["superseded", "deployed"], json!("two")));
    scene.come_up();
    for _ in 0..2 {
        resync(&mut scene);
        assert!(scene.writes().is_empty(), "{:?}", scene.writes());
        scene.runner.restart();
        scene.settle();
    }
    set(&scene, &json!({"a": "one"}));
    resync(&mut scene);
    assert_eq!((scene.history().len(), copied(&scene)), (3, json!("one")), "and back");
}

#[test]
fn what_is_found_otherwise_and_changes_nothing_is_noted_once() {
    let mut scene = installed(&[("templates/copy.yaml", COPY)]);
    set(&scene, &json!({"b": "beside"}));
    resync(&mut scene);
    assert_eq!(scene.writes(), ["patch v1 Secret shop/sh.helm.release.v1.web.v1"]);
    assert_eq!(scene.statuses(), ["deployed"]);
    resync(&mut scene);
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
}

#[test]
fn a_password_that_is_guarded_by_its_own_secret_makes_no_revision_beside_random_values() {
    let mut scene = installed(&[("templates/guarded.yaml", GUARDED), ("templates/dice.yaml", DICE)]);
    for _ in 0..2 {
        resync(&mut scene);
        assert!(scene.writes().is_empty(), "{:?}", scene.writes());
        scene.runner.restart();
        scene.settle();
    }
    assert_eq!(scene.statuses(), ["deployed"]);
}

#[test]
fn what_is_looked_up_does_not_count_beside_a_revision_made_by_hand() {
    let mut scene = installed(&[("templates/copy.yaml", COPY)]);
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene.come_up();
    crate::by_hand::helm_rollback(&scene, 1, 1);
    scene.settle();
    scene.truth("ManualRevision");
    set(&scene, &json!({"a": "two"}));
    resync(&mut scene);
    scene.runner.restart();
    scene.settle();
    assert_eq!((scene.history().len(), scene.replicas()), (3, Some(1)));
    scene.truth("ManualRevision");
}

#[test]
fn an_upgrade_to_what_was_found_that_fails_is_tried_again_with_patience() {
    let mut scene = installed(&[("templates/copy.yaml", COPY)]);
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("ConfigMap").nth(2));
    set(&scene, &json!({"a": "two"}));
    resync(&mut scene);
    assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"]);
    assert_eq!(scene.truth("Stalled").0, "UpgradeError");
    scene.run_for(31);
    assert_eq!((scene.statuses().last(), copied(&scene)), (Some(&"deployed"), json!("two")));
    assert_eq!(scene.condition("ReleaseFailed"), None);
}
