//! The host killed after each of its writes: the next start finishes or goes back, and nothing is left half done.

use pilothouse_sdk::harness::{Cluster, Fault, Verb, every_crash};
use serde_json::{Value, json};

use crate::scene::{Scene, chart};

/// What must hold whenever things have come to rest.
fn check(scene: &Scene, crash: u32, statuses: &[&str], replicas: u64) {
    assert_eq!(scene.statuses(), statuses, "crash {crash}");
    assert_eq!(scene.replicas(), Some(replicas), "crash {crash}");
    let deployed = scene
        .history()
        .into_iter()
        .filter(|entry| entry.status.as_str() == "deployed")
        .map(|entry| entry.revision);
    let deployed: Vec<u32> = deployed.collect();
    assert_eq!(deployed.len(), 1, "crash {crash}");
    assert_eq!(scene.web()["status"]["release"]["revision"], deployed[0], "crash {crash}");
    assert!(
        scene
            .history()
            .iter()
            .all(|entry| entry.status.as_str() != "deployed" || entry.marks.progress.is_none())
    );
    // What the deployed manifest says is there, and nothing else of the release.
    let manifest = scene.stored(deployed[0]).release.manifest;
    assert_eq!(scene.get(&scene.extra()).is_some(), manifest.contains("web-extra"), "crash {crash}");
    assert!(scene.get(&scene.role()).is_some(), "crash {crash}");
    scene.truth("Deployed");
}

/// Settles, ending every Job that is there, until nothing moves.
fn play(scene: &mut Scene, ends: &[(&str, bool)]) {
    for _ in 0..12 {
        scene.settle();
        scene.run_for(5);
        for (job, good) in ends {
            let Some(found) = scene.get(&scene.job(job)) else { continue };
            if found.pointer("/status/conditions").is_some() {
                continue;
            }
            match good {
                true => scene.complete(job),
                false => scene.fail(job),
            }
        }
    }
}

fn crashes(scene: impl FnMut(u32) -> Cluster, at_least: u32) {
    let crashes = every_crash(scene);
    assert!(crashes >= at_least, "only {crashes} crashes");
}

#[test]
fn an_install_is_finished_wherever_it_was_killed() {
    crashes(
        |crash| {
            let mut scene = Scene::new(&json!({"extra": true}));
            scene.cluster.crash_after_write(crash);
            scene.settle();
            check(&scene, crash, &["deployed"], 1);
            scene.cluster
        },
        6,
    );
}

#[test]
fn an_upgrade_with_hooks_is_finished_wherever_it_was_killed() {
    crashes(
        |crash| {
            let hooks = json!({"backup": true, "migrate": true});
            let mut scene = Scene::installed(&json!({"replicas": 1, "extra": true, "hooks": hooks}));
            scene.set(&json!({"replicas": 2, "extra": false}));
            scene.cluster.crash_after_write(crash);
            play(&mut scene, &[("backup", true), ("migrate", true)]);
            check(&scene, crash, &["superseded", "deployed"], 2);
            let creations = scene
                .cluster
                .writes()
                .iter()
                .filter(|write| write.as_str() == "create batch/v1 Job shop/backup")
                .count();
            assert_eq!(creations, 1, "crash {crash}: the backup is made once");
            assert_eq!(scene.get(&scene.job("backup")), None, "crash {crash}: and deleted by its policy");
            scene.cluster
        },
        12,
    );
}

#[test]
fn a_failed_upgrade_is_rolled_back_wherever_it_was_killed() {
    crashes(
        |crash| {
            let hooks = json!({"migrate": true, "restore": true});
            let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": hooks}));
            scene.set(&json!({"replicas": 2, "extra": true}));
            scene.cluster.crash_after_write(crash);
            scene.settle();
            let mut failed = false;
            for _ in 0..6 {
                scene.settle();
                for (job, good) in [("migrate", false), ("restore", true)] {
                    let open = |job: &Value| job.pointer("/status/conditions").is_none();
                    if scene.get(&scene.job(job)).is_some_and(|job| open(&job))
                        && !(failed && job == "migrate")
                    {
                        failed |= !good;
                        if good { scene.complete(job) } else { scene.fail(job) }
                    }
                }
            }
            check(&scene, crash, &["superseded", "failed", "deployed"], 1);
            assert_eq!(scene.stored(3).release.info.rollback_revision, 1);
            let restores = scene
                .cluster
                .writes()
                .iter()
                .filter(|write| write.as_str() == "create batch/v1 Job shop/restore")
                .count();
            assert_eq!(restores, 1, "crash {crash}: restored once");
            scene.cluster
        },
        14,
    );
}

