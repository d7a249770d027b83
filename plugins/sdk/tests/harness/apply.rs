//! Server-side apply in the in-memory cluster: who owns which field, and what follows from it.

use pilothouse_sdk::{
    Applied, ApplyItem, ApplyOptions, Change, Gvk, KubeError, ObjectRef, Ownership, Patch, Taken,
    harness::Cluster,
};
use serde_json::{Value, json};

fn apply_as(cluster: &Cluster, manager: &str, object: &Value, force: bool) -> Result<Applied, KubeError> {
    let item = ApplyItem::new(object)?.ownership(Ownership::None);
    let options = ApplyOptions { force, ..ApplyOptions::default() };
    cluster.user(manager).apply(&[item], options).pop().unwrap()
}

fn apply(cluster: &Cluster, manager: &str, object: &Value) -> Applied {
    apply_as(cluster, manager, object, false).unwrap()
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": data})
}

fn deployment(spec: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "default"}, "spec": spec})
}

fn reference(object: &Value) -> ObjectRef {
    let kind =
        Gvk::from_api_version(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    ObjectRef::new(kind, "default", "a")
}

fn live(cluster: &Cluster, like: &Value) -> Value {
    cluster.kubectl().get_ref(&reference(like)).unwrap().unwrap()
}

#[test]
fn the_same_apply_again_changes_nothing() {
    let cluster = Cluster::new();
    let object = config_map(&json!({"x": "1"}));
    let first = apply(&cluster, "one", &object);
    assert_eq!(first.change, Change::Created);
    let again = apply(&cluster, "one", &object);
    assert_eq!((again.change, again.resource_version), (Change::Unchanged, first.resource_version));
    assert_eq!(apply(&cluster, "one", &config_map(&json!({"x": "2"}))).change, Change::Configured);
}

#[test]
fn a_field_that_is_no_longer_applied_goes_unless_somebody_else_owns_it() {
    let cluster = Cluster::new();
    apply(&cluster, "one", &config_map(&json!({"mine": "1", "shared": "1"})));
    apply(&cluster, "two", &config_map(&json!({"shared": "1", "theirs": "1"})));
    apply(&cluster, "one", &config_map(&json!({})));
    assert_eq!(live(&cluster, &config_map(&json!({})))["data"], json!({"shared": "1", "theirs": "1"}));
    apply(
        &cluster,
        "two",
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}),
    );
    assert_eq!(live(&cluster, &config_map(&json!({}))).get("data"), None, "an empty map is none");
}

