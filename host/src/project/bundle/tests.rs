use super::*;
use crate::project::yaml_text::read;
use serde_json::json;

const MANIFESTS: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: shop-system}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  names: {kind: Shop, plural: shops}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {properties: {spec: {properties: {replicaCount: {description: How many.}}}}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: manager, namespace: shop-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leases, namespace: shop-system}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: leases, namespace: shop-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leases}
subjects: [{kind: ServiceAccount, name: manager, namespace: shop-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager}
rules: [{apiGroups: [""], resources: [secrets], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewer}
rules: [{apiGroups: [example.com], resources: [shops], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager}
subjects: [{kind: ServiceAccount, name: manager, namespace: shop-system}]
---
apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: shop-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-manager, namespace: shop-system, labels: {a: b}}
spec:
  template:
    spec:
      serviceAccountName: manager
      containers:
      - name: manager
        image: registry.example/shop:v1
        env: [{name: RELATED_IMAGE_WEB_SERVER, value: "registry.example/web:1"}]
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v0.0.0, annotations: {capabilities: Full Lifecycle}}
spec:
  displayName: Shop
  icon: [{base64data: "", mediatype: ""}]
  customresourcedefinitions:
    owned:
    - {name: shops.example.com, version: v1, kind: Shop, displayName: A shop}
    - {name: gone.example.com, version: v1, kind: Gone}
---
apiVersion: example.com/v1
kind: Shop
metadata: {name: sample, namespace: shop-system}
spec: {replicaCount: 1}
---
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
metadata: {name: config}
stages: []
"#;

fn options() -> Options {
    Options {
        package: "shop".to_owned(),
        version: "1.2.3".to_owned(),
        channels: "alpha,stable".to_owned(),
        default_channel: String::new(),
        layout: "helm.sdk.operatorframework.io/v1".to_owned(),
        created_at: "2026-01-01T00:00:00Z".to_owned(),
        directory: "bundle".to_owned(),
    }
}

fn without(kind: &str) -> Vec<Value> {
    let all = yaml_text::read_all(MANIFESTS).unwrap();
    all.into_iter().filter(|object| object["kind"] != json!(kind)).collect()
}

#[test]
fn rights_deployments_and_samples_go_into_the_version_and_the_rest_beside_it() {
    let made = bundle(&without(""), &options()).unwrap();
    let mut paths: Vec<&str> = made.files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "bundle.Dockerfile",
            "bundle/manifests/example.com_shops.yaml",
            "bundle/manifests/metrics_v1_service.yaml",
            "bundle/manifests/shop.clusterserviceversion.yaml",
            "bundle/manifests/viewer_rbac.authorization.k8s.io_v1_clusterrole.yaml",
            "bundle/metadata/annotations.yaml",
            "bundle/tests/scorecard/config.yaml",
        ]
    );
    let csv = read(&made.files[0].text).unwrap();
    assert_eq!(csv["metadata"]["name"], json!("shop.v1.2.3"));
    assert_eq!(csv["metadata"]["annotations"]["capabilities"], json!("Full Lifecycle"));
    let examples: Value =
        serde_json::from_str(csv["metadata"]["annotations"]["alm-examples"].as_str().unwrap()).unwrap();
    assert_eq!(examples[0]["metadata"], json!({"name": "sample"}));
    let spec = &csv["spec"];
    assert_eq!(spec.get("icon"), None);
    let install = &spec["install"]["spec"];
    assert_eq!(install["deployments"][0]["label"], json!({"a": "b"}));
    assert_eq!(install["permissions"][0]["rules"][0]["resources"], json!(["leases"]));
    assert_eq!(install["clusterPermissions"][0]["serviceAccountName"], json!("manager"));
    assert_eq!(spec["relatedImages"], json!([{"image": "registry.example/web:1", "name": "web-server"}]));
    let owned = &spec["customresourcedefinitions"]["owned"];
    assert_eq!(owned.as_array().unwrap().len(), 1);
    assert_eq!(owned[0]["displayName"], json!("A shop"));
    assert_eq!(
        owned[0]["specDescriptors"],
        json!([{"description": "How many.", "displayName": "Replica Count", "path": "replicaCount"}])
    );
    assert!(made.notes.iter().any(|note| note.contains("gone.example.com")), "{:?}", made.notes);
    let service = made.files.iter().find(|file| file.path.ends_with("_service.yaml")).unwrap();
    assert!(!service.text.contains("namespace"), "{}", service.text);
}

#[test]
fn labels_and_annotations_say_the_same() {
    let made = bundle(&without(""), &Options { default_channel: "stable".to_owned(), ..options() }).unwrap();
    let text = |path: &str| made.files.iter().find(|file| file.path == path).unwrap().text.clone();
    let annotations = read(&text("bundle/metadata/annotations.yaml")).unwrap();
    let dockerfile = text("bundle.Dockerfile");
    let labels = dockerfile.lines().filter_map(|line| line.strip_prefix("LABEL ")?.split_once('='));
    let labels: Value = Value::Object(labels.map(|(key, value)| (key.to_owned(), json!(value))).collect());
    assert_eq!(annotations["annotations"], labels);
    assert_eq!(labels["operators.operatorframework.io.bundle.channel.default.v1"], json!("stable"));
}

#[test]
fn what_would_be_no_bundle_is_refused() {
    let refused =
        |manifests: &[Value], options: &Options| bundle(manifests, options).unwrap_err().to_string();
    assert!(refused(&without("ClusterServiceVersion"), &options()).contains("no ClusterServiceVersion"));
    assert!(refused(&without("Deployment"), &options()).contains("no Deployment"));
    let wrong = Options { version: "v1".to_owned(), ..options() };
    assert!(refused(&without(""), &wrong).contains("version \"v1\""));
    let twice: Vec<Value> = without("").into_iter().chain(without("")).collect();
    assert!(refused(&twice, &options()).contains("2 ClusterServiceVersions"));
    let out = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "../../out"}});
    let leads_out: Vec<Value> = without("").into_iter().chain([out]).collect();
    assert!(refused(&leads_out, &options()).contains("ConfigMap \"../../out\" cannot be the name of a file"));
}

#[test]
fn a_kind_without_a_sample_and_a_bundle_without_tests_are_told_of() {
    let manifests: Vec<Value> =
        without("Shop").into_iter().filter(|o| o["kind"] != json!("Configuration")).collect();
    let made = bundle(&manifests, &options()).unwrap();
    assert!(made.notes.iter().any(|note| note.contains("no sample for shops.example.com")));
    assert!(made.notes.iter().any(|note| note.contains("no tests")));
    assert!(made.files.iter().all(|file| !file.text.contains("scorecard")));
}
