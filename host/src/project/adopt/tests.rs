use super::*;
use crate::project::survey::{ChartName, Names, Rule};
use crate::project::yaml_text;
use serde_json::{Value, json};

const OURS: &str = "registry.example/helm-operator:v0.1.0";

fn watched() -> Vec<Watched> {
    let rule = |group: &str, resource: &str, scope: &str| Rule {
        api_groups: vec![group.to_owned()],
        resources: vec![resource.to_owned()],
        verbs: vec!["get".to_owned(), "patch".to_owned()],
        why: vec![format!("templates/{resource}.yaml")],
        found: "rendered".to_owned(),
        scope: scope.to_owned(),
        ..Rule::default()
    };
    let survey = Survey {
        chart: ChartName { name: "shop".to_owned(), version: "1.0.0".to_owned() },
        names: Names {
            group: "apps".to_owned(),
            qualified_group: "apps.example.com".to_owned(),
            version: "v1alpha1".to_owned(),
            kind: "Shop".to_owned(),
            plural: "shops".to_owned(),
        },
        crd: json!({"spec": {"versions": [{"additionalPrinterColumns": [{"name": "Ready", "type": "string", "jsonPath": ".x"}]}]}}),
        rules: vec![
            rule("apps", "deployments", "namespace"),
            rule("batch", "jobs", "namespace"),
            rule("rbac.authorization.k8s.io", "clusterroles", "cluster"),
        ],
        ..Survey::default()
    };
    let gvk =
        Gvk { group: "apps.example.com".to_owned(), version: "v1alpha1".to_owned(), kind: "Shop".to_owned() };
    vec![Watched { gvk, survey: Ok(survey) }]
}

fn adopted(files: &Vec<File>) -> (Vec<File>, Adoption) {
    let watched = watched();
    let refusal =
        |args: &[String]| args.iter().find(|arg| *arg == "--bogus").map(|_| "unknown --bogus".to_owned());
    let inputs = Inputs { operator_image: OURS, watched: &watched, refusal: &refusal };
    let adoption = adopt(files, &inputs);
    let changed = |file: &File| {
        let new = adoption.changed.iter().find(|changed| changed.file.path == file.path);
        new.map_or_else(|| file.clone(), |changed| changed.file.clone())
    };
    let after: Vec<File> = files.iter().map(changed).collect();
    let again = adopt(&after, &inputs);
    assert_eq!(again.changed, [], "a second time changes nothing");
    (after, adoption)
}

/// What a project of operator-sdk 0.18 has.
fn old_project() -> Vec<File> {
    vec![
        File::new("build/Dockerfile", "FROM quay.io/operator-framework/helm-operator:v0.18.2\n"),
        File::new(
            "deploy/operator.yaml",
            "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop-operator
spec:
  replicas: 1
  template:
    spec:
      serviceAccountName: shop-operator
      containers:
        - name: shop-operator
          # Replace this with the built image name
          image: REPLACE_IMAGE
          imagePullPolicy: Always
          env:
            - name: WATCH_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            - name: OPERATOR_NAME
              value: \"shop-operator\"
",
        ),
        File::new(
            "deploy/role.yaml",
            "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: shop-operator
rules:
- apiGroups:
  - \"\"
  resources: [secrets, events]
  verbs: ['*']
- apiGroups:
  - apps
  resources:
  - deployments
  verbs: [get]
",
        ),
        File::new(
            "deploy/crds/apps.example.com_shops_crd.yaml",
            "\
# Ours.
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata:
  name: shops.apps.example.com
spec:
  group: apps.example.com
  names:
    kind: Shop
    listKind: ShopList
    plural: shops
    singular: shop
  scope: Namespaced
  validation:
    openAPIV3Schema:
      type: object
      x-kubernetes-preserve-unknown-fields: true
  versions:
  - name: v1alpha1
    served: true
    storage: true
",
        ),
        File::new("deploy/crds/apps.example.com_v1alpha1_shop_cr.yaml", "kind: Shop\n"),
    ]
}

fn text(files: &Vec<File>, path: &str) -> String {
    files.text(path).unwrap()
}

#[test]
fn a_project_of_before_1_0_becomes_one_that_todays_kubernetes_takes() {
    let (files, adoption) = adopted(&old_project());
    assert_eq!(adoption.left_alone, []);
    assert_eq!(text(&files, "build/Dockerfile"), format!("FROM {OURS}\n"));
    let deployment = yaml_text::read(&text(&files, "deploy/operator.yaml")).unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], json!("RuntimeDefault"));
    let container = &pod["containers"][0];
    assert_eq!(container["readinessProbe"]["httpGet"]["port"], json!(8081));
    assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    assert_eq!(container["env"].as_array().unwrap().len(), 4);
    assert!(text(&files, "deploy/operator.yaml").contains("# Replace this with the built image name\n"));

    let role = yaml_text::read(&text(&files, "deploy/role.yaml")).unwrap();
    let rules = role["rules"].as_array().unwrap();
    let has = |group: &str, resource: &str| {
        rules.iter().any(|rule| {
            rule["apiGroups"] == json!([group])
                && rule["resources"].as_array().unwrap().contains(&json!(resource))
        })
    };
    assert!(
        has("batch", "jobs")
            && has("apps.example.com", "shops")
            && !has("rbac.authorization.k8s.io", "clusterroles")
    );
    assert!(
        rules.contains(&json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]}))
    );
    assert!(text(&files, "deploy/role.yaml").contains("# Chart shop, templates/jobs.yaml.\n"));
    assert!(adoption.notes.iter().any(|note| note.contains("clusterroles") && note.contains("ClusterRole")));

    let path = "deploy/crds/apps.example.com_shops_crd.yaml";
    assert!(text(&files, path).starts_with("# Ours.\n"));
    let crd = yaml_text::read(&text(&files, path)).unwrap();
    assert_eq!(crd["apiVersion"], json!("apiextensions.k8s.io/v1"));
    let version = &crd["spec"]["versions"][0];
    assert_eq!(version["subresources"], json!({"status": {}}));
    assert_eq!(version["additionalPrinterColumns"][0]["name"], json!("Ready"));
    let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(spec["x-kubernetes-preserve-unknown-fields"], json!(true));
}