#[test]
fn another_managers_field_is_a_conflict_that_names_it() {
    let cluster = Cluster::new();
    let object = deployment(
        &json!({"replicas": 1, "template": {"spec": {"containers": [{"name": "app", "image": "a:1"}]}}}),
    );
    apply(&cluster, "one", &object);
    let mut other = object.clone();
    other["spec"]["replicas"] = json!(3);
    other["spec"]["template"]["spec"]["containers"][0]["image"] = json!("a:2");
    let error = apply_as(&cluster, "two", &other, false).unwrap_err();
    let KubeError::Conflict(status) = &error else { panic!("{error:?}") };
    assert_eq!(
        status.message,
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.replicas\n- \
         .spec.template.spec.containers[name=\"app\"].image"
    );
    assert_eq!(live(&cluster, &object)["spec"]["replicas"], json!(1), "nothing happened");
}

#[test]
fn force_takes_the_field_over_and_the_former_owner_conflicts() {
    let cluster = Cluster::new();
    let one = config_map(&json!({"x": "1"}));
    apply(&cluster, "one", &one);
    let applied = apply_as(&cluster, "two", &config_map(&json!({"x": "2"})), true).unwrap();
    assert_eq!(applied.taken, [Taken { manager: "one".into(), fields: vec![".data.x".into()] }]);
    assert_eq!(
        apply_as(&cluster, "two", &config_map(&json!({"x": "3"})), true).unwrap().taken,
        [],
        "it is its own"
    );
    assert_eq!(cluster.managers(&reference(&one)), ["two: .data.x"]);
    assert!(apply_as(&cluster, "one", &one, false).unwrap_err().is_conflict());
}

#[test]
fn a_field_changed_by_hand_belongs_to_who_changed_it() {
    let cluster = Cluster::new();
    let object = deployment(&json!({"replicas": 1}));
    apply(&cluster, "host", &object);
    let patch = Patch::merge(&json!({"spec": {"replicas": 5}})).unwrap().subresource("scale");
    cluster.kubectl().patch_ref::<Value>(&reference(&object), &patch).unwrap();
    assert_eq!(cluster.managers(&reference(&object)), ["kubectl: .spec.replicas"]);
    let error = apply_as(&cluster, "host", &object, false).unwrap_err().to_string();
    assert!(
        error.contains("conflict with \"kubectl\" with subresource \"scale\" using apps/v1: .spec.replicas"),
        "{error}"
    );
    apply_as(&cluster, "host", &object, true).unwrap();
    assert_eq!(live(&cluster, &object)["spec"]["replicas"], json!(1));
}

#[test]
fn lists_of_named_items_merge_by_their_keys() {
    let cluster = Cluster::new();
    let pod = |containers: Value| deployment(&json!({"template": {"spec": {"containers": containers}}}));
    let app = json!({"name": "app", "image": "a:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]});
    apply(&cluster, "one", &pod(json!([app])));
    apply(&cluster, "injector", &pod(json!([{"name": "sidecar", "image": "s:1"}])));
    let smaller = json!({"name": "app", "image": "a:2", "env": [{"name": "B", "value": "2"}], "ports": [{"containerPort": 80}]});
    apply(&cluster, "one", &pod(json!([smaller])));
    let live = live(&cluster, &pod(json!([])));
    assert_eq!(
        live["spec"]["template"]["spec"]["containers"],
        json!([smaller, {"name": "sidecar", "image": "s:1"}])
    );
}

#[test]
fn an_item_of_a_list_goes_with_its_last_owner() {
    let cluster = Cluster::new();
    let pod =
        |volumes: Value| deployment(&json!({"replicas": 1, "template": {"spec": {"volumes": volumes}}}));
    apply(&cluster, "one", &pod(json!([{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}])));
    apply(&cluster, "one", &pod(json!([{"name": "tmp", "emptyDir": {}}])));
    let volumes = &live(&cluster, &pod(json!([])))["spec"]["template"]["spec"]["volumes"];
    assert_eq!(volumes, &json!([{"name": "tmp", "emptyDir": {}}]));
}

#[test]
fn other_lists_and_selectors_are_replaced_as_a_whole() {
    let cluster = Cluster::new();
    let service = |ports: Value, selector: Value| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "default"},
            "spec": {"ports": ports, "selector": selector, "externalIPs": ["1.1.1.1", "2.2.2.2"]}})
    };
    apply(&cluster, "one", &service(json!([{"port": 80}]), json!({"app": "a", "tier": "x"})));
    let mut other = service(json!([{"port": 443}]), json!({"app": "b"}));
    other["spec"]["externalIPs"] = json!(["3.3.3.3"]);
    apply_as(&cluster, "two", &other, true).unwrap();
    let spec = &live(&cluster, &other)["spec"];
    assert_eq!(spec["selector"], json!({"app": "b"}));
    assert_eq!(spec["externalIPs"], json!(["3.3.3.3"]));
    assert_eq!(spec["ports"].as_array().unwrap().len(), 2, "ports merge by port and protocol");
}

#[test]
fn a_dry_run_answers_and_changes_nothing() {
    let cluster = Cluster::new();
    let dry = |object: &Value| {
        let item = ApplyItem::new(object).unwrap().ownership(Ownership::None);
        let options = ApplyOptions { dry_run: true, ..ApplyOptions::default() };
        cluster.user("one").apply(&[item], options).pop().unwrap()
    };
    let object = config_map(&json!({"x": "1"}));
    assert_eq!(dry(&object).unwrap().change, Change::Created);
    assert_eq!(cluster.kubectl().get_ref::<Value>(&reference(&object)).unwrap(), None);
    apply(&cluster, "one", &object);
    assert_eq!(dry(&config_map(&json!({"x": "2"}))).unwrap().change, Change::Configured);
    assert_eq!(live(&cluster, &object)["data"], json!({"x": "1"}));
}

#[test]
fn stop_on_error_skips_what_comes_after_a_failure() {
    let cluster = Cluster::new();
    let nowhere =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "nowhere"}});
    let items = [&nowhere, &config_map(&json!({}))].map(|object| ApplyItem::new(object).unwrap());
    let options = ApplyOptions { stop_on_error: true, ..ApplyOptions::default() };
    let answers = cluster.user("one").apply(&items, options);
    assert!(matches!(&answers[0], Err(KubeError::NotFound(_))), "{answers:?}");
    assert!(
        matches!(&answers[1], Err(KubeError::Other(status)) if status.reason == "Skipped"),
        "{answers:?}"
    );
    assert!(cluster.user("one").apply(&items, ApplyOptions::default())[1].is_ok());
}

#[test]
fn what_is_no_object_is_refused() {
    let cluster = Cluster::new();
    for bad in [
        "",
        "[]",
        "{\"kind\":\"ConfigMap\"}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"default\"}}",
    ] {
        let answer =
            cluster.user("one").apply(&[ApplyItem::json(bad)], ApplyOptions::default()).pop().unwrap();
        assert!(matches!(answer, Err(KubeError::Invalid(_))), "{bad}: {answer:?}");
    }
}

fn strictly(cluster: &Cluster, object: &Value, keep: &[&str]) -> Applied {
    let item = ApplyItem::new(object).unwrap().ownership(Ownership::None).keep(keep.iter().copied());
    let options = ApplyOptions { force: true, strict: true, ..ApplyOptions::default() };
    cluster.user("host").apply(&[item], options).pop().unwrap().unwrap()
}

