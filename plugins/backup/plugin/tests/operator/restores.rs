//! Restores by hand.

use pilothouse_sdk::{Gvk, ObjectRef, harness::every_crash};
use serde_json::{Value, json};

use crate::{
    actors::{Fate, jobs},
    scene::{NAMESPACE, STORE, Scene, cluster_subject, database_subject, of_database, of_etcd},
};

/// A verified backup, and a database with other data since.
fn taken(subject: &Value, plan: &Value) -> Scene {
    let mut scene = Scene::new();
    scene.back_up("b", subject, plan);
    scene.play(30);
    assert_eq!(scene.backup("b").0, "Completed");
    scene.actors.data = b"spoilt".to_vec();
    scene
}

fn restored(change: &Value) -> Scene {
    let mut scene = taken(&database_subject(), &of_database(&json!({})));
    let spec = json!({"backupRef": {"name": "b"}});
    scene.create("Restore", "r", &backup_core::manifest::merge(spec, change));
    scene
}

const BEFORE: &[u8] = b"all that the shop has sold";

#[test]
fn the_present_data_is_set_aside_and_then_the_old_put_back() {
    for (subject, plan) in
        [(cluster_subject(), of_etcd(&json!({}))), (database_subject(), of_database(&json!({})))]
    {
        let mut scene = taken(&subject, &plan);
        scene.create("Restore", "r", &json!({"backupRef": {"name": "b"}}));
        scene.play(60);
        let (phase, message) = scene.restore("r");
        assert_eq!(phase, "Completed", "{message}");
        assert_eq!(scene.actors.data, BEFORE);
        assert_eq!(scene.artefact("r-before").unwrap(), b"spoilt");
        scene.check("restore");
        scene.nothing_is_left("restore");
        scene.delete("Restore", "r");
        scene.play(5);
        assert!(scene.get("Restore", "r").is_none() && scene.get("Backup", "r-before").is_some());
    }
}

#[test]
fn what_cannot_be_set_aside_is_not_written_over() {
    let mut scene = restored(&json!({}));
    scene.actors.fate("dump", &[Fate::Fails; 3]);
    scene.play(300);
    let (phase, message) = scene.restore("r");
    assert!(phase == "Failed" && message.contains("nothing was touched"), "{phase}: {message}");
    assert_eq!(scene.actors.data, b"spoilt");
    assert_eq!(scene.condition("Restore", "r", "Stalled").reason, "RestoreFailed");
}

/// A backup of the files of a claim, and the pod of the server that uses them.
fn files_in_use() -> (Scene, ObjectRef) {
    let volume = json!({"strategy": {"job": {"preset": "volume", "parameters": {"claim": "data-db-0"}}}});
    let scene = taken(&database_subject(), &of_database(&volume));
    let server = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0", "namespace": NAMESPACE},
        "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]},
    });
    scene.cluster.create([server]).unwrap();
    (scene, ObjectRef::new(Gvk::new("", "v1", "Pod"), NAMESPACE, "db-0"))
}

#[test]
fn files_are_not_replaced_below_a_server_that_runs() {
    let (mut scene, server) = files_in_use();
    scene.create("Restore", "r", &json!({"backupRef": {"name": "b"}}));
    scene.play(30);
    let (phase, message) = scene.restore("r");
    assert!(phase == "Checking" && message.contains("stop db-0"), "{phase}: {message}");
    assert!(jobs(&scene.cluster).is_empty() && scene.get("Backup", "r-before").is_none());
    scene.cluster.set_status(&server, &json!({"phase": "Succeeded"})).unwrap();
    scene.play(60);
    let (phase, message) = scene.restore("r");
    assert_eq!(phase, "Completed", "{message}");
    assert_eq!(scene.actors.data, BEFORE);
}

#[test]
fn files_that_nobody_stops_using_are_left_and_the_pods_named() {
    let (mut scene, _) = files_in_use();
    scene.create("Restore", "r", &json!({"backupRef": {"name": "b"}, "timeout": "5m"}));
    scene.play(400);
    let (phase, message) = scene.restore("r");
    assert!(phase == "Failed" && message.contains("stop db-0"), "{phase}: {message}");
    assert!(message.contains("nothing was touched"), "{message}");
    assert_eq!(scene.actors.data, b"spoilt");
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_touched() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "name": "db"});
    let hash = "0".repeat(64);
    for (change, said) in [
        (json!({"backupRef": {"name": "another"}}), "there is no Backup"),
        (json!({"backupRef": {"sha256": hash}}), "has the hash"),
        (json!({"target": cluster_subject()}), "the target is a EtcdCluster"),
        (
            json!({"target": service, "job": {"preset": "postgresql", "parameters": {"host": "pg"}}}),
            "it reads",
        ),
    ] {
        let mut scene = restored(&change);
        scene.play(10);
        let (phase, message) = scene.restore("r");
        assert!(phase == "Failed" && message.contains(said), "{change}: {phase}: {message}");
        assert!(message.contains("nothing was touched") && jobs(&scene.cluster).is_empty());
        assert_eq!(scene.actors.data, b"spoilt");
    }
}

