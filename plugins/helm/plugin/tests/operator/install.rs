//! From an object to its release.

use pilothouse_sdk::{
    Gvk, KubeError, ObjectRef,
    harness::{Fault, Verb},
};
use serde_json::{Value, json};

use crate::scene::{NAME, NAMESPACE, Scene, chart, kind};

#[test]
fn an_object_becomes_a_release_that_helm_can_read() {
    let mut scene = Scene::new(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(
        scene.objects(),
        [
            "v1 Secret shop/web-password",
            "apps/v1 Deployment shop/web",
            "rbac.authorization.k8s.io/v1 ClusterRole web-reader"
        ]
    );
    assert_eq!(scene.replicas(), Some(2));
    assert_eq!(scene.statuses(), ["deployed"]);
    let record = scene.stored(1).release;
    assert_eq!(record.info.description, "Install complete");
    assert_eq!(record.info.notes, "Visit web with 2 replicas.");
    assert_eq!(record.chart_name().unwrap().version, "1.0.0");
    assert_eq!(record.config.unwrap().get(), r#"{"replicas":2}"#);
    assert!(
        record.manifest.starts_with("---\n# Source: site/templates/secret.yaml\n"),
        "{}",
        record.manifest
    );
    let secret = scene.get(&scene.secret(1)).unwrap();
    assert_eq!(secret["type"], "helm.sh/release.v1");
    assert_eq!(secret["metadata"]["ownerReferences"][0]["name"], NAME);
}

#[test]
fn conditions_and_status_are_operator_sdks_without_the_secrets() {
    let mut scene = Scene::new(&json!({}));
    scene.settle();
    assert_eq!(scene.truth("Deployed"), ("InstallSuccessful".into(), "Visit web with 1 replicas.".into()));
    scene.truth("Initialized");
    scene.come_up();
    let status = &scene.web()["status"];
    assert_eq!(status["deployedRelease"]["name"], NAME);
    let manifest = status["deployedRelease"]["manifest"].as_str().unwrap();
    assert!(manifest.contains("kind: Deployment") && !manifest.contains("hunter2"), "{manifest}");
    assert_eq!(status["release"]["revision"], 1);
    assert_eq!(status["release"]["chart"], "site-1.0.0");
    assert_eq!(status["release"]["appVersion"], "7");
    let inventory = status["inventory"].as_array().unwrap();
    let deployment =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME, "namespace": NAMESPACE});
    assert!(inventory.contains(&deployment), "{inventory:?}");
    let operations = "helm_operations{action=\"install\",result=\"success\"}";
    assert_eq!(scene.cluster.metric(operations), Some(1.0));
}

#[test]
fn objects_carry_helms_and_operator_sdks_marks() {
    let mut scene = Scene::new(&json!({}));
    scene.settle();
    let deployment = scene.get(&scene.deployment()).unwrap();
    let metadata = &deployment["metadata"];
    assert_eq!(metadata["labels"]["app.kubernetes.io/managed-by"], "Helm");
    assert_eq!(metadata["labels"]["helm.sdk.operatorframework.io/chart"], "site");
    assert_eq!(metadata["annotations"]["meta.helm.sh/release-name"], NAME);
    assert_eq!(metadata["annotations"]["meta.helm.sh/release-namespace"], NAMESPACE);
    assert_eq!(metadata["ownerReferences"][0]["kind"], "Web");
    let role = scene.get(&scene.role()).unwrap();
    assert_eq!(role["metadata"]["annotations"]["operator-sdk/primary-resource"], "shop/web");
    assert_eq!(
        role["metadata"]["annotations"]["operator-sdk/primary-resource-type"],
        "Web.charts.example.com"
    );
    assert_eq!(role["metadata"].get("ownerReferences"), None);
    assert!(scene.cluster.managers(&scene.deployment()).iter().all(|field| field.starts_with("helm: ")));
}

#[test]
fn without_hooks_an_install_writes_the_record_before_and_after_the_objects() {
    let mut scene = Scene::new(&json!({}));
    scene.settle();
    assert_eq!(
        scene.writes(),
        [
            "create v1 Secret shop/sh.helm.release.v1.web.v1",
            "apply v1 Secret shop/web-password",
            "apply rbac.authorization.k8s.io/v1 ClusterRole web-reader",
            "apply apps/v1 Deployment shop/web",
            "update v1 Secret shop/sh.helm.release.v1.web.v1",
        ]
    );
}

