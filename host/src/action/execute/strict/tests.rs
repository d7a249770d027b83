use super::*;

fn entry(manager: &str, operation: &str, subresource: &str, fields: Value) -> Value {
    json!({"manager": manager, "operation": operation, "subresource": subresource, "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1", "fieldsV1": fields})
}

/// As an API server answers: a Deployment of ours, with what others did to it.
fn deployment(others: &[Value]) -> Value {
    let own = entry(
        "helm",
        "Apply",
        "",
        json!({"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:replicas": {}, "f:template": {
            "f:metadata": {"f:labels": {"f:app": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {},
                "f:env": {"k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}}}}}}}}),
    );
    let fields: Vec<Value> = std::iter::once(own).chain(others.iter().cloned()).collect();
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "resourceVersion": "7", "managedFields": fields, "finalizers": ["x/y"],
            "labels": {"app": "web", "tier": "front"},
            "annotations": {"deployment.kubernetes.io/revision": "3", "a/note": "n"},
        },
        "spec": {
            "replicas": 1, "paused": true, "strategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": {"kubectl.kubernetes.io/restartedAt": "now"}},
                "spec": {"containers": [
                    {"name": "sidecar", "image": "s", "imagePullPolicy": "Always"},
                    {"name": "web", "image": "nginx", "env": [{"name": "B", "value": "b"}, {"name": "A", "value": "a"}, {"name": "C", "value": "c"}]},
                ]},
            },
        },
        "status": {"replicas": 1},
    })
}

fn removed(object: &Value, keep: &[&str]) -> Vec<String> {
    let keep: Vec<String> = keep.iter().map(|keep| (*keep).to_owned()).collect();
    let Some(removal) = additions(object, "helm", &keep) else { return Vec::new() };
    let patch: Vec<Value> = serde_json::from_str(&removal.patch).unwrap();
    assert_eq!(patch[0], json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}));
    let paths = patch[1..].iter().map(|one| {
        assert_eq!(one["op"], "remove");
        one["path"].as_str().unwrap().to_owned()
    });
    paths.collect()
}

fn edit(fields: Value) -> Value {
    entry("kubectl-edit", "Update", "", fields)
}

fn in_containers(fields: Value) -> Value {
    edit(json!({"f:spec": {"f:template": {"f:spec": {"f:containers": fields}}}}))
}

#[test]
fn labels_annotations_and_fields_that_others_added_go_and_nothing_else_does() {
    let others = [
        edit(
            json!({"f:metadata": {"f:labels": {"f:tier": {}, "f:app": {}}, "f:annotations": {".": {}, "f:a/note": {}},
            "f:finalizers": {".": {}, "v:\"x/y\"": {}}}, "f:spec": {"f:paused": {}}}),
        ),
        entry("painter", "Apply", "", json!({"f:metadata": {"f:labels": {"f:tier": {}}}})),
    ];
    let object = deployment(&others);
    assert_eq!(
        removed(&object, &[]),
        ["/spec/paused", "/metadata/labels/tier", "/metadata/annotations/a~1note"]
    );
    let taken = additions(&object, "helm", &[]).unwrap().taken;
    assert_eq!(taken.len(), 2);
    assert_eq!(
        taken[0].to_string(),
        "kubectl-edit: .metadata.labels.tier, .metadata.annotations.a/note, .spec.paused"
    );
    assert_eq!(taken[1].to_string(), "painter: .metadata.labels.tier");
}

#[test]
fn items_of_lists_are_found_by_their_keys_and_taken_from_the_end() {
    let sidecar = json!({".": {}, "f:name": {}, "f:image": {}, "f:imagePullPolicy": {}});
    let item = json!({".": {}, "f:name": {}, "f:value": {}});
    let env = json!({"k:{\"name\":\"B\"}": item, "k:{\"name\":\"C\"}": item, "k:{\"name\":\"gone\"}": item});
    let object = deployment(&[in_containers(json!({
        "k:{\"name\":\"sidecar\"}": sidecar, "k:{\"name\":\"web\"}": {"f:env": env},
    }))]);
    assert_eq!(
        removed(&object, &[]),
        [
            "/spec/template/spec/containers/1/env/2",
            "/spec/template/spec/containers/1/env/0",
            "/spec/template/spec/containers/0",
        ]
    );
    let said = additions(&object, "helm", &[]).unwrap().taken[0].to_string();
    assert!(said.contains(".spec.template.spec.containers[name=\"web\"].env[name=\"B\"]"), "{said}");
}

#[test]
fn what_kubernetes_itself_or_a_subresource_wrote_stays() {
    let others = [
        entry("kube-controller-manager", "Update", "", json!({"f:metadata": {"f:labels": {"f:tier": {}}}})),
        entry("kubectl", "Update", "scale", json!({"f:spec": {"f:replicas": {}}})),
        entry("painter", "Update", "status", json!({"f:status": {"f:replicas": {}}})),
        // What it owns too stays, whoever else does.
        edit(
            json!({"f:metadata": {"f:labels": {"f:tier": {}}, "f:annotations": {"f:deployment.kubernetes.io/revision": {}}},
            "f:status": {"f:replicas": {}}, "f:spec": {"f:replicas": {}}}),
        ),
    ];
    assert_eq!(removed(&deployment(&others), &[]), [""; 0]);
    let mut bare = deployment(&[]);
    bare["metadata"]["managedFields"] = json!([edit(json!({"f:spec": {"f:replicas": {}}}))]);
    assert_eq!(removed(&bare, &[]), [""; 0], "replicas that we do not name are somebody else's");
}

#[test]
fn what_a_rule_names_stays_with_all_below_it_and_what_is_beside_it_goes() {
    let sidecar = json!({".": {}, "f:name": {}, "f:image": {}, "f:imagePullPolicy": {}});
    let others = [
        in_containers(json!({"k:{\"name\":\"sidecar\"}": sidecar})),
        edit(json!({"f:spec": {"f:paused": {}, "f:template": {"f:metadata": {"f:annotations": {
            ".": {}, "f:kubectl.kubernetes.io/restartedAt": {}}}}}})),
    ];
    let object = deployment(&others);
    let restarted = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";
    assert_eq!(
        removed(&object, &[]),
        ["/spec/template/spec/containers/0", "/spec/template/metadata/annotations", "/spec/paused"]
    );
    assert_eq!(removed(&object, &["/spec/template/spec/containers", restarted]), ["/spec/paused"]);
    assert_eq!(
        removed(
            &object,
            &["/spec/template/spec/containers/0/image", "/spec/template/metadata", "/spec/paused"]
        ),
        ["/spec/template/spec/containers/0/imagePullPolicy"]
    );
    assert_eq!(removed(&object, &["/spec"]), [""; 0]);
    assert_eq!(removed(&object, &["/spec/pause"]).len(), 3, "part of a name is not the name");
}

#[test]
fn data_that_is_not_ours_goes_also_where_we_have_none() {
    let fields = [
        entry("helm", "Apply", "", json!({"f:metadata": {"f:labels": {"f:a": {}}}})),
        edit(json!({"f:data": {".": {}, "f:x": {}}, "f:immutable": {}})),
    ];
    let object = json!({"metadata": {"resourceVersion": "7", "managedFields": fields}, "data": {"x": "1"}, "immutable": true});
    assert_eq!(removed(&object, &[]), ["/immutable", "/data/x"]);
    let empty = json!({"metadata": {"resourceVersion": "7"}});
    assert_eq!(removed(&empty, &[]), [""; 0]);
}
