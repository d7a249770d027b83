//! Hooks around upgrades and rollbacks: in order, by policy, waited for without waiting.

use std::time::Duration;

use pilothouse_sdk::{
    Gvk, ObjectRef, Patch,
    harness::{Fault, Verb},
};
use serde_json::{Value, json};

use crate::scene::{NAMESPACE, Scene, chart};

fn upgrading(hooks: &Value) -> Scene {
    let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": hooks}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene
}

/// A Job that somebody holds when it is deleted.
fn lingering(name: &str) -> Value {
    let metadata = json!({"name": name, "namespace": NAMESPACE, "finalizers": ["example.com/slow"]});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}}})
}

/// Lets it go.
fn release_object(scene: &Scene, name: &str) {
    let free = Patch::merge(&json!({"metadata": {"finalizers": null}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.job(name), &free).unwrap();
}

#[test]
fn the_backup_is_made_before_anything_is_changed() {
    let mut scene = upgrading(&json!({"backup": true}));
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"]);
    assert_eq!(scene.replicas(), Some(1));
    let (reason, message) = scene.truth("Reconciling");
    assert_eq!(reason, "WaitingForHook");
    assert_eq!(message, "pre-upgrade hook Job backup of revision 2 has to come to its end");
    scene.truth("Deployed");
    scene.complete("backup");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(2));
    assert_eq!(scene.get(&scene.job("backup")), None, "deleted by its policy");
    scene.come_up();
}

#[test]
fn while_a_hook_runs_nothing_is_polled() {
    let mut scene = upgrading(&json!({"backup": true}));
    scene.cluster.forget_calls();
    scene.run_for(290);
    assert!(scene.cluster.calls().is_empty(), "{:?}", scene.cluster.calls());
    assert_eq!(scene.runner.next_call(), Some(Duration::from_secs(10)), "when its time is over");
}

#[test]
fn the_job_of_a_hook_is_the_charts_with_our_marks() {
    let scene = upgrading(&json!({"backup": true}));
    let job = scene.get(&scene.job("backup")).unwrap();
    assert_eq!(job["metadata"]["labels"]["helm.sdk.operatorframework.io/chart"], "site");
    assert_eq!(job["metadata"]["annotations"]["helm.pilothouse.dev/hook-run"], "web.v2.pre-upgrade.0.1");
    assert_eq!(
        job["metadata"]["labels"].get("app.kubernetes.io/managed-by"),
        None,
        "as for Helm: not of the release"
    );
}

#[test]
fn a_failed_backup_stops_the_upgrade_and_leaves_the_release_alone() {
    let mut scene = upgrading(&json!({"backup": true, "restore": true}));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "backup-1", "namespace": NAMESPACE, "labels": {"job-name": "backup"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}});
    scene.cluster.create([&pod]).unwrap();
    scene.cluster.set_log(NAMESPACE, "backup-1", None, "connecting\ndisk is full\n");
    scene.fail("backup");
    assert_eq!(scene.statuses(), ["deployed", "failed"]);
    assert_eq!(scene.replicas(), Some(1));
    assert_eq!(scene.get(&scene.job("restore")), None, "nothing was changed, so nothing is restored");
    let (reason, message) = scene.truth("ReleaseFailed");
    assert_eq!(reason, "UpgradeError");
    assert!(
        message.starts_with(
            "Upgrade \"web\" failed: pre-upgrade hooks failed: job backup failed: BackoffLimitExceeded"
        ),
        "{message}"
    );
    assert!(message.ends_with("its log ends with:\nconnecting\ndisk is full"), "{message}");
    scene.truth("Stalled");
    assert!(scene.get(&scene.job("backup")).is_some(), "kept to be looked at");
}

/// A pod of the Job `backup` that wrote something.
fn talking_pod(scene: &Scene) {
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "backup-1", "namespace": NAMESPACE, "labels": {"job-name": "backup"}},
        "spec": {"containers": [{"name": "a", "image": "b"}]}});
    scene.cluster.create([&pod]).unwrap();
    scene.cluster.set_log(NAMESPACE, "backup-1", None, "disk is full\n");
}

