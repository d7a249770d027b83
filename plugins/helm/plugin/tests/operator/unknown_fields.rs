//! Fields that a chart has and the cluster does not know: left out, and brought when it knows them.

use std::cell::Cell;

use helm_plugin::HelmOperator;
use pilothouse_sdk::{
    ApiStatus, Context, Dynamic, Error, Finalized, Gvk, KubeError, ObjectRef, Outcome, Plugin, Reason,
    Reconciler,
    harness::{Fault, Verb},
};
use serde_json::{Value, json};

use crate::scene::{DEPLOYMENT, NAMESPACE, Scene, chart};

/// The chart with a field in its Deployment that does not exist.
fn misspelt() -> Vec<(String, String)> {
    let text = DEPLOYMENT.replace("spec:\n  replicas:", "spec:\n  replicaz: 3\n  replicas:");
    chart(&[("templates/deployment.yaml", &text)])
}

/// The cluster refuses what has this field.
pub(crate) fn unknown(kind: &str, pointer: &str) -> Fault {
    let message = format!(
        "failed to create typed patch object (shop/web; x/v1, Kind={kind}): {}: field not declared in schema",
        pointer.replace('/', ".")
    );
    let status = ApiStatus { code: 500, reason: String::new(), message };
    Fault::new(KubeError::Invalid(status)).verb(Verb::Apply).kind(kind).having(pointer).always()
}

fn field(scene: &Scene) -> Value {
    scene.get(&scene.deployment()).unwrap()["spec"]["replicaz"].clone()
}

fn told(scene: &Scene) -> Vec<String> {
    let events = scene.events().into_iter().filter(|(reason, _)| reason == "UnknownFields");
    events.map(|(_, message)| message).collect()
}

fn wake(scene: &mut Scene, reason: Reason) {
    let object = scene.object();
    scene.runner.wake(&object, reason);
    scene.settle();
}

/// Two instances of the plugin that take turns, as those that the host keeps.
#[derive(Default)]
struct Turns([HelmOperator; 2], Cell<usize>);

impl Turns {
    fn next(&self) -> &HelmOperator {
        self.1.set(self.1.get() + 1);
        &self.0[self.1.get() % 2]
    }
}

impl Reconciler for Turns {
    type Resource = Dynamic;

    fn reconcile(&self, ctx: &Context, object: &Dynamic) -> Result<Outcome, Error> {
        self.next().reconcile(ctx, object)
    }

    fn finalize(&self, ctx: &Context, object: &Dynamic) -> Result<Finalized, Error> {
        self.next().finalize(ctx, object)
    }
}

#[test]
fn a_field_that_the_cluster_does_not_know_is_left_out_and_told() {
    let mut scene = Scene::with(&json!({"replicas": 2}), &misspelt(), &json!({}));
    scene.cluster.fail(unknown("Deployment", "/spec/replicaz"));
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas(), field(&scene)), (vec!["deployed"], Some(2), Value::Null));
    assert_eq!(
        told(&scene),
        ["the cluster does not know these fields of Deployment web, which are left out: .spec.replicaz"]
    );
    scene.come_up();
    wake(&mut scene, Reason::Resync);
    scene.cluster.forget_calls();
    wake(&mut scene, Reason::Resync);
    let calls = scene.cluster.calls();
    assert!(scene.writes().is_empty() && calls.iter().all(|call| call.error.is_none()), "{calls:?}");
    scene.runner.restart();
    scene.settle();
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
    scene.truth("Ready");
}

#[test]
fn a_field_that_the_cluster_knows_by_now_is_applied_and_instances_do_not_fight_over_it() {
    let plugin = || Plugin::new().with(Turns::default());
    let mut scene = Scene::played_by(plugin, &json!({}), &misspelt(), &json!({}));
    scene.cluster.fail(unknown("Deployment", "/spec/replicaz"));
    scene.settle();
    scene.come_up();
    for _ in 0..4 {
        wake(&mut scene, Reason::Resync);
    }
    scene.cluster.heal();
    for _ in 0..8 {
        scene.run_for(600);
        wake(&mut scene, Reason::Resync);
    }
    assert_eq!(field(&scene), 3, "within the hour");
    scene.cluster.forget_calls();
    for reason in
        [Reason::Resync, Reason::Manual, Reason::Resync, Reason::Manual, Reason::Manual, Reason::Resync]
    {
        wake(&mut scene, reason);
        assert!(scene.writes().is_empty(), "{:?}", scene.writes());
    }
}

#[test]
fn a_field_whose_definition_comes_along_is_applied_with_it() {
    let files = |properties: &str, more: &str| {
        let definition = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
             spec: {{group: example.com, scope: Namespaced, names: {{kind: Thing, plural: things, singular: thing}}, versions: [{{name: v1, \
             served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, properties: {{{properties}}}}}}}}}]}}\n"
        );
        let thing = format!(
            "apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: web-thing}}\nword: a\n{more}"
        );
        chart(&[("templates/definition.yaml", &definition), ("templates/thing.yaml", &thing)])
    };
    let mut scene = Scene::with(&json!({}), &files("word: {type: string}", ""), &json!({}));
    scene.run_for(60);
    assert_eq!(scene.statuses(), ["deployed"]);
    scene.cluster.fail(unknown("Thing", "/other").times(1));
    scene.runner =
        scene.runner.asset("charts/site", files("word: {type: string}, other: {type: string}", "other: b\n"));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"], "{}", scene.web()["status"]);
    let thing = ObjectRef::new(Gvk::new("example.com", "v1", "Thing"), NAMESPACE, "web-thing");
    assert_eq!(scene.get(&thing).unwrap()["other"], "b");
    assert!(told(&scene).is_empty(), "{:?}", told(&scene));
}

#[test]
fn any_number_of_objects_may_have_such_fields() {
    let maps = "{{ range until 70 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-{{ . }}}\nextra: 1\n{{ end }}";
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/maps.yaml", maps)]), &json!({}));
    scene.cluster.fail(unknown("ConfigMap", "/extra"));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"], "{}", scene.web()["status"]);
    assert_eq!(told(&scene).len(), 70);
}

#[test]
fn what_is_left_out_is_told_also_when_the_first_apply_without_it_fails() {
    let mut scene = Scene::installed(&json!({}));
    scene.cluster.fail(unknown("Deployment", "/spec/replicaz"));
    // Of the rehearsal with the field and without, and of the apply: the fourth is the one without.
    scene.cluster.fail(Fault::unavailable().verb(Verb::Apply).kind("Deployment").nth(4));
    scene.runner = scene.runner.asset("charts/site", misspelt());
    scene.settle();
    assert_eq!((scene.statuses(), told(&scene).len()), (vec!["deployed", "pending-upgrade"], 0));
    scene.set(&json!({"image": "nginx:2"}));
    scene.run_for(120);
    assert_eq!(scene.statuses().last(), Some(&"deployed"));
    assert_eq!(told(&scene).len(), 1, "{:?}", told(&scene));
}