const PATCH: &str = "\
# With a proxy.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: controller-manager
  namespace: system
spec:
  template:
    spec:
      containers:
      - name: kube-rbac-proxy
        image: gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0
        args:
        - \"--secure-listen-address=0.0.0.0:8443\"
      - name: manager
        args:
        - \"--health-probe-bind-address=:8081\"
        - \"--metrics-bind-address=127.0.0.1:8080\" # behind the proxy
        - \"--leader-elect\"
";

#[test]
fn the_proxy_goes_and_the_host_serves_what_it_served() {
    let path = "config/default/manager_auth_proxy_patch.yaml";
    let (files, adoption) = adopted(&vec![File::new(path, PATCH)]);
    assert_eq!(adoption.left_alone, []);
    let expected = "\
# With a proxy.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: controller-manager
  namespace: system
spec:
  template:
    spec:
      containers:
      - name: manager
        args:
        - \"--health-probe-bind-address=:8081\"
        - --metrics-bind-address=:8443
        - \"--leader-elect\"
        - --metrics-secure
        - --metrics-require-rbac
        ports:
        - containerPort: 8443
          protocol: TCP
          name: https
";
    assert_eq!(text(&files, path), expected);
}

#[test]
fn fields_of_kustomizations_get_their_names_of_today() {
    let path = "config/default/kustomization.yaml";
    let old = "\
namePrefix: a-
bases:
- ../crd
# [PROMETHEUS]
#- ../prometheus

patchesStrategicMerge:
# why
- manager_auth_proxy_patch.yaml

#- manager_config_patch.yaml
";
    let (files, _) = adopted(&vec![File::new(path, old)]);
    let expected = old
        .replace("bases:", "resources:")
        .replace("patchesStrategicMerge:", "patches:")
        .replace("- manager_auth_proxy_patch.yaml", "- path: manager_auth_proxy_patch.yaml");
    assert_eq!(text(&files, path), expected);
}

#[test]
fn what_cannot_be_understood_is_left_alone_and_named() {
    let files = vec![
        File::new(
            "config/manager/manager.yaml",
            "kind: Deployment\nspec: {template: {spec: {containers: [{name: manager}]}}}\n",
        ),
        File::new("config/rbac/role.yaml", "kind: [\n"),
        File::new("Dockerfile", "FROM alpine\n"),
    ];
    let (after, adoption) = adopted(&files);
    assert_eq!(after, files);
    let named: Vec<&str> = adoption.left_alone.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(named, ["config/manager/manager.yaml", "config/rbac/role.yaml"]);
    assert!(adoption.notes.iter().any(|note| note.contains("alpine")), "{:?}", adoption.notes);
}

#[test]
fn arguments_that_the_host_would_not_take_are_told_of_and_old_ones_renamed() {
    let manager = "\
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - command:
        - /manager
        args:
        - --enable-leader-election
        - --metrics-addr=127.0.0.1:8080
        - --bogus
        name: manager
        resources:
          limits:
            cpu: 100m
            memory: 30Mi
      terminationGracePeriodSeconds: 10
";
    let path = "config/manager/manager.yaml";
    let (files, adoption) = adopted(&vec![File::new(path, manager)]);
    let container =
        yaml_text::read(&text(&files, path)).unwrap()["spec"]["template"]["spec"]["containers"][0].clone();
    assert_eq!(
        container["args"],
        json!(["--leader-elect", "--metrics-bind-address=127.0.0.1:8080", "--bogus"])
    );
    assert_eq!(container.get("command"), None::<&Value>);
    assert_eq!(container["resources"]["limits"], json!({"memory": "128Mi"}));
    assert!(adoption.notes.iter().any(|note| note.contains("unknown --bogus")), "{:?}", adoption.notes);
}

#[test]
fn limits_that_somebody_chose_stay() {
    let manager = "\
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: manager
        resources:
          limits:
            cpu: \"3\"
            memory: 1Gi
      terminationGracePeriodSeconds: 60
";
    let path = "config/manager/manager.yaml";
    let (files, _) = adopted(&vec![File::new(path, manager)]);
    let text = text(&files, path);
    assert!(text.contains("cpu: \"3\"\n            memory: 1Gi\n"), "{text}");
    assert!(text.contains("terminationGracePeriodSeconds: 60"), "{text}");
}