#[test]
fn what_a_hook_wrote_is_told_although_its_pods_go_before_it_has_failed() {
    let mut scene = upgrading(&json!({"backup": true}));
    talking_pod(&scene);
    let target = json!({"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded", "message": "too long"});
    scene.cluster.set_status(&scene.job("backup"), &json!({"active": 1, "conditions": [target]})).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"], "its pods are still at work");
    assert_eq!(scene.truth("Reconciling").0, "WaitingForHook");
    let pod = ObjectRef::new(Gvk::new("", "v1", "Pod"), NAMESPACE, "backup-1");
    scene.cluster.kubectl().delete_ref(&pod, &Default::default()).unwrap();
    scene.runner.restart();
    scene.settle();
    scene.fail("backup");
    assert_eq!(scene.statuses(), ["deployed", "failed"]);
    let (_, message) = scene.truth("ReleaseFailed");
    assert!(message.contains("job backup failed: BackoffLimitExceeded"), "{message}");
    assert!(message.ends_with("; its log ends with:\ndisk is full"), "{message}");
    assert_eq!(scene.history()[1].marks.last_words, None);
}

#[test]
fn what_a_hook_wrote_that_does_not_end_is_told_when_its_time_is_over() {
    let mut scene = upgrading(&json!({"backup": true}));
    talking_pod(&scene);
    scene.run_for(301);
    assert_eq!(scene.statuses(), ["deployed", "failed"]);
    let (_, message) = scene.truth("ReleaseFailed");
    let told = "Job backup has not come to its end after 5m; its log ends with:\ndisk is full";
    assert!(message.ends_with(told), "{message}");
}

#[test]
fn a_failed_backup_is_made_again_later_and_at_once_for_another_spec() {
    let mut scene = upgrading(&json!({"backup": true}));
    scene.fail("backup");
    scene.run_for(40);
    assert_eq!(scene.statuses(), ["deployed", "failed", "pending-upgrade"], "after the first wait");
    scene.fail("backup");
    scene.run_for(40);
    assert_eq!(scene.statuses(), ["deployed", "failed", "failed"], "the second wait is longer");
    scene.set(&json!({"replicas": 3}));
    scene.settle();
    scene.complete("backup");
    assert_eq!(scene.statuses(), ["superseded", "failed", "failed", "deployed"]);
    assert_eq!(scene.replicas(), Some(3));
}

#[test]
fn a_failed_migration_rolls_back_and_the_restore_of_the_old_revision_runs_first() {
    let mut scene = upgrading(&json!({"migrate": true, "restore": true}));
    assert_eq!(scene.replicas(), Some(2));
    scene.fail("migrate");
    assert_eq!(scene.statuses(), ["deployed", "failed", "pending-rollback"]);
    assert_eq!(
        scene.truth("Reconciling").1,
        "pre-rollback hook Job restore of revision 3 has to come to its end"
    );
    assert_eq!(scene.replicas(), Some(2), "the restore comes first");
    scene.complete("restore");
    assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"]);
    assert_eq!(scene.replicas(), Some(1));
}

#[test]
fn hooks_run_in_order_of_their_weights_and_one_name_can_be_used_twice() {
    let hook = |weight: &str, claim: bool| {
        let (version, kind, spec) = if claim {
            (
                "v1",
                "PersistentVolumeClaim",
                "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
            )
        } else {
            (
                "batch/v1",
                "Job",
                "{template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}",
            )
        };
        format!(
            "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: twice, annotations: {{helm.sh/hook: pre-upgrade, helm.sh/hook-weight: '{weight}', \
             helm.sh/hook-delete-policy: before-hook-creation}}}}\nspec: {spec}\n"
        )
    };
    let files = [
        ("templates/claim.yaml", hook("-1", true)),
        ("templates/one.yaml", hook("1", false)),
        ("templates/two.yaml", hook("1", false)),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&files), &json!({}));
    scene.settle();
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    let claim = ObjectRef::new(Gvk::new("", "v1", "PersistentVolumeClaim"), NAMESPACE, "twice");
    assert!(scene.get(&claim).is_some());
    let run = |scene: &Scene| {
        scene.get(&scene.job("twice")).unwrap()["metadata"]["annotations"]["helm.pilothouse.dev/hook-run"]
            .clone()
    };
    assert_eq!(run(&scene), "web.v2.pre-upgrade.1.1");
    scene.complete("twice");
    assert_eq!(run(&scene), "web.v2.pre-upgrade.2.1", "the first was deleted for the second");
    scene.complete("twice");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}

