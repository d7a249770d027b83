//! Reads and writes of the in-memory cluster, held against what an API server answers.

use pilothouse_sdk::{DeleteOptions, Gvk, KubeError, ObjectRef, Ownership, Patch, harness::Cluster};
use serde_json::{Value, json};

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

fn crd() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "apps.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "App", "plural": "apps"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}},
                    "status": {"type": "object", "properties": {"phase": {"type": "string"}}}}}}},
            {"name": "v1beta1", "served": true, "storage": false}]}})
}

fn app() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": "a", "namespace": "default"}, "spec": {}})
}

fn core(kind: &str, name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("", "v1", kind), "default", name)
}

fn app_ref(version: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("example.com", version, "App"), "default", "a")
}

fn create(cluster: &Cluster, object: &Value) -> Result<Value, KubeError> {
    cluster.kubectl().create(object, Ownership::None)
}

fn get(cluster: &Cluster, object: &ObjectRef) -> Value {
    cluster.kubectl().get_ref(object).unwrap().unwrap()
}

fn patch(cluster: &Cluster, object: &ObjectRef, patch: &Value) -> Result<Value, KubeError> {
    cluster.kubectl().patch_ref(object, &Patch::merge(patch).unwrap())
}

#[test]
fn a_new_object_gets_what_the_server_gives() {
    let cluster = Cluster::new();
    let created = create(&cluster, &config_map("a")).unwrap();
    assert_eq!(created["metadata"]["creationTimestamp"], json!("2026-01-01T00:00:00Z"));
    assert!(!created["metadata"]["uid"].as_str().unwrap().is_empty());
    assert_eq!(created["metadata"].get("generation"), None, "a ConfigMap has none");
    assert_eq!(
        create(&cluster, &config_map("a")).unwrap_err().to_string(),
        "configmaps \"a\" already exists (409)"
    );
}

#[test]
fn a_generated_name_is_new_each_time() {
    let cluster = Cluster::new();
    let mut object = config_map("");
    object["metadata"] = json!({"generateName": "job-", "namespace": "default"});
    let names =
        [0, 1].map(|_| create(&cluster, &object).unwrap()["metadata"]["name"].as_str().unwrap().to_owned());
    assert!(names[0].starts_with("job-") && names[0] != names[1], "{names:?}");
}

