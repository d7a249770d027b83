//! Changes of others: no verified backup, no change; a change that is undone gets the data of before it back.

use backup_core::manifest::merge;
use pilothouse_sdk::{Artefact, harness::every_crash};
use serde_json::{Value, json};

use crate::{
    actors::{Fate, sha256},
    scene::{
        Change, End, Scene, announced, cluster_subject, database_subject, of_database, of_etcd, own,
        reference, undoing,
    },
};

/// A cluster with a policy for the etcd cluster and one for the database.
fn scene(change: &Value) -> Scene {
    let mut scene = Scene::new();
    let subjects = json!({"subjects": [{"apiGroup": "etcd.database.coreos.com", "kind": "EtcdCluster"}]});
    scene.create("BackupPolicy", "keys", &merge(merge(of_etcd(&json!({})), &subjects), change));
    let subjects = json!({"subjects": [{"kind": "Service", "name": "db"}]});
    scene.create("BackupPolicy", "rows", &merge(merge(of_database(&json!({})), &subjects), change));
    scene
}

fn upgrade(scene: &mut Scene, change: &str, subject: &Value) -> Change {
    scene.plan(announced("pre-upgrade", change, subject)).unwrap()
}

fn done(end: End) -> Vec<Artefact> {
    match end {
        End::Done(artefacts) => artefacts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_change_waits_for_its_verified_backup_which_it_then_knows() {
    for subject in [cluster_subject(), database_subject()] {
        let mut scene = scene(&json!({}));
        let change = upgrade(&mut scene, "v2", &subject);
        assert_eq!(change.hooks.len(), 1);
        assert!(matches!(scene.carry_out(&change, 1), End::Pending(_)));
        let artefacts = done(scene.carry_out(&change, 60));
        let name = scene.backups().remove(0);
        assert_eq!((artefacts.len(), &artefacts[0].name), (1, &name));
        assert_eq!(artefacts[0].sha256.as_deref(), Some(sha256(&scene.actors.data).as_str()));
        assert_eq!(artefacts[0].object, Some(reference("Backup", &name)));
        let backup = scene.get("Backup", &name).unwrap();
        assert_eq!(
            (&backup["spec"]["origin"]["change"], &backup["spec"]["origin"]["kind"]),
            (&json!("v2"), &json!("Lifecycle"))
        );
        assert_eq!(done(scene.carry_out(&change, 5)), artefacts, "asked again it is the same one");
        assert_eq!(scene.backups().len(), 1);
        scene.check("change");
    }
}

#[test]
fn a_change_whose_backup_fails_is_not_begun() {
    for (subject, role) in [(cluster_subject(), "etcd"), (database_subject(), "dump")] {
        let mut scene = scene(&json!({}));
        scene.actors.fate(role, &[Fate::Fails; 3]);
        let change = upgrade(&mut scene, "v2", &subject);
        let End::Failed(reason, message) = scene.carry_out(&change, 300) else { panic!("it goes on") };
        assert_eq!(reason, "BackupFailed", "{message}");
        assert!(!change.hooks[0].ignore_failure);
    }
}

#[test]
fn a_change_whose_backup_failed_takes_another_one_when_it_is_tried_again() {
    for (subject, role) in [(cluster_subject(), "etcd"), (database_subject(), "dump")] {
        let mut scene = scene(&json!({}));
        scene.actors.fate(role, &[Fate::Fails; 3]);
        let change = upgrade(&mut scene, "v2", &subject);
        assert!(matches!(scene.carry_out(&change, 300), End::Failed(..)));
        let artefacts = done(scene.carry_out(&change.retried(), 60));
        assert_eq!(scene.backups(), [artefacts[0].name.clone()], "the one that failed has made way");
        scene.check("retry");
    }
}

#[test]
fn a_change_that_is_tried_again_takes_its_backup_wherever_the_host_dies() {
    let crashes = every_crash(|nth| {
        let mut scene = scene(&json!({"retries": 0}));
        scene.actors.fate("etcd", &[Fate::Fails]);
        let change = upgrade(&mut scene, "v2", &cluster_subject());
        assert!(matches!(scene.carry_out(&change, 300), End::Failed(..)));
        scene.cluster.crash_after_write(nth);
        let artefacts = done(scene.carry_out(&change.retried(), 300));
        assert_eq!(scene.backups(), [artefacts[0].name.clone()], "crash {nth}");
        scene.cluster
    });
    assert!(crashes > 5, "{crashes}");
}

#[test]
fn a_change_that_is_announced_anew_takes_a_new_backup_and_leaves_the_old_one() {
    let mut scene = scene(&json!({}));
    let first = upgrade(&mut scene, "v2", &database_subject());
    let old = done(scene.carry_out(&first, 60));
    scene.actors.data = b"sold since".to_vec();
    let mut again = announced("pre-upgrade", "v2", &database_subject());
    again.announced_at += std::time::Duration::from_secs(3600);
    let again = scene.plan(again).unwrap();
    let new = done(scene.carry_out(&again, 60));
    assert_ne!(old[0].name, new[0].name);
    assert_eq!(scene.artefact(&new[0].name).unwrap(), b"sold since");
    assert!(scene.artefact(&old[0].name).is_some(), "nobody asked for it to go");
}

#[test]
fn a_backup_from_which_no_database_can_be_made_does_not_let_a_change_go_on() {
    let mut scene = scene(&json!({}));
    let trial = json!({"verification": {"level": "Restore"}, "retries": 1});
    let subjects = json!({"subjects": [{"kind": "Service", "name": "db"}]});
    scene.create(
        "BackupPolicy",
        "tried",
        &merge(merge(of_database(&trial), &subjects), &json!({"weight": -1})),
    );
    scene.actors.fate("trial", &[Fate::Fails; 2]);
    let change = upgrade(&mut scene, "v2", &database_subject());
    assert_eq!((change.hooks.len(), change.hooks[0].name.as_str()), (2, "tried"));
    let End::Failed(reason, message) = scene.carry_out(&change, 300) else { panic!("it goes on") };
    assert!(reason == "BackupFailed" && message.contains("trial restore failed"), "{reason}: {message}");
    assert!(scene.backups().iter().all(|name| !scene.backup(name).1));
    assert_eq!(scene.cluster.stored_keys(crate::scene::STORE), [""; 0]);
}

#[test]
fn a_policy_that_goes_or_changes_meanwhile_changes_nothing_of_a_change_under_way() {
    let mut scene = scene(&json!({}));
    let change = upgrade(&mut scene, "v2", &cluster_subject());
    scene.delete("BackupPolicy", "keys");
    scene.play(2);
    done(scene.carry_out(&change, 60));
    scene.check("policy is gone");
}

#[test]
fn phases_and_subjects_that_no_policy_names_have_no_hooks() {
    let mut scene = scene(&json!({}));
    let of = |scene: &mut Scene, phase: &str, subject: &Value| {
        scene.plan(announced(phase, "v2", subject)).unwrap().hooks.len()
    };
    assert_eq!(of(&mut scene, "pre-delete", &database_subject()), 0);
    let web = json!({"apiVersion": "v1", "kind": "Service", "name": "web"});
    assert_eq!(of(&mut scene, "pre-upgrade", &web), 0);
    scene.cluster.forbid("list", "backuppolicies");
    let refused = scene.plan(announced("pre-upgrade", "v2", &database_subject()));
    assert!(refused.is_err(), "that policies cannot be read is not that there are none");
}

#[test]
fn a_policy_that_cannot_be_followed_holds_its_changes_up_until_it_is_mended() {
    let mut scene = scene(&json!({}));
    let any = json!({"subjects": [{"kind": "Service", "selector": {"matchLabels": {"app": "shop"}}}]});
    scene.create("BackupPolicy", "any", &merge(of_database(&json!({})), &any));
    let web = json!({"apiVersion": "v1", "kind": "Service", "name": "web"});
    let refused = scene.plan(announced("pre-upgrade", "v2", &web)).map(|_| ()).unwrap_err();
    let message = refused.message();
    assert!(message.contains("BackupPolicy any") && message.contains("make a policy for each"), "{message}");
    assert!(scene.plan(announced("pre-delete", "v2", &web)).unwrap().hooks.is_empty());
    let ignored = json!({"onFailure": "Ignore"});
    scene.delete("BackupPolicy", "any");
    scene.create("BackupPolicy", "any", &merge(merge(of_database(&json!({})), &any), &ignored));
    assert!(scene.plan(announced("pre-upgrade", "v2", &web)).unwrap().hooks.is_empty());
    assert!(format!("{:?}", scene.cluster.events()).contains("WITHOUT a backup"));
}

#[test]
fn a_policy_that_cannot_be_read_holds_up_the_changes_that_it_may_be_about_and_no_others() {
    let mut scene = scene(&json!({}));
    // The definition lets it pass, and no clock counts so far.
    let odd = json!({"timeout": "99999999999999999999w", "subjects": [{"kind": "Service", "name": "web"}]});
    scene.create("BackupPolicy", "odd", &merge(of_database(&json!({})), &odd));
    let web = json!({"apiVersion": "v1", "kind": "Service", "name": "web"});
    let refused = scene.plan(announced("pre-upgrade", "v2", &web)).map(|_| ()).unwrap_err();
    assert!(refused.message().contains("the BackupPolicy odd cannot be read"), "{}", refused.message());
    let change = upgrade(&mut scene, "v2", &database_subject());
    let artefacts = done(scene.carry_out(&change, 60));
    assert_eq!(undo(&mut scene, &database_subject(), ("v2", &artefacts)).hooks.len(), 1);
    assert_eq!(scene.plan(undoing("post-rollback", "back", (&web, "v2", &[]))).unwrap().hooks, []);
    scene.delete("BackupPolicy", "odd");
    let odd = merge(odd, &json!({"onFailure": "Ignore"}));
    scene.create("BackupPolicy", "odd", &merge(of_database(&json!({})), &odd));
    assert!(scene.plan(announced("pre-upgrade", "v2", &web)).unwrap().hooks.is_empty());
    assert!(format!("{:?}", scene.cluster.events()).contains("WITHOUT a backup"));
}

#[test]
fn a_change_that_is_given_up_takes_its_backup_with_it() {
    let mut scene = scene(&json!({}));
    scene.actors.fate("dump", &[Fate::Hangs]);
    let change = upgrade(&mut scene, "v2", &database_subject());
    assert!(matches!(scene.carry_out(&change, 5), End::Pending(_)));
    scene.cancel(&change).unwrap();
    scene.play(10);
    assert!(scene.backups().is_empty());
    scene.nothing_is_left("given up");
    scene.cancel(&change).unwrap();
}

fn undo(scene: &mut Scene, subject: &Value, undone: (&str, &[Artefact])) -> Change {
    let (change, artefacts) = undone;
    let announced = undoing("post-rollback", "back", (subject, change, artefacts));
    scene.plan(announced).unwrap()
}

#[test]
fn a_rollback_puts_back_the_backup_of_the_change_that_it_undoes_and_not_the_newest() {
    for subject in [cluster_subject(), database_subject()] {
        let mut scene = scene(&json!({}));
        let before = scene.actors.data.clone();
        let upgrade_to_2 = upgrade(&mut scene, "v2", &subject);
        let artefacts = done(scene.carry_out(&upgrade_to_2, 60));
        scene.actors.data = b"a newer state".to_vec();
        let upgrade_to_3 = upgrade(&mut scene, "v3", &subject);
        done(scene.carry_out(&upgrade_to_3, 60));
        scene.actors.data = b"spoilt by the upgrade".to_vec();
        let back = undo(&mut scene, &subject, ("v2", &artefacts));
        assert_eq!(back.hooks.len(), 1);
        assert_eq!(done(scene.carry_out(&back, 120)), []);
        assert_eq!(scene.actors.data, before);
        let aside = scene.backups().into_iter().find(|name| name.ends_with("-before")).unwrap();
        assert_eq!(
            scene.artefact(&aside).unwrap(),
            b"spoilt by the upgrade",
            "the present data was set aside"
        );
        scene.check("rollback");
        scene.nothing_is_left("rollback");
    }
}

#[test]
fn a_rollback_without_the_backup_object_restores_from_the_storage_all_the_same() {
    let mut scene = scene(&json!({"restore": {"setAside": false}}));
    let before = scene.actors.data.clone();
    let to_2 = upgrade(&mut scene, "v2", &database_subject());
    let artefacts = done(scene.carry_out(&to_2, 60));
    scene.delete("Backup", &artefacts[0].name.clone());
    scene.delete("BackupPolicy", "rows");
    scene.play(5);
    scene.actors.data = b"spoilt".to_vec();
    let back = undo(&mut scene, &database_subject(), ("v2", &artefacts));
    done(scene.carry_out(&back, 60));
    assert_eq!(scene.actors.data, before);
}

#[test]
fn a_rollback_of_another_change_or_one_that_failed_puts_nothing_back() {
    let mut scene = scene(&json!({}));
    let to_2 = upgrade(&mut scene, "v2", &database_subject());
    let artefacts = done(scene.carry_out(&to_2, 60));
    let other = undo(&mut scene, &database_subject(), ("v1", &artefacts));
    let End::Failed(reason, _) = scene.carry_out(&other, 5) else { panic!("it goes on") };
    assert_eq!(reason, "OtherChange");
    let mut failed = undoing("post-rollback", "back", (&database_subject(), "v2", &artefacts));
    failed.ending = Some(pilothouse_sdk::Ending::Failed);
    let failed = scene.plan(failed).unwrap();
    let End::Failed(reason, _) = scene.carry_out(&failed, 5) else { panic!("it goes on") };
    assert_eq!(reason, "RollbackFailed");
    assert!(crate::actors::list(&scene.cluster, own("Restore")).is_empty());
}

#[test]
fn a_restore_that_failed_is_made_again_when_the_rollback_is_tried_again() {
    for roles in [["restore", "dump"], ["dump", "restore"]] {
        let mut scene = scene(&json!({}));
        let before = scene.actors.data.clone();
        let to_2 = upgrade(&mut scene, "v2", &database_subject());
        let artefacts = done(scene.carry_out(&to_2, 60));
        scene.actors.data = b"spoilt".to_vec();
        scene.actors.fate(roles[0], &[Fate::Fails; 3]);
        let mut back = undo(&mut scene, &database_subject(), ("v2", &artefacts));
        let End::Failed(reason, _) = scene.carry_out(&back, 300) else { panic!("it goes on") };
        assert_eq!(reason, "RestoreFailed");
        scene.actors.fate(roles[1], &[Fate::Fails; 3]);
        back = back.retried();
        assert!(matches!(scene.carry_out(&back, 300), End::Failed(..)));
        back = back.retried();
        assert_eq!(done(scene.carry_out(&back, 300)), []);
        assert_eq!(scene.actors.data, before);
        assert_eq!(crate::actors::list(&scene.cluster, own("Restore")).len(), 1);
        let aside: Vec<String> =
            scene.backups().into_iter().filter(|name| name.contains("-before")).collect();
        assert_eq!(aside.len(), 3, "what was set aside stays: {aside:?}");
        scene.nothing_is_left("retry");
    }
}

#[test]
fn what_rollbacks_set_aside_does_not_grow_without_end() {
    let mut scene = scene(&json!({}));
    for round in 0..5 {
        let to_2 = upgrade(&mut scene, &format!("v{round}"), &database_subject());
        let artefacts = done(scene.carry_out(&to_2, 60));
        scene.actors.data = format!("spoilt {round}").into_bytes();
        let (subject, undone) = (database_subject(), format!("v{round}"));
        let back = undoing("post-rollback", &format!("back{round}"), (&subject, &undone, &artefacts));
        let back = scene.plan(back).unwrap();
        done(scene.carry_out(&back, 120));
    }
    scene.play(10);
    let asides: Vec<String> = scene.backups().into_iter().filter(|name| name.contains("-before")).collect();
    let mut kept: Vec<Vec<u8>> = asides.iter().filter_map(|name| scene.artefact(name)).collect();
    kept.sort();
    assert_eq!(kept, [b"spoilt 2", b"spoilt 3", b"spoilt 4"]);
    scene.check("asides");
}

#[test]
fn a_rollback_whose_artefact_is_lost_fails_and_touches_nothing() {
    let mut scene = scene(&json!({"restore": {"setAside": false}}));
    let to_2 = upgrade(&mut scene, "v2", &database_subject());
    let artefacts = done(scene.carry_out(&to_2, 60));
    let key = scene.status("Backup", &artefacts[0].name)["artifact"]["key"].as_str().unwrap().to_owned();
    scene.cluster.store(crate::scene::STORE, &key, "not that");
    scene.actors.data = b"spoilt".to_vec();
    let back = undo(&mut scene, &database_subject(), ("v2", &artefacts));
    let End::Failed(reason, message) = scene.carry_out(&back, 60) else { panic!("it goes on") };
    assert!(reason == "RestoreFailed" && message.contains("nothing was touched"), "{reason}: {message}");
    assert_eq!(scene.actors.data, b"spoilt");
}
