//! Backups by VolumeSnapshots.

use pilothouse_sdk::{Gvk, ObjectRef};
use serde_json::{Value, json};

use crate::{
    actors::list,
    scene::{NAMESPACE, Scene, database_subject},
};

fn kind() -> Gvk {
    Gvk::new("snapshot.storage.k8s.io", "v1", "VolumeSnapshot")
}

fn scene(change: &Value) -> Scene {
    let mut scene = Scene::new();
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any, "status": any}}}});
    let names = json!({"kind": "VolumeSnapshot", "plural": "volumesnapshots", "singular": "volumesnapshot"});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "volumesnapshots.snapshot.storage.k8s.io"},
        "spec": {"group": "snapshot.storage.k8s.io", "scope": "Namespaced", "names": names, "versions": [version]}});
    scene.cluster.define(&definition).unwrap();
    for claim in ["data-db-0", "data-db-1", "logs"] {
        let app = if claim == "logs" { "logs" } else { "db" };
        let metadata = json!({"name": claim, "namespace": NAMESPACE, "labels": {"app": app}});
        let claim =
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {}});
        scene.cluster.create([claim]).unwrap();
    }
    let selector = json!({"matchLabels": {"app": "db"}});
    let plan = json!({"strategy": {"volumeSnapshot": {"selector": selector}}, "timeout": "20m"});
    scene.back_up("b", &database_subject(), &backup_core::manifest::merge(plan, change));
    scene
}

