//! Data that a rollback could not put back is not taken for good by the next upgrade, and what could put it back stays.

use backup_core::manifest::merge;
use pilothouse_sdk::{Artefact, Gvk, ObjectRef};
use serde_json::{Value, json};

use crate::{
    actors::{Fate, list},
    scene::{
        Change, End, NAMESPACE, Scene, announced, cluster_subject, database_subject, of_database, own,
        reference, undoing,
    },
};

/// A database with the policy `rows`.
fn scene(change: &Value) -> Scene {
    let mut scene = Scene::new();
    policy(&mut scene, "rows", change);
    scene
}

fn policy(scene: &mut Scene, name: &str, change: &Value) {
    let subjects = json!({"subjects": [{"kind": "Service", "name": "db"}]});
    scene.create("BackupPolicy", name, &merge(merge(of_database(&json!({})), &subjects), change));
}

fn upgrade(scene: &mut Scene, change: &str) -> Change {
    scene.plan(announced("pre-upgrade", change, &database_subject())).unwrap()
}

fn done(end: End) -> Vec<Artefact> {
    match end {
        End::Done(artefacts) => artefacts,
        other => panic!("{other:?}"),
    }
}

/// An upgrade with its backup, after which the data is another one.
fn upgraded(scene: &mut Scene) -> Vec<Artefact> {
    let change = upgrade(scene, "v2");
    let artefacts = done(scene.carry_out(&change, 60));
    scene.actors.data = b"spoilt".to_vec();
    artefacts
}

fn back(scene: &mut Scene, change: &str, artefacts: &[Artefact]) -> Change {
    scene.plan(undoing("post-rollback", change, (&database_subject(), "v2", artefacts))).unwrap()
}

fn restores(scene: &Scene) -> Vec<Value> {
    list(&scene.cluster, own("Restore"))
}

#[test]
fn the_next_upgrade_is_refused_until_the_data_is_put_back_or_somebody_says_that_it_is_good() {
    for by_hand in [true, false] {
        let mut scene = scene(&json!({}));
        let artefacts = upgraded(&mut scene);
        scene.actors.fate("dump", &[Fate::Fails; 3]);
        let back = back(&mut scene, "back", &artefacts);
        assert!(matches!(scene.carry_out(&back, 300), End::Failed(..)));
        let failed = restores(&scene).remove(0);
        let failed = failed["metadata"]["name"].as_str().unwrap();
        let next = upgrade(&mut scene, "v3");
        let End::Failed(reason, message) = scene.carry_out(&next, 60) else { panic!("it goes on") };
        assert!(reason == "DataNotPutBack" && message.contains(failed), "{reason}: {message}");
        if by_hand {
            let spec = json!({"backupRef": {"name": artefacts[0].name}, "setAside": false});
            scene.create("Restore", "r", &spec);
            scene.play(60);
        } else {
            scene.delete("Restore", failed);
            scene.play(2);
        }
        done(scene.carry_out(&next.retried(), 60));
    }
}

#[test]
fn that_of_one_database_is_not_put_back_by_a_restore_of_another_one() {
    let mut scene = scene(&json!({}));
    let artefacts = upgraded(&mut scene);
    let another = json!({"strategy": {"job": {"parameters": {"database": "keys"}}}});
    scene.back_up("keys", &database_subject(), &of_database(&another));
    scene.play(30);
    scene.actors.fate("dump", &[Fate::Fails; 3]);
    let back = back(&mut scene, "back", &artefacts);
    assert!(matches!(scene.carry_out(&back, 300), End::Failed(..)));
    scene.create("Restore", "keys", &json!({"backupRef": {"name": "keys"}, "setAside": false}));
    scene.play(60);
    assert_eq!(scene.restore("keys").0, "Completed");
    let next = upgrade(&mut scene, "v3");
    let End::Failed(reason, _) = scene.carry_out(&next, 60) else { panic!("it goes on") };
    assert_eq!(reason, "DataNotPutBack");
}

#[test]
fn a_restore_that_writes_when_its_hook_is_given_up_comes_to_its_end_and_stays_in_sight() {
    let mut scene = scene(&json!({"retries": 0}));
    let artefacts = upgraded(&mut scene);
    scene.actors.fate("restore", &[Fate::Hangs]);
    let back = back(&mut scene, "back", &artefacts);
    assert!(matches!(scene.carry_out(&back, 60), End::Pending(_)));
    let error = scene.cancel(&back).unwrap_err();
    assert_eq!(error.reason(), "RestoreAtWork", "{error}");
    let next = upgrade(&mut scene, "v3");
    let End::Pending(message) = scene.carry_out(&next, 30) else { panic!("it goes on") };
    assert!(message.contains("is at work"), "{message}");
    scene.play(1800);
    scene.cancel(&back).unwrap();
    assert_eq!(restores(&scene)[0]["status"]["phase"], "Failed");
    let End::Failed(reason, _) = scene.carry_out(&next, 60) else { panic!("it goes on") };
    assert_eq!(reason, "DataNotPutBack");
    scene.nothing_is_left("given up");
}

