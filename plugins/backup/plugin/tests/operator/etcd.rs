//! Backups of an etcd cluster by the etcd plugin's own objects.

use serde_json::{Value, json};

use crate::{
    actors::{Fate, etcd, list},
    scene::{NAMESPACE, STORE, Scene, cluster_subject, of_etcd},
};

fn scene(fates: &[Fate], plan: &Value) -> Scene {
    let mut scene = Scene::new();
    scene.actors.fate("etcd", fates);
    scene.back_up("by-hand", &cluster_subject(), &of_etcd(plan));
    scene
}

#[test]
fn a_backup_by_hand_is_verified_and_has_its_entry_in_the_catalogue() {
    let mut scene = scene(&[], &json!({}));
    scene.runner.settle().unwrap();
    let taken = list(&scene.cluster, etcd("EtcdBackup")).remove(0);
    assert_eq!(taken["spec"]["etcdCluster"]["name"], "example");
    assert_eq!(scene.backup("by-hand").0, "Running");
    assert_eq!(scene.condition("Backup", "by-hand", "Reconciling").reason, "Running");
    scene.play(30);
    let (phase, verified, message) = scene.backup("by-hand");
    assert_eq!((phase.as_str(), verified), ("Completed", true), "{message}");
    assert_eq!(scene.artefact("by-hand").unwrap(), scene.actors.data);
    let status = scene.status("Backup", "by-hand");
    assert_eq!((&status["artifact"]["subjectVersion"], &status["run"]), (&json!("3.6.1"), &Value::Null));
    assert_eq!(scene.condition("Backup", "by-hand", "Verified").status.as_str(), "True");
    assert_eq!(scene.condition("Backup", "by-hand", "Ready").status.as_str(), "True");
    scene.check("by hand");
    scene.nothing_is_left("by hand");
    let events: Vec<String> = scene.cluster.events().iter().map(|told| told.event.reason.clone()).collect();
    assert_eq!(events, ["BackupCompleted"]);
}

#[test]
fn at_rest_nothing_is_asked_any_more() {
    let mut scene = scene(&[], &json!({}));
    scene.play(30);
    scene.cluster.forget_calls();
    scene.play(3600);
    assert!(scene.cluster.calls().is_empty(), "{:?}", scene.cluster.calls().len());
}

#[test]
fn what_the_storage_lost_or_changed_does_not_count_and_is_taken_again() {
    let mut scene = scene(&[Fate::Corrupts, Fate::Fails], &json!({}));
    scene.play(120);
    let status = scene.status("Backup", "by-hand");
    assert_eq!((&status["phase"], &status["attempts"]), (&json!("Completed"), &json!(3)), "{status}");
    assert_eq!(scene.cluster.stored_keys(STORE).len(), 2, "only the whole one and its entry are left");
    scene.check("corrupt");
    scene.nothing_is_left("corrupt");
}

#[test]
fn a_backup_that_fails_again_and_again_says_why_and_leaves_nothing() {
    let mut scene = scene(&[Fate::Fails; 3], &json!({}));
    scene.play(300);
    let (phase, verified, message) = scene.backup("by-hand");
    assert_eq!((phase.as_str(), verified), ("Failed", false));
    assert!(message.contains("no member answers"), "{message}");
    assert_eq!(scene.condition("Backup", "by-hand", "Stalled").reason, "BackupFailed");
    assert_eq!(scene.cluster.stored_keys(STORE), [""; 0]);
    scene.nothing_is_left("failed");
}

#[test]
fn a_backup_that_does_not_end_is_given_up_in_its_time_and_says_what_it_waited_for() {
    let mut scene = scene(&[Fate::Hangs; 9], &json!({"timeout": "5m"}));
    scene.play(360);
    let (phase, _, message) = scene.backup("by-hand");
    assert_eq!(phase, "Failed", "{message}");
    assert!(message.contains("not done within 5m: the etcd plugin takes a snapshot"), "{message}");
    scene.nothing_is_left("late");
}

#[test]
fn a_plan_that_cannot_be_followed_is_refused_before_anything_is_done() {
    let mut scene = Scene::new();
    scene.back_up(
        "other",
        &json!({"apiVersion": "v1", "kind": "Service", "name": "db"}),
        &of_etcd(&json!({})),
    );
    scene.back_up(
        "nowhere",
        &cluster_subject(),
        &of_etcd(&json!({"storage": {"url": "file:///var/backups"}})),
    );
    scene.play(5);
    for (name, said) in [("other", "is for an EtcdCluster"), ("nowhere", "storage.url")] {
        let (phase, _, message) = scene.backup(name);
        assert!(phase == "Failed" && message.contains(said), "{name}: {phase}: {message}");
    }
    assert!(list(&scene.cluster, etcd("EtcdBackup")).is_empty());
}

#[test]
fn a_subject_that_is_deleted_during_its_backup_does_not_keep_it_from_its_end() {
    let mut scene = scene(&[], &json!({}));
    scene.runner.settle().unwrap();
    let subject = pilothouse_sdk::ObjectRef::new(etcd("EtcdCluster"), NAMESPACE, "example");
    scene.cluster.kubectl().delete_ref(&subject, &Default::default()).unwrap();
    scene.play(30);
    assert_eq!(scene.backup("by-hand").0, "Completed");
    scene.check("without its subject");
}

#[test]
fn a_store_that_does_not_answer_is_asked_again() {
    for operation in ["head", "get", "put"] {
        let mut scene = scene(&[], &json!({}));
        let fault = pilothouse_sdk::harness::StoreFault::unavailable().operation(operation);
        scene.cluster.fail_store(fault.times(3));
        scene.play(120);
        let (phase, _, message) = scene.backup("by-hand");
        assert_eq!(phase, "Completed", "{operation}: {message}");
        assert_eq!(
            scene.status("Backup", "by-hand")["attempts"],
            1,
            "{operation}: the data was not read again"
        );
        scene.check(operation);
    }
}