#[test]
fn a_hook_that_hangs_is_left_when_the_spec_changes() {
    let mut scene = upgrading(&json!({"backup": true}));
    scene.set(&json!({"replicas": 3}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed", "failed", "pending-upgrade"]);
    scene.complete("backup");
    assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"]);
    assert_eq!(scene.replicas(), Some(3));
}

#[test]
fn a_hook_that_works_is_let_finish_when_the_spec_changes() {
    let mut scene = upgrading(&json!({"backup": true}));
    scene.cluster.set_status(&scene.job("backup"), &json!({"active": 1, "ready": 1})).unwrap();
    scene.set(&json!({"replicas": 3}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"]);
    scene.complete("backup");
    assert_eq!(scene.statuses(), ["deployed", "failed", "pending-upgrade"]);
    scene.complete("backup");
    assert_eq!(scene.replicas(), Some(3));
}

#[test]
fn a_hook_that_never_ends_times_out_as_the_entry_says_or_as_helm_has_it() {
    let minute = Some(Duration::from_mins(1));
    for (settings, limit) in [
        (json!({"hookTimeout": "7m"}), minute.map(|minute| minute * 7)),
        (json!({"hookTimeout": "7m", "release": {"timeout": "1m"}}), minute.map(|minute| minute * 7)),
        (json!({"release": {"timeout": "1m"}}), minute),
        (json!({}), minute.map(|minute| minute * 5)),
        (json!({"hookTimeout": "0s"}), None),
    ] {
        let spec = json!({"replicas": 1, "hooks": {"backup": true}});
        let mut scene = Scene::with(&spec, &chart(&[]), &settings);
        scene.settle();
        scene.come_up();
        scene.set(&json!({"replicas": 2}));
        scene.settle();
        assert_eq!(scene.runner.next_call(), limit, "{settings}");
        let Some(limit) = limit else { continue };
        scene.run_for(limit.as_secs() + 1);
        assert_eq!(scene.statuses(), ["deployed", "failed"], "{settings}");
        let (_, message) = scene.truth("ReleaseFailed");
        let wanted = format!(
            "timed out waiting for the condition: Job backup has not come to its end after {}m",
            limit.as_secs() / 60
        );
        assert!(message.contains(&wanted), "{message}");
    }
}

#[test]
fn the_log_that_is_shown_is_of_the_container_that_failed() {
    let ended = |name: &str, code: u32, at: &str| {
        let finished = format!("2026-01-01T00:00:{at}Z");
        json!({"name": name, "state": {"terminated": {"exitCode": code, "finishedAt": finished}}})
    };
    let waiting = |name: &str| json!({"name": name, "state": {"waiting": {"reason": "PodInitializing"}}});
    let proxy = json!({"kubectl.kubernetes.io/default-container": "dump"});
    for (statuses, annotations, wanted) in [
        (
            json!({"containerStatuses": [ended("proxy", 137, "09"), ended("dump", 1, "05")]}),
            json!({}),
            "dump",
        ),
        (json!({"containerStatuses": [ended("proxy", 1, "01"), ended("dump", 0, "05")]}), json!({}), "proxy"),
        (
            json!({"initContainerStatuses": [ended("wait", 2, "01")], "containerStatuses": [waiting("proxy"), waiting("dump")]}),
            json!({}),
            "wait",
        ),
        (json!({}), proxy, "dump"),
        (json!({}), json!({}), "proxy"),
    ] {
        let mut scene = upgrading(&json!({"backup": true}));
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "backup-1", "namespace": NAMESPACE, "labels": {"job-name": "backup"}, "annotations": annotations},
        "spec": {
            "initContainers": [{"name": "wait", "image": "i"}],
            "containers": [{"name": "proxy", "image": "i"}, {"name": "dump", "image": "i"}],
        }});
        scene.cluster.create([&pod]).unwrap();
        let reference = ObjectRef::new(Gvk::new("", "v1", "Pod"), NAMESPACE, "backup-1");
        scene.cluster.set_status(&reference, &statuses).unwrap();
        for container in ["wait", "proxy", "dump"] {
            scene.cluster.set_log(NAMESPACE, "backup-1", Some(container), &format!("{container} speaks"));
        }
        scene.fail("backup");
        let (_, message) = scene.truth("ReleaseFailed");
        assert!(
            message.ends_with(&format!("; its log of {wanted} ends with:\n{wanted} speaks")),
            "{message}"
        );
    }
}

#[test]
fn what_stands_in_a_hooks_way_and_does_not_go_fails_the_upgrade() {
    let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": {"backup": true}}));
    scene.cluster.create([&lingering("backup")]).unwrap();
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene.run_for(301);
    assert_eq!(scene.statuses(), ["deployed", "failed"]);
    let (_, message) = scene.truth("ReleaseFailed");
    assert!(message.contains("Job backup of an earlier run is still being deleted after 5m"), "{message}");
    release_object(&scene, "backup");
    scene.run_for(60);
    scene.complete("backup");
    assert_eq!(scene.replicas(), Some(2), "{:?}", scene.statuses());
}

#[test]
fn a_hook_that_has_run_and_does_not_go_does_not_hold_the_upgrade() {
    let mut scene = upgrading(&json!({"backup": true}));
    let hold = Patch::merge(&json!({"metadata": {"finalizers": ["example.com/slow"]}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.job("backup"), &hold).unwrap();
    scene.complete("backup");
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"]);
    scene.run_for(301);
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert!(scene.events().iter().any(|(reason, _)| reason == "HookNotDeleted"), "{:?}", scene.events());
}

#[test]
fn a_deleted_job_is_made_again() {
    let mut scene = upgrading(&json!({"backup": true}));
    scene.cluster.kubectl().delete_ref(&scene.job("backup"), &Default::default()).unwrap();
    scene.settle();
    let job = scene.get(&scene.job("backup")).unwrap();
    assert_eq!(job["metadata"]["annotations"]["helm.pilothouse.dev/hook-run"], "web.v2.pre-upgrade.0.2");
    scene.complete("backup");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}

#[test]
fn a_leftover_with_a_finalizer_is_waited_for_before_the_hook_is_made_again() {
    let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": {"backup": true}}));
    scene.cluster.create([&lingering("backup")]).unwrap();
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.truth("Reconciling").1, "pre-upgrade hook Job backup of revision 2 is being deleted");
    release_object(&scene, "backup");
    scene.settle();
    scene.complete("backup");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}

#[test]
fn the_answer_to_a_jobs_creation_may_get_lost() {
    let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": {"backup": true}}));
    scene.cluster.fail(Fault::lost_answer().verb(Verb::Create).kind("Job"));
    scene.set(&json!({"replicas": 2}));
    scene.run_for(5);
    scene.complete("backup");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    let creations =
        scene.cluster.writes().iter().filter(|write| write.starts_with("create batch/v1 Job")).count();
    assert_eq!(creations, 1);
}

#[test]
fn a_job_that_may_not_be_created_is_known_before_the_upgrade_begins() {
    let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": {"backup": true}}));
    scene.cluster.forbid("create", "jobs");
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    assert!(scene.truth("ReleaseFailed").1.contains("may not create batch/v1 Job in namespace shop"));
    scene.cluster.permit("create", "jobs");
    scene.run_for(100);
    scene.complete("backup");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}
