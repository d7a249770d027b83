//! The helm command line beside us: what it does is understood and not fought.

use std::collections::BTreeMap;

use helm_release::{Marks, Release, Status, Stored};
use jiff::Timestamp;
use pilothouse_sdk::{Gvk, ObjectRef, Patch};
use serde_json::{Value, json};

use crate::scene::{NAME, NAMESPACE, Scene, chart};

fn now(scene: &Scene) -> Timestamp {
    Timestamp::try_from(scene.cluster.now()).unwrap()
}

/// Writes a Secret as helm does: whole, without anybody's annotations and owner.
pub(crate) fn helm_writes(scene: &Scene, release: &Release) {
    let stored = Stored::new(release.clone(), Marks::default(), BTreeMap::new());
    let secret = stored.secrets(now(scene)).unwrap().record;
    let reference = scene.secret(release.version);
    match scene.get(&reference) {
        None => scene.cluster.create([secret]).unwrap(),
        Some(old) => {
            let mut secret = secret;
            // Helm carries labels on from one write to the next.
            let labels = secret["metadata"]["labels"].as_object_mut().unwrap();
            for (key, value) in old["metadata"]["labels"].as_object().unwrap() {
                labels.entry(key).or_insert(value.clone());
            }
            secret["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
            scene.cluster.kubectl().replace(&secret).unwrap();
        }
    }
}

/// `helm rollback web TO`, as far as its records go, and what it applies of the Deployment.
pub(crate) fn helm_rollback(scene: &Scene, to: u32, replicas: u64) {
    let entries = scene.history();
    let latest = entries.last().unwrap().revision;
    let mut release = scene.stored(to).release;
    release.version = latest + 1;
    release.info.rollback_revision = to;
    release.set_status(Status::Deployed, format!("Rollback to {to}"));
    let mut current = scene.stored(latest).release;
    current.info.status = Status::Superseded;
    let patch = Patch::merge(&json!({"spec": {"replicas": replicas}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &patch).unwrap();
    helm_writes(scene, &current);
    helm_writes(scene, &release);
}

pub(crate) fn two_revisions() -> Scene {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene.cluster.forget_calls();
    scene
}

#[test]
fn a_rollback_by_hand_is_kept_and_told() {
    let mut scene = two_revisions();
    helm_rollback(&scene, 1, 1);
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(1), "not fought");
    let (reason, message) = scene.truth("ManualRevision");
    assert_eq!(reason, "ChangedByHand");
    assert_eq!(
        message,
        "revision 3 was made by hand (Rollback to 1); it stays until the spec of this object or the chart changes"
    );
    assert_eq!(scene.web()["status"]["release"]["revision"], 3);
    for _ in 0..2 {
        scene.runner.restart();
        scene.settle();
    }
    assert_eq!(scene.history().len(), 3);
}

#[test]
fn drift_from_a_revision_made_by_hand_is_repaired_towards_that_revision() {
    let mut scene = two_revisions();
    helm_rollback(&scene, 1, 1);
    scene.settle();
    let patch = Patch::merge(&json!({"spec": {"replicas": 7}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &patch).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(1));
}

#[test]
fn the_next_change_of_the_spec_wins_over_what_was_done_by_hand() {
    let mut scene = two_revisions();
    helm_rollback(&scene, 1, 1);
    scene.settle();
    scene.set(&json!({"replicas": 4}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "superseded", "superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(4));
    assert_eq!(scene.condition("ManualRevision"), None);
}

#[test]
fn a_change_of_the_spec_while_the_operator_was_away_wins_as_well() {
    let mut scene = two_revisions();
    helm_rollback(&scene, 1, 1);
    scene.set(&json!({"replicas": 5}));
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.replicas(), Some(5));
    assert_eq!(scene.statuses()[3], "deployed");
}

#[test]
fn a_release_by_hand_that_says_what_is_wanted_is_simply_taken() {
    let mut scene = two_revisions();
    let mut release = scene.stored(2).release;
    release.version = 3;
    let mut old = scene.stored(2).release;
    old.info.status = Status::Superseded;
    helm_writes(&scene, &old);
    helm_writes(&scene, &release);
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "superseded", "deployed"]);
    assert_eq!(scene.condition("ManualRevision"), None);
    assert_eq!(
        scene.history()[2].marks.inputs,
        Some(scene.web()["status"]["release"]["inputs"].as_str().unwrap().to_owned())
    );
}

#[test]
fn a_release_that_was_there_before_the_operator_is_adopted_without_touching_anything() {
    let mut scene = Scene::installed(&json!({"replicas": 2}));
    // As operator-sdk leaves it behind: its record, its status, nothing of ours.
    let release = scene.stored(1).release;
    helm_writes(&scene, &release);
    let patch = Patch::merge(&json!({"status": {"release": null}})).unwrap().subresource("status");
    scene.cluster.kubectl().patch_ref::<Value>(&scene.object(), &patch).unwrap();
    scene.runner.restart();
    scene.cluster.forget_calls();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!(scene.condition("ManualRevision"), None);
    assert_eq!(scene.writes(), ["patch v1 Secret shop/sh.helm.release.v1.web.v1"]);
}

#[test]
fn objects_that_get_our_marks_when_they_are_taken_over_are_no_drift() {
    let mut scene = Scene::installed(&json!({"replicas": 2}));
    let release = scene.stored(1).release;
    helm_writes(&scene, &release);
    let forget = Patch::merge(&json!({"status": {"release": null}})).unwrap().subresource("status");
    scene.cluster.kubectl().patch_ref::<Value>(&scene.object(), &forget).unwrap();
    let labels =
        json!({"metadata": {"labels": {"pilothouse.dev/plugin": null, "pilothouse.dev/owner": null}}});
    let unmarked = Patch::merge(&labels).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &unmarked).unwrap();
    scene.runner.restart();
    scene.settle();
    let deployment = scene.get(&scene.deployment()).unwrap();
    assert!(deployment["metadata"]["labels"]["pilothouse.dev/plugin"].is_string(), "{deployment}");
    let events = scene.events();
    let adopted = events.iter().find(|(reason, _)| reason == "ReleaseAdopted").unwrap();
    assert_eq!(adopted.1, "took over revision 1: 1 of its objects got our marks");
    assert!(!events.iter().any(|(reason, _)| reason == "DriftCorrected"), "{events:?}");
}

#[test]
fn a_release_that_was_there_before_and_is_not_as_wanted_is_upgraded() {
    let mut scene = Scene::installed(&json!({"replicas": 2}));
    let release = scene.stored(1).release;
    helm_writes(&scene, &release);
    let patch = Patch::merge(&json!({"status": {"release": null}})).unwrap().subresource("status");
    scene.cluster.kubectl().patch_ref::<Value>(&scene.object(), &patch).unwrap();
    scene.set(&json!({"replicas": 3}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(3));
}

#[test]
fn helm_uninstall_by_hand_is_answered_with_an_install() {
    let mut scene = two_revisions();
    for object in [scene.secret(1), scene.secret(2), scene.deployment()] {
        scene.cluster.kubectl().delete_ref(&object, &Default::default()).unwrap();
    }
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!(scene.replicas(), Some(2));
}

#[test]
fn an_uninstall_that_kept_its_history_is_answered_with_the_next_revision() {
    let mut scene = two_revisions();
    let mut release = scene.stored(2).release;
    release.set_status(Status::Uninstalled, "Uninstallation complete");
    helm_writes(&scene, &release);
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "uninstalled", "deployed"]);
    assert_eq!(scene.replicas(), Some(2));
}

