//! What of the release's objects is not drift: what rules name, and what goes by itself.

use pilothouse_sdk::{Gvk, ObjectRef, Patch};
use serde_json::{Value, json};

use crate::scene::{NAMESPACE, Scene, chart};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-extra, annotations: {ours: a, theirs: b}}\ndata: {a: b, c: d, word: {{ .Values.image }}}\n";
const POD: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-pods}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: a, image: {{ .Values.image }}}, {name: b, image: b}, {name: c, image: c}]}\n";

fn scene(template: &str, paths: &Value) -> Scene {
    let settings = json!({"release": {"driftDetection": {"ignore": [{ "paths": paths }]}}});
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/extra.yaml", template)]), &settings);
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    scene.cluster.forget_calls();
    scene
}

fn change(scene: &mut Scene, object: &ObjectRef, change: &Value) {
    let patch = Patch::merge(change).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(object, &patch).unwrap();
    scene.settle();
}

fn corrections(scene: &Scene) -> usize {
    scene.events().iter().filter(|(reason, _)| reason == "DriftCorrected").count()
}

#[test]
fn a_field_that_a_rule_names_may_be_taken_away() {
    let mut scene = scene(MAP, &json!(["/data/c"]));
    let map = scene.extra();
    change(&mut scene, &map, &json!({"data": {"c": null}}));
    assert_eq!(scene.get(&map).unwrap()["data"], json!({"a": "b", "word": "nginx"}));
    assert_eq!(corrections(&scene), 0);
    let object = scene.object();
    scene.cluster.forget_calls();
    scene.runner.wake(&object, pilothouse_sdk::Reason::Resync);
    scene.settle();
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
    change(&mut scene, &map, &json!({"data": {"a": null}}));
    assert_eq!(scene.get(&map).unwrap()["data"], json!({"a": "b", "word": "nginx"}), "all else comes back");
    scene.set(&json!({"image": "nginx:2"}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.get(&map).unwrap()["data"], json!({"a": "b", "word": "nginx:2"}), "an upgrade too");
    scene.cluster.kubectl().delete_ref(&map, &Default::default()).unwrap();
    scene.settle();
    assert_eq!(scene.get(&map).unwrap()["data"]["c"], "d", "what is made anew is made as the chart has it");
}

#[test]
fn so_may_elements_of_a_list() {
    let path = |at: u32| format!("/spec/template/spec/containers/{at}");
    let mut scene = scene(POD, &json!([path(1), path(2)]));
    let pods = ObjectRef::new(Gvk::new("apps", "v1", "Deployment"), NAMESPACE, "web-pods");
    let names = |scene: &Scene| -> Vec<String> {
        let pods = scene.get(&pods).unwrap();
        let all = pods["spec"]["template"]["spec"]["containers"].as_array().unwrap().clone();
        all.iter().map(|container| container["name"].as_str().unwrap().to_owned()).collect()
    };
    let one = json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "nginx"}]}}}});
    change(&mut scene, &pods, &one);
    assert_eq!(names(&scene), ["a"]);
    scene.set(&json!({"image": "nginx:2"}));
    scene.settle();
    assert_eq!((names(&scene), scene.statuses()), (vec!["a".to_owned()], vec!["superseded", "deployed"]));
}

