//! Backups: what must never be, at every place at which the host can die.

use backup_api::{BackupPhase, BackupStatus};
use serde_json::{Value, json};

use crate::{
    play::{Mishaps, plan, play},
    world::{Fate, Rules, World},
};

fn life(change: Value, rules: Rules, mishaps: &Mishaps) -> (World, usize) {
    let mut world = World::new(&plan(change), rules);
    let places = play(&mut world, mishaps);
    (world, places)
}

fn calm(change: Value, rules: Rules) -> BackupStatus {
    life(change, rules, &Mishaps::default()).0.status
}

fn fates(fates: &[Fate]) -> Rules {
    Rules { fates: fates.to_vec(), ..Rules::default() }
}

fn scenes() -> Vec<(&'static str, Value, Rules)> {
    let all = json!({"verification": {"level": "Restore"}});
    vec![
        ("well", json!({}), Rules::default()),
        ("hash", json!({"verification": {"level": "Hash"}}), Rules::default()),
        ("trial", all.clone(), Rules::default()),
        ("trial fails", all, Rules { trial: Fate::Fails, ..Rules::default() }),
        ("dump fails once", json!({}), fates(&[Fate::Fails])),
        ("fails after the object is whole", json!({}), fates(&[Fate::FailsAfterwards])),
        ("hangs", json!({"timeout": "3m"}), fates(&[Fate::Hangs])),
        ("corrupts", json!({}), fates(&[Fate::Corrupts])),
        ("loses", json!({}), fates(&[Fate::Loses])),
        ("lingers", json!({"timeout": "30s"}), fates(&[Fate::Lingers])),
        ("does not come to rest", json!({}), Rules { pre: vec![1], ..Rules::default() }),
        ("comes to rest slowly", json!({}), Rules { freeze: 9, ..Rules::default() }),
        ("comes to rest too slowly", json!({"timeout": "5s"}), Rules { freeze: 9, ..Rules::default() }),
        ("is released late", json!({}), Rules { post: vec![1, 1, 1], ..Rules::default() }),
        ("ends are not heard", json!({}), Rules { deaf: 3, ..Rules::default() }),
        ("pod is replaced", json!({}), Rules { replaced: Some(20), ..Rules::default() }),
        ("pod vanishes", json!({}), Rules { vanishes: Some(20), ..Rules::default() }),
        ("storage is down at the end", json!({}), Rules { outage: Some((30, 200)), ..Rules::default() }),
        ("storage is down while reading", json!({}), Rules { outage: Some((46, 120)), ..Rules::default() }),
        ("no retries", json!({"retries": 0}), fates(&[Fate::Fails])),
    ]
}

#[test]
fn a_backup_is_completed_with_a_whole_object_and_its_entry() {
    let (world, _) = life(json!({}), Rules::default(), &Mishaps::default());
    let status = &world.status;
    assert_eq!((status.phase, status.verified, status.attempts), (BackupPhase::Completed, true, 1));
    assert_eq!((status.hooks.attempted, status.hooks.failed), (2, 0));
    let artefact = status.artefact.clone().unwrap();
    assert!(artefact.key.starts_with("shop/StatefulSet.apps/db/20260110T020000Z-"), "{}", artefact.key);
    assert_eq!(artefact.uri, format!("s3://bucket/backups/{}", artefact.key));
    assert!(status.run.is_none() && status.duration.is_some());
}

#[test]
fn every_failure_ends_as_it_should() {
    let phase = |name: &str| {
        let (_, change, rules) = scenes().into_iter().find(|(scene, ..)| *scene == name).unwrap();
        let status = calm(change, rules);
        (status.phase, status.attempts)
    };
    for scene in
        ["dump fails once", "fails after the object is whole", "corrupts", "loses", "does not come to rest"]
    {
        assert_eq!(phase(scene), (BackupPhase::Completed, 2), "{scene}");
    }
    for scene in ["well", "hash", "trial", "is released late", "storage is down while reading"] {
        assert_eq!(phase(scene), (BackupPhase::Completed, 1), "{scene}");
    }
    for scene in ["hangs", "lingers", "no retries"] {
        assert_eq!(phase(scene), (BackupPhase::Failed, 1), "{scene}");
    }
    assert_eq!(phase("trial fails"), (BackupPhase::Failed, 3));
}

#[test]
fn whatever_place_the_host_dies_at_nothing_is_left_at_rest_or_half_done() {
    for (scene, change, rules) in scenes() {
        let (_, places) = life(change.clone(), rules.clone(), &Mishaps::default());
        assert!(places > 40, "{scene}: {places}");
        for at in 0..places {
            let mishaps = Mishaps { crashes: vec![at], ..Mishaps::default() };
            let (world, _) = life(change.clone(), rules.clone(), &mishaps);
            assert!(
                [BackupPhase::Completed, BackupPhase::Failed].contains(&world.status.phase),
                "{scene}, crash at {at}: {:?}",
                world.status
            );
        }
    }
}