/// `helm upgrade` that is at work, or died.
fn helm_pending(scene: &Scene, status: Status) {
    let latest = scene.history().last().map_or(0, |entry| entry.revision);
    let mut release = if latest > 0 { scene.stored(latest).release } else { Release::default() };
    (release.name, release.namespace, release.version) = (NAME.into(), NAMESPACE.into(), latest + 1);
    if latest == 0 {
        let chart = json!({"metadata": {"name": "site", "version": "1.0.0"}});
        release.chart = Some(serde_json::value::to_raw_value(&chart).unwrap());
    }
    release.set_status(status, "Preparing upgrade");
    helm_writes(scene, &release);
}

#[test]
fn an_operation_of_helm_is_waited_for_and_taken_over_when_it_died() {
    for status in [Status::PendingUpgrade, Status::PendingRollback] {
        let mut scene = two_revisions();
        scene.come_up();
        helm_pending(&scene, status);
        scene.runner.restart();
        scene.settle();
        let (reason, message) = scene.truth("Reconciling");
        assert_eq!(reason, "OperationInProgress");
        assert!(
            message.starts_with(&format!("somebody else's operation ({status}, revision 3) is under way")),
            "{message}"
        );
        assert_eq!(scene.statuses(), ["superseded", "deployed", status.as_str()]);
        scene.run_for(601);
        assert_eq!(scene.statuses(), ["superseded", "superseded", "failed", "deployed"]);
        assert_eq!(scene.stored(4).release.info.description, "Rollback to 2");
        scene.come_up();
    }
}

/// Helm brings what it is at to this end.
fn helm_ends(scene: &Scene, status: Status) {
    let latest = scene.history().last().unwrap().revision;
    let mut release = scene.stored(latest).release;
    release.set_status(status, "Upgrade complete");
    helm_writes(scene, &release);
}

#[test]
fn the_end_of_an_operation_of_helm_is_seen_at_once() {
    let mut scene = two_revisions();
    scene.come_up();
    helm_pending(&scene, Status::PendingUpgrade);
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.truth("Reconciling").0, "OperationInProgress");
    helm_ends(&scene, Status::Deployed);
    scene.settle();
    scene.truth("Ready");
    // Also of one that may still wait for its pods.
    let mut scene = two_revisions();
    helm_pending(&scene, Status::PendingUpgrade);
    scene.runner.restart();
    scene.run_for(1800);
    assert!(scene.truth("Reconciling").1.contains("may still wait"));
    helm_ends(&scene, Status::Failed);
    scene.settle();
    assert_ne!(scene.truth("Reconciling").0, "OperationInProgress");
}

