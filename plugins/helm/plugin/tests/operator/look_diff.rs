//! What an upgrade would change, told before it does.

use pilothouse_sdk::{Gvk, ObjectRef, Patch};
use serde_json::{Value, json};

use crate::by_hand::{helm_rollback, two_revisions};
use crate::scene::{DEPLOYMENT, NAME, Scene, chart};
use crate::unknown_fields::unknown;

fn diff(scene: &Scene) -> Value {
    let writes = scene.cluster.writes();
    let told = scene.command("diff", &json!({})).unwrap();
    assert_eq!(scene.cluster.writes(), writes, "a look changes nothing");
    told
}

/// `changed Deployment web`.
fn objects(told: &Value) -> Vec<String> {
    let text = |object: &Value, field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let of = |object: &Value| ["change", "kind", "name"].map(|field| text(object, field)).join(" ");
    told["objects"].as_array().unwrap().iter().map(of).collect()
}

fn object<'t>(told: &'t Value, kind: &str) -> &'t Value {
    told["objects"].as_array().unwrap().iter().find(|object| object["kind"] == kind).unwrap()
}

/// Lines of one text that the other has not.
fn lines(object: &Value, of: &str, without: &str) -> Vec<String> {
    let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
    let (of, without) = (text(of), text(without));
    of.lines()
        .filter(|line| !without.lines().any(|other| other == *line))
        .map(|line| line.trim().to_owned())
        .collect()
}

#[test]
fn what_is_deployed_as_wanted_differs_in_nothing() {
    let scene = two_revisions();
    let told = diff(&scene);
    assert_eq!((&told["action"], &told["from"]["revision"]), (&json!("keep"), &json!(2)));
    assert_eq!((&told["to"], objects(&told).len(), &told["remarks"]), (&Value::Null, 0, &json!([])));
}

#[test]
fn before_anything_is_installed_everything_is_added() {
    let scene = Scene::new(&json!({"extra": true}));
    let told = diff(&scene);
    assert_eq!(
        (&told["action"], &told["from"], &told["to"]["revision"]),
        (&json!("install"), &Value::Null, &json!(1))
    );
    assert_eq!(
        objects(&told),
        [
            "added Secret web-password",
            "added ConfigMap web-extra",
            "added ClusterRole web-reader",
            "added Deployment web"
        ]
    );
    let secret = object(&told, "Secret")["after"].as_str().unwrap().to_owned();
    assert!(secret.contains("password: '***'"), "{secret}");
    assert!(!told.to_string().contains("hunter2") && !told.to_string().contains("aHVudGVyMg"), "{told}");
}

#[test]
fn a_changed_spec_is_told_object_by_object_with_the_hooks_that_would_run() {
    let mut scene = Scene::installed(&json!({"extra": true, "hooks": {"migrate": true}}));
    scene.set(&json!({"replicas": 3, "extra": false, "password": "swordfish", "hooks": {"backup": true}}));
    let told = diff(&scene);
    assert_eq!(
        (&told["action"], &told["from"]["revision"], &told["to"]["revision"]),
        (&json!("upgrade"), &json!(1), &json!(2))
    );
    assert_eq!(
        objects(&told),
        ["changed Secret web-password", "changed Deployment web", "deleted ConfigMap web-extra"]
    );
    let deployment = object(&told, "Deployment");
    assert_eq!(lines(deployment, "before", "after"), ["replicas: 1"]);
    assert_eq!(lines(deployment, "after", "before"), ["replicas: 3"]);
    assert_eq!(deployment.get("drift"), None);
    let secret = object(&told, "Secret");
    assert_eq!(lines(secret, "before", "after"), ["password: '*** (before)'"]);
    assert_eq!(lines(secret, "after", "before"), ["password: '*** (after)'"]);
    let hooks: Vec<_> = told["hooks"].as_array().unwrap().iter().collect();
    let told_of = |at: usize| {
        let hook: &Value = hooks[at];
        ["event", "kind", "name", "known"].map(|field| hook[field].as_str().unwrap().to_owned()).join(" ")
    };
    assert_eq!(hooks.len(), 2);
    assert_eq!(told_of(0), "pre-upgrade Job backup new");
    assert_eq!(told_of(1), "post-upgrade Job migrate same");
    // And that is what then happens.
    scene.settle();
    scene.complete("backup");
    scene.complete("migrate");
    assert_eq!(scene.replicas(), Some(3));
    assert_eq!(objects(&diff(&scene)), [""; 0]);
}