#[test]
fn an_upgrade_that_is_refused_half_way_is_rolled_back_wherever_it_was_killed() {
    crashes(
        |crash| {
            let mut scene = Scene::installed(&json!({"replicas": 1}));
            // Replicas beyond the quota are refused, but for the rehearsal.
            scene.cluster.fail(Fault::webhook("quota").verb(Verb::Apply).kind("Deployment").nth(2));
            scene.set(&json!({"replicas": 9, "extra": true}));
            scene.cluster.crash_after_write(crash);
            scene.settle();
            let statuses = scene.statuses();
            let at_rest = [vec!["superseded", "failed", "deployed"], vec!["superseded", "deployed"]];
            // Killed between the rehearsal and the refusal, the refusal is spent on the second rehearsal.
            assert!(at_rest.contains(&statuses), "crash {crash}: {statuses:?}");
            scene.cluster
        },
        5,
    );
}

#[test]
fn a_failed_install_is_taken_away_wherever_it_was_killed() {
    crashes(
        |crash| {
            let mut scene = Scene::new(&json!({"extra": true}));
            scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment").always());
            scene.cluster.crash_after_write(crash);
            scene.settle();
            assert_eq!(scene.statuses(), ["failed"], "crash {crash}");
            assert!(scene.objects().is_empty(), "crash {crash}: {:?}", scene.objects());
            scene.truth("ReleaseFailed");
            scene.cluster
        },
        6,
    );
}

#[test]
fn an_uninstall_is_finished_wherever_it_was_killed() {
    crashes(
        |crash| {
            let hooks = json!({"dump": true, "bye": true});
            let mut scene = Scene::installed(&json!({"replicas": 1, "extra": true, "hooks": hooks}));
            scene.set(&json!({"replicas": 2}));
            scene.settle();
            scene.cluster.forget_calls();
            scene.delete();
            scene.cluster.crash_after_write(crash);
            play(&mut scene, &[("dump", true), ("bye", true)]);
            assert_eq!(scene.get(&scene.object()), None, "crash {crash}");
            assert!(scene.history().is_empty(), "crash {crash}: {:?}", scene.statuses());
            assert!(scene.objects().is_empty(), "crash {crash}: {:?}", scene.objects());
            for job in ["dump", "bye"] {
                let creation = format!("create batch/v1 Job shop/{job}");
                let creations = scene.cluster.writes().into_iter().filter(|write| *write == creation).count();
                assert_eq!(creations, 1, "crash {crash}: {job} ran once");
            }
            scene.cluster
        },
        14,
    );
}

#[test]
fn a_test_that_was_asked_for_comes_to_its_end_wherever_it_was_killed() {
    for good in [true, false] {
        crashes(
            |crash| {
                let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": {"probe": true}}));
                scene.ask("test-at", "monday");
                scene.cluster.crash_after_write(crash);
                play(&mut scene, &[("probe", good)]);
                check(&scene, crash, &["deployed"], 1);
                let told = scene.condition("TestSuccess").unwrap();
                assert_eq!(told.reason, if good { "TestSucceeded" } else { "TestFailed" }, "crash {crash}");
                scene.cluster
            },
            3,
        );
    }
}

#[test]
fn an_uninstall_over_several_calls_forgets_nothing_wherever_it_was_killed() {
    crashes(
        |crash| {
            // What is in no namespace goes with nobody's owner.
            let role = "{{ if .Values.extra }}apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: web-extra}\n{{ end }}";
            let spec = json!({"replicas": 1, "hooks": {"dump": true}});
            let mut scene = Scene::with(&spec, &chart(&[("templates/extra.yaml", role)]), &json!({}));
            scene.annotate("uninstall-wait", "true");
            scene.settle();
            // An upgrade that brings an object, fails and cannot go back either.
            let refused = Fault::webhook("no").verb(Verb::Apply).kind("Deployment");
            scene.cluster.fail(refused.nth(2).times(1000));
            scene.set(&json!({"replicas": 2, "extra": true, "hooks": {"dump": true}}));
            scene.settle();
            let extra = "rbac.authorization.k8s.io/v1 ClusterRole web-extra".to_owned();
            assert!(scene.objects().contains(&extra), "crash {crash}: {:?}", scene.objects());
            assert_eq!(scene.statuses(), ["deployed", "failed", "failed"], "crash {crash}");
            scene.delete();
            scene.cluster.crash_after_write(crash);
            play(&mut scene, &[("dump", true)]);
            assert_eq!(scene.get(&scene.object()), None, "crash {crash}");
            assert!(scene.objects().is_empty(), "crash {crash}: {:?}", scene.objects());
            scene.cluster
        },
        6,
    );
}