fn snapshots(scene: &Scene) -> Vec<String> {
    let all = list(&scene.cluster, kind());
    all.iter().map(|snapshot| snapshot["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

fn tell(scene: &Scene, name: &str, status: &Value) {
    scene.cluster.set_status(&ObjectRef::new(kind(), NAMESPACE, name), status).unwrap();
}

#[test]
fn every_claim_that_is_selected_is_snapshotted_and_the_snapshots_outlive_their_backup() {
    let mut scene = scene(&json!({}));
    scene.play(3);
    assert_eq!(snapshots(&scene), ["b-dump-1-data-db-0", "b-dump-1-data-db-1"]);
    for name in snapshots(&scene) {
        assert_eq!(scene.backup("b").0, "Running");
        tell(&scene, &name, &json!({"readyToUse": true, "restoreSize": "1Gi"}));
        scene.play(2);
    }
    assert_eq!(scene.backup("b").0, "Completed", "{:?}", scene.backup("b"));
    scene.delete("Backup", "b");
    scene.play(5);
    assert!(scene.get("Backup", "b").is_none());
    assert_eq!(snapshots(&scene).len(), 2, "to keep them is what was asked for");
}

#[test]
fn snapshots_go_with_their_backup_where_that_is_asked_for() {
    let mut scene = scene(&json!({"deletionPolicy": "Delete"}));
    scene.play(3);
    for name in snapshots(&scene) {
        tell(&scene, &name, &json!({"readyToUse": true}));
    }
    scene.play(5);
    scene.delete("Backup", "b");
    scene.play(5);
    assert!(scene.get("Backup", "b").is_none());
    assert!(snapshots(&scene).is_empty());
}

#[test]
fn what_was_made_of_an_attempt_that_fails_is_taken_away() {
    let mut scene = scene(&json!({"retries": 0}));
    scene.play(3);
    tell(&scene, "b-dump-1-data-db-1", &json!({"error": {"message": "no space is left in the pool"}}));
    scene.play(5);
    let (phase, _, message) = scene.backup("b");
    assert!(phase == "Failed" && message.contains("no space is left in the pool"), "{phase}: {message}");
    assert!(snapshots(&scene).is_empty());
}

#[test]
fn a_half_made_attempt_that_is_deleted_leaves_no_snapshot() {
    let mut scene = scene(&json!({}));
    let second = pilothouse_sdk::harness::Fault::webhook("quota")
        .kind("VolumeSnapshot")
        .verb(pilothouse_sdk::harness::Verb::Create);
    scene.cluster.fail(second.nth(2).always());
    scene.play(3);
    assert_eq!(snapshots(&scene).len(), 1);
    scene.delete("Backup", "b");
    scene.play(30);
    assert!(scene.get("Backup", "b").is_none(), "{}", scene.status("Backup", "b"));
    assert!(snapshots(&scene).is_empty());
}

fn claim(name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("", "v1", "PersistentVolumeClaim"), NAMESPACE, name)
}

fn found(scene: &Scene, name: &str) -> Option<Value> {
    scene.cluster.kubectl().get_ref(&claim(name)).unwrap()
}

/// Two snapshots of a completed backup.
fn taken() -> Scene {
    let mut scene = scene(&json!({}));
    scene.play(3);
    for name in snapshots(&scene) {
        tell(&scene, &name, &json!({"readyToUse": true, "restoreSize": "1Gi"}));
    }
    scene.play(5);
    assert_eq!(scene.backup("b").0, "Completed", "{:?}", scene.backup("b"));
    scene
}

#[test]
fn snapshots_become_new_claims_beside_those_that_are_in_use() {
    let mut scene = taken();
    let before = found(&scene, "data-db-0");
    let claims = json!({"data-db-1": "second"});
    scene.create("Restore", "back", &json!({"backupRef": {"name": "b"}, "claims": claims}));
    scene.play(5);
    assert_eq!(scene.restore("back").0, "Restoring", "{:?}", scene.restore("back"));
    for (name, snapshot) in [("data-db-0-back", "b-dump-1-data-db-0"), ("second", "b-dump-1-data-db-1")] {
        let made = found(&scene, name).unwrap();
        assert_eq!(made["spec"]["dataSource"]["name"], snapshot);
        assert_eq!(made["metadata"].get("ownerReferences"), None, "the data outlives the Restore");
    }
    scene.cluster.set_status(&claim("second"), &json!({"phase": "Bound"})).unwrap();
    scene.play(120);
    let (phase, message) = scene.restore("back");
    assert_eq!(phase, "Completed", "{message}");
    assert!(
        message.contains("second") && message.contains("data-db-0-back (when a pod uses it)"),
        "{message}"
    );
    assert_eq!(found(&scene, "data-db-0"), before);
    scene.delete("Restore", "back");
    scene.play(3);
    assert!(scene.get("Restore", "back").is_none() && found(&scene, "second").is_some());
}

#[test]
fn a_claim_of_somebody_else_is_not_taken_and_lost_snapshots_are_told() {
    let mut scene = taken();
    let claims = json!({"data-db-0": "logs"});
    scene.create("Restore", "over", &json!({"backupRef": {"name": "b"}, "claims": claims}));
    scene.play(5);
    let (phase, message) = scene.restore("over");
    assert!(
        phase == "Failed" && message.contains("another PersistentVolumeClaim logs"),
        "{phase}: {message}"
    );
    assert!(message.contains("nothing was touched"), "{message}");
    scene
        .cluster
        .kubectl()
        .delete_ref(
            &ObjectRef::new(kind(), NAMESPACE, "b-dump-1-data-db-1"),
            &pilothouse_sdk::DeleteOptions::default(),
        )
        .unwrap();
    scene.create("Restore", "late", &json!({"backupRef": {"name": "b"}}));
    scene.play(5);
    let (phase, message) = scene.restore("late");
    assert!(
        phase == "Failed" && message.contains("no VolumeSnapshot b-dump-1-data-db-1"),
        "{phase}: {message}"
    );
    assert!(found(&scene, "data-db-0-late").is_none(), "all of them or none");
}

#[test]
fn wherever_the_host_dies_every_claim_is_made_once() {
    let crashes = pilothouse_sdk::harness::every_crash(|nth| {
        let mut scene = taken();
        scene.create("Restore", "back", &json!({"backupRef": {"name": "b"}}));
        scene.cluster.crash_after_write(nth);
        scene.play(120);
        assert_eq!(scene.restore("back").0, "Completed", "crash {nth}");
        assert!(found(&scene, "data-db-0-back").is_some() && found(&scene, "data-db-1-back").is_some());
        scene.cluster.clone()
    });
    assert!(crashes >= 3, "{crashes} places where it can die");
}