#[test]
fn a_rule_about_a_table_makes_nobody_elses_entries_ours() {
    let mut scene = scene(MAP, &json!(["/metadata/annotations"]));
    let map = scene.extra();
    change(
        &mut scene,
        &map,
        &json!({"metadata": {"annotations": {"else": "x", "theirs": null, "ours": "changed"}}}),
    );
    scene.set(&json!({"image": "nginx:2"}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    let live = scene.get(&map).unwrap();
    let annotations = &live["metadata"]["annotations"];
    assert_eq!((&annotations["else"], &annotations["ours"]), (&json!("x"), &json!("changed")));
    assert_eq!(annotations.get("theirs"), None);
    assert_eq!(annotations["meta.helm.sh/release-name"], "web", "whose it is stands there all the same");
    let managers = scene.cluster.managers(&map);
    let ours = managers.iter().filter(|owned| owned.starts_with("helm:") && owned.contains("else"));
    assert_eq!(ours.count(), 0, "{managers:?}");
    // So the rule may go again.
    scene.runner = scene.runner.binding(&json!({"chart": "charts/site"}));
    scene.settle();
    assert_eq!(scene.get(&map).unwrap()["metadata"]["annotations"]["else"], "x");
}

#[test]
fn what_an_upgrade_adds_is_added_also_where_a_rule_names_it() {
    let mut scene = scene(MAP, &json!(["/data/new", "/data/c", "/metadata/annotations"]));
    let map = scene.extra();
    change(&mut scene, &map, &json!({"data": {"c": null}}));
    let more = MAP.replace("data: {", "data: {new: x, ").replace("theirs: b", "theirs: b, added: word");
    scene.runner = scene.runner.asset("charts/site", chart(&[("templates/extra.yaml", &more)]));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    let live = scene.get(&map).unwrap();
    assert_eq!(live["data"], json!({"a": "b", "word": "nginx", "new": "x"}));
    assert_eq!(live["metadata"]["annotations"]["added"], "word");
}

#[test]
fn whose_an_object_is_no_rule_can_take_away() {
    let mut scene = scene(MAP, &json!(["/metadata/annotations"]));
    let map = scene.extra();
    change(&mut scene, &map, &json!({"metadata": {"annotations": {"meta.helm.sh/release-name": null}}}));
    assert_eq!(scene.get(&map).unwrap()["metadata"]["annotations"]["meta.helm.sh/release-name"], "web");
}

#[test]
fn a_selector_that_is_none_is_told() {
    let rule = |selector: &str| {
        json!({"chart": "charts/site", "release": {"driftDetection": {"ignore": [
        {"paths": ["/data"], "target": {"labelSelector": selector}}]}}})
    };
    for selector in ["a in b", "a=b,,c", "=b", "a in (b"] {
        let mut scene = scene(MAP, &json!(["/data/c"]));
        scene.runner = scene.runner.binding(&rule(selector));
        scene.settle();
        let told = scene.web()["status"].to_string();
        assert!(told.contains("is no selector"), "{selector}: {told}");
    }
}

#[test]
fn of_several_documents_of_one_object_the_last_counts() {
    let twice = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-extra}\ndata: {a: one, b: {{ .Values.image }}}\n---\n\
                 apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-extra, namespace: {{ .Release.Namespace }}}\ndata: {a: two}\n";
    let settings = json!({"watchDependentResources": true});
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/extra.yaml", twice)]), &settings);
    scene.settle();
    assert_eq!(scene.get(&scene.extra()).unwrap()["data"], json!({"a": "two"}));
    let told: Vec<_> = scene.events().into_iter().filter(|(reason, _)| reason == "RepeatedObject").collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].1.contains("ConfigMap \"web-extra\" in namespace \"shop\""), "{told:?}");
    scene.cluster.forget_calls();
    for _ in 0..3 {
        scene.runner.restart();
        scene.run_for(4000);
    }
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
    assert_eq!(corrections(&scene), 0);
    scene.set(&json!({"image": "nginx:2"}));
    scene.settle();
    assert_eq!(scene.get(&scene.extra()).unwrap()["data"], json!({"a": "two"}));
}

