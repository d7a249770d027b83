//! Values out of ConfigMaps and Secrets.

use pilothouse_sdk::{
    Gvk, ObjectRef, Patch,
    harness::{Fault, Verb},
};
use serde_json::{Value, json};

use crate::scene::{NAMESPACE, Scene, chart};

fn config(name: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": {"values.yaml": text}})
}

fn secret(key: &str, base64: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": NAMESPACE}, "data": {key: base64}})
}

fn scene(spec: &Value, sources: &Value, objects: &[Value]) -> Scene {
    let settings = json!({"release": {"valuesFrom": sources}});
    let mut scene = Scene::with(spec, &chart(&[]), &settings);
    scene.cluster.create(objects).unwrap();
    scene.settle();
    scene
}

fn password(scene: &Scene) -> Value {
    let secret = ObjectRef::new(Gvk::new("", "v1", "Secret"), NAMESPACE, "web-password");
    scene.get(&secret).unwrap()["data"]["password"].clone()
}

#[test]
fn they_are_below_the_spec_and_what_has_a_place_is_over_it() {
    let sources = json!([
        {"kind": "ConfigMap", "name": "base"},
        {"kind": "ConfigMap", "name": "more"},
        {"kind": "Secret", "name": "login", "valuesKey": "word", "targetPath": "password", "literal": true},
    ]);
    let objects = [
        config("base", "replicas: 2\nimage: base\n"),
        config("more", "replicas: 3\n"),
        secret("word", "YWJj"),
    ];
    let mut scene = scene(&json!({"image": "mine", "password": "spec"}), &sources, &objects);
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!(scene.replicas(), Some(3));
    let deployment = scene.get(&scene.deployment()).unwrap();
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "mine");
    assert_eq!(password(&scene), "YWJj");
    let more = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, "more");
    let patch = Patch::merge(&json!({"data": {"values.yaml": "replicas: 5\n"}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&more, &patch).unwrap();
    scene.settle();
    assert_eq!(scene.replicas(), Some(5), "a change of it is an upgrade");
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}

#[test]
fn what_is_missing_is_told_and_waited_for_while_the_release_stays() {
    let sources =
        json!([{"kind": "ConfigMap", "name": "base"}, {"kind": "Secret", "name": "login", "optional": true}]);
    let mut scene = scene(&json!({}), &sources, &[]);
    assert!(scene.history().is_empty());
    let (reason, message) = scene.truth("Irreconcilable");
    assert_eq!(
        (reason.as_str(), message.as_str()),
        ("ReconcileError", "valuesFrom: ConfigMap \"base\" is not there")
    );
    scene.cluster.create([config("base", "replicas: 2")]).unwrap();
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(2)));
    let base = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, "base");
    scene.cluster.kubectl().delete_ref(&base, &Default::default()).unwrap();
    scene.settle();
    scene.truth("Irreconcilable");
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.settle();
    assert_eq!(
        (scene.statuses(), scene.replicas()),
        (vec!["deployed"], Some(2)),
        "it stays, and stays repaired"
    );
}

#[test]
fn what_a_secret_holds_is_not_told() {
    let sources = json!([{"kind": "Secret", "name": "login"}]);
    let scene = scene(&json!({}), &sources, &[secret("values.yaml", "aHVudGVyMjogW3g=")]);
    let told = format!("{} {:?} {:?}", scene.web()["status"], scene.events(), scene.cluster.logs());
    assert!(told.contains("holds no YAML with values") && !told.contains("hunter2: ["), "{told}");
}

#[test]
fn a_text_with_a_place_of_its_own_is_one_value_whatever_is_in_it() {
    let sources = json!([
        {"kind": "Secret", "name": "login", "valuesKey": "word", "targetPath": "password"},
    ]);
    for (text, is) in [
        ("a,replicas=7", "a,replicas=7"),
        ("a=b", "a=b"),
        ("'true'", "true"),
        ("a\\,b", "a,b"),
        ("{a,replicas=7}", "{a,replicas=7}"),
        ("{a},replicas=7}", "{a},replicas=7}"),
        ("]", "]"),
        ("12", "12"),
    ] {
        let encode = |text: &str| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
        let chart_text = "apiVersion: v1\nkind: Secret\nmetadata: {name: web-password}\ndata: {password: {{ .Values.password | join \"\" | b64enc }}}\n";
        let chart_text = if text.starts_with("{a,") {
            chart_text
        } else {
            &chart_text.replace(" | join \"\"", " | toString")
        };
        let settings = json!({"release": {"valuesFrom": sources}});
        let mut scene =
            Scene::with(&json!({"replicas": 1}), &chart(&[("templates/secret.yaml", chart_text)]), &settings);
        scene.cluster.create([secret("word", &encode(text))]).unwrap();
        scene.settle();
        assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(1)), "{text}");
        let is = if text.starts_with("{a,") { "areplicas=7" } else { is };
        assert_eq!(password(&scene), encode(is), "{text}");
    }
}

#[test]
fn a_place_that_is_none_is_told_without_the_text() {
    let sources = json!([{"kind": "Secret", "name": "login", "valuesKey": "word", "targetPath": "a[x]"}]);
    let scene = scene(&json!({}), &sources, &[secret("word", "aHVudGVyMg==")]);
    let told = format!("{} {:?} {:?}", scene.web()["status"], scene.events(), scene.cluster.logs());
    assert!(told.contains("targetPath \\\"a[x]\\\"") && !told.contains("hunter2"), "{told}");
}

#[test]
fn while_nobody_can_keep_the_release_up_it_is_tried_again() {
    let sources = json!([{"kind": "ConfigMap", "name": "base"}]);
    let mut scene = scene(&json!({"replicas": 1}), &sources, &[config("base", "image: a")]);
    assert_eq!(scene.statuses(), ["deployed"]);
    let base = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, "base");
    scene.cluster.fail(Fault::unavailable().verb(Verb::Apply).kind("Deployment").nth(1));
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.cluster.kubectl().delete_ref(&base, &Default::default()).unwrap();
    scene.settle();
    scene.run_for(120);
    assert!(scene.get(&scene.deployment()).is_some(), "the passing failure was not the end");
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.settle();
    assert!(scene.get(&scene.deployment()).is_some());
}