#[test]
fn an_object_of_somebody_else_is_not_taken() {
    let mut scene = Scene::new(&json!({}));
    let foreign = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-password", "namespace": NAMESPACE}});
    scene.cluster.create([&foreign]).unwrap();
    scene.settle();
    assert_eq!(scene.objects(), ["v1 Secret shop/web-password"]);
    assert!(scene.history().is_empty());
    let (reason, message) = scene.truth("ReleaseFailed");
    assert_eq!(reason, "InstallError");
    assert!(
        message.contains(
            "unable to continue with install: Secret \"web-password\" in namespace \"shop\" exists and cannot be imported \
             into the current release: invalid ownership metadata; label validation error: missing key"
        ),
        "{message}"
    );
    let password = ObjectRef::new(Gvk::new("", "v1", "Secret"), NAMESPACE, "web-password");
    scene.cluster.kubectl().delete_ref(&password, &Default::default()).unwrap();
    scene.run_for(400);
    assert_eq!(scene.statuses(), ["deployed"], "heals by itself");
    assert_eq!(scene.condition("ReleaseFailed"), None);
}

#[test]
fn a_template_error_is_told_in_helms_words_and_leaves_nothing() {
    let mut scene = Scene::new(&json!({"broken": true}));
    scene.settle();
    let (reason, message) = scene.truth("ReleaseFailed");
    assert_eq!(reason, "InstallError");
    assert!(message.starts_with("failed to install release: "), "{message}");
    assert!(message.contains("site/templates/broken.yaml:1:"), "{message}");
    scene.truth("Stalled");
    assert!(scene.objects().is_empty() && scene.history().is_empty());
    scene.set(&json!({"broken": false}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
}

#[test]
fn values_that_break_the_schema_are_refused_in_helms_words() {
    let schema = r#"{"type": "object", "properties": {"replicas": {"type": "integer", "minimum": 1}}}"#;
    let files = chart(&[("values.schema.json", schema)]);
    let mut scene = Scene::with(&json!({"replicas": 0}), &files, &json!({}));
    scene.settle();
    let (_, message) = scene.truth("ReleaseFailed");
    assert!(
        message.contains("values don't meet the specifications of the schema(s) in the following chart(s):"),
        "{message}"
    );
    assert!(scene.history().is_empty());
}

#[test]
fn definitions_of_the_chart_are_created_first_and_waited_for() {
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n\
        spec: {group: example.com, scope: Namespaced, names: {kind: Thing, plural: things, singular: thing}, versions: [{name: v1, served: true, storage: true, \
        schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}\n";
    let thing = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: web-thing}\n";
    let files = chart(&[("crds/things.yaml", definition), ("templates/thing.yaml", thing)]);
    let mut scene = Scene::with(&json!({}), &files, &json!({}));
    scene.settle();
    let reference = ObjectRef::new(
        Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        None,
        "things.example.com",
    );
    assert!(scene.get(&reference).is_some());
    if scene.history().is_empty() {
        assert_eq!(scene.truth("Reconciling").0, "WaitingForDefinition");
        let established = json!({"conditions": [{"type": "Established", "status": "True"}]});
        scene.cluster.set_status(&reference, &established).unwrap();
        scene.settle();
    }
    assert_eq!(scene.statuses(), ["deployed"]);
    assert!(
        scene.get(&ObjectRef::new(Gvk::new("example.com", "v1", "Thing"), NAMESPACE, "web-thing")).is_some()
    );
    scene.delete();
    scene.settle();
    assert!(scene.get(&reference).is_some(), "definitions outlive the release");
}

#[test]
fn overrides_win_and_are_told() {
    let settings = json!({"overrideValues": {"image": "registry:5000/{{ printf \"nginx\" }}"}});
    let mut scene = Scene::with(&json!({"image": "mine"}), &chart(&[]), &settings);
    scene.settle();
    let deployment = scene.get(&scene.deployment()).unwrap();
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "registry:5000/nginx");
    let message = r#"Chart value "image" overridden to "registry:5000/nginx" by operator's watches.yaml"#;
    let told = scene.events().into_iter().find(|(reason, _)| reason == "OverrideValuesInUse").unwrap();
    assert_eq!(told.1, message);
}

#[test]
fn lookup_sees_the_cluster() {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-found}\ndata: {a: {{ (lookup \"v1\" \"Namespace\" \"\" \"shop\").metadata.name }}}\n";
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/found.yaml", template)]), &json!({}));
    scene.settle();
    let found = scene.get(&ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, "web-found")).unwrap();
    assert_eq!(found["data"]["a"], "shop");
}

#[test]
fn a_release_of_another_chart_with_this_name_is_a_collision() {
    let mut scene = Scene::new(&json!({}));
    let mut other = helm_release::Release {
        name: NAME.into(),
        namespace: NAMESPACE.into(),
        version: 1,
        ..Default::default()
    };
    other.set_status(helm_release::Status::Deployed, "Install complete");
    other.chart = Some(
        serde_json::value::to_raw_value(&json!({"metadata": {"name": "mysql", "version": "1"}})).unwrap(),
    );
    let now = jiff_now();
    let stored = helm_release::Stored::new(other, Default::default(), Default::default());
    scene.cluster.create([stored.secrets(now).unwrap().record]).unwrap();
    scene.settle();
    let (reason, message) = scene.truth("Irreconcilable");
    assert_eq!(reason, "ReconcileError");
    assert_eq!(
        message,
        "failed to get helm release name: duplicate release name: found existing release with name \"web\" for chart \"mysql\""
    );
    scene.delete();
    scene.settle();
    assert_eq!(scene.get(&scene.object()), None, "nothing of it was ours, so it goes");
    assert_eq!(scene.statuses(), ["deployed"], "and the other release stays");
}

#[test]
fn a_lookup_without_a_namespace_finds_lists_of_all_of_them_and_no_single_object() {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-found}\ndata:\n  one: {{ lookup \"v1\" \"ConfigMap\" \
                    \"\" \"there\" | toJson | quote }}\n  all: {{ range (lookup \"v1\" \"ConfigMap\" \"\" \"\").items }}{{ .metadata.namespace \
                    }}/{{ .metadata.name }} {{ end }}\n";
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/found.yaml", template)]), &json!({}));
    let there = |namespace: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there", "namespace": namespace}});
    scene.cluster.create([there(NAMESPACE), there("default")]).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    let found = scene.get(&ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, "web-found")).unwrap();
    assert_eq!(found["data"]["one"], "{}");
    assert_eq!(found["data"]["all"], "default/there shop/there");
}

fn jiff_now() -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_767_225_600).unwrap()
}

#[test]
fn a_release_that_belongs_to_another_object_is_a_collision() {
    let mut scene = Scene::new(&json!({}));
    scene.settle();
    let mut secret: Value = scene.get(&scene.secret(1)).unwrap();
    secret["metadata"]["ownerReferences"][0]["kind"] = json!("Blog");
    scene.cluster.kubectl().replace(&secret).unwrap();
    scene.settle();
    let (_, message) = scene.truth("Irreconcilable");
    assert!(
        message.ends_with("found existing release with name \"web\" that belongs to charts.example.com/v1alpha1 Blog \"web\""),
        "{message}"
    );
}

#[test]
fn a_renamed_kind_takes_its_releases_over_once_they_are_not_the_old_kinds_any_more() {
    let mut scene = Scene::installed(&json!({}));
    let all = [scene.secret(1), scene.deployment()];
    let uid = scene.get(&scene.deployment()).unwrap()["metadata"]["uid"].clone();
    let owned_by = |scene: &Scene, owners: &Value| {
        for object in &all {
            let mut found: Value = scene.get(object).unwrap();
            found["metadata"]["ownerReferences"] = owners.clone();
            scene.cluster.kubectl().replace(&found).unwrap();
        }
    };
    let mut owners = scene.get(&scene.secret(1)).unwrap()["metadata"]["ownerReferences"].clone();
    owners[0]["kind"] = json!("Blog");
    owned_by(&scene, &owners);
    scene.settle();
    let (_, message) = scene.truth("Irreconcilable");
    assert!(message.contains("that belongs to charts.example.com/v1alpha1 Blog \"web\""), "{message}");
    owned_by(&scene, &json!([]));
    scene.annotate("seen", "again");
    scene.settle();
    assert_eq!(scene.condition("Irreconcilable"), None);
    assert_eq!(scene.statuses(), ["deployed"], "no revision for it");
    let deployment = scene.get(&scene.deployment()).unwrap();
    assert_eq!(deployment["metadata"]["uid"], uid, "nothing is made anew");
    assert_eq!(deployment["metadata"]["ownerReferences"][0]["kind"], kind().kind, "and it is the new kind's");
}

#[test]
fn a_chart_that_is_not_there_or_broken_is_told() {
    let mut scene = Scene::with(&json!({}), &[("Chart.yaml".to_owned(), "name: [".to_owned())], &json!({}));
    scene.settle();
    let (_, message) = scene.truth("Irreconcilable");
    assert!(message.starts_with("failed to load chart charts/site: "), "{message}");
    let mut scene = Scene::with(&json!({}), &chart(&[]), &json!({"chart": "elsewhere"}));
    scene.settle();
    let (_, message) = scene.truth("Irreconcilable");
    assert!(message.starts_with("chart elsewhere: no such asset"), "{message}");
}

#[test]
fn an_api_server_that_is_gone_for_a_while_is_no_failure_of_the_release() {
    let mut scene = Scene::new(&json!({}));
    scene.cluster.fail(Fault::unavailable().verb(Verb::Apply).kind("Deployment").always());
    scene.settle();
    assert_eq!(scene.statuses(), ["pending-install"]);
    assert_eq!(scene.condition("ReleaseFailed"), None);
    scene.cluster.heal();
    scene.run_for(400);
    assert_eq!(scene.statuses(), ["deployed"]);
}

#[test]
fn throttling_is_waited_out() {
    let mut scene = Scene::new(&json!({}));
    let error = KubeError::Throttled(std::time::Duration::from_secs(3));
    scene.cluster.fail(Fault::new(error).verb(Verb::Apply).kind("Deployment"));
    scene.settle();
    assert_eq!(scene.statuses(), ["pending-install"]);
    scene.run_for(10);
    assert_eq!(scene.statuses(), ["deployed"]);
}

#[test]
fn the_period_of_the_annotation_brings_the_object_back() {
    let mut scene = Scene::new(&json!({}));
    scene.annotate("reconcile-period", "1m30s");
    scene.settle();
    assert_eq!(scene.runner.next_call(), Some(std::time::Duration::from_secs(90)));
    scene.annotate("reconcile-period", "often");
    scene.settle();
    let (_, message) = scene.truth("Irreconcilable");
    assert!(message.contains("\"often\" is not a duration"), "{message}");
    assert_eq!(kind().kind, "Web");
}

#[test]
fn definitions_of_a_disabled_dependency_are_not_created() {
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n\
        spec: {group: example.com, scope: Namespaced, names: {kind: Thing, plural: things, singular: thing}, versions: []}\n";
    let files = chart(&[
        (
            "Chart.yaml",
            "apiVersion: v2\nname: site\nversion: 1.0.0\ndependencies: [{name: kinds, version: 1.0.0, condition: kinds.enabled}]\n",
        ),
        ("charts/kinds/Chart.yaml", "apiVersion: v2\nname: kinds\nversion: 1.0.0\n"),
        ("charts/kinds/crds/things.yaml", definition),
    ]);
    let mut scene = Scene::with(&json!({"kinds": {"enabled": false}}), &files, &json!({}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    let reference = ObjectRef::new(
        Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        None,
        "things.example.com",
    );
    assert_eq!(scene.get(&reference), None);
}

#[test]
fn a_release_of_an_object_of_the_same_kind_in_another_group_is_a_collision() {
    let mut scene = Scene::new(&json!({}));
    scene.settle();
    let mut secret: Value = scene.get(&scene.secret(1)).unwrap();
    secret["metadata"]["ownerReferences"][0]["apiVersion"] = json!("old.example.com/v1alpha1");
    scene.cluster.kubectl().replace(&secret).unwrap();
    scene.settle();
    let (_, message) = scene.truth("Irreconcilable");
    assert!(message.ends_with("belongs to old.example.com/v1alpha1 Web \"web\""), "{message}");
}

#[test]
fn a_variable_that_a_container_has_twice_counts_as_the_last_one_says() {
    let twice = scene_deployment("env: [{name: A, value: '1'}, {name: B, value: b}, {name: A, value: '2'}]");
    let mut scene = Scene::with(&json!({}), &chart(&[("templates/deployment.yaml", &twice)]), &json!({}));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    let deployment = scene.get(&scene.deployment()).unwrap();
    let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(env, &json!([{"name": "B", "value": "b"}, {"name": "A", "value": "2"}]));
}

fn scene_deployment(container: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  \
         template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: web, image: nginx, {container}}}]}}\n"
    )
}
