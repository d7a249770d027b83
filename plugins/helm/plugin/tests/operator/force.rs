//! Objects of which a field cannot be changed are replaced when somebody asks for it.

use pilothouse_sdk::{Gvk, ObjectRef, Patch, harness::every_crash};
use serde_json::{Value, json};

use crate::scene::{NAMESPACE, Scene, chart};

const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web-x}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: {{ .Values.word }}}]}}}\n";

/// A template with a field that cannot change, and where the field is.
const FROZEN: [(&str, &str, &str, &str); 6] = [
    ("batch/v1", "Job", JOB, "/spec/template/spec/containers/0/image"),
    (
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: web-x}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Values.word }}}\n",
        "/roleRef/name",
    ),
    (
        "v1",
        "Service",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web-x}\nspec: {clusterIP: {{ .Values.word }}}\n",
        "/spec/clusterIP",
    ),
    (
        "apps/v1",
        "StatefulSet",
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web-x}\nspec:\n  serviceName: {{ .Values.word }}\n  selector: {matchLabels: {a: b}}\n  template: {metadata: {labels: {a: b}}}\n",
        "/spec/serviceName",
    ),
    (
        "v1",
        "Pod",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web-x}\nspec: {nodeName: {{ .Values.word }}, containers: [{name: a, image: b}]}\n",
        "/spec/nodeName",
    ),
    (
        "v1",
        "ConfigMap",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-x}\nimmutable: true\ndata: {word: {{ .Values.word }}}\n",
        "/data/word",
    ),
];

fn scene(template: &str) -> Scene {
    let files = chart(&[("templates/x.yaml", template)]);
    let mut scene = Scene::with(&json!({"word": "one"}), &files, &json!({}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    scene.cluster.forget_calls();
    scene
}

fn reference(api_version: &str, kind: &str) -> ObjectRef {
    ObjectRef::new(Gvk::from_api_version(api_version, kind), NAMESPACE, "web-x")
}

#[test]
fn upgrade_force_replaces_what_cannot_be_changed() {
    for (api_version, kind, template, field) in FROZEN {
        let mut scene = scene(template);
        let object = reference(api_version, kind);
        let word = |scene: &Scene| scene.get(&object).unwrap().pointer(field).cloned().unwrap();
        scene.set(&json!({"word": "two", "replicas": 2}));
        scene.settle();
        assert_eq!(scene.truth("ReleaseFailed").0, "UpgradeError", "{kind}");
        assert_eq!((word(&scene), scene.replicas()), (json!("one"), Some(1)), "{kind}: nothing began");
        scene.annotate("upgrade-force", "true");
        scene.run_for(400);
        assert_eq!(word(&scene), "two", "{kind}: {:?}", scene.condition("ReleaseFailed"));
        assert_eq!(scene.statuses(), ["superseded", "deployed"], "{kind}");
        let deletions =
            scene.writes().into_iter().filter(|write| write.starts_with(&format!("delete {api_version}")));
        assert_eq!(deletions.count(), 1, "{kind}");
    }
}

#[test]
fn a_priority_class_is_replaced_as_well() {
    let class = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: web-x}\nvalue: {{ .Values.replicas }}\n";
    let mut scene = scene(class);
    scene.annotate("upgrade-force", "true");
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    let object = ObjectRef::new(Gvk::new("scheduling.k8s.io", "v1", "PriorityClass"), None::<&str>, "web-x");
    assert_eq!(scene.get(&object).unwrap()["value"], 2);
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}

fn hold(scene: &Scene, object: &ObjectRef, finalizers: &Value) {
    let patch = Patch::merge(&json!({"metadata": {"finalizers": finalizers}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(object, &patch).unwrap();
    scene.cluster.forget_calls();
}

#[test]
fn what_is_replaced_is_gone_before_it_is_made_anew() {
    let mut scene = scene(JOB);
    let job = reference("batch/v1", "Job");
    hold(&scene, &job, &json!(["example.com/slow"]));
    let old = scene.get(&job).unwrap()["metadata"]["uid"].clone();
    scene.annotate("upgrade-force", "true");
    scene.set(&json!({"word": "two"}));
    scene.settle();
    let (reason, message) = scene.truth("Reconciling");
    assert_eq!(
        (reason.as_str(), message.as_str()),
        ("WaitingForDeletion", "batch/v1 Job shop/web-x is replaced, and its old one is still there")
    );
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"]);
    scene.run_for(40);
    assert_eq!(scene.statuses(), ["deployed", "pending-upgrade"], "it is waited for over several calls");
    let deletions = scene.writes().into_iter().filter(|write| write.starts_with("delete batch/v1"));
    assert_eq!(deletions.count(), 1, "asked for once");
    hold(&scene, &job, &Value::Null);
    scene.settle();
    let new = scene.get(&job).unwrap();
    assert_ne!(new["metadata"]["uid"], old);
    assert_eq!(new["spec"]["template"]["spec"]["containers"][0]["image"], "two");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}

#[test]
fn what_does_not_go_in_time_fails_the_upgrade() {
    let files = chart(&[("templates/x.yaml", JOB)]);
    let options = json!({"release": {"timeout": "1m", "upgrade": {"remediation": {"retries": 0}}}});
    let mut scene = Scene::with(&json!({"word": "one"}), &files, &options);
    scene.settle();
    let job = reference("batch/v1", "Job");
    hold(&scene, &job, &json!(["example.com/slow"]));
    scene.annotate("upgrade-force", "true");
    scene.set(&json!({"word": "two", "replicas": 2}));
    scene.run_for(200);
    assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"]);
    assert_eq!(scene.replicas(), Some(1));
    assert!(scene.truth("ReleaseFailed").1.contains("its old one is still there"));
    hold(&scene, &job, &Value::Null);
    scene.settle();
    let job = scene.get(&job).unwrap();
    assert_eq!(
        job["spec"]["template"]["spec"]["containers"][0]["image"], "one",
        "what was deleted comes back"
    );
}

#[test]
fn a_replacement_is_finished_wherever_it_was_killed() {
    let crashes = every_crash(|crash| {
        let mut scene = scene(JOB);
        let job = reference("batch/v1", "Job");
        hold(&scene, &job, &json!(["example.com/slow"]));
        scene.annotate("upgrade-force", "true");
        scene.set(&json!({"word": "two"}));
        scene.cluster.crash_after_write(crash);
        scene.settle();
        if scene.get(&job).is_some_and(|job| job["metadata"].get("deletionTimestamp").is_some()) {
            let patch = Patch::merge(&json!({"metadata": {"finalizers": null}})).unwrap();
            scene.cluster.kubectl().patch_ref::<Value>(&job, &patch).unwrap();
        }
        scene.run_for(60);
        assert_eq!(scene.statuses(), ["superseded", "deployed"], "crash {crash}");
        let job = scene.get(&job).unwrap();
        assert_eq!(job["spec"]["template"]["spec"]["containers"][0]["image"], "two", "crash {crash}");
        scene.cluster
    });
    assert!(crashes >= 5, "only {crashes} crashes");
}

#[test]
fn rollback_force_replaces_on_the_way_back() {
    let mut scene = scene(JOB);
    let job = reference("batch/v1", "Job");
    scene.annotate("upgrade-force", "true");
    scene.annotate("rollback-force", "true");
    scene.set(&json!({"word": "two"}));
    scene.settle();
    scene.ask("rollback-to", "1");
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "superseded", "deployed"]);
    assert_eq!(scene.get(&job).unwrap()["spec"]["template"]["spec"]["containers"][0]["image"], "one");
}
