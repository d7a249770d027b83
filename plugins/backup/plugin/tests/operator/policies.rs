//! Policies: the clock, retention, and what becomes of what is under way when they change.

use backup_core::manifest::merge;
use pilothouse_sdk::harness::every_crash;
use serde_json::{Value, json};

use crate::{
    actors::Fate,
    scene::{STORE, Scene, cluster_subject, of_database, of_etcd, reference},
};

fn policy(change: &Value) -> Value {
    let subjects =
        json!([{"apiGroup": "etcd.database.coreos.com", "kind": "EtcdCluster", "name": "example"}]);
    let mut policy = merge(of_etcd(&json!({})), &json!({"subjects": subjects}));
    policy = merge(policy, change);
    policy
}

fn hourly(change: &Value) -> Scene {
    let mut scene = Scene::new();
    let spec = merge(policy(&json!({"schedule": {"cron": "0 * * * *"}})), change);
    scene.create("BackupPolicy", "hourly", &spec);
    scene
}

fn hours(scene: &mut Scene, hours: u64) {
    scene.play(hours * 3600);
}

#[test]
fn backups_are_taken_by_the_clock_and_counted() {
    let mut scene = hourly(&json!({}));
    scene.play(60);
    assert!(scene.backups().is_empty(), "none is due before the first hour is over");
    let status = scene.status("BackupPolicy", "hourly");
    assert_eq!(status["nextScheduleTime"], "2026-01-01T01:00:00Z");
    hours(&mut scene, 3);
    assert_eq!(scene.backups().len(), 3, "{:?}", scene.backups());
    for name in scene.backups() {
        assert_eq!(scene.backup(&name).0, "Completed");
    }
    scene.check("hourly");
    let labels = r#"namespace="shop",policy="hourly",subject="EtcdCluster/example""#;
    let success = scene.cluster.metric(&format!("backup_last_success_timestamp_seconds{{{labels}}}"));
    assert!(success.is_some_and(|time| time > 1_767_225_600.0), "{success:?}");
    assert_eq!(scene.cluster.metric(r#"backup_scheduled{namespace="shop",policy="hourly"}"#), Some(1.0));
}

#[test]
fn a_policy_without_a_clock_says_when_its_last_backup_succeeded() {
    let mut scene = Scene::new();
    scene.create("BackupPolicy", "changes", &policy(&json!({})));
    let spec = json!({"subject": cluster_subject(), "policyRef": {"name": "changes"}});
    scene.create("Backup", "b", &spec);
    scene.play(60);
    let succeeded = scene.status("Backup", "b")["completedAt"].clone();
    assert!(succeeded.is_string());
    assert_eq!(scene.status("BackupPolicy", "changes")["lastSuccessTime"], succeeded);
}

#[test]
fn the_same_hour_is_not_taken_twice_wherever_the_host_dies() {
    for concurrency in ["Forbid", "Replace", "Allow"] {
        let crashes = every_crash(|nth| {
            let mut scene =
                hourly(&json!({"schedule": {"cron": "0 * * * *", "concurrencyPolicy": concurrency}}));
            hours(&mut scene, 1);
            scene.cluster.crash_after_write(nth);
            hours(&mut scene, 1);
            scene.play(60);
            let backups = scene.backups();
            assert_eq!(backups.len(), 2, "{concurrency}, crash {nth}: {backups:?}");
            assert!(backups.iter().all(|name| scene.backup(name).0 == "Completed"), "crash {nth}");
            scene.check("hour");
            scene.cluster
        });
        assert!(crashes > 4, "{crashes}");
    }
}

#[test]
fn a_backup_that_still_runs_is_waited_for_or_replaced() {
    for (concurrency, left) in [("Forbid", 1), ("Replace", 1), ("Allow", 2)] {
        let mut scene = hourly(
            &json!({"schedule": {"cron": "0 * * * *", "concurrencyPolicy": concurrency}, "timeout": "2h"}),
        );
        scene.actors.fate("etcd", &[Fate::Hangs; 9]);
        hours(&mut scene, 2);
        scene.play(30);
        let backups = scene.backups();
        assert_eq!(backups.len(), left, "{concurrency}: {backups:?}");
        let second = backups.iter().any(|name| name.ends_with("-29453880"));
        assert_eq!(second, concurrency != "Forbid", "{concurrency}: {backups:?}");
    }
}

#[test]
fn what_is_not_kept_any_more_goes_with_its_artefact_but_never_the_last_whole_one() {
    let mut scene = hourly(&json!({"retention": {"keepLast": 2}}));
    hours(&mut scene, 5);
    scene.play(60);
    assert_eq!(scene.backups().len(), 2, "{:?}", scene.backups());
    assert_eq!(scene.cluster.stored_keys(STORE).len(), 4, "two artefacts with their entries");
    scene.actors.fate("etcd", &[Fate::Fails; 100]);
    scene
        .cluster
        .edit_ref::<Value>(&reference("BackupPolicy", "hourly"), |policy| {
            policy["spec"]["retention"] = json!({"maxAge": "1h"});
        })
        .unwrap();
    hours(&mut scene, 6);
    let whole: Vec<String> = scene.backups().into_iter().filter(|name| scene.backup(name).1).collect();
    assert_eq!(whole.len(), 1, "however old it is: {:?}", scene.backups());
    assert_eq!(scene.cluster.stored_keys(STORE).len(), 2);
    assert!(scene.backups().len() <= 5, "failed ones are not kept without end: {:?}", scene.backups());
    scene.check("retention");
}

#[test]
fn what_a_restore_by_hand_reads_is_not_taken_away_below_it() {
    let mut scene = hourly(&json!({"retention": {"keepLast": 1}}));
    hours(&mut scene, 1);
    scene.play(60);
    let old = scene.backups().remove(0);
    scene.actors.fate("etcd-restore", &[Fate::Hangs]);
    scene.create("Restore", "r", &json!({"backupRef": {"name": old}, "setAside": false, "timeout": "3h"}));
    hours(&mut scene, 2);
    scene.play(60);
    assert!(scene.get("Backup", &old).is_some() && scene.artefact(&old).is_some());
    scene.delete("Restore", "r");
    hours(&mut scene, 1);
    scene.play(60);
    assert!(scene.get("Backup", &old).is_none(), "{:?}", scene.backups());
}

#[test]
fn a_policy_that_is_edited_or_deleted_changes_nothing_of_a_backup_under_way() {
    for deleted in [true, false] {
        let mut scene = Scene::new();
        scene.create("BackupPolicy", "p", &policy(&json!({})));
        scene.create("Backup", "b", &json!({"subject": cluster_subject(), "policyRef": {"name": "p"}}));
        scene.actors.fate("etcd", &[Fate::Fails]);
        scene.play(2);
        if deleted {
            scene.delete("BackupPolicy", "p");
        } else {
            scene
                .cluster
                .edit_ref::<Value>(&reference("BackupPolicy", "p"), |policy| {
                    policy["spec"]["storage"]["url"] = json!("s3://elsewhere");
                    policy["spec"]["subjects"][0]["name"] = json!("another");
                })
                .unwrap();
        }
        scene.play(60);
        assert_eq!(scene.backup("b").0, "Completed", "{:?}", scene.backup("b"));
        assert_eq!(scene.status("Backup", "b")["attempts"], 2);
        assert!(scene.cluster.stored_keys("s3://elsewhere").is_empty());
        scene.check("policy");
    }
}

#[test]
fn a_backup_waits_for_its_policy_and_is_refused_by_one_that_is_about_something_else() {
    let mut scene = Scene::new();
    scene.create("Backup", "b", &json!({"subject": cluster_subject(), "policyRef": {"name": "p"}}));
    scene.create("BackupPolicy", "other", &policy(&json!({"subjects": [{"kind": "Service"}]})));
    scene.create("Backup", "c", &json!({"subject": cluster_subject(), "policyRef": {"name": "other"}}));
    scene.play(5);
    assert_eq!(scene.condition("Backup", "b", "Stalled").reason, "NoPlan");
    assert!(
        scene.condition("Backup", "c", "Stalled").message.contains("is not about the EtcdCluster example")
    );
    scene.create("BackupPolicy", "p", &policy(&json!({})));
    scene.play(30);
    assert_eq!(scene.backup("b").0, "Completed");
}

#[test]
fn subjects_are_selected_by_their_labels_and_without_the_right_to_read_them_one_by_one() {
    let mut scene = Scene::new();
    let rule = |app: &str| json!({"subjects": [{"apiGroup": "etcd.database.coreos.com", "kind": "EtcdCluster", "selector": {"matchLabels": {"app": app}}}]});
    scene.create("BackupPolicy", "shop", &policy(&rule("shop")));
    scene.create("BackupPolicy", "web", &policy(&rule("web")));
    for name in ["shop", "web"] {
        scene.create("Backup", name, &json!({"subject": cluster_subject(), "policyRef": {"name": name}}));
    }
    scene.play(30);
    assert_eq!(scene.backup("shop").0, "Completed");
    assert!(scene.condition("Backup", "web", "Stalled").message.contains("is not about"));
}

#[test]
fn a_policy_that_nobody_asks_about_changes_says_so_and_its_clock_goes_on() {
    let mut scene = Scene::new();
    scene.cluster.grant_no_hook("pre-upgrade");
    scene.create("BackupPolicy", "hourly", &policy(&json!({"schedule": {"cron": "0 * * * *"}})));
    scene.create("BackupPolicy", "clock", &policy(&json!({"schedule": {"cron": "0 * * * *"}, "phases": []})));
    hours(&mut scene, 1);
    let stalled = scene.condition("BackupPolicy", "hourly", "Stalled");
    assert_eq!(stalled.reason, "NotGranted");
    assert!(stalled.message.contains("pre-upgrade of EtcdCluster.etcd.database.coreos.com"), "{stalled:?}");
    assert_eq!(scene.condition("BackupPolicy", "clock", "Ready").status, true.into());
    assert_eq!(scene.backups().len(), 2);
}

#[test]
fn a_policy_whose_backups_no_rollback_puts_back_says_so_and_its_clock_goes_on() {
    let mut scene = Scene::new();
    scene.cluster.grant_no_hook("post-rollback");
    let never = json!({"restore": {"phase": "never"}});
    let clock = json!({"schedule": {"cron": "0 * * * *"}});
    scene.create("BackupPolicy", "hourly", &policy(&clock));
    scene.create("BackupPolicy", "never", &policy(&never));
    let volume = json!({"job": {"preset": "volume", "parameters": {"claim": "data-db-0"}}});
    let files =
        of_database(&merge(clock, &json!({"subjects": [{"kind": "Service", "name": "db"}], "restore": {}})));
    let files = merge(files, &json!({"strategy": volume}));
    scene.create("BackupPolicy", "files", &files);
    hours(&mut scene, 1);
    let stalled = |name: &str| scene.condition("BackupPolicy", name, "Stalled");
    assert_eq!(stalled("hourly").reason, "NotGranted");
    assert!(stalled("hourly").message.contains("puts NOTHING back"), "{:?}", stalled("hourly"));
    assert_eq!(stalled("files").reason, "RestoreByHand");
    assert_eq!(scene.condition("BackupPolicy", "never", "Ready").status, true.into());
    assert!(!scene.backups().is_empty());
}

#[test]
fn a_policy_that_cannot_be_followed_says_so_and_nothing_is_begun() {
    let mut scene = Scene::new();
    scene.create("BackupPolicy", "odd", &policy(&json!({"schedule": {"cron": "often"}})));
    scene.play(5);
    let stalled = scene.condition("BackupPolicy", "odd", "Stalled");
    assert!(stalled.reason == "InvalidPolicy" && stalled.message.contains("spec.schedule"), "{stalled:?}");
}

#[test]
fn jobs_are_refused_while_the_image_of_the_host_is_not_known() {
    let mut scene = Scene::new();
    let plan = of_database(&json!({}));
    let spec = merge(plan.clone(), &json!({"subjects": [{"kind": "Service"}]}));
    scene.runner = pilothouse_sdk::harness::Runner::new(&scene.cluster, backup_plugin::plugin)
        .manifest(include_str!("../../plugin.yaml"))
        .unwrap();
    scene.create("BackupPolicy", "p", &spec);
    scene.back_up("b", &crate::scene::database_subject(), &plan);
    scene.play(5);
    assert!(scene.condition("BackupPolicy", "p", "Stalled").message.contains("setting `image` is missing"));
    let (phase, _, message) = scene.backup("b");
    assert!(phase == "Failed" && message.contains("setting `image` is missing"), "{phase}: {message}");
}
