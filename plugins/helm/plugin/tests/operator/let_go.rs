//! Nothing that is wrong with an object, its settings or its records holds it once it is to go.

use pilothouse_sdk::{
    Gvk, ObjectRef,
    harness::{Cluster, Fault, Runner, Verb, every_crash},
};
use serde_json::{Value, json};

use crate::scene::{NAMESPACE, Scene, chart, kind};

const FINALIZER: &str = "helm.sdk.operatorframework.io/uninstall-release";

fn delete(scene: &mut Scene, object: &ObjectRef) {
    scene.cluster.kubectl().delete_ref(object, &Default::default()).unwrap();
    scene.settle();
}

/// What follows from another binding, as after an edit of the watches file.
fn bind(scene: Scene, settings: &Value) -> Scene {
    let Scene { cluster, runner } = scene;
    let mut scene = Scene { cluster, runner: runner.binding(settings) };
    let object = scene.object();
    scene.runner.wake(&object, pilothouse_sdk::Reason::Configuration);
    scene.settle();
    scene
}

#[test]
fn a_cluster_scoped_object_has_no_release_and_goes() {
    let kind = Gvk::new("charts.example.com", "v1alpha1", "Fleet");
    let cluster = Cluster::new();
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    cluster
        .define(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "fleets.charts.example.com"},
            "spec": {"group": kind.group, "scope": "Cluster", "names": {"kind": "Fleet", "plural": "fleets", "singular": "fleet"},
                "versions": [{"name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any, "status": any}}}}]},
        }))
        .unwrap();
    cluster
        .create([json!({"apiVersion": kind.api_version(), "kind": "Fleet", "metadata": {"name": "all"}, "spec": {}})])
        .unwrap();
    let runner = Runner::new(&cluster, helm_plugin::plugin)
        .manifest(include_str!("../../plugin.yaml"))
        .unwrap()
        .kind(kind.clone(), FINALIZER)
        .binding(&json!({"chart": "charts/site"}))
        .asset("charts/site", chart(&[]));
    let mut scene = Scene { cluster, runner };
    let object = ObjectRef::new(kind, None::<&str>, "all");
    scene.settle();
    let told = scene.get(&object).unwrap()["status"].to_string();
    assert!(told.contains("ClusterScoped"), "{told}");
    delete(&mut scene, &object);
    assert_eq!(scene.get(&object), None);
}

#[test]
fn an_object_whose_name_no_release_can_have_says_so_and_goes() {
    let mut scene = Scene::installed(&json!({}));
    // 54 letters fit a label, and 64 do not.
    for length in [54, 63, 64, 70, 253] {
        let name = "a".repeat(length);
        let object = ObjectRef::new(kind(), NAMESPACE, name.as_str());
        let web = json!({"apiVersion": "charts.example.com/v1alpha1", "kind": "Web",
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {}});
        scene.cluster.create([web]).unwrap();
        scene.settle();
        let told = scene.get(&object).unwrap()["status"].to_string();
        assert!(told.contains("the length must not be longer than 53"), "{length}: {told}");
        delete(&mut scene, &object);
        assert_eq!(scene.get(&object), None, "{length}");
    }
}

#[test]
fn an_entry_that_cannot_be_read_holds_nobody() {
    for wrong in [
        json!({"chart": "charts/site", "release": {"wiat": true}}),
        json!({"chart": "charts/site", "hookTimeout": "soon"}),
        json!({"chart": "charts/site", "release": {"driftDetection": {"ignore": [{"paths": [], "target": {"kind": "("}}]}}}),
        json!({"chart": "charts/site", "maxHistory": "many"}),
        json!({"chart": 7}),
        json!({}),
    ] {
        let mut scene = bind(Scene::installed(&json!({"extra": true})), &wrong);
        assert_eq!(scene.condition("Ready").unwrap().status.as_str(), "False", "{wrong}");
        scene.delete();
        scene.settle();
        assert_eq!(scene.get(&scene.object()), None, "{wrong}");
        assert!(scene.objects().is_empty() && scene.history().is_empty(), "{wrong}: {:?}", scene.objects());
    }
}