#[test]
fn the_end_of_an_uninstall_by_hand_is_seen_at_once() {
    let mut scene = two_revisions();
    let mut release = scene.stored(2).release;
    release.set_status(Status::Uninstalling, "Deletion in progress");
    let mut plain =
        Stored::new(release, Marks::default(), BTreeMap::new()).secrets(now(&scene)).unwrap().record;
    plain["metadata"]["resourceVersion"] =
        scene.get(&scene.secret(2)).unwrap()["metadata"]["resourceVersion"].clone();
    scene.cluster.kubectl().replace(&plain).unwrap();
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.truth("Reconciling").0, "OperationInProgress");
    for object in [scene.secret(1), scene.secret(2), scene.deployment()] {
        scene.cluster.kubectl().delete_ref(&object, &Default::default()).unwrap();
    }
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(2)));
}

#[test]
fn drift_is_repaired_beside_a_manual_revision_while_the_chart_cannot_be_used() {
    let mut scene = two_revisions();
    helm_rollback(&scene, 1, 1);
    scene.settle();
    scene.truth("ManualRevision");
    scene.runner = scene.runner.asset("charts/site", [("Chart.yaml".to_owned(), "nothing".to_owned())]);
    let drift = Patch::merge(&json!({"spec": {"replicas": 7}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &drift).unwrap();
    scene.settle();
    scene.truth("Irreconcilable");
    assert_eq!(scene.replicas(), Some(1));
}

#[test]
fn a_release_of_another_chart_under_the_same_name_is_left_alone_while_values_cannot_be_read() {
    let values = json!({"release": {"valuesFrom": [{"kind": "ConfigMap", "name": "values"}]}});
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&[]), &values);
    let metadata = json!({"name": "values", "namespace": "shop"});
    scene.cluster.create([json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"values.yaml": "{}"}})]).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"], "{}", scene.web()["status"]);
    // Nobody looks: helm uninstall web, helm install web other/chart.
    let mut release = scene.stored(1).release;
    let record = release.chart.unwrap().get().replace("\"name\":\"site\"", "\"name\":\"site-of-others\"");
    release.chart = Some(serde_json::value::RawValue::from_string(record).unwrap());
    assert_eq!(release.chart_name().unwrap().name, "site-of-others");
    helm_writes(&scene, &release);
    let theirs = Patch::merge(&json!({"spec": {"replicas": 7}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &theirs).unwrap();
    let values = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), "shop", "values");
    scene.cluster.kubectl().delete_ref(&values, &Default::default()).unwrap();
    scene.runner.restart();
    scene.settle();
    scene.truth("Irreconcilable");
    assert_eq!(scene.replicas(), Some(7));
    scene.delete();
    scene.settle();
    assert_eq!(
        (scene.get(&scene.object()), scene.statuses()),
        (None, vec!["deployed"]),
        "nor is it uninstalled"
    );
}

#[test]
fn a_pending_install_of_helm_that_died_does_not_block_the_install() {
    let mut scene = Scene::new(&json!({"replicas": 1}));
    helm_pending(&scene, Status::PendingInstall);
    scene.settle();
    assert_eq!(scene.truth("Reconciling").0, "OperationInProgress");
    scene.run_for(601);
    assert_eq!(scene.statuses(), ["failed", "deployed"]);
    assert_eq!(scene.replicas(), Some(1));
}

#[test]
fn two_deployed_revisions_become_one() {
    let mut scene = two_revisions();
    let mut release = scene.stored(1).release;
    release.info.status = Status::Deployed;
    helm_writes(&scene, &release);
    scene.set(&json!({"replicas": 3}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "superseded", "deployed"]);
}

#[test]
fn a_record_that_cannot_be_read_is_told_and_nothing_is_done() {
    let mut scene = two_revisions();
    let mut secret: Value = scene.get(&scene.secret(2)).unwrap();
    secret["data"]["release"] = json!("bm90aGluZw==");
    scene.cluster.kubectl().replace(&secret).unwrap();
    scene.runner.restart();
    scene.settle();
    let (_, message) = scene.truth("Irreconcilable");
    assert!(message.contains("sh.helm.release.v1.web.v2"), "{message}");
    assert_eq!(scene.replicas(), Some(2));
}

#[test]
fn an_operation_of_helm_that_waits_for_pods_is_given_more_time() {
    let mut scene = two_revisions();
    helm_pending(&scene, Status::PendingUpgrade);
    scene.runner.restart();
    scene.run_for(1800);
    assert_eq!(scene.statuses().last(), Some(&"pending-upgrade"));
    let (reason, message) = scene.truth("Reconciling");
    assert_eq!(reason, "OperationInProgress");
    assert!(message.contains("may still wait: Deployment web"), "{message}");
    scene.run_for(1900);
    assert_ne!(scene.statuses().last(), Some(&"pending-upgrade"));
}