#[test]
fn bad_objects_are_refused_with_the_servers_reason() {
    let cluster = Cluster::new();
    let refused = |object: Value| create(&cluster, &object).unwrap_err().reason();
    assert_eq!(refused(config_map("Not_A_Name")), "Invalid");
    assert_eq!(
        refused(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})),
        "Invalid"
    );
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "namespace": "default"}});
    assert_eq!(refused(node), "Invalid");
    let nowhere =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "nowhere"}});
    assert_eq!(refused(nowhere), "NotFound");
    assert_eq!(
        refused(json!({"apiVersion": "v1", "kind": "Gizmo", "metadata": {"name": "a"}})),
        "KindNotServed"
    );
    assert_eq!(
        refused(json!({"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "a"}})),
        "KindNotServed"
    );
    let old = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default", "resourceVersion": "1"}});
    assert_eq!(refused(old), "Invalid");
}

#[test]
fn a_replaced_object_must_be_the_one_that_was_read() {
    let cluster = Cluster::new();
    let read = create(&cluster, &config_map("a")).unwrap();
    patch(&cluster, &core("ConfigMap", "a"), &json!({"data": {"x": "1"}})).unwrap();
    let error = cluster.kubectl().replace(&read).unwrap_err();
    assert!(error.to_string().contains("the object has been modified"), "{error}");
    let mut fresh = get(&cluster, &core("ConfigMap", "a"));
    fresh["data"]["x"] = json!("2");
    assert_eq!(cluster.kubectl().replace(&fresh).unwrap()["data"]["x"], json!("2"));
    assert_eq!(
        cluster.kubectl().replace(&config_map("a")).unwrap_err().reason(),
        "Invalid",
        "without a version"
    );
}

#[test]
fn a_patch_can_have_a_version_as_precondition() {
    let cluster = Cluster::new();
    let read = create(&cluster, &config_map("a")).unwrap();
    let with_version =
        json!({"metadata": {"resourceVersion": read["metadata"]["resourceVersion"]}, "data": {"x": "1"}});
    patch(&cluster, &core("ConfigMap", "a"), &with_version).unwrap();
    assert!(patch(&cluster, &core("ConfigMap", "a"), &with_version).unwrap_err().is_conflict());
}

#[test]
fn the_generation_counts_changes_of_the_specification_only() {
    let cluster = Cluster::new();
    cluster.define(&crd()).unwrap();
    create(&cluster, &app()).unwrap();
    let generation = || get(&cluster, &app_ref("v1"))["metadata"]["generation"].clone();
    patch(&cluster, &app_ref("v1"), &json!({"metadata": {"labels": {"x": "y"}}})).unwrap();
    cluster.set_status(&app_ref("v1"), &json!({"phase": "Running"})).unwrap();
    assert_eq!(generation(), json!(1));
    patch(&cluster, &app_ref("v1"), &json!({"spec": {"size": 4}})).unwrap();
    assert_eq!(generation(), json!(2));
    patch(&cluster, &app_ref("v1"), &json!({"spec": {"size": 4}})).unwrap();
    assert_eq!(generation(), json!(2));
}

#[test]
fn status_is_written_by_its_subresource_and_nothing_else_is() {
    let cluster = Cluster::new();
    cluster.define(&crd()).unwrap();
    let mut object = app();
    object["status"] = json!({"phase": "Dreamt"});
    create(&cluster, &object).unwrap();
    assert_eq!(get(&cluster, &app_ref("v1")).get("status"), None);
    let both =
        Patch::merge(&json!({"spec": {"size": 9}, "status": {"phase": "Running", "unknown": 1}})).unwrap();
    cluster.kubectl().patch_ref::<Value>(&app_ref("v1"), &both.subresource("status")).unwrap();
    let live = get(&cluster, &app_ref("v1"));
    assert_eq!((&live["spec"]["size"], &live["status"]), (&json!(3), &json!({"phase": "Running"})));
    let none = Patch::merge(&json!({})).unwrap().subresource("status");
    create(&cluster, &config_map("a")).unwrap();
    assert!(cluster.kubectl().patch_ref::<Value>(&core("ConfigMap", "a"), &none).unwrap_err().is_not_found());
}

#[test]
fn a_scale_is_read_and_written_by_its_subresource() {
    let cluster = Cluster::new();
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "default"}});
    create(&cluster, &deployment).unwrap();
    let scaled = |object: &ObjectRef| {
        let patch = Patch::merge(&json!({"spec": {"replicas": 4}})).unwrap().subresource("scale");
        cluster.kubectl().patch_ref::<Value>(object, &patch)
    };
    let reference = ObjectRef::new(Gvk::new("apps", "v1", "Deployment"), "default", "a");
    let scale = scaled(&reference).unwrap();
    assert_eq!(
        (&scale["kind"], &scale["spec"], &scale["status"]),
        (&json!("Scale"), &json!({"replicas": 4}), &json!({"replicas": 0}))
    );
    let live = get(&cluster, &reference);
    assert_eq!((&live["spec"]["replicas"], &live["metadata"]["generation"]), (&json!(4), &json!(2)));
    create(&cluster, &config_map("a")).unwrap();
    assert!(scaled(&core("ConfigMap", "a")).unwrap_err().is_not_found());
}

#[test]
fn a_kind_is_served_as_long_as_its_definition_is_there() {
    let cluster = Cluster::new();
    assert_eq!(create(&cluster, &app()).unwrap_err(), KubeError::UnknownKind(app_ref("v1").kind));
    cluster.define(&crd()).unwrap();
    create(&cluster, &app()).unwrap();
    assert_eq!(
        get(&cluster, &app_ref("v1beta1"))["apiVersion"],
        json!("example.com/v1beta1"),
        "one object, two versions"
    );
    let definition = ObjectRef::new(
        Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        None,
        "apps.example.com",
    );
    cluster.kubectl().delete_ref(&definition, &DeleteOptions::default()).unwrap();
    assert_eq!(create(&cluster, &app()).unwrap_err().reason(), "KindNotServed");
    cluster.define(&crd()).unwrap();
    assert_eq!(cluster.kubectl().get_ref::<Value>(&app_ref("v1")).unwrap(), None, "its objects went with it");
}

