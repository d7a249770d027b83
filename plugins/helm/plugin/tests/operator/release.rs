//! The resource `Release`.

use helm_yaml::{Duplicates, yaml_to_json};
use pilothouse_sdk::{
    Gvk, Invocation, ObjectRef, Patch,
    harness::{Cluster, Runner},
};
use serde_json::{Value, json};

use crate::elsewhere::archive;
use crate::scene::NAMESPACE;

const DEFINITION: &[u8] = include_bytes!("../../../../../deploy/crds/helm.pilothouse.dev_releases.yaml");
const REPOSITORY: &str = "https://charts.example.com";

fn kind() -> Gvk {
    Gvk::new("helm.pilothouse.dev", "v1alpha1", "Release")
}

struct Scene {
    cluster: Cluster,
    runner: Runner,
}

fn release(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "helm.pilothouse.dev/v1alpha1", "kind": "Release", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})
}

fn spec(more: &Value) -> Value {
    let mut spec = json!({"chart": {"repository": REPOSITORY, "name": "site"}, "values": {"replicas": 2}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

fn scene() -> Scene {
    let cluster = Cluster::new();
    cluster.define(&yaml_to_json(DEFINITION, Duplicates::LastWins).unwrap()).unwrap();
    cluster
        .create([json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})])
        .unwrap();
    let runner = Runner::new(&cluster, helm_plugin::plugin)
        .manifest(include_str!("../../plugin.yaml"))
        .unwrap()
        .kind(kind(), "helm.sdk.operatorframework.io/uninstall-release")
        .binding(&json!({"fromSpec": true}));
    cluster.chart_found(REPOSITORY, "site", "1.0.0", &archive("1.0.0", &[]));
    Scene { cluster, runner }
}

impl Scene {
    fn make(&mut self, name: &str, more: &Value) {
        self.cluster.create([release(name, &spec(more))]).unwrap();
        self.runner.settle().unwrap();
    }

    fn get(&self, kind: Gvk, name: &str) -> Option<Value> {
        self.cluster.kubectl().get_ref(&ObjectRef::new(kind, NAMESPACE, name)).unwrap()
    }

    fn deployment(&self, name: &str) -> Option<Value> {
        self.get(Gvk::new("apps", "v1", "Deployment"), name)
    }

    fn release(&self, name: &str) -> Value {
        self.get(kind(), name).unwrap()
    }

    fn change(&mut self, name: &str, spec: &Value) {
        let patch = Patch::merge(&json!({ "spec": spec })).unwrap();
        self.cluster.kubectl().patch_ref::<Value>(&ObjectRef::new(kind(), NAMESPACE, name), &patch).unwrap();
        self.runner.settle().unwrap();
    }

    fn message(&self, name: &str, condition: &str) -> String {
        let object = ObjectRef::new(kind(), NAMESPACE, name);
        self.cluster
            .condition(&object, condition)
            .unwrap_or_else(|| panic!("{}", self.release(name)["status"]))
            .message
    }
}

#[test]
fn a_release_is_installed_upgraded_and_taken_away() {
    let mut scene = scene();
    scene.make("shop", &json!({}));
    let deployment = scene.deployment("shop").unwrap();
    assert_eq!(deployment["spec"]["replicas"], 2);
    assert_eq!(deployment["metadata"]["ownerReferences"][0]["kind"], "Release");
    assert_eq!(scene.release("shop")["status"]["release"]["chart"], "site-1.0.0");
    scene.change("shop", &json!({"values": {"replicas": 3}}));
    assert_eq!(scene.deployment("shop").unwrap()["spec"]["replicas"], 3);
    assert_eq!(scene.release("shop")["status"]["release"]["revision"], 2);
    scene
        .cluster
        .kubectl()
        .delete_ref(&ObjectRef::new(kind(), NAMESPACE, "shop"), &Default::default())
        .unwrap();
    scene.runner.settle().unwrap();
    assert!(scene.deployment("shop").is_none() && scene.get(kind(), "shop").is_none());
}

#[test]
fn a_release_may_have_another_name_and_two_cannot_have_the_same() {
    let mut scene = scene();
    scene.make("one", &json!({"releaseName": "shop"}));
    let deployment = scene.deployment("shop").unwrap();
    assert_eq!(deployment["metadata"]["annotations"]["meta.helm.sh/release-name"], "shop");
    assert_eq!(deployment["metadata"]["ownerReferences"][0]["name"], "one");
    assert_eq!(scene.release("one")["status"]["deployedRelease"]["name"], "shop");
    scene.make("two", &json!({"releaseName": "shop", "values": {"replicas": 7}}));
    assert!(
        scene.message("two", "Irreconcilable").contains("duplicate release name"),
        "{}",
        scene.message("two", "Irreconcilable")
    );
    assert_eq!(scene.deployment("shop").unwrap()["spec"]["replicas"], 2);
    scene
        .cluster
        .kubectl()
        .delete_ref(&ObjectRef::new(kind(), NAMESPACE, "two"), &Default::default())
        .unwrap();
    scene.runner.settle().unwrap();
    assert!(scene.deployment("shop").is_some(), "it was not its own");
}

#[test]
fn options_stand_in_the_spec() {
    let mut scene = scene();
    scene.make("db", &json!({"suspend": true}));
    scene.make("shop", &json!({"dependsOn": [{"name": "db"}], "driftDetection": {"mode": "warn"}, "commonMetadata": {"labels": {"team": "a"}}}));
    assert!(
        scene.message("shop", "Ready").contains("Release shop/db is not ready"),
        "{}",
        scene.message("shop", "Ready")
    );
    scene.change("db", &json!({"suspend": false}));
    scene.cluster.set_ready(&ObjectRef::new(Gvk::new("apps", "v1", "Deployment"), NAMESPACE, "db")).unwrap();
    scene.runner.settle().unwrap();
    assert_eq!(scene.deployment("shop").unwrap()["metadata"]["labels"]["team"], "a");
}

#[test]
fn values_of_other_objects_are_below_its_own() {
    let mut scene = scene();
    scene.cluster.create([json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "base", "namespace": NAMESPACE}, "data": {"values.yaml": "replicas: 9\nimage: base\n"}})]).unwrap();
    scene.make("shop", &json!({"valuesFrom": [{"kind": "ConfigMap", "name": "base"}]}));
    let deployment = scene.deployment("shop").unwrap();
    assert_eq!(deployment["spec"]["replicas"], 2);
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "base");
}