#[test]
fn a_restore_that_has_not_written_when_its_hook_is_given_up_goes() {
    let mut scene = scene(&json!({}));
    let artefacts = upgraded(&mut scene);
    scene.actors.fate("dump", &[Fate::Hangs]);
    let back = back(&mut scene, "back", &artefacts);
    assert!(matches!(scene.carry_out(&back, 30), End::Pending(_)));
    scene.cancel(&back).unwrap();
    scene.play(10);
    assert!(restores(&scene).is_empty());
    assert_eq!(scene.actors.data, b"spoilt");
}

#[test]
fn a_rollback_that_failed_without_a_restore_holds_the_next_upgrade_up() {
    let mut scene = scene(&json!({}));
    let artefacts = upgraded(&mut scene);
    let hook = back(&mut scene, "back", &artefacts).hooks.remove(0);
    let run = json!({
        "apiVersion": "lifecycle.pilothouse.dev/v1alpha1", "kind": "LifecycleRun",
        "metadata": {"name": "back", "namespace": NAMESPACE},
        "spec": {"subject": {"apiVersion": "v1", "kind": "Service", "namespace": NAMESPACE, "name": "db", "uid": "u-1"},
            "phase": "post-rollback", "change": "back", "announcedBy": "helm", "ending": "Succeeded", "undoes": "v2"},
    });
    let hooks = json!([{"plugin": "backup", "name": hook.name, "weight": 0, "timeoutSeconds": 9, "retries": 0,
        "failurePolicy": "Fail", "parameters": hook.parameters, "state": "Failed", "reason": "NoStorage",
        "message": "the Backup is gone", "finishedAt": "2026-01-01T00:01:00Z"}]);
    scene.cluster.create([run]).unwrap();
    let kind = Gvk::new("lifecycle.pilothouse.dev", "v1alpha1", "LifecycleRun");
    let run = ObjectRef::new(kind, NAMESPACE, "back");
    scene.cluster.set_status(&run, &json!({"state": "Failed", "hooks": hooks})).unwrap();
    let next = upgrade(&mut scene, "v3");
    let End::Failed(reason, message) = scene.carry_out(&next, 60) else { panic!("it goes on") };
    assert!(reason == "DataNotPutBack" && message.contains("NoStorage"), "{reason}: {message}");
    let skipped = json!([merge(hooks[0].clone(), &json!({"state": "Skipped"}))]);
    scene.cluster.set_status(&run, &json!({"state": "Succeeded", "hooks": skipped})).unwrap();
    done(scene.carry_out(&next.retried(), 60));
}

#[test]
fn what_was_there_before_a_rollback_wrote_outlives_its_further_tries_and_the_next_rollback() {
    let mut scene = scene(&json!({"retries": 0}));
    let artefacts = upgraded(&mut scene);
    let mut first = back(&mut scene, "back", &artefacts);
    for nth in 1..=3 {
        scene.actors.fate("restore", &[Fate::Fails]);
        assert!(matches!(scene.carry_out(&first, 300), End::Failed(..)));
        scene.actors.data = format!("half-restored {nth}").into_bytes();
        first = first.retried();
    }
    done(scene.carry_out(&first, 120));
    let second = back(&mut scene, "back-again", &artefacts);
    done(scene.carry_out(&second, 120));
    scene.play(10);
    let asides = scene.backups().into_iter().filter(|name| name.contains("-before"));
    let kept: Vec<Vec<u8>> = asides.filter_map(|name| scene.artefact(&name)).collect();
    assert!(kept.contains(&b"spoilt".to_vec()), "{kept:?}");
    assert!(!kept.contains(&b"half-restored 1".to_vec()), "it does not grow without end: {kept:?}");
}

#[test]
fn what_a_restore_reads_that_was_just_made_is_not_taken_away_by_those_who_do_not_see_it_yet() {
    let mut scene = Scene::new();
    let subjects = json!({"subjects": [{"apiGroup": "etcd.database.coreos.com", "kind": "EtcdCluster"}]});
    let rules = json!({"schedule": {"cron": "0 * * * *"}, "retention": {"keepLast": 1}});
    let spec = merge(merge(crate::scene::of_etcd(&json!({})), &subjects), &rules);
    scene.create("BackupPolicy", "hourly", &spec);
    scene.play(3660);
    let old = scene.backups().remove(0);
    scene.actors.fate("etcd-restore", &[Fate::Hangs]);
    scene.create("Restore", "r", &json!({"backupRef": {"name": old}, "setAside": false, "timeout": "3h"}));
    scene.play(60);
    scene.cluster.hide_from_caches(&reference("Restore", "r"));
    scene.play(3600);
    assert!(scene.get("Backup", &old).is_some(), "{:?}", scene.backups());
    scene.cluster.catch_up();
    scene.delete("Restore", "r");
    scene.play(3600);
    assert!(scene.get("Backup", &old).is_none(), "{:?}", scene.backups());
    assert_eq!(scene.plan(announced("pre-upgrade", "v2", &cluster_subject())).unwrap().hooks.len(), 1);
}
