//! Backups of a database by Jobs.

use serde_json::{Value, json};

use crate::{
    actors::{Fate, is_closed, jobs, list},
    scene::{NAMESPACE, PASSWORD, STORE, Scene, database_subject, of_database},
};
use pilothouse_sdk::{DeleteOptions, Gvk, ObjectRef};

fn scene(fates: &[Fate], change: &Value) -> Scene {
    let mut scene = Scene::new();
    scene.actors.fate("dump", fates);
    scene.back_up("b", &database_subject(), &of_database(change));
    scene
}

fn attempts(scene: &Scene) -> Value {
    scene.status("Backup", "b")["attempts"].clone()
}

#[test]
fn a_database_is_dumped_through_a_token_and_nothing_of_it_is_left() {
    let mut scene = scene(&[], &json!({}));
    scene.runner.settle().unwrap();
    let job = jobs(&scene.cluster).remove(0);
    let token = scene.cluster.handover_token(NAMESPACE, "b-dump-1").unwrap();
    let told = job.to_string();
    assert!(!told.contains(&token) && !told.contains(PASSWORD) && !told.contains("login"), "{told}");
    assert_eq!(
        job["spec"]["template"]["spec"]["containers"][1]["image"],
        "registry.example.com/pilothouse:1"
    );
    scene.play(30);
    let (phase, verified, message) = scene.backup("b");
    assert_eq!((phase.as_str(), verified), ("Completed", true), "{message}");
    assert_eq!(scene.artefact("b").unwrap(), scene.actors.data);
    assert_eq!(scene.cluster.stored_keys(STORE).len(), 2);
    assert!(is_closed(&scene.cluster, &token));
    scene.check("dump");
    scene.nothing_is_left("dump");
}

#[test]
fn a_dump_that_fails_is_taken_again_and_what_it_said_is_told() {
    let mut scene = scene(&[Fate::Fails], &json!({}));
    scene.play(8);
    let attempt =
        scene.cluster.events().iter().find(|told| told.event.reason == "AttemptFailed").cloned().unwrap();
    assert!(
        attempt.event.message.contains("container dump ended with 2 (Error): ERROR 1045: Access denied"),
        "{}",
        attempt.event.message
    );
    scene.play(60);
    assert_eq!((scene.backup("b").0.as_str(), attempts(&scene)), ("Completed", json!(2)));
    assert_eq!(scene.cluster.stored_keys(STORE).len(), 2, "nothing of the first attempt is left");
    scene.nothing_is_left("again");
}

#[test]
fn an_image_that_is_nowhere_fails_the_backup_in_bounded_time_and_is_named() {
    let mut scene = scene(&[Fate::NoImage; 3], &json!({"timeout": "1h", "retries": 1}));
    scene.play(60);
    let (phase, _, message) = scene.backup("b");
    assert!(phase == "Running" && message.contains("ImagePullBackOff"), "{phase}: {message}");
    scene.play(700);
    let (phase, _, message) = scene.backup("b");
    assert!(
        phase == "Failed" && message.contains("ImagePullBackOff: Back-off pulling image"),
        "{phase}: {message}"
    );
    assert_eq!(attempts(&scene), 2);
    scene.nothing_is_left("image");
}

#[test]
fn an_upload_that_is_cut_leaves_nothing_under_its_key_and_is_sent_again() {
    let mut scene = scene(&[Fate::CutOff], &json!({}));
    scene.play(8);
    assert_eq!(scene.cluster.stored_keys(STORE), [""; 0]);
    scene.play(60);
    assert_eq!((scene.backup("b").0.as_str(), attempts(&scene)), ("Completed", json!(2)));
    scene.check("cut");
    scene.nothing_is_left("cut");
}

#[test]
fn a_pod_that_its_node_puts_out_is_told_and_another_one_is_made() {
    let mut scene = scene(&[Fate::Evicted], &json!({}));
    scene.play(60);
    assert!(
        scene.cluster.events().iter().any(|told| told.event.message.contains("Evicted): The node was low"))
    );
    assert_eq!((scene.backup("b").0.as_str(), attempts(&scene)), ("Completed", json!(2)));
    scene.nothing_is_left("evicted");
}

#[test]
fn what_the_storage_has_is_read_back_before_it_counts() {
    let mut scene = scene(&[Fate::Corrupts; 3], &json!({}));
    scene.play(200);
    let (phase, verified, message) = scene.backup("b");
    assert_eq!((phase.as_str(), verified), ("Failed", false), "{message}");
    assert_eq!(scene.cluster.stored_keys(STORE), [""; 0]);
}

#[test]
fn a_scratch_database_is_made_of_the_dump_before_it_counts() {
    let mut scene = scene(&[], &json!({"verification": {"level": "Restore"}}));
    scene.actors.fate("trial", &[Fate::Hangs]);
    scene.play(20);
    let (phase, verified, message) = scene.backup("b");
    assert_eq!((phase.as_str(), verified), ("Verifying", false), "{message}");
    let trial = jobs(&scene.cluster).into_iter().find(|job| job["metadata"]["name"] == "b-trial-1").unwrap();
    assert!(!trial.to_string().contains("\"db\""), "it knows nothing of the live database: {trial}");
    scene.cluster.fail_job(NAMESPACE, "b-trial-1", "it was too much").unwrap();
    scene.play(60);
    assert_eq!((scene.backup("b").0.as_str(), attempts(&scene)), ("Completed", json!(2)));
    scene.check("trial");
    scene.nothing_is_left("trial");
}

