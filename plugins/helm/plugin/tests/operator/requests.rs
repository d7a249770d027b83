//! What an owner asks for by annotations, and what the entry of its kind sets.

use pilothouse_sdk::{
    Gvk, ObjectRef, Patch,
    harness::{Fault, Verb},
};
use serde_json::{Value, json};

use crate::scene::{Scene, chart};

fn two_revisions() -> Scene {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene
}

#[test]
fn a_way_back_is_gone_once_and_kept_until_the_spec_changes() {
    let mut scene = two_revisions();
    scene.ask("rollback-to", "1@monday");
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(1));
    assert_eq!(scene.truth("ManualRevision").0, "ChangedByHand");
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.history().len(), 3);
    scene.set(&json!({"replicas": 5}));
    scene.settle();
    assert_eq!((scene.history().len(), scene.replicas()), (4, Some(5)), "the request is of the past");
    scene.runner.restart();
    scene.settle();
    assert_eq!((scene.history().len(), scene.replicas()), (4, Some(5)));
    scene.ask("rollback-to", "1@tuesday");
    scene.settle();
    assert_eq!((scene.history().len(), scene.replicas()), (5, Some(1)));
}

#[test]
fn a_way_back_to_nowhere_changes_nothing_and_is_told_once() {
    for (words, why) in
        [("7", "there is no revision 7; there are 1, 2"), ("2", "revision 2 is the deployed one")]
    {
        let mut scene = two_revisions();
        scene.come_up();
        scene.ask("rollback-to", words);
        scene.settle();
        assert_eq!(scene.statuses(), ["superseded", "deployed"], "{words}");
        let (reason, message) = scene.truth("RollbackRefused");
        assert_eq!(reason, "NoWayBack");
        let said = format!("annotation helm.pilothouse.dev/rollback-to: {words:?} cannot be followed: {why}");
        assert_eq!(message, said);
        scene.truth("Ready");
        let told =
            |scene: &Scene| scene.events().iter().filter(|(reason, _)| reason == "RollbackRefused").count();
        assert_eq!(told(&scene), 1);
        scene.cluster.forget_calls();
        scene.runner.wake(&scene.object(), pilothouse_sdk::Reason::Resync);
        scene.settle();
        let lists = scene.cluster.calls().into_iter().filter(|call| call.verb == Verb::List).count();
        assert_eq!(lists, 0, "it is at rest");
        scene.runner.restart();
        scene.settle();
        assert_eq!(told(&scene), 0, "once");
        // What has become possible since is not done behind anybody's back.
        scene.set(&json!({"replicas": 3}));
        scene.settle();
        assert_eq!(scene.replicas(), Some(3));
        scene.ask("rollback-to", "1");
        scene.settle();
        assert_eq!((scene.condition("RollbackRefused"), scene.replicas()), (None, Some(1)));
    }
    let mut scene = two_revisions();
    scene.ask("rollback-to", "two");
    scene.settle();
    scene.truth("Irreconcilable");
    scene.ask("rollback-to", "7");
    scene.settle();
    scene.truth("RollbackRefused");
    scene.ask("rollback-to", "");
    scene.settle();
    assert_eq!(scene.condition("RollbackRefused"), None);
}

#[test]
fn an_upgrade_can_be_asked_for_although_nothing_changed() {
    let mut scene = Scene::installed(&json!({}));
    scene.ask("force-at", "1");
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.history().len(), 2, "once");
}

#[test]
fn failures_are_repeated_as_often_as_the_entry_says_and_forgotten_on_request() {
    let release = json!({"upgrade": {"remediation": {"retries": 1}}});
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&[]), &json!({ "release": release }));
    scene.settle();
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment").nth(2));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"]);
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment").nth(2));
    scene.run_for(31);
    let failed = |scene: &Scene| scene.statuses().iter().filter(|status| **status == "failed").count();
    assert_eq!(failed(&scene), 2);
    scene.run_for(7200);
    assert_eq!(failed(&scene), 2, "one retry was wanted");
    let (_, message) = scene.truth("Stalled");
    assert!(message.contains("it is not tried again until something else is wanted"), "{message}");
    scene.ask("reset-at", "now");
    scene.settle();
    assert_eq!(scene.replicas(), Some(2));
    assert_eq!(scene.condition("ReleaseFailed"), None);
}