#[test]
fn a_host_that_dies_once_still_takes_the_backup() {
    let (_, places) = life(json!({}), Rules::default(), &Mishaps::default());
    for at in 0..places {
        let mishaps = Mishaps { crashes: vec![at], ..Mishaps::default() };
        let (world, _) = life(json!({}), Rules::default(), &mishaps);
        assert_eq!(world.status.phase, BackupPhase::Completed, "crash at {at}");
        assert!(world.status.attempts <= 2);
    }
}

#[test]
fn a_host_that_dies_twice_leaves_nothing_half_done_either() {
    for (scene, change, rules) in scenes() {
        let (_, places) = life(change.clone(), rules.clone(), &Mishaps::default());
        for first in (0..places).step_by(5) {
            for second in (first + 1..places + 40).step_by(11) {
                let mishaps = Mishaps { crashes: vec![first, second], ..Mishaps::default() };
                let (world, _) = life(change.clone(), rules.clone(), &mishaps);
                assert!(world.status.run.is_none(), "{scene}, crashes at {first} and {second}");
            }
        }
    }
}

#[test]
fn a_backup_that_is_deleted_at_any_moment_releases_the_database_and_goes() {
    for policy in ["Delete", "Retain"] {
        for (scene, change, rules) in scenes() {
            let change = backup_core::manifest::merge(change, &json!({"deletionPolicy": policy}));
            let (_, places) = life(change.clone(), rules.clone(), &Mishaps::default());
            for at in 0..places {
                let mishaps = Mishaps { deleted: Some(at), ..Mishaps::default() };
                let (world, _) = life(change.clone(), rules.clone(), &mishaps);
                assert!(world.gone, "{scene}, deleted at {at}");
                if policy == "Delete" {
                    assert!(world.store.is_empty(), "{scene}, deleted at {at}: {:?}", world.store);
                }
            }
        }
    }
}

#[test]
fn a_host_that_dies_while_it_deletes_deletes_all_the_same() {
    let change = json!({"deletionPolicy": "Delete"});
    let (_, places) = life(change.clone(), Rules::default(), &Mishaps::default());
    let (_, all) =
        life(change.clone(), Rules::default(), &Mishaps { deleted: Some(places - 4), ..Mishaps::default() });
    for at in 0..all + 8 {
        for deleted in [places / 3, places - 4] {
            let mishaps = Mishaps { crashes: vec![at], deleted: Some(deleted) };
            let (world, _) = life(change.clone(), Rules::default(), &mishaps);
            assert!(world.gone && world.store.is_empty(), "crash at {at}, deleted at {deleted}");
        }
    }
}

#[test]
fn a_database_that_does_not_come_to_rest_is_not_read() {
    let failing = Rules { pre: vec![1, 1, 1], ..Rules::default() };
    let status = calm(json!({}), failing);
    assert_eq!((status.phase, status.attempts, status.hooks.failed), (BackupPhase::Failed, 3, 3));
    assert!(status.message.contains("quiesce.pre[0] in pod db-0"), "{}", status.message);
}

#[test]
fn a_command_without_a_pod_is_no_rest() {
    let nobody =
        json!({"quiesce": {"pre": [{"selector": {"matchLabels": {"app": "other"}}, "command": ["freeze"]}]}});
    let status = calm(nobody, Rules::default());
    assert_eq!(status.phase, BackupPhase::Failed);
    assert!(status.message.contains("selects no running pod"), "{}", status.message);
}

#[test]
fn one_that_may_fail_does_not_stop_the_backup() {
    let hook = |word: &str| json!([{"selector": {"matchLabels": {"app": "db"}}, "command": [word], "timeout": "10s", "onError": "Continue"}]);
    let change = json!({"quiesce": {"pre": hook("freeze"), "post": hook("thaw")}});
    let status = calm(change, Rules { pre: vec![1], ..Rules::default() });
    assert_eq!((status.phase, status.attempts, status.hooks.failed), (BackupPhase::Completed, 1, 1));
}

#[test]
fn a_release_that_never_works_is_told_and_fails_the_backup() {
    let mut world = World::new(&plan(json!({})), Rules { post: vec![1; 10], ..Rules::default() });
    let played =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&mut world, &Mishaps::default())));
    // The end of the play finds the database at rest, as it is.
    assert!(played.is_err() && world.frozen);
    assert_eq!(world.status.phase, BackupPhase::Failed);
    assert!(world.status.message.contains("may still be at rest"), "{}", world.status.message);
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_refused_before_anything_is_done() {
    for (change, said) in [
        (json!({"strategy": {"job": {"parameters": {"host": null}}}}), "strategy.job.parameters.host"),
        (json!({"strategy": {"etcd": {}}}), "exactly one"),
        (json!({"storage": null}), "it is needed"),
        (json!({"strategy": {"job": {"template": {"spec": {"restartPolicy": "Always"}}}}}), "restartPolicy"),
        (
            json!({"strategy": {"job": {"template": {"spec": {"containers": [{"name": "transfer"}]}}}}}),
            "is taken",
        ),
    ] {
        let mut world = World::new(&plan(change), Rules::default());
        play(&mut world, &Mishaps::default());
        assert_eq!((world.status.phase, world.status.attempts), (BackupPhase::Failed, 0));
        assert!(world.status.message.contains(said), "{}", world.status.message);
    }
}