#[test]
fn a_finalizer_holds_an_object_until_it_is_taken_off() {
    let cluster = Cluster::new();
    let mut object = config_map("a");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    create(&cluster, &object).unwrap();
    let reference = core("ConfigMap", "a");
    assert!(cluster.kubectl().delete_ref(&reference, &DeleteOptions::default()).unwrap());
    assert_eq!(get(&cluster, &reference)["metadata"]["deletionTimestamp"], json!("2026-01-01T00:00:00Z"));
    patch(&cluster, &reference, &json!({"metadata": {"deletionTimestamp": null}})).unwrap();
    assert!(
        get(&cluster, &reference)["metadata"].get("deletionTimestamp").is_some(),
        "nobody takes a deletion back"
    );
    patch(&cluster, &reference, &json!({"metadata": {"finalizers": null}})).unwrap();
    assert!(!cluster.kubectl().delete_ref(&reference, &DeleteOptions::default()).unwrap(), "it is gone");
}

#[test]
fn a_deletion_can_have_preconditions() {
    let cluster = Cluster::new();
    create(&cluster, &config_map("a")).unwrap();
    let delete = |options: DeleteOptions| cluster.kubectl().delete_ref(&core("ConfigMap", "a"), &options);
    let other = Some("other".to_owned());
    assert!(
        delete(DeleteOptions { uid: other.clone(), ..DeleteOptions::default() }).unwrap_err().is_conflict()
    );
    assert!(
        delete(DeleteOptions { resource_version: other, ..DeleteOptions::default() })
            .unwrap_err()
            .is_conflict()
    );
    let uid = get(&cluster, &core("ConfigMap", "a"))["metadata"]["uid"].as_str().map(str::to_owned);
    assert!(delete(DeleteOptions { uid, ..DeleteOptions::default() }).unwrap());
}