#[test]
fn what_stands_well_is_not_touched_by_a_request_to_forget_failures() {
    let mut scene = two_revisions();
    scene.come_up();
    scene.cluster.forget_calls();
    scene.ask("reset-at", "monday");
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
    crate::by_hand::helm_rollback(&scene, 1, 1);
    scene.settle();
    scene.truth("ManualRevision");
    scene.ask("reset-at", "tuesday");
    scene.settle();
    assert_eq!((scene.history().len(), scene.replicas()), (3, Some(1)), "what was made by hand is kept");
    scene.truth("ManualRevision");
}

#[test]
fn hooks_can_be_switched_off_by_the_entry_and_by_the_object() {
    let release = json!({"upgrade": {"disableHooks": true}});
    let hooks = json!({"replicas": 1, "hooks": {"backup": true, "migrate": true, "dump": true}});
    let mut scene = Scene::with(&hooks, &chart(&[]), &json!({ "release": release }));
    scene.settle();
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.get(&scene.job("backup")), None);
    scene.annotate("uninstall-disable-hooks", "true");
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
}

#[test]
fn an_owner_can_say_what_the_record_says() {
    let mut scene = Scene::new(&json!({"replicas": 1}));
    scene.annotate("install-description", "as ordered");
    scene.annotate("upgrade-description", "as changed");
    scene.settle();
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    let said = |revision| scene.stored(revision).release.info.description;
    assert_eq!((said(1).as_str(), said(2).as_str()), ("as ordered", "as changed"));
}

fn definition(words: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com, annotations: {{words: {words}}}}}\n\
         spec: {{group: example.com, scope: Namespaced, names: {{kind: Thing, plural: things, singular: thing}}, versions: [{{name: v1, served: true, \
         storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]}}\n"
    )
}

#[test]
fn definitions_are_skipped_or_replaced_as_the_entry_says() {
    let reference = ObjectRef::new(
        Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        None,
        "things.example.com",
    );
    let scene_with = |release: &Value| {
        let files = chart(&[("crds/things.yaml", &definition("old"))]);
        let mut scene = Scene::with(&json!({}), &files, &json!({ "release": release }));
        scene.settle();
        if scene.get(&reference).is_some() {
            let established = json!({"conditions": [{"type": "Established", "status": "True"}]});
            scene.cluster.set_status(&reference, &established).unwrap();
            scene.settle();
        }
        assert_eq!(scene.statuses(), ["deployed"]);
        scene
    };
    let scene = scene_with(&json!({"install": {"crds": "Skip"}}));
    assert_eq!(scene.get(&reference), None);
    for (release, wanted) in [(json!({}), "old"), (json!({"upgrade": {"crds": "CreateReplace"}}), "new")] {
        let mut scene = scene_with(&release);
        let files = chart(&[("crds/things.yaml", &definition("new"))]);
        scene.runner = scene.runner.asset("charts/site", files);
        scene.set(&json!({"replicas": 3}));
        scene.run_for(60);
        assert_eq!(scene.replicas(), Some(3));
        assert_eq!(scene.get(&reference).unwrap()["metadata"]["annotations"]["words"], wanted, "{release}");
    }
}

#[test]
fn a_definition_that_is_never_established_is_told_after_the_timeout() {
    let reference = ObjectRef::new(
        Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        None,
        "things.example.com",
    );
    let files = chart(&[("crds/things.yaml", &definition("old"))]);
    let mut scene = Scene::with(&json!({}), &files, &json!({"release": {"timeout": "1m"}}));
    scene.settle();
    let taken = json!({"conditions": [
        {"type": "NamesAccepted", "status": "False", "message": "\"things\" is already in use"},
        {"type": "Established", "status": "False", "message": "not all names are accepted"},
    ]});
    scene.cluster.set_status(&reference, &taken).unwrap();
    scene.settle();
    assert_eq!(scene.truth("Reconciling").0, "WaitingForDefinition");
    scene.run_for(61);
    let (reason, message) = scene.truth("Stalled");
    assert_eq!(reason, "DefinitionNotEstablished");
    assert!(message.contains("things.example.com"), "{message}");
    assert!(message.ends_with("it is not established: \"things\" is already in use"), "{message}");
    assert_eq!(scene.truth("ReleaseFailed").0, "InstallError");
    assert!(scene.history().is_empty());
    let established = json!({"conditions": [{"type": "Established", "status": "True"}]});
    scene.cluster.set_status(&reference, &established).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
}

