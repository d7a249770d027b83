//! What may go wrong during an install, and what is left of it.

use pilothouse_sdk::{
    Gvk, ObjectRef,
    harness::{Fault, Verb},
};
use serde_json::json;

use crate::scene::{Scene, chart};

#[test]
fn a_failed_install_is_taken_away_and_not_repeated_at_once() {
    let mut scene = Scene::new(&json!({}));
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment").times(4));
    scene.settle();
    assert_eq!(scene.statuses(), ["failed"]);
    assert!(scene.objects().is_empty(), "{:?}", scene.objects());
    let (reason, message) = scene.truth("ReleaseFailed");
    assert_eq!(reason, "InstallError");
    assert!(message.starts_with("Release \"web\" failed: cannot apply Deployment \"web\""), "{message}");
    scene.truth("Stalled");
    scene.cluster.forget_calls();
    scene.run_for(29);
    assert!(scene.writes().is_empty());
    scene.run_for(2);
    assert_eq!(scene.statuses(), ["failed", "deployed"], "what the rehearsal says no to spends no revision");
    assert_eq!(scene.truth("Deployed").0, "InstallSuccessful", "whatever its number is");
    assert_eq!(scene.condition("ReleaseFailed"), None);
}

#[test]
fn a_failed_install_is_repeated_at_once_when_the_spec_changes() {
    let mut scene = Scene::new(&json!({"extra": true}));
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment"));
    scene.settle();
    scene.set(&json!({"extra": false, "replicas": 3}));
    scene.settle();
    assert_eq!(scene.statuses(), ["failed", "deployed"]);
    assert_eq!(scene.get(&scene.extra()), None);
}

#[test]
fn an_object_whose_install_failed_can_go() {
    let mut scene = Scene::new(&json!({}));
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment").always());
    scene.settle();
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.history().is_empty());
}

#[test]
fn a_kind_that_is_not_there_yet_is_waited_for() {
    let thing = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: web-thing}\n";
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/thing.yaml", thing)]), &json!({}));
    scene.settle();
    let (reason, message) = scene.truth("Reconciling");
    assert_eq!(
        (reason.as_str(), message.as_str()),
        ("WaitingForKind", "the cluster does not serve example.com/v1 Thing yet")
    );
    scene
        .cluster
        .define(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
        }))
        .unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
}

#[test]
fn a_manifest_that_is_no_object_fails_before_anything_is_stored() {
    let mut scene =
        Scene::with(&json!({}), &chart(&[("templates/bad.yaml", "metadata: {name: x}\n")]), &json!({}));
    scene.settle();
    assert!(scene.history().is_empty());
    let (_, message) = scene.truth("ReleaseFailed");
    assert!(message.contains("Object 'Kind' is missing in site/templates/bad.yaml"), "{message}");
}

#[test]
fn a_template_error_leaves_the_deployed_release_untouched_and_repaired() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.set(&json!({"broken": true, "replicas": 2}));
    scene.settle();
    let (reason, message) = scene.truth("Irreconcilable");
    assert_eq!(reason, "ReconcileError");
    assert!(message.starts_with("failed to get candidate release: "), "{message}");
    assert_eq!(scene.replicas(), Some(1));
    scene.truth("Deployed");
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(1), "drift is repaired all the same");
    scene.set(&json!({"broken": false}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(2));
    assert_eq!(scene.condition("Irreconcilable"), None);
}

#[test]
fn of_two_writers_of_a_record_the_second_tries_again() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.cluster.fail(Fault::conflict().verb(Verb::Update).kind("Secret").times(2));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.condition("ReleaseFailed"), None);
    scene.run_for(10);
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}

#[test]
fn a_write_whose_answer_got_lost_is_found_again() {
    for verb in [Verb::Create, Verb::Update] {
        let mut scene = Scene::installed(&json!({"replicas": 1}));
        scene.cluster.fail(Fault::lost_answer().verb(verb).kind("Secret"));
        scene.set(&json!({"replicas": 2}));
        scene.run_for(10);
        assert_eq!(scene.statuses(), ["superseded", "deployed"], "{verb}");
        assert_eq!(scene.replicas(), Some(2));
    }
}