#[test]
fn what_can_be_read_of_an_entry_counts_all_the_same() {
    let scene = Scene::installed(&json!({"hooks": {"dump": true}}));
    let entry =
        json!({"chart": "charts/site", "release": {"wiat": true, "uninstall": {"disableHooks": true}}});
    let mut scene = bind(scene, &entry);
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None, "no hook was waited for");
    assert!(!scene.writes().iter().any(|write| write.contains("Job")), "{:?}", scene.writes());
}

/// Two revisions, of which one cannot be read any more.
fn unread(revision: u32) -> Scene {
    let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": {"dump": true}}));
    scene.set(&json!({"extra": true}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    spoil(&scene, revision);
    scene.cluster.forget_calls();
    scene
}

fn spoil(scene: &Scene, revision: u32) {
    let mut secret: Value = scene.get(&scene.secret(revision)).unwrap();
    secret["data"]["release"] = json!("bm90aGluZw==");
    scene.cluster.kubectl().replace(&secret).unwrap();
}

#[test]
fn a_release_whose_newest_record_cannot_be_read_goes_without_its_hooks() {
    let mut scene = unread(2);
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.objects().is_empty(), "{:?}", scene.objects());
    assert!(scene.history().is_empty());
    assert!(!scene.writes().iter().any(|write| write.contains("Job")), "{:?}", scene.writes());
    let told = scene.events().into_iter().find(|(reason, _)| reason == "RecordUnreadable").unwrap().1;
    assert!(told.contains("sh.helm.release.v1.web.v2"), "{told}");
}

#[test]
fn it_goes_wherever_the_host_was_killed_meanwhile() {
    let crashes = every_crash(|crash| {
        let mut scene = unread(2);
        scene.delete();
        scene.cluster.crash_after_write(crash);
        scene.settle();
        assert_eq!(scene.get(&scene.object()), None, "crash {crash}");
        assert!(
            scene.objects().is_empty() && scene.history().is_empty(),
            "crash {crash}: {:?}",
            scene.objects()
        );
        scene.cluster
    });
    assert!(crashes >= 6, "only {crashes} crashes");
}

#[test]
fn uninstall_wait_counts_without_the_record_as_well() {
    let mut scene = unread(2);
    scene.annotate("uninstall-wait", "true");
    let hold = |finalizers: Value| {
        pilothouse_sdk::Patch::merge(&json!({"metadata": {"finalizers": finalizers}})).unwrap()
    };
    let held = scene.deployment();
    scene.cluster.kubectl().patch_ref::<Value>(&held, &hold(json!(["example.com/slow"]))).unwrap();
    scene.delete();
    scene.settle();
    let going = scene.condition("Deployed").unwrap().message;
    assert!(going.contains("Deployment \"web\" in namespace \"shop\" is still there"), "{going}");
    assert_eq!(scene.history().len(), 2, "the records say that something is left");
    scene.cluster.kubectl().patch_ref::<Value>(&held, &hold(Value::Null)).unwrap();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
}

#[test]
fn a_record_that_cannot_be_read_and_is_nobodys_is_left_where_it_is() {
    let mut scene = Scene::new(&json!({}));
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "data": {"release": "bm90aGluZw=="},
        "metadata": {"name": "sh.helm.release.v1.web.v1", "namespace": NAMESPACE,
            "labels": {"name": "web", "owner": "helm", "status": "deployed", "version": "1"}},
    });
    scene.cluster.create([secret]).unwrap();
    scene.settle();
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.get(&scene.secret(1)).is_some());
}

#[test]
fn the_revision_before_a_failed_one_may_be_the_one_that_cannot_be_read() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    // The upgrade fails, and so does the way back.
    scene.cluster.fail(Fault::webhook("no").verb(Verb::Apply).kind("Deployment").nth(2).times(1000));
    scene.set(&json!({"replicas": 2, "extra": true}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed", "failed", "failed"]);
    spoil(&scene, 1);
    scene.cluster.heal();
    scene.delete();
    scene.run_for(60);
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.objects().is_empty() && scene.history().is_empty(), "{:?}", scene.objects());
}