#[test]
fn lists_select_by_namespace_labels_and_fields() {
    let cluster = Cluster::new();
    for (name, namespace, app) in
        [("a", "default", "web"), ("b", "default", "db"), ("c", "kube-system", "web")]
    {
        let metadata = json!({"name": name, "namespace": namespace, "labels": {"app": app}});
        create(&cluster, &json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})).unwrap();
    }
    let kind = Gvk::new("", "v1", "Secret");
    let names = |objects: Vec<Value>| {
        objects.iter().map(|o| o["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let kubectl = cluster.kubectl();
    assert_eq!(names(kubectl.list_ref(kind.clone(), None).labels("app=web").all().unwrap()), ["a", "c"]);
    assert_eq!(names(kubectl.list_ref(kind.clone(), "default").all().unwrap()), ["a", "b"]);
    assert_eq!(
        names(
            kubectl
                .list_ref(kind.clone(), None)
                .fields("metadata.name!=a")
                .labels("app in (web)")
                .all()
                .unwrap()
        ),
        ["c"]
    );
    assert_eq!(
        kubectl.list_ref::<Value>(kind.clone(), None).labels("a in b").all().unwrap_err().reason(),
        "Invalid"
    );
    assert_eq!(
        kubectl.list_ref::<Value>(kind, None).fields("spec.x=1").all().unwrap_err().reason(),
        "Invalid"
    );
}

#[test]
fn a_list_comes_page_by_page_even_while_objects_go() {
    let cluster = Cluster::new();
    for n in 0..7 {
        create(&cluster, &config_map(&format!("c{n}"))).unwrap();
    }
    let kubectl = cluster.kubectl().only(["data"]);
    let mut list =
        kubectl.list_ref::<Value>(Gvk::new("", "v1", "ConfigMap"), "default").page_size(3).into_iter();
    let first = list.next().unwrap().unwrap();
    assert_eq!(first["metadata"]["name"], json!("c0"));
    assert_eq!(first["metadata"].get("creationTimestamp"), None, "only what was asked for");
    cluster.kubectl().delete_ref(&core("ConfigMap", "c1"), &DeleteOptions::default()).unwrap();
    assert_eq!(list.count(), 6, "the rest of the first page was read before, the others follow");
}

#[test]
fn what_cannot_change_is_refused() {
    let cluster = Cluster::new();
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:1"}]}}}});
    create(&cluster, &job).unwrap();
    let job = ObjectRef::new(Gvk::new("batch", "v1", "Job"), "default", "a");
    let error =
        patch(&cluster, &job, &json!({"spec": {"template": {"spec": {"containers": []}}}})).unwrap_err();
    let words = error.to_string();
    assert!(words.contains("Job.batch \"a\" is invalid: spec.template: Invalid value: {"), "{words}");
    assert!(words.contains("}: field is immutable"), "{words}");
    patch(&cluster, &job, &json!({"spec": {"suspend": true}})).unwrap();
}

#[test]
fn each_kind_refuses_in_its_own_words() {
    let pod = json!({"containers": [{"name": "c", "image": "i:1"}], "nodeName": "a"});
    let role = |name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
    let set = json!({"serviceName": "a", "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}});
    for (api, kind, object, change, words) in [
        (
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            json!({"roleRef": role("a")}),
            json!({"roleRef": role("b")}),
            ": cannot change roleRef",
        ),
        (
            "v1",
            "Service",
            json!({"spec": {"clusterIP": "10.0.0.1"}}),
            json!({"spec": {"clusterIP": "10.0.0.2"}}),
            "spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set",
        ),
        (
            "v1",
            "Pod",
            json!({"spec": pod}),
            json!({"spec": {"nodeName": "b"}}),
            "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`",
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({"spec": set}),
            json!({"spec": {"podManagementPolicy": "Parallel"}}),
            "spec: Forbidden: updates to statefulset spec for fields other than",
        ),
    ] {
        let cluster = Cluster::new();
        let mut all =
            json!({"apiVersion": api, "kind": kind, "metadata": {"name": "a", "namespace": "default"}});
        all.as_object_mut().unwrap().extend(object.as_object().unwrap().clone());
        create(&cluster, &all).unwrap();
        let reference = ObjectRef::new(Gvk::from_api_version(api, kind), "default", "a");
        let error = patch(&cluster, &reference, &change).unwrap_err().to_string();
        assert!(error.contains(words), "{kind}: {error}");
        patch(&cluster, &reference, &json!({"metadata": {"labels": {"c": "d"}}})).unwrap();
    }
    let cluster = Cluster::new();
    create(&cluster, &json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "a"}, "value": 1})).unwrap();
    let class = ObjectRef::new(Gvk::new("scheduling.k8s.io", "v1", "PriorityClass"), None::<&str>, "a");
    let error = patch(&cluster, &class, &json!({"value": 2})).unwrap_err().to_string();
    assert!(error.contains("value: Forbidden: may not be changed in an update."), "{error}");
}

#[test]
fn a_label_is_no_longer_than_63_letters() {
    let cluster = Cluster::new();
    let map = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default", "labels": {"a": value}}});
    let error = create(&cluster, &map(&"a".repeat(64))).unwrap_err().to_string();
    assert!(error.contains("metadata.labels: Invalid value"), "{error}");
    create(&cluster, &map(&"a".repeat(63))).unwrap();
}

#[test]
fn string_data_of_a_secret_becomes_data() {
    let cluster = Cluster::new();
    let mut secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "default"}});
    secret["stringData"] = json!({"password": "geheim"});
    let created = create(&cluster, &secret).unwrap();
    assert_eq!((&created["data"], created.get("stringData")), (&json!({"password": "Z2VoZWlt"}), None));
}

#[test]
fn the_tail_of_a_log_is_cut_at_a_character() {
    let cluster = Cluster::new();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}});
    create(&cluster, &pod).unwrap();
    cluster.set_log("default", "p", Some("c"), "grün und blau");
    assert_eq!(cluster.kubectl().logs("default", "p", "c", 11).unwrap(), "n und blau");
    assert_eq!(cluster.kubectl().logs("default", "p", None, 12).unwrap(), "");
    assert!(cluster.kubectl().logs("default", "q", None, 12).unwrap_err().is_not_found());
}
