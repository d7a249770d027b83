//! What kustomize does not have, does otherwise, or is not asked in the comparison.

use helm_post_render::{Error, PostRenderers};
use serde_json::{Value, json};

fn rendered(spec: &Value, objects: Value) -> Result<Value, Error> {
    let mut objects = objects.as_array().expect("a list").clone();
    PostRenderers::read(spec)?.apply(&mut objects)?;
    Ok(Value::Array(objects))
}

fn patched(patch: &str, object: Value) -> Value {
    let spec = json!({"postRenderers": [{"kustomize": {"patches": [{"patch": patch}]}}]});
    rendered(&spec, json!([object])).expect("the patch fits")[0].clone()
}

fn deployment(spec: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
}

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n";

#[test]
fn retained_keys_are_the_only_ones_that_stay() {
    let object = deployment(json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}));
    let patch = format!("{WEB}spec: {{strategy: {{$retainKeys: [type], type: Recreate}}}}");
    assert_eq!(patched(&patch, object), deployment(json!({"strategy": {"type": "Recreate"}})));
}

#[test]
fn elements_of_primitive_lists_are_deleted_by_name() {
    let object = deployment(json!({"list": ["a", "b", "c"]}));
    let patch = format!("{WEB}spec: {{$deleteFromPrimitiveList/list: [a, c, z]}}");
    assert_eq!(patched(&patch, object), deployment(json!({"list": ["b"]})));
}

#[test]
fn an_order_of_elements_is_kept_and_the_others_stay_before_what_they_were_before() {
    let containers = |names: &[&str]| {
        let list: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        deployment(json!({"template": {"spec": {"containers": list}}}))
    };
    let order = "$setElementOrder/containers: [{name: d}, {name: new}, {name: b}], containers: [{name: new}]";
    let patch = format!("{WEB}spec: {{template: {{spec: {{{order}}}}}}}");
    let there = containers(&["a", "b", "c", "d"]);
    assert_eq!(patched(&patch, there), containers(&["a", "c", "d", "new", "b"]));
}

#[test]
fn an_object_can_be_replaced_where_kustomize_leaves_it_as_it_was() {
    let patch = format!("$patch: replace\n{WEB}spec: {{replicas: 1}}");
    assert_eq!(
        patched(&patch, deployment(json!({"replicas": 2, "paused": true}))),
        deployment(json!({"replicas": 1}))
    );
}

#[test]
fn directives_are_not_written_where_nothing_was_before() {
    let fresh = "strategy: {$retainKeys: [type], type: Recreate, $setElementOrder/x: [a], $deleteFromPrimitiveList/x: [a]}";
    let patch = format!("{WEB}spec: {{{fresh}}}");
    assert_eq!(patched(&patch, deployment(json!({}))), deployment(json!({"strategy": {"type": "Recreate"}})));
}