#[test]
fn an_operation_of_an_operator_that_is_gone_is_taken_over_at_once() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    // helm-operator died over an upgrade: its record names our object, and knows nothing of our notes.
    let mut secret = scene.get(&scene.secret(1)).unwrap();
    let mut release = scene.stored(1).release;
    release.version = 2;
    release.set_status(helm_release::Status::PendingUpgrade, "Preparing upgrade");
    let owners = secret["metadata"]["ownerReferences"].take();
    let now = jiff::Timestamp::try_from(scene.cluster.now()).unwrap();
    let stored = helm_release::Stored::new(release, Default::default(), Default::default());
    let mut pending = stored.secrets(now).unwrap().record;
    pending["metadata"]["ownerReferences"] = owners;
    scene.cluster.create([pending]).unwrap();
    let forget = Patch::merge(&json!({"status": {"release": null}})).unwrap().subresource("status");
    scene.cluster.kubectl().patch_ref::<Value>(&scene.object(), &forget).unwrap();
    scene.runner.restart();
    scene.settle();
    assert_eq!(scene.statuses().last(), Some(&"deployed"), "{:?}", scene.statuses());
    assert_eq!(scene.replicas(), Some(1));
}

#[test]
fn tests_run_on_request_and_what_they_find_is_told() {
    let mut scene = Scene::installed(&json!({"hooks": {"probe": true}}));
    assert_eq!(scene.get(&scene.job("probe")), None, "nobody asked");
    scene.ask("test-at", "monday");
    scene.settle();
    assert_eq!(scene.truth("Reconciling").0, "WaitingForHook");
    assert_eq!(scene.statuses(), ["deployed"]);
    scene.runner.restart();
    scene.settle();
    scene.fail("probe");
    assert_eq!(scene.statuses(), ["deployed"]);
    let told = scene.condition("TestSuccess").unwrap();
    assert_eq!((told.status.as_str(), told.reason.as_str()), ("False", "TestFailed"));
    assert!(told.message.contains("job probe failed"), "{}", told.message);
    assert_eq!(scene.stored(1).release.info.description, "Install complete");
    scene.ask("test-at", "tuesday");
    scene.settle();
    scene.complete("probe");
    assert_eq!(scene.truth("TestSuccess").0, "TestSucceeded");
    scene.cluster.forget_calls();
    scene.runner.restart();
    scene.settle();
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
}

#[test]
fn tests_after_an_upgrade_undo_it_when_they_fail_unless_they_are_only_told() {
    for (test, after) in [
        (json!({"enable": true}), &["superseded", "failed", "deployed"][..]),
        (json!({"enable": true, "ignoreFailures": true}), &["superseded", "deployed"]),
    ] {
        let settings = json!({"release": {"test": test}});
        let mut scene =
            Scene::with(&json!({"replicas": 1, "hooks": {"probe": true}}), &chart(&[]), &settings);
        scene.settle();
        assert_eq!(scene.statuses(), ["pending-install"]);
        scene.complete("probe");
        assert_eq!(scene.statuses(), ["deployed"]);
        scene.set(&json!({"replicas": 2}));
        scene.settle();
        scene.fail("probe");
        assert_eq!(scene.statuses(), after, "{test}");
    }
}

#[test]
fn a_test_that_does_not_end_gives_way_to_a_change_and_fails_in_time() {
    let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": {"probe": true}}));
    scene.ask("test-at", "monday");
    scene.settle();
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["superseded", "deployed"], Some(2)));
    scene.ask("test-at", "tuesday");
    scene.settle();
    assert_eq!(scene.truth("Reconciling").0, "WaitingForHook");
    scene.run_for(301);
    let told = scene.condition("TestSuccess").unwrap();
    assert_eq!(told.reason, "TestFailed");
    assert!(told.message.contains("timed out"), "{}", told.message);
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}
