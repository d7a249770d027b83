//! From one revision to the next, and back.

use pilothouse_sdk::harness::{Fault, Verb};
use serde_json::{Value, json};

use crate::scene::{Scene, chart};

#[test]
fn a_changed_spec_is_a_new_revision_and_the_old_one_stays_in_the_history() {
    let mut scene = Scene::installed(&json!({"replicas": 1, "extra": true}));
    scene.set(&json!({"replicas": 2, "extra": false}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(2));
    assert_eq!(scene.get(&scene.extra()), None, "what the chart does not have any more goes");
    assert_eq!(scene.truth("Deployed"), ("UpgradeSuccessful".into(), "Visit web with 2 replicas.".into()));
    assert_eq!(scene.web()["status"]["release"]["revision"], 2);
    let record = scene.stored(2).release;
    assert_eq!(record.info.description, "Upgrade complete");
    assert_eq!(record.info.first_deployed, scene.stored(1).release.info.first_deployed);
}

#[test]
fn a_spec_that_renders_to_the_same_is_no_new_revision() {
    let mut scene = Scene::installed(&json!({}));
    scene.set(&json!({"replicas": 1, "image": "nginx"}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!(
        scene.writes(),
        ["patch v1 Secret shop/sh.helm.release.v1.web.v1"],
        "only the digest is noted"
    );
    scene.cluster.forget_calls();
    scene.runner.restart();
    scene.settle();
    assert!(scene.writes().is_empty());
}

#[test]
fn a_changed_chart_is_an_upgrade() {
    let mut scene = Scene::installed(&json!({"replicas": 3}));
    let files =
        chart(&[("templates/extra.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-extra}\n")]);
    scene.runner = scene.runner.asset("charts/site", files);
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert!(scene.get(&scene.extra()).is_some());
}

#[test]
fn a_chart_with_random_functions_is_not_upgraded_for_ever() {
    // Every rendering is another one: the chart counts revisions.
    let counting = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-extra}\ndata: {n: 'r{{ .Release.Revision }}'}\n";
    let files = chart(&[("templates/extra.yaml", counting)]);
    let mut scene = Scene::with(&json!({}), &files, &json!({}));
    scene.settle();
    for _ in 0..3 {
        scene.runner.restart();
        scene.settle();
    }
    assert_eq!(scene.statuses(), ["deployed"]);
}

#[test]
fn ten_revisions_are_kept_and_the_deployed_one_always() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    for replicas in 2..=13 {
        scene.set(&json!({"replicas": replicas}));
        scene.settle();
    }
    let revisions: Vec<u32> = scene.history().iter().map(|entry| entry.revision).collect();
    assert_eq!(revisions, (4..=13).collect::<Vec<_>>());
    assert_eq!(scene.statuses().iter().filter(|status| **status == "deployed").count(), 1);
}

#[test]
fn an_upgrade_that_would_be_refused_changes_nothing() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene
        .cluster
        .fail(Fault::webhook("replicas above the quota").verb(Verb::Apply).kind("Deployment").always());
    scene.set(&json!({"replicas": 9, "extra": true}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!((scene.replicas(), scene.get(&scene.extra())), (Some(1), None));
    let (reason, message) = scene.truth("ReleaseFailed");
    assert_eq!(reason, "UpgradeError");
    assert!(message.starts_with("failed to upgrade release: cannot apply Deployment \"web\""), "{message}");
    assert!(message.contains("replicas above the quota"), "{message}");
    scene.truth("Deployed");
    scene.cluster.heal();
    scene.run_for(700);
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.condition("ReleaseFailed"), None);
}

/// The rehearsal passes and the real thing does not.
fn fail_the_second_apply(scene: &Scene) {
    scene.cluster.fail(Fault::webhook("changed its mind").verb(Verb::Apply).kind("Deployment").nth(2));
}

#[test]
fn an_upgrade_that_fails_half_way_is_rolled_back_and_not_repeated_at_once() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    fail_the_second_apply(&scene);
    scene.set(&json!({"replicas": 9, "extra": true}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"]);
    assert_eq!((scene.replicas(), scene.get(&scene.extra())), (Some(1), None));
    let failed = scene.stored(2).release;
    assert!(
        failed.info.description.starts_with("Upgrade \"web\" failed: cannot apply Deployment"),
        "{}",
        failed.info.description
    );
    let back = scene.stored(3).release;
    assert_eq!((back.info.description.as_str(), back.info.rollback_revision), ("Rollback to 1", 1));
    assert_eq!(back.manifest, scene.stored(1).release.manifest);
    let (reason, message) = scene.truth("ReleaseFailed");
    assert_eq!(reason, "UpgradeError");
    assert!(message.contains("changed its mind"), "{message}");
    scene.truth("Stalled");
    scene.cluster.forget_calls();
    scene.run_for(20);
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
    scene.run_for(20);
    assert_eq!(scene.statuses(), ["superseded", "failed", "superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(9));
    assert_eq!(scene.condition("ReleaseFailed"), None);
    scene.come_up();
}

#[test]
fn a_failed_upgrade_is_retried_with_patience_and_does_not_fill_the_history() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    // Every second apply of the Deployment is the real one; the rollback's apply has nothing to send.
    for attempt in 1..=6 {
        scene.cluster.heal();
        fail_the_second_apply(&scene);
        if attempt == 1 {
            scene.set(&json!({"replicas": 9}));
        }
        scene.run_for(1900);
    }
    let entries = scene.history();
    assert!(entries.len() <= 10, "{:?}", scene.statuses());
    assert!(entries.iter().any(|entry| entry.revision == 1), "there is still something to go back to");
}

#[test]
fn a_failed_upgrade_is_tried_again_at_once_when_the_spec_changes() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    fail_the_second_apply(&scene);
    scene.set(&json!({"replicas": 9}));
    scene.settle();
    scene.set(&json!({"replicas": 4}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "failed", "superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(4));
}

#[test]
fn going_back_to_what_is_deployed_ends_the_failure() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    fail_the_second_apply(&scene);
    scene.set(&json!({"replicas": 9}));
    scene.settle();
    scene.set(&json!({"replicas": 1}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"]);
    assert_eq!(scene.condition("ReleaseFailed"), None);
    scene.come_up();
}

#[test]
fn a_rollback_that_fails_is_tried_again_until_it_works() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment").nth(2).times(2));
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Secret").name("web-password").nth(3));
    scene.set(&json!({"replicas": 9, "password": "other"}));
    scene.settle();
    assert_eq!(scene.statuses()[..2], ["deployed", "failed"]);
    scene.run_for(120);
    let statuses = scene.statuses();
    assert_eq!(statuses.iter().filter(|status| **status == "deployed").count(), 1, "{statuses:?}");
    assert!(!statuses.iter().any(|status| status.starts_with("pending")), "{statuses:?}");
}

#[test]
fn a_refused_ingress_names_verb_resource_and_account_and_heals_without_a_restart() {
    let ingress = "{{ if .Values.extra }}apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec: {defaultBackend: {service: {name: web, port: {number: 80}}}}\n{{ end }}";
    let files = chart(&[("templates/extra.yaml", ingress)]);
    let mut scene = Scene::with(&json!({}), &files, &json!({}));
    scene.settle();
    scene.cluster.forbid("patch", "ingresses");
    scene.set(&json!({"extra": true, "replicas": 2}));
    scene.settle();
    let (_, message) = scene.truth("ReleaseFailed");
    for word in ["system:serviceaccount:pilothouse:helm", "patch", "ingresses", "shop"] {
        assert!(message.contains(word), "{word} in {message}");
    }
    assert!(scene.events().iter().any(|(_, message)| message.contains("ingresses")));
    assert_eq!(scene.statuses(), ["deployed"], "no revision was spent on it");
    assert_eq!(scene.replicas(), Some(1));
    scene.cluster.permit("patch", "ingresses");
    scene.run_for(400);
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(2));
}

#[test]
fn labels_of_the_user_go_on_to_the_next_revision() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    let mut secret: Value = scene.get(&scene.secret(1)).unwrap();
    secret["metadata"]["labels"]["team"] = json!("a");
    scene.cluster.kubectl().replace(&secret).unwrap();
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.stored(2).labels()["team"], "a");
}

#[test]
fn a_change_of_hooks_or_notes_or_of_the_charts_version_alone_is_a_revision_too() {
    let hook = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: bye, annotations: {helm.sh/hook: post-delete, words: new}}\n";
    for (path, text) in [
        ("templates/hooks/bye.yaml", hook),
        ("templates/NOTES.txt", "Other words."),
        ("Chart.yaml", "apiVersion: v2\nname: site\nversion: 1.0.1\nappVersion: '7'\n"),
    ] {
        let mut scene = Scene::installed(&json!({}));
        scene.runner = scene.runner.asset("charts/site", chart(&[(path, text)]));
        scene.settle();
        assert_eq!(scene.statuses(), ["superseded", "deployed"], "{path}");
    }
}

#[test]
fn a_chart_with_a_random_password_is_upgraded_when_something_else_changes_and_never_by_itself() {
    let random = "apiVersion: v1\nkind: Secret\nmetadata: {name: web-random}\nstringData: {word: {{ randAlphaNum 9 }}}\n";
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/random.yaml", random)]), &json!({}));
    scene.settle();
    let object = scene.object();
    for _ in 0..3 {
        scene.runner.wake(&object, pilothouse_sdk::Reason::Resync);
        scene.settle();
        scene.runner.restart();
        scene.run_for(4000);
    }
    assert_eq!(scene.statuses(), ["deployed"]);
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}
