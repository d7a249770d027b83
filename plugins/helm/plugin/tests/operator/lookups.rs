//! What a chart looks up in the cluster is part of what it is made from.

use helm_release::Status;
use pilothouse_sdk::{
    Artefact, Gvk, ObjectRef, Patch, Reason, Standing,
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
    installed_with(&json!({"replicas": 1}), templates, &json!({}))
}

fn installed_with(spec: &Value, templates: &[(&str, &str)], settings: &Value) -> Scene {
    let mut scene = Scene::with(spec, &chart(templates), settings);
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

#[test]
fn an_upgrade_to_what_was_found_begins_when_others_have_done_their_part() {
    let mut scene = installed(&[("templates/copy.yaml", COPY)]);
    scene.cluster.answer_announcements("pre-upgrade", Ok(Standing::Pending("the backup runs".to_owned())));
    set(&scene, &json!({"a": "two"}));
    resync(&mut scene);
    assert_eq!(scene.truth("Reconciling").0, "WaitingForHooks");
    // As the host wakes who announced something.
    let run = ObjectRef::new(Gvk::new("pilothouse.dev", "v1alpha1", "LifecycleRun"), NAMESPACE, "run");
    let hears = |scene: &mut Scene| {
        let object = scene.object();
        scene.runner.wake(&object, Reason::Related(run.clone()));
        scene.settle();
    };
    hears(&mut scene);
    set(&scene, &json!({"a": "two", "b": "beside"}));
    hears(&mut scene);
    assert_eq!(scene.truth("Reconciling").0, "WaitingForHooks");
    let announced = scene.cluster.announced().into_iter().filter(|(_, told)| told.phase == "pre-upgrade");
    assert_eq!((scene.cluster.withdrawn().len(), announced.count()), (0, 1));
    scene.cluster.answer_announcements("pre-upgrade", Ok(Standing::Done(Vec::<Artefact>::new())));
    hears(&mut scene);
    assert_eq!((scene.statuses(), copied(&scene)), (vec!["superseded", "deployed"], json!("two")));
    assert!(scene.cluster.withdrawn().is_empty());
}

#[test]
fn what_is_looked_up_is_asked_also_while_an_object_of_the_release_moves_all_the_time() {
    let mut scene = installed(&[("templates/copy.yaml", COPY)]);
    resync(&mut scene);
    set(&scene, &json!({"a": "two"}));
    let mut minutes = 0;
    while scene.history().len() == 1 {
        assert!(minutes < 12, "nobody asks");
        minutes += 1;
        scene.run_for(60);
        let (object, child) = (scene.object(), scene.deployment());
        scene.runner.wake(&object, Reason::Child(child));
        scene.settle();
    }
    assert_eq!((minutes, copied(&scene)), (10, json!("two")));
}

#[test]
fn answers_that_move_while_an_upgrade_fails_do_not_make_it_another_one() {
    let settings = json!({"release": {"upgrade": {"remediation": {"retries": 2}}}});
    let spec = json!({"replicas": 1, "hooks": {"migrate": true}});
    let mut scene = installed_with(&spec, &[("templates/copy.yaml", COPY)], &settings);
    let attempts = |scene: &Scene| {
        let history = scene.history();
        let failed = history.iter().filter(|entry| entry.status == Status::Failed);
        failed.map(|entry| entry.marks.attempt).max().unwrap_or(0)
    };
    let is_under_way = |scene: &Scene| scene.statuses().last() == Some(&"pending-upgrade");
    set(&scene, &json!({"a": "2"}));
    resync(&mut scene);
    for (attempt, wait) in [(1, 0), (2, 30), (3, 60)] {
        set(&scene, &json!({ "a": format!("moved {attempt}") }));
        scene.run_for(wait / 2);
        assert_eq!(is_under_way(&scene), attempt == 1, "attempt {attempt}");
        scene.run_for(wait / 2 + 1);
        assert!(is_under_way(&scene), "attempt {attempt}: {:?}", scene.statuses());
        scene.fail("migrate");
        assert_eq!((attempts(&scene), scene.statuses().last()), (attempt, Some(&"deployed")));
    }
    set(&scene, &json!({"a": "moved on"}));
    scene.run_for(4000);
    resync(&mut scene);
    assert_eq!((attempts(&scene), scene.statuses().last()), (3, Some(&"deployed")), "the retries are spent");
    scene.set(&json!({"hooks": {"migrate": false}}));
    scene.settle();
    assert_eq!(copied(&scene), "moved on");
}

#[test]
fn a_release_of_a_former_version_is_asked_about_as_well() {
    let mut scene = installed(&[("templates/copy.yaml", COPY)]);
    let forget = json!({"metadata": {"annotations": {"helm.pilothouse.dev/lookups": null}}});
    scene.cluster.kubectl().patch_ref::<Value>(&scene.secret(1), &Patch::merge(&forget).unwrap()).unwrap();
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    set(&scene, &json!({"a": "two"}));
    resync(&mut scene);
    assert_eq!((scene.statuses(), copied(&scene)), (vec!["superseded", "deployed"], json!("two")));
}

#[test]
fn an_upgrade_to_what_was_found_begins_when_what_it_depends_on_is_ready() {
    let dependency = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "readyExpr": "dep.data.a != 'wait'"});
    let settings = json!({"release": {"dependsOn": [dependency]}});
    let mut scene = installed_with(&json!({"replicas": 1}), &[("templates/copy.yaml", COPY)], &settings);
    set(&scene, &json!({"a": "wait"}));
    resync(&mut scene);
    assert_eq!(scene.truth("Reconciling").0, "DependencyNotReady");
    set(&scene, &json!({"a": "two"}));
    scene.settle();
    assert_eq!((scene.statuses(), copied(&scene)), (vec!["superseded", "deployed"], json!("two")));
}