#[test]
fn what_cannot_be_repaired_does_not_keep_the_rest_from_it() {
    let mut scene = Scene::installed(&json!({"replicas": 1, "extra": true}));
    // ConfigMaps and Secrets come before Deployments.
    let refused = pilothouse_sdk::harness::Fault::webhook("frozen");
    let apply = pilothouse_sdk::harness::Verb::Apply;
    scene.cluster.fail(refused.verb(apply).kind("ConfigMap").always());
    let (map, deployment) = (scene.extra(), scene.deployment());
    change(&mut scene, &map, &json!({"data": {"a": "other"}}));
    change(&mut scene, &deployment, &json!({"spec": {"replicas": 5}}));
    scene.run_for(400);
    assert_eq!(scene.replicas(), Some(1));
    let (reason, message) = scene.truth("Irreconcilable");
    assert_eq!(reason, "ReconcileError");
    assert!(message.contains("ConfigMap \"web-extra\"") && message.contains("frozen"), "{message}");
    let told = scene.events().into_iter().find(|(reason, _)| reason == "DriftCorrected").unwrap().1;
    assert!(told.contains("Deployment shop/web") && !told.contains("ConfigMap"), "{told}");
    scene.cluster.heal();
    scene.run_for(400);
    assert_eq!(scene.get(&map).unwrap()["data"]["a"], "b");
    assert_eq!(scene.condition("Irreconcilable"), None);
}

#[test]
fn a_kind_that_is_not_served_any_more_does_not_either() {
    let object = |kind: &str| {
        format!("apiVersion: example.com/v1\nkind: {kind}\nmetadata: {{name: web-it}}\nword: a\n")
    };
    let (apple, pear) = (object("Apple"), object("Pear"));
    let files = chart(&[("templates/apple.yaml", &apple), ("templates/pear.yaml", &pear)]);
    let mut scene = Scene::with(&json!({}), &files, &json!({}));
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    for (kind, plural) in [("Apple", "apples"), ("Pear", "pears")] {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("{plural}.example.com")},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": plural},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]},
        });
        scene.cluster.define(&definition).unwrap();
    }
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    let definition = Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let gone = ObjectRef::new(definition, None::<&str>, "apples.example.com");
    scene.cluster.kubectl().delete_ref(&gone, &Default::default()).unwrap();
    let pear = ObjectRef::new(Gvk::new("example.com", "v1", "Pear"), NAMESPACE, "web-it");
    change(&mut scene, &pear, &json!({"word": "b"}));
    scene.run_for(400);
    assert_eq!(scene.get(&pear).unwrap()["word"], "a");
    assert!(scene.truth("Irreconcilable").1.contains("does not serve example.com/v1 Apple"));
}

const FINISHED: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web-init}\nspec: {ttlSecondsAfterFinished: 60, template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}\n";

#[test]
fn a_job_that_its_time_to_live_took_away_is_not_run_again() {
    for release in [json!({}), json!({"wait": true}), json!({"driftDetection": {"mode": "warn"}})] {
        let settings = json!({ "release": release });
        let mut scene = Scene::with(&json!({}), &chart(&[("templates/init.yaml", FINISHED)]), &settings);
        scene.settle();
        let job = scene.job("web-init");
        scene.complete("web-init");
        scene.cluster.set_ready(&scene.deployment()).unwrap();
        scene.settle();
        assert_eq!(scene.statuses(), ["deployed"]);
        scene.cluster.forget_calls();
        scene.cluster.kubectl().delete_ref(&job, &Default::default()).unwrap();
        scene.settle();
        scene.runner.restart();
        scene.run_for(4000);
        assert_eq!(scene.get(&job), None, "{release}");
        assert!(scene.writes().is_empty(), "{release}: {:?}", scene.writes());
        scene.truth("Ready");
        assert_eq!(scene.condition("Drifted"), None);
        scene.set(&json!({"replicas": 2}));
        scene.settle();
        assert!(scene.get(&job).is_some(), "{release}: a new revision runs it again, as Helm does");
    }
}

#[test]
fn a_job_without_one_comes_back() {
    let job = FINISHED.replace("ttlSecondsAfterFinished: 60, ", "");
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/init.yaml", &job)]), &json!({}));
    scene.settle();
    let job = scene.job("web-init");
    scene.cluster.kubectl().delete_ref(&job, &Default::default()).unwrap();
    scene.settle();
    assert!(scene.get(&job).is_some());
}