#[test]
fn a_bad_binding_is_told_on_the_object() {
    let mut scene = Scene::with(&json!({}), &chart(&[]), &json!({"hookTimeout": "soon"}));
    scene.settle();
    let told = scene.web()["status"].to_string();
    assert!(told.contains("is not a duration such as 5m"), "{told}");
}

/// Everything of the release is there but its records: somebody deleted them, or a backup did not have them.
fn without_records(scene: &mut Scene) {
    for entry in scene.history() {
        scene.cluster.kubectl().delete_ref(&scene.secret(entry.revision), &Default::default()).unwrap();
    }
}

#[test]
fn a_failed_install_takes_nothing_away_that_was_there_before() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    without_records(&mut scene);
    // The first apply of the Deployment is a rehearsal.
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment").nth(2).times(1000));
    scene.set(&json!({"extra": true}));
    scene.settle();
    assert_eq!(scene.statuses(), ["failed"]);
    assert!(scene.get(&scene.deployment()).is_some(), "it was there before");
    assert_eq!(scene.get(&scene.extra()), None, "the install brought it");
    scene.cluster.heal();
    scene.run_for(31);
    assert_eq!(scene.statuses(), ["failed", "deployed"]);
}

#[test]
fn an_install_over_what_is_there_is_rehearsed() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    without_records(&mut scene);
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment").always());
    scene.set(&json!({"extra": true}));
    scene.settle();
    assert!(scene.history().is_empty());
    assert_eq!(scene.get(&scene.extra()), None);
}

#[test]
fn drift_is_repaired_also_while_the_chart_is_broken() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.runner = scene.runner.asset("charts/site", [("Chart.yaml", "name: [")]);
    scene.settle();
    assert_eq!(scene.truth("Irreconcilable").0, "ReconcileError");
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(1));
    scene.truth("Irreconcilable");
    scene.runner = scene.runner.asset("charts/site", chart(&[]));
    scene.settle();
    assert_eq!(scene.condition("Irreconcilable"), None);
}

#[test]
fn an_operation_that_began_comes_to_its_end_also_when_the_chart_breaks_meanwhile() {
    let mut scene = Scene::installed(&json!({"hooks": {"backup": true}}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"]);
    scene.runner = scene.runner.asset("charts/site", [("Chart.yaml", "name: [")]);
    scene.settle();
    scene.complete("backup");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(2));
}

#[test]
fn what_an_upgrade_makes_possible_is_no_reason_to_refuse_it() {
    let thing = |words: &str, one: &str| {
        let definition = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
             spec: {{group: example.com, scope: Namespaced, names: {{kind: Thing, plural: things, singular: thing}}, versions: [{{name: v1, \
             served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, properties: {{word: {{type: string, enum: {words}}}}}}}}}}}]}}\n"
        );
        let thing =
            format!("apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: web-thing}}\nword: {one}\n");
        chart(&[("templates/definition.yaml", &definition), ("templates/thing.yaml", &thing)])
    };
    let mut scene = Scene::with(&json!({}), &thing("[a]", "a"), &json!({}));
    scene.run_for(60);
    assert_eq!(scene.statuses(), ["deployed"], "{}", scene.web()["status"]);
    scene.runner = scene.runner.asset("charts/site", thing("[a, b]", "b"));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"], "{}", scene.web()["status"]);
}

const THING: &str =
    "{{ if .Values.extra }}apiVersion: example.com/v2\nkind: Thing\nmetadata: {name: web-thing}\n{{ end }}";

/// A release whose upgrade has a Deployment, and an object of a kind that nobody serves.
fn with_a_thing(more: &[(&str, &str)], options: &serde_json::Value) -> Scene {
    let files: Vec<_> = [("templates/extra.yaml", THING)].into_iter().chain(more.iter().copied()).collect();
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&files), &json!({ "release": options }));
    scene.settle();
    scene.cluster.set_ready(&scene.deployment()).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    scene
}

