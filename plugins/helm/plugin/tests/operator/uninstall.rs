//! The release goes with its object.

use pilothouse_sdk::{
    DeleteOptions, Gvk, ObjectRef, Patch,
    harness::{Fault, Verb},
};
use serde_json::{Value, json};

use crate::scene::{NAMESPACE, Scene, chart};

#[test]
fn everything_goes_with_the_object_in_uninstall_order() {
    let mut scene = Scene::installed(&json!({"extra": true}));
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.objects().is_empty(), "{:?}", scene.objects());
    assert!(scene.history().is_empty());
    assert_eq!(
        scene.writes(),
        [
            "update v1 Secret shop/sh.helm.release.v1.web.v1",
            "delete apps/v1 Deployment shop/web",
            "delete rbac.authorization.k8s.io/v1 ClusterRole web-reader",
            "delete v1 ConfigMap shop/web-extra",
            "delete v1 Secret shop/web-password",
            "update v1 Secret shop/sh.helm.release.v1.web.v1",
            "delete v1 Secret shop/sh.helm.release.v1.web.v1",
        ]
    );
}

#[test]
fn all_revisions_go_the_newest_last() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene.cluster.forget_calls();
    scene.delete();
    scene.settle();
    let deleted: Vec<String> = scene
        .writes()
        .into_iter()
        .filter(|write| write.starts_with("delete v1 Secret shop/sh.helm"))
        .collect();
    assert_eq!(
        deleted,
        [
            "delete v1 Secret shop/sh.helm.release.v1.web.v1",
            "delete v1 Secret shop/sh.helm.release.v1.web.v2"
        ]
    );
}

#[test]
fn an_object_with_nothing_installed_just_goes() {
    let mut scene = Scene::new(&json!({"broken": true}));
    scene.settle();
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
}

#[test]
fn what_is_kept_or_not_ours_stays() {
    let keep = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-extra, annotations: {helm.sh/resource-policy: keep}}\n";
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/extra.yaml", keep)]), &json!({}));
    scene.settle();
    let patch =
        Patch::merge(&json!({"metadata": {"annotations": {"meta.helm.sh/release-name": "other"}}})).unwrap();
    // The host is down while somebody else takes the role over.
    scene.cluster.kubectl().patch_ref::<Value>(&scene.role(), &patch).unwrap();
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.get(&scene.extra()).is_some());
    scene.cluster.collect_garbage();
    assert!(scene.get(&scene.extra()).is_some(), "nor does it go with its owner");
}

#[test]
fn hooks_run_around_it_and_their_own_end_is_waited_for() {
    let mut scene = Scene::installed(&json!({"hooks": {"dump": true, "bye": true}}));
    scene.delete();
    scene.settle();
    let message = scene.truth("Reconciling").1;
    assert_eq!(message, "pre-delete hook Job dump of revision 1 has to come to its end");
    assert!(scene.get(&scene.deployment()).is_some(), "nothing goes before the dump is made");
    scene.complete("dump");
    assert_eq!(scene.get(&scene.deployment()), None);
    assert_eq!(scene.get(&scene.job("dump")), None, "deleted by its policy");
    assert!(scene.get(&scene.object()).is_some());
    scene.complete("bye");
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.history().is_empty());
}

#[test]
fn a_failed_hook_before_it_keeps_everything_and_is_tried_again() {
    let mut scene = Scene::installed(&json!({"hooks": {"dump": true}}));
    scene.delete();
    scene.settle();
    scene.fail("dump");
    let (reason, message) = scene.truth("ReleaseFailed");
    assert_eq!(reason, "UninstallError");
    assert!(message.contains("job dump failed: BackoffLimitExceeded"), "{message}");
    assert!(scene.get(&scene.deployment()).is_some());
    scene.run_for(30);
    let job = scene.get(&scene.job("dump"));
    if job.is_some() {
        scene.cluster.complete_job(NAMESPACE, "dump").unwrap();
    }
    scene.run_for(700);
    assert_eq!(scene.get(&scene.object()), None);
}

#[test]
fn a_failed_hook_after_it_does_not_hold_the_object() {
    let mut scene = Scene::installed(&json!({"hooks": {"bye": true}}));
    scene.delete();
    scene.settle();
    scene.fail("bye");
    assert_eq!(scene.get(&scene.object()), None);
    assert_eq!(scene.get(&scene.job("bye")), None, "deleted by its policy");
}

#[test]
fn uninstall_wait_keeps_the_object_until_everything_is_gone() {
    let mut scene = Scene::new(&json!({}));
    scene.annotate("uninstall-wait", "true");
    scene.settle();
    let held = json!({"metadata": {"finalizers": ["example.com/slow"]}});
    let patch = Patch::merge(&held).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &patch).unwrap();
    scene.settle();
    scene.delete();
    scene.settle();
    let condition = scene.condition("Deployed").unwrap();
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "UninstallSuccessful"));
    assert_eq!(
        condition.message,
        "Waiting until all resources are deleted: Deployment \"web\" in namespace \"shop\" is still there."
    );
    let free = Patch::merge(&json!({"metadata": {"finalizers": null}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &free).unwrap();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.history().is_empty());
}

#[test]
fn it_needs_neither_chart_nor_valid_values() {
    let mut scene = Scene::installed(&json!({}));
    scene.runner = scene.runner.asset("charts/site", [("Chart.yaml", "not: [a chart")]);
    scene.set(&json!({"broken": true}));
    scene.settle();
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.objects().is_empty());
}

#[test]
fn objects_that_a_half_done_upgrade_brought_go_too() {
    let mut scene = Scene::installed(&json!({}));
    // The Deployment comes after the ConfigMap, and nobody answers for it.
    scene.cluster.fail(Fault::unavailable().verb(Verb::Apply).kind("Deployment").nth(2).times(1000));
    scene.set(&json!({"extra": true, "replicas": 2}));
    scene.settle();
    assert!(scene.get(&scene.extra()).is_some());
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"]);
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.objects().is_empty(), "{:?}", scene.objects());
}

#[test]
fn deleting_the_operator_first_leaves_nothing_stuck_once_it_is_back() {
    let mut scene = Scene::installed(&json!({}));
    scene.delete();
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &DeleteOptions::default()).unwrap();
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.objects().is_empty());
    let gone = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, "nothing");
    assert_eq!(scene.get(&gone), None);
}

#[test]
fn what_is_outside_of_the_namespace_goes_too_when_the_records_are_gone() {
    let mut scene = Scene::installed(&json!({}));
    scene.cluster.kubectl().delete_ref(&scene.secret(1), &DeleteOptions::default()).unwrap();
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert_eq!(scene.get(&scene.role()), None);
    assert!(scene.objects().is_empty(), "{:?}", scene.objects());
}

#[test]
fn a_namespace_that_goes_is_not_kept_by_a_hook_that_cannot_run_in_it() {
    let mut scene = Scene::installed(&json!({"hooks": {"dump": true}}));
    let namespace = ObjectRef::new(Gvk::new("", "v1", "Namespace"), None, NAMESPACE);
    let going = Patch::merge(&json!({"metadata": {"finalizers": ["kubernetes"]}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&namespace, &going).unwrap();
    scene.cluster.kubectl().delete_ref(&namespace, &DeleteOptions::default()).unwrap();
    scene
        .cluster
        .fail(Fault::webhook("because it is being terminated").verb(Verb::Create).kind("Job").always());
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert_eq!(scene.get(&scene.role()), None);
}