#[test]
fn credentials_are_those_of_its_own_namespace() {
    let mut scene = scene();
    let chart = json!({"repository": REPOSITORY, "name": "site", "secretRef": {"name": "login"}});
    scene.make("shop", &json!({ "chart": chart }));
    assert_eq!(scene.message("shop", "ChartReady"), "Secret shop/login is not there");
}

#[test]
fn what_cannot_be_read_holds_nobody() {
    let mut scene = scene();
    scene.make("shop", &json!({}));
    let ignore = json!([{"paths": ["/spec/replicas"], "target": {"kind": "("}}]);
    scene.change("shop", &json!({"driftDetection": {"ignore": ignore}}));
    assert!(
        scene.message("shop", "Ready").contains("\"(\" is no pattern"),
        "{}",
        scene.message("shop", "Ready")
    );
    scene
        .cluster
        .kubectl()
        .delete_ref(&ObjectRef::new(kind(), NAMESPACE, "shop"), &Default::default())
        .unwrap();
    scene.runner.settle().unwrap();
    assert!(scene.deployment("shop").is_none() && scene.get(kind(), "shop").is_none());
}

fn subject(name: &str) -> Value {
    json!({"apiVersion": kind().api_version(), "kind": "Release", "namespace": NAMESPACE, "name": name})
}

/// What a command answers about a release.
fn ask(runner: &Runner, name: &str, command: &str, options: &Value) -> Value {
    let host = runner.command_host(&ObjectRef::new(kind(), NAMESPACE, name)).unwrap();
    let invocation = Invocation { name: command.to_owned(), options: options.to_string() };
    let answer = helm_plugin::command::run(host, invocation);
    assert_eq!(answer.failure, None);
    serde_json::from_slice(&answer.output).unwrap()
}

#[test]
fn releases_under_another_name_are_looked_at_under_that_name() {
    let mut scene = scene();
    scene.make("shop", &json!({"releaseName": "other"}));
    // Also beside the kinds of a watches file: nobody names this one there.
    for kinds in [Value::Null, json!([])] {
        let options = json!({"namespace": null, "selector": "", "kinds": kinds});
        let rows = ask(&scene.runner, "shop", "releases", &options);
        let row = &rows[0];
        assert_eq!((&row["name"], &row["release"]), (&json!("shop"), &json!("other")));
        assert_eq!((&row["status"], &row["chart"]), (&json!("deployed"), &json!("site-1.0.0")));
    }
    let history = ask(&scene.runner, "shop", "history", &json!({"object": subject("shop"), "max": 9}));
    assert_eq!(history[0]["description"], "Install complete");
    let told = ask(&scene.runner, "shop", "diff", &json!({"object": subject("shop")}));
    assert_eq!((&told["release"], &told["action"]), (&json!("other"), &json!("keep")));
    let patch = Patch::merge(&json!({"spec": {"values": {"replicas": 6}}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&ObjectRef::new(kind(), NAMESPACE, "shop"), &patch).unwrap();
    let told = ask(&scene.runner, "shop", "diff", &json!({"object": subject("shop")}));
    assert_eq!((&told["action"], &told["to"]["revision"]), (&json!("upgrade"), &json!(2)));
}

#[test]
fn a_look_waits_for_a_chart_that_is_not_here_yet() {
    let cluster = Cluster::new();
    cluster.define(&yaml_to_json(DEFINITION, Duplicates::LastWins).unwrap()).unwrap();
    cluster
        .create([json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})])
        .unwrap();
    cluster.create([release("shop", &spec(&json!({})))]).unwrap();
    let runner = Runner::new(&cluster, helm_plugin::plugin)
        .manifest(include_str!("../../plugin.yaml"))
        .unwrap()
        .kind(kind(), None)
        .binding(&json!({"fromSpec": true}));
    let told = ask(&runner, "shop", "diff", &json!({"object": subject("shop")}));
    assert_eq!(told, json!({"waiting": "fetching site of https://charts.example.com"}));
}