fn things(version: &str) -> serde_json::Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            "versions": [{"name": version, "served": true, "storage": true, "schema": schema}]},
    })
}

#[test]
fn an_upgrade_to_a_kind_that_is_not_served_waits_before_it_changes_anything() {
    let mut scene = with_a_thing(&[], &json!({"wait": true, "timeout": "30s"}));
    scene.set(&json!({"replicas": 2, "extra": true}));
    scene.settle();
    let waits = "the cluster does not serve example.com/v2 Thing yet".to_owned();
    assert_eq!(scene.truth("Reconciling"), ("WaitingForKind".to_owned(), waits.clone()));
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(1)));
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(1), "what is deployed stays repaired");
    scene.run_for(600);
    assert_eq!(scene.truth("Stalled"), ("WaitingForKind".to_owned(), waits), "nobody expects it any more");
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(1)));
    scene.runner.restart();
    scene.settle();
    scene.truth("Stalled");
    scene.cluster.define(&things("v2")).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(2));
    scene.cluster.set_ready(&scene.deployment()).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    scene.truth("Ready");
}

#[test]
fn an_upgrade_whose_kind_does_not_come_with_it_is_taken_back_in_time() {
    let definition = format!("{{{{ if .Values.extra }}}}{}\n{{{{ end }}}}", things("v1"));
    let more = [("templates/definition.yaml", definition.as_str())];
    for options in [json!({"wait": true, "timeout": "30s"}), json!({"timeout": "30s"})] {
        let mut options = options;
        options["upgrade"] = json!({"remediation": {"retries": 0}});
        let mut scene = with_a_thing(&more, &options);
        scene.set(&json!({"replicas": 2, "extra": true}));
        scene.settle();
        assert_eq!(scene.truth("Reconciling").0, "WaitingForKind");
        assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"]);
        scene.run_for(20);
        assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"], "it may still come");
        scene.run_for(15);
        scene.cluster.set_ready(&scene.deployment()).unwrap();
        scene.run_for(60);
        assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"], "{options}");
        assert_eq!(scene.replicas(), Some(1));
        let (reason, message) = scene.truth("ReleaseFailed");
        assert_eq!(reason, "UpgradeError");
        assert!(message.contains("the cluster does not serve example.com/v2 Thing"), "{message}");
    }
}

#[test]
fn an_upgrade_may_bring_its_kind_in_crds() {
    let definition = things("v2").to_string();
    let more = [("crds/thing.yaml", definition.as_str())];
    let files: Vec<_> = [("templates/extra.yaml", THING)].into_iter().chain(more).collect();
    let mut scene =
        Scene::with(&json!({}), &chart(&[]), &json!({"release": {"upgrade": {"crds": "CreateReplace"}}}));
    scene.settle();
    scene.runner = scene.runner.asset("charts/site", chart(&files));
    scene.set(&json!({"extra": true}));
    scene.settle();
    let definition = Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definition = ObjectRef::new(definition, None::<&str>, "things.example.com");
    let established = json!({"conditions": [{"type": "Established", "status": "True"}]});
    scene.cluster.set_status(&definition, &established).unwrap();
    scene.run_for(60);
    assert_eq!(scene.statuses(), ["superseded", "deployed"], "{}", scene.web()["status"]);
}

#[test]
fn an_install_that_waits_for_a_kind_is_stalled_in_time_and_goes_on_when_it_comes() {
    let mut scene = Scene::with(
        &json!({"extra": true}),
        &chart(&[("templates/extra.yaml", THING)]),
        &json!({"release": {"timeout": "30s"}}),
    );
    scene.settle();
    assert_eq!(scene.truth("Reconciling").0, "WaitingForKind");
    scene.run_for(40);
    assert_eq!(scene.truth("Stalled").0, "WaitingForKind");
    scene.cluster.define(&things("v2")).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
}