#[test]
fn common_metadata_is_for_objects_and_not_for_their_pods() {
    let spec = json!({"commonMetadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}}});
    let pod = json!({"metadata": {"labels": {"app": "web"}}});
    let before = json!([
        {"kind": "A", "metadata": {"name": "a", "labels": {"team": "z", "x": "y"}}, "spec": {"template": pod}},
        {"kind": "B", "metadata": {"annotations": null}},
        {"kind": "C"}
    ]);
    let after = json!([
        {"kind": "A", "metadata": {"name": "a", "labels": {"team": "a", "x": "y"}, "annotations": {"note": "b"}},
            "spec": {"template": pod}},
        {"kind": "B", "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}}},
        {"kind": "C", "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}}}
    ]);
    assert_eq!(rendered(&spec, before).unwrap(), after);
}

#[test]
fn after_an_error_the_objects_are_as_they_were() {
    let patches = json!([
        {"patch": "- {op: add, path: /spec/x, value: 1}", "target": {"kind": "Deployment"}},
        {"patch": "- {op: remove, path: /spec/nope}", "target": {"kind": "Deployment"}}
    ]);
    let spec = json!({"postRenderers": [{"kustomize": {"patches": patches}}]});
    let mut objects = vec![deployment(json!({}))];
    let error = PostRenderers::read(&spec).unwrap().apply(&mut objects).unwrap_err();
    let told = "postRenderers[0].kustomize.patches[1] on Deployment.v1.apps/web.[noNs]: error in remove for path: \
        '/spec/nope': Unable to remove nonexistent key: nope: missing value";
    assert_eq!(error.to_string(), told);
    assert_eq!(objects, [deployment(json!({}))]);
}

#[test]
fn a_patch_for_nobody_says_whom_it_looked_for() {
    let spec = json!({"postRenderers": [{"kustomize": {"patches": [{"patch": WEB}]}}]});
    let told = "postRenderers[0].kustomize.patches[0]: no resource matches strategic merge patch \
        \"Deployment.v1.apps/web.[noNs]\": no matches for Id Deployment.v1.apps/web.[noNs]; \
        failed to find unique target for patch Deployment.v1.apps/web.[noNs]";
    assert_eq!(rendered(&spec, json!([])).unwrap_err().to_string(), told);
    let twice = json!([deployment(json!({})), deployment(json!({}))]);
    assert!(rendered(&spec, twice).unwrap_err().to_string().contains("multiple matches for Id"));
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let wrong = [
        (json!([]), "post-renderers: expected an object, found a list"),
        (json!({"x": 1}), "post-renderers: unknown field \"x\", expected postRenderers, commonMetadata"),
        (json!({"postRenderers": {}}), "postRenderers: expected a list, found an object"),
        (
            json!({"postRenderers": [{}, {"helm": 1}]}),
            "postRenderers[1]: unknown field \"helm\", expected kustomize",
        ),
        (
            json!({"postRenderers": [{"kustomize": {"patches": [{"patch": "a: b", "target": {"kinds": "x"}}]}}]}),
            "postRenderers[0].kustomize.patches[0].target: unknown field \"kinds\", expected group, version, kind, \
                name, namespace, labelSelector, annotationSelector",
        ),
        (
            json!({"postRenderers": [{"kustomize": {"patches": [{"patch": " "}]}}]}),
            "postRenderers[0].kustomize.patches[0].patch: the patch is empty",
        ),
        (
            json!({"postRenderers": [{"kustomize": {"patches": [{"patch": 7}]}}]}),
            "postRenderers[0].kustomize.patches[0].patch: expected a text, found a number",
        ),
        (
            json!({"postRenderers": [{"kustomize": {"patches": [{"patch": "- {op: add, path: /a}", "target": {}}]}}]}),
            "postRenderers[0].kustomize.patches[0].patch: operation 0: missing value",
        ),
        (
            json!({"postRenderers": [{"kustomize": {"images": [{"newTag": "1"}]}}]}),
            "postRenderers[0].kustomize.images[0].name: an image needs a name",
        ),
        (
            json!({"commonMetadata": {"labels": {"a": true}}}),
            "commonMetadata.labels.a: expected a text, found a boolean",
        ),
    ];
    for (spec, told) in wrong {
        assert_eq!(PostRenderers::read(&spec).unwrap_err().to_string(), told, "{spec}");
    }
}

#[test]
fn nothing_to_do_is_nothing_done() {
    for spec in [json!({}), json!({"postRenderers": null}), json!({"postRenderers": [{"kustomize": {}}, {}]})]
    {
        assert!(PostRenderers::read(&spec).unwrap().is_empty(), "{spec}");
        assert_eq!(rendered(&spec, json!(["not even an object"])).unwrap(), json!(["not even an object"]));
    }
}

#[test]
fn objects_of_any_shape_are_no_reason_to_stop() {
    let patches =
        json!([{"patch": "kind: A\nmetadata: {name: a}\nspec: {a: 1}", "target": {"kind": "Deployment"}}]);
    let spec = json!({"postRenderers": [{"kustomize": {"patches": patches, "images": [{"name": "a", "newTag": "b"}]}}]});
    let odd = json!([null, 7, "x", [], {"kind": 5}, {"containers": {"image": 1}}, {"containers": [null, {"image": []}]}]);
    assert_eq!(rendered(&spec, odd.clone()).unwrap(), odd);
    let named = json!([{"kind": "Deployment", "metadata": "none"}]);
    assert!(rendered(&spec, named).unwrap_err().to_string().contains("wrong node kind"));
}