#[test]
fn a_version_that_cannot_read_it_is_refused_unless_it_is_forced() {
    let with_version = |force: bool| {
        let mut scene = Scene::new();
        let spec = json!({"subject": database_subject(), "plan": of_database(&json!({})), "subjectVersion": "11.8.1"});
        scene.create("Backup", "b", &spec);
        scene.play(30);
        scene.create("Restore", "r", &json!({"backupRef": {"name": "b"}, "targetVersion": "11.4.2", "force": force, "setAside": false}));
        scene.play(30);
        scene.restore("r")
    };
    let (phase, message) = with_version(false);
    assert!(phase == "Failed" && message.contains("is of version 11.8.1"), "{phase}: {message}");
    assert_eq!(with_version(true).0, "Completed");
}

#[test]
fn an_artefact_that_is_not_what_it_was_is_not_put_back() {
    let mut scene = restored(&json!({"setAside": false}));
    let key = scene.status("Backup", "b")["artifact"]["key"].as_str().unwrap().to_owned();
    scene.cluster.store(STORE, &key, vec![b'?'; BEFORE.len()]);
    scene.play(30);
    let (phase, message) = scene.restore("r");
    assert!(phase == "Failed" && message.contains("nothing was touched"), "{phase}: {message}");
    assert_eq!(scene.actors.data, b"spoilt");
}

#[test]
fn a_restore_that_fails_is_begun_anew_and_in_the_end_says_where_the_old_data_is() {
    let mut scene = restored(&json!({}));
    scene.actors.fate("restore", &[Fate::Fails]);
    scene.play(90);
    assert_eq!(
        (scene.restore("r").0.as_str(), &scene.status("Restore", "r")["attempts"]),
        ("Completed", &json!(2))
    );
    assert_eq!(scene.actors.data, BEFORE);
    let mut scene = restored(&json!({"retries": 1}));
    scene.actors.fate("restore", &[Fate::Fails; 2]);
    scene.play(120);
    let (phase, message) = scene.restore("r");
    assert!(
        phase == "Failed" && message.contains("the data of before is in the Backup r-before"),
        "{phase}: {message}"
    );
    scene.nothing_is_left("restore");
}

#[test]
fn a_restore_without_an_image_ends_in_bounded_time() {
    let mut scene = restored(&json!({"retries": 0, "setAside": false}));
    scene.actors.fate("restore", &[Fate::NoImage]);
    scene.play(400);
    let (phase, message) = scene.restore("r");
    assert!(phase == "Failed" && message.contains("ImagePullBackOff"), "{phase}: {message}");
    scene.nothing_is_left("image");
}

#[test]
fn a_restore_that_is_deleted_takes_its_job_and_token_with_it() {
    let mut scene = restored(&json!({"setAside": false}));
    scene.actors.fate("restore", &[Fate::Hangs]);
    scene.play(10);
    assert_eq!(scene.restore("r").0, "Restoring");
    scene.delete("Restore", "r");
    scene.play(10);
    assert!(scene.get("Restore", "r").is_none(), "{}", scene.status("Restore", "r"));
    scene.nothing_is_left("deleted");
}

#[test]
fn an_artefact_of_a_storage_is_restored_without_its_backup() {
    let mut scene = taken(&database_subject(), &of_database(&json!({})));
    let artefact = scene.status("Backup", "b")["artifact"].clone();
    scene.delete("Backup", "b");
    let plan = of_database(&json!({}));
    let source = json!({"storage": plan["storage"], "key": artefact["key"], "sha256": artefact["sha256"], "format": artefact["format"]});
    let spec = json!({"artifact": source, "target": database_subject(), "job": plan["strategy"]["job"], "setAside": false});
    scene.create("Restore", "r", &spec);
    scene.play(60);
    assert_eq!(scene.restore("r").0, "Completed", "{:?}", scene.restore("r"));
    assert_eq!(scene.actors.data, BEFORE);
}

#[test]
fn a_restore_comes_to_its_end_wherever_the_host_dies() {
    for (subject, plan) in
        [(cluster_subject(), of_etcd(&json!({}))), (database_subject(), of_database(&json!({})))]
    {
        let crashes = every_crash(|nth| {
            let mut scene = taken(&subject, &plan);
            scene.create("Restore", "r", &json!({"backupRef": {"name": "b"}}));
            scene.cluster.crash_after_write(nth);
            scene.play(200);
            let (phase, message) = scene.restore("r");
            assert_eq!(phase, "Completed", "crash {nth}: {message}");
            assert_eq!(scene.actors.data, BEFORE, "crash {nth}");
            assert_eq!(scene.artefact("r-before").unwrap(), b"spoilt", "crash {nth}");
            scene.check("crash");
            scene.nothing_is_left(&format!("crash {nth}"));
            scene.cluster
        });
        assert!(crashes > 10, "{crashes}");
    }
}