#[test]
fn a_dump_that_cannot_be_restored_is_no_backup() {
    let mut scene = scene(&[], &json!({"verification": {"level": "Restore"}}));
    scene.actors.fate("trial", &[Fate::Fails; 3]);
    scene.play(300);
    let (phase, verified, message) = scene.backup("b");
    assert_eq!((phase.as_str(), verified), ("Failed", false));
    assert!(message.contains("the trial restore failed: container restore ended with 2"), "{message}");
    assert_eq!(scene.cluster.stored_keys(STORE), [""; 0]);
    scene.nothing_is_left("no trial");
}

#[test]
fn a_host_that_is_begun_anew_gives_a_new_token_to_a_job_that_has_not_come_yet() {
    let mut scene = scene(&[], &json!({}));
    scene.runner.settle().unwrap();
    let first = scene.cluster.handover_token(NAMESPACE, "b-dump-1").unwrap();
    scene.restart();
    scene.runner.settle().unwrap();
    let second = scene.cluster.handover_token(NAMESPACE, "b-dump-1").unwrap();
    assert_ne!(first, second);
    assert_eq!(jobs(&scene.cluster).len(), 1);
    scene.play(30);
    assert_eq!((scene.backup("b").0.as_str(), attempts(&scene)), ("Completed", json!(1)));
    scene.nothing_is_left("new token");
}

#[test]
fn a_host_that_is_begun_anew_when_the_job_has_ended_takes_the_secret_away_all_the_same() {
    let mut scene = scene(&[], &json!({}));
    for _ in 0..2 {
        scene.runner.settle().unwrap();
        scene.actors.act(&scene.cluster);
    }
    assert_eq!(scene.cluster.stored_keys(STORE).len(), 1, "the dump is there");
    scene.restart();
    scene.play(30);
    assert_eq!((scene.backup("b").0.as_str(), attempts(&scene)), ("Completed", json!(1)));
    scene.nothing_is_left("forgotten");
}

#[test]
fn a_secret_that_somebody_else_has_under_the_name_is_told_and_left_alone() {
    let mut scene = scene(&[], &json!({}));
    let theirs = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"url": "eA=="},
        "metadata": {"name": "b-dump-1", "namespace": NAMESPACE}});
    scene.cluster.create([theirs]).unwrap();
    scene.play(20);
    assert!(jobs(&scene.cluster).is_empty(), "its pod would be given what somebody else wrote");
    let told = scene.condition("Backup", "b", "Reconciling").message;
    assert!(told.contains("b-dump-1"), "{told}");
    let reference = ObjectRef::new(Gvk::new("", "v1", "Secret"), NAMESPACE, "b-dump-1");
    let secret: Value = scene.cluster.kubectl().get_ref(&reference).unwrap().unwrap();
    assert_eq!(secret["data"], json!({"url": "eA=="}));
    scene.cluster.kubectl().delete_ref(&reference, &DeleteOptions::default()).unwrap();
    scene.play(330);
    assert_eq!(scene.backup("b").0, "Completed", "{:?}", scene.backup("b"));
}

#[test]
fn a_dump_waits_until_its_secret_can_be_written() {
    let mut scene = scene(&[], &json!({}));
    scene.cluster.forbid("patch", "secrets");
    scene.play(20);
    assert!(jobs(&scene.cluster).is_empty(), "a pod would wait for a Secret that is not there");
    assert!(scene.condition("Backup", "b", "Reconciling").message.contains("secrets"));
    scene.cluster.permit("patch", "secrets");
    scene.play(330);
    assert_eq!(scene.backup("b").0, "Completed", "{:?}", scene.backup("b"));
    scene.nothing_is_left("rights");
}

#[test]
fn a_login_that_is_not_there_is_waited_for_and_named_in_the_end() {
    let mut scene = scene(&[], &json!({"storage": {"credentialsSecret": "nobody"}, "timeout": "5m"}));
    scene.play(60);
    assert!(scene.condition("Backup", "b", "Reconciling").message.contains("nobody"));
    assert!(jobs(&scene.cluster).is_empty());
    // For an hour the storage is asked whether something was left in it.
    scene.play(4500);
    let (phase, _, message) = scene.backup("b");
    assert!(
        phase == "Failed" && message.contains("not done within 5m") && message.contains("nobody"),
        "{phase}: {message}"
    );
}

#[test]
fn a_dump_larger_than_the_storage_allows_is_refused() {
    let mut scene = scene(&[], &json!({"storage": {"maxSize": "10"}, "retries": 0}));
    scene.play(60);
    let (phase, _, message) = scene.backup("b");
    assert!(phase == "Failed" && message.contains("more than 10 bytes"), "{phase}: {message}");
    assert_eq!(scene.cluster.stored_keys(STORE), [""; 0]);
}

#[test]
fn pods_of_another_job_are_not_ours() {
    let mut scene = scene(&[Fate::Hangs], &json!({}));
    scene.play(5);
    let labels = json!({"batch.kubernetes.io/job-name": "other"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other", "namespace": NAMESPACE, "labels": labels}, "spec": {"containers": []}});
    scene.cluster.create([pod]).unwrap();
    let other = ObjectRef::new(Gvk::new("", "v1", "Pod"), NAMESPACE, "other");
    scene.cluster.set_status(&other, &json!({"phase": "Failed"})).unwrap();
    scene.play(30);
    assert_eq!(scene.backup("b").0, "Running");
    assert_eq!(list(&scene.cluster, Gvk::new("", "v1", "Pod")).len(), 2);
}