#[test]
fn what_somebody_else_changed_is_told_apart_from_what_the_upgrade_changes() {
    let scene = Scene::installed(&json!({"replicas": 1}));
    let patch = Patch::merge(&json!({"spec": {"replicas": 7, "paused": true}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &patch).unwrap();
    let told = diff(&scene);
    assert_eq!(told["action"], "keep");
    let deployment = object(&told, "Deployment");
    assert_eq!(lines(deployment, "before", "after"), ["replicas: 7"], "what others add stays");
    scene.set(&json!({"image": "nginx:2"}));
    let told = diff(&scene);
    assert_eq!(told["action"], "upgrade");
    let deployment = object(&told, "Deployment");
    assert_eq!(deployment["drift"], json!([".spec.replicas"]));
    assert_eq!(lines(deployment, "after", "before"), ["replicas: 1", "- image: nginx:2"]);
}

#[test]
fn a_revision_made_by_hand_is_kept_and_the_difference_told_all_the_same() {
    let mut scene = two_revisions();
    helm_rollback(&scene, 1, 1);
    let by_hand = |told: &Value| {
        let remark = told["remarks"][0].as_str().unwrap();
        assert!(remark.starts_with("revision 3 was made by hand and is kept until"), "{remark}");
        assert_eq!(lines(object(told, "Deployment"), "after", "before"), ["replicas: 2"]);
    };
    by_hand(&diff(&scene));
    scene.settle();
    by_hand(&diff(&scene));
}

#[test]
fn fields_that_are_left_alone_do_not_differ() {
    let ignore =
        json!({"release": {"driftDetection": {"mode": "warn", "ignore": [{"paths": ["/spec/replicas"]}]}}});
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&[]), &ignore);
    scene.settle();
    let patch = Patch::merge(&json!({"spec": {"replicas": 7}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &patch).unwrap();
    let told = diff(&scene);
    assert_eq!(objects(&told), [""; 0]);
    assert_eq!(
        told["remarks"],
        json!(["driftDetection.mode is warn: what has drifted is told, and not repaired"])
    );
}

#[test]
fn random_values_differ_only_where_an_upgrade_would_draw_new_ones() {
    let random = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dice}\ndata: {a: {{ randAlphaNum 9 }}}\n";
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/dice.yaml", random)]), &json!({}));
    scene.settle();
    assert_eq!(objects(&diff(&scene)), [""; 0]);
    scene.set(&json!({"replicas": 2}));
    assert_eq!(objects(&diff(&scene)), ["changed ConfigMap dice", "changed Deployment web"]);
}

#[test]
fn fields_that_the_cluster_does_not_know_are_no_refusal() {
    let text = DEPLOYMENT.replace("spec:\n  replicas:", "spec:\n  replicaz: 3\n  replicas:");
    let files = chart(&[("templates/deployment.yaml", &text)]);
    let mut scene = Scene::with(&json!({"replicas": 1}), &files, &json!({}));
    scene.cluster.fail(unknown("Deployment", "/spec/replicaz"));
    scene.settle();
    assert_eq!(objects(&diff(&scene)), [""; 0]);
    scene.set(&json!({"replicas": 2}));
    let told = diff(&scene);
    assert_eq!(objects(&told), ["changed Deployment web"]);
    let deployment = object(&told, "Deployment");
    assert_eq!(lines(deployment, "after", "before"), ["replicas: 2"]);
    assert_eq!(deployment["note"], "without what the cluster does not know: .spec.replicaz");
}

#[test]
fn what_the_api_server_would_refuse_is_told_before() {
    let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-extra", "namespace": "shop"}});
    let scene = Scene::installed(&json!({}));
    scene.cluster.create([foreign]).unwrap();
    scene.set(&json!({"extra": true}));
    let told = diff(&scene);
    assert_eq!(objects(&told), ["refused ConfigMap web-extra"]);
    let note = object(&told, "ConfigMap")["note"].as_str().unwrap();
    assert!(note.starts_with("it exists and cannot be imported into the release: "), "{note}");
}

#[test]
fn who_may_not_ask_for_a_dry_run_compares_records() {
    let scene = Scene::installed(&json!({"replicas": 1}));
    scene.cluster.forbid("patch", "deployments");
    scene.set(&json!({"replicas": 2}));
    let told = diff(&scene);
    let deployment = object(&told, "Deployment");
    assert_eq!(objects(&told), ["changed Deployment web"]);
    assert_eq!(lines(deployment, "after", "before"), ["replicas: 2"]);
    assert!(deployment["note"].as_str().unwrap().starts_with("not asked of the API server"), "{deployment}");
}

#[test]
fn what_waits_or_cannot_be_rendered_is_told() {
    let settings = json!({"release": {"dependsOn": [{"name": "database"}]}});
    let scene = Scene::with(&json!({}), &chart(&[]), &settings);
    let told = diff(&scene);
    assert!(told["remarks"][0].as_str().unwrap().starts_with("this waits: dependsOn: "), "{told}");
    scene.ask("suspend", "true");
    let told = diff(&scene);
    assert!(told["remarks"][0].as_str().unwrap().starts_with("suspended, nothing is done"), "{told}");
    let broken = Scene::new(&json!({"broken": true}));
    let failure = broken.command("diff", &json!({})).unwrap_err();
    assert!(failure.starts_with(&format!("Web \"{NAME}\" in namespace \"shop\": ")), "{failure}");
    assert!(failure.contains("nil pointer"), "{failure}");
}

#[test]
fn definitions_of_the_chart_are_told_where_they_would_be_brought() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.y}\nspec:\n  group: x.y\n  \
               scope: Namespaced\n  names: {kind: Foo, plural: foos, singular: foo}\n  versions:\n  - {name: v1, served: true, storage: \
               true, schema: {openAPIV3Schema: {type: object}}}\n";
    let files = chart(&[
        ("crds/foo.yaml", crd),
        ("templates/foo.yaml", "apiVersion: x.y/v1\nkind: Foo\nmetadata: {name: f}\n"),
    ]);
    let mut scene = Scene::with(&json!({}), &files, &json!({}));
    let told = diff(&scene);
    assert_eq!(objects(&told)[0], "added CustomResourceDefinition foos.x.y");
    let foo = object(&told, "Foo");
    assert!(foo["note"].as_str().unwrap().contains("the cluster does not serve"), "{foo}");
    scene.settle();
    let definition = Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let established = json!({"conditions": [{"type": "Established", "status": "True"}]});
    scene.cluster.set_status(&ObjectRef::new(definition, None, "foos.x.y"), &established).unwrap();
    scene.settle();
    assert_eq!(objects(&diff(&scene)), [""; 0]);
}

#[test]
fn in_strict_mode_what_others_added_is_told_as_going() {
    let strict = json!({"release": {"driftDetection": {"mode": "strict"}}});
    let mut scene = Scene::with(&json!({}), &chart(&[]), &strict);
    scene.settle();
    let patch = Patch::merge(&json!({"metadata": {"labels": {"theirs": "x"}}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&scene.deployment(), &patch).unwrap();
    let told = diff(&scene);
    assert_eq!(objects(&told), ["changed Deployment web"]);
    assert_eq!(lines(object(&told, "Deployment"), "before", "after"), ["theirs: x"]);
}