fn edit(cluster: &Cluster, object: &Value, patch: &Value) {
    cluster.kubectl().patch_ref::<Value>(&reference(object), &Patch::strategic(patch).unwrap()).unwrap();
}

#[test]
fn a_strict_apply_takes_away_what_others_added_and_says_whose_it_was() {
    let cluster = Cluster::new();
    let containers = json!([{"name": "app", "image": "a:1", "env": [{"name": "A", "value": "a"}]}]);
    let object = deployment(&json!({"template": {"spec": {"containers": containers}}}));
    assert_eq!(strictly(&cluster, &object, &[]).change, Change::Created);
    edit(
        &cluster,
        &object,
        &json!({"metadata": {"labels": {"tier": "front"}, "annotations": {"deployment.kubernetes.io/revision": "1"}},
            "spec": {"replicas": 4, "template": {"spec": {"containers": [
                {"name": "app", "env": [{"name": "B", "value": "b"}]}, {"name": "sidecar", "image": "s"}]}}}}),
    );
    let applied = strictly(&cluster, &object, &[]);
    assert_eq!(applied.change, Change::Configured);
    let [taken] = applied.taken.as_slice() else { panic!("{applied:?}") };
    assert_eq!(taken.manager, "kubectl");
    assert_eq!(
        taken.fields,
        [
            ".metadata.labels.tier",
            ".spec.template.spec.containers[name=\"app\"].env[name=\"B\"]",
            ".spec.template.spec.containers[name=\"sidecar\"]"
        ]
    );
    let now = live(&cluster, &object);
    assert_eq!(now["spec"]["template"]["spec"]["containers"], containers);
    assert_eq!(now["metadata"].get("labels"), None);
    assert_eq!(now["metadata"]["annotations"], json!({"deployment.kubernetes.io/revision": "1"}));
    assert_eq!(now["spec"]["replicas"], 4, "it does not name them");
    assert_eq!(strictly(&cluster, &object, &[]).change, Change::Unchanged);
}

#[test]
fn a_strict_apply_leaves_what_it_is_told_to_leave_and_what_came_by_a_subresource() {
    let cluster = Cluster::new();
    let object = deployment(&json!({"template": {"metadata": {"labels": {"a": "b"}}}}));
    strictly(&cluster, &object, &[]);
    let scale = Patch::merge(&json!({"spec": {"replicas": 3}})).unwrap().subresource("scale");
    cluster.kubectl().patch_ref::<Value>(&reference(&object), &scale).unwrap();
    let notes = json!({"metadata": {"annotations": {"a/keep": "1", "a/go": "2"}},
        "spec": {"template": {"metadata": {"labels": {"c": "d"}}}}});
    edit(&cluster, &object, &notes);
    let keep = ["/metadata/annotations/a~1keep", "/spec/template"];
    assert_eq!(strictly(&cluster, &object, &keep).taken[0].fields, [".metadata.annotations.a/go"]);
    let now = live(&cluster, &object);
    assert_eq!(now["metadata"]["annotations"], json!({"a/keep": "1"}));
    assert_eq!(now["spec"]["template"]["metadata"]["labels"], json!({"a": "b", "c": "d"}));
    assert_eq!(now["spec"]["replicas"], 3);
}

#[test]
fn a_preview_says_what_an_apply_would_make_of_an_object_and_changes_nothing() {
    let cluster = Cluster::new();
    let preview = |object: &Value| -> Result<Value, KubeError> {
        let item = ApplyItem::new(object)?.ownership(Ownership::None);
        cluster.user("one").preview(&[item], false).pop().unwrap()
    };
    let new = preview(&config_map(&json!({"mine": "1"}))).unwrap();
    assert_eq!(new["data"], json!({"mine": "1"}));
    assert_eq!(cluster.kubectl().get_ref::<Value>(&reference(&new)).unwrap(), None, "it is not there");
    apply(&cluster, "one", &config_map(&json!({"mine": "1", "old": "1"})));
    apply(&cluster, "two", &config_map(&json!({"theirs": "1"})));
    let before = live(&cluster, &new);
    let changed = preview(&config_map(&json!({"mine": "2"}))).unwrap();
    assert_eq!(changed["data"], json!({"mine": "2", "theirs": "1"}));
    assert_eq!(live(&cluster, &new), before);
    let item = ApplyItem::new(&config_map(&json!({"mine": "2"}))).unwrap().ownership(Ownership::None);
    let strict: Value = cluster.user("one").preview(&[item], true).pop().unwrap().unwrap();
    assert_eq!(strict["data"], json!({"mine": "2"}), "what others added would go");
    let unknown =
        json!({"apiVersion": "x.y/v1", "kind": "Foo", "metadata": {"name": "a", "namespace": "default"}});
    assert!(matches!(preview(&unknown), Err(KubeError::UnknownKind(_))));
}
