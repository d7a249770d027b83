//! What becomes of backups and their artefacts when they are deleted.

use pilothouse_sdk::{DeleteOptions, Gvk, ObjectRef, harness::StoreFault};
use serde_json::{Value, json};

use crate::{
    actors::{Fate, is_closed, jobs},
    scene::{NAMESPACE, STORE, Scene, cluster_subject, database_subject, of_database, of_etcd, reference},
};

fn taken(change: &Value) -> Scene {
    let mut scene = Scene::new();
    scene.back_up("b", &cluster_subject(), &of_etcd(change));
    scene.play(30);
    assert_eq!(scene.backup("b").0, "Completed");
    scene
}

#[test]
fn an_artefact_stays_with_its_entry_unless_it_is_said_otherwise() {
    let mut scene = taken(&json!({}));
    scene.delete("Backup", "b");
    scene.play(5);
    assert!(scene.get("Backup", "b").is_none());
    assert_eq!(scene.cluster.stored_keys(STORE).len(), 2);
}

#[test]
fn an_artefact_goes_with_its_object_where_that_is_asked_for() {
    let mut scene = taken(&json!({"deletionPolicy": "Delete"}));
    scene.delete("Backup", "b");
    scene.play(5);
    assert!(scene.get("Backup", "b").is_none());
    assert_eq!(scene.cluster.stored_keys(STORE), [""; 0]);
}

#[test]
fn a_storage_that_does_not_answer_keeps_the_object_until_people_let_it_go() {
    let mut scene = taken(&json!({"deletionPolicy": "Delete"}));
    scene.cluster.fail_store(StoreFault::unavailable().times(1000));
    scene.delete("Backup", "b");
    scene.play(60);
    let (phase, _, message) = scene.backup("b");
    assert!(phase == "Deleting" && message.contains("cannot be used"), "{phase}: {message}");
    scene
        .cluster
        .edit_ref::<Value>(&reference("Backup", "b"), |backup| {
            backup["spec"]["deletionPolicy"] = json!("Retain");
        })
        .unwrap();
    scene.play(5);
    assert!(scene.get("Backup", "b").is_none());
}

#[test]
fn a_backup_that_is_deleted_while_it_is_taken_leaves_nothing() {
    for (subject, plan) in
        [(cluster_subject(), of_etcd(&json!({}))), (database_subject(), of_database(&json!({})))]
    {
        let mut scene = Scene::new();
        scene.actors.fate("etcd", &[Fate::Hangs]);
        scene.actors.fate("dump", &[Fate::Hangs]);
        scene.back_up("b", &subject, &plan);
        scene.play(3);
        let token = scene.cluster.handover_token(NAMESPACE, "b-dump-1");
        assert_eq!(scene.backup("b").0, "Running");
        scene.delete("Backup", "b");
        scene.play(10);
        assert!(scene.get("Backup", "b").is_none(), "{}", scene.status("Backup", "b"));
        assert_eq!(scene.cluster.stored_keys(STORE), [""; 0]);
        assert!(token.is_none_or(|token| is_closed(&scene.cluster, &token)));
        scene.nothing_is_left("deleted");
    }
}

#[test]
fn a_namespace_that_goes_is_not_held_by_its_backups_when_the_login_is_gone() {
    let login = ObjectRef::new(Gvk::new("", "v1", "Secret"), NAMESPACE, "login");
    let mut finished = taken(&json!({"deletionPolicy": "Delete"}));
    let mut running = Scene::new();
    running.actors.fate("dump", &[Fate::Hangs]);
    running.back_up("b", &database_subject(), &of_database(&json!({})));
    running.play(3);
    assert_eq!(running.backup("b").0, "Running");
    for (scene, left) in [(&mut finished, 2), (&mut running, 0)] {
        scene.cluster.kubectl().delete_ref(&login, &DeleteOptions::default()).unwrap();
        scene.delete("Backup", "b");
        scene.play(5);
        assert!(scene.get("Backup", "b").is_some(), "the Secret may come back");
        scene.play(60);
        assert!(scene.get("Backup", "b").is_none(), "{}", scene.status("Backup", "b"));
        assert_eq!(scene.cluster.stored_keys(STORE).len(), left);
        let warned = scene.cluster.events().iter().any(|told| told.event.reason == "ArtefactLeft");
        assert_eq!(warned, left > 0);
    }
}

#[test]
fn a_backup_that_was_not_begun_goes_at_once() {
    let mut scene = Scene::new();
    scene.create("Backup", "b", &json!({"subject": cluster_subject(), "policyRef": {"name": "nobody"}}));
    scene.play(2);
    assert_eq!(scene.condition("Backup", "b", "Stalled").reason, "NoPlan");
    scene.cluster.forbid("list", "etcdclusters");
    scene.delete("Backup", "b");
    scene.play(2);
    assert!(scene.get("Backup", "b").is_none());
    assert!(jobs(&scene.cluster).is_empty());
}
