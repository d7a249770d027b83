//! What the garbage collector and the namespace controller do in the in-memory cluster.

use pilothouse_sdk::{DeleteOptions, Gvk, ObjectRef, Ownership, Propagation, harness::Cluster};
use serde_json::{Value, json};

fn reference(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), namespace, name)
}

/// A ConfigMap, owned by others.
fn create(cluster: &Cluster, namespace: &str, name: &str, owners: &[&Value]) -> Value {
    let owner = |owner: &&Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true})
    };
    let owners: Vec<_> = owners.iter().map(owner).collect();
    let metadata = json!({"name": name, "namespace": namespace, "ownerReferences": owners});
    cluster
        .kubectl()
        .create(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}), Ownership::None)
        .unwrap()
}

fn delete(cluster: &Cluster, object: &ObjectRef, propagation: Propagation) {
    let options = DeleteOptions { propagation, ..DeleteOptions::default() };
    assert!(cluster.kubectl().delete_ref(object, &options).unwrap());
}

fn names(cluster: &Cluster) -> Vec<String> {
    let objects = cluster.objects();
    objects
        .iter()
        .filter(|object| object.kind.kind == "ConfigMap")
        .map(|object| object.name.clone())
        .collect()
}

/// owner ← child ← grandchild.
fn family(cluster: &Cluster) {
    let owner = create(cluster, "default", "owner", &[]);
    let child = create(cluster, "default", "child", &[&owner]);
    create(cluster, "default", "grandchild", &[&child]);
}

#[test]
fn dependents_follow_their_owner_in_the_background() {
    let cluster = Cluster::new();
    family(&cluster);
    delete(&cluster, &reference("default", "owner"), Propagation::Background);
    assert_eq!(names(&cluster), ["child", "grandchild"], "the collector has not run yet");
    assert!(cluster.collect_garbage());
    assert!(names(&cluster).is_empty());
    assert!(!cluster.collect_garbage());
}

#[test]
fn an_owner_in_the_foreground_goes_last() {
    let cluster = Cluster::new();
    family(&cluster);
    let hold =
        pilothouse_sdk::Patch::merge(&json!({"metadata": {"finalizers": ["example.com/hold"]}})).unwrap();
    cluster.kubectl().patch_ref::<Value>(&reference("default", "grandchild"), &hold).unwrap();
    delete(&cluster, &reference("default", "owner"), Propagation::Foreground);
    cluster.collect_garbage();
    assert_eq!(names(&cluster), ["child", "grandchild", "owner"], "the grandchild is held");
    let release =
        pilothouse_sdk::Patch::json(&json!([{"op": "remove", "path": "/metadata/finalizers/0"}])).unwrap();
    cluster.kubectl().patch_ref::<Value>(&reference("default", "grandchild"), &release).unwrap();
    cluster.collect_garbage();
    assert!(names(&cluster).is_empty(), "{:?}", names(&cluster));
}

#[test]
fn orphans_stay_without_their_owner() {
    let cluster = Cluster::new();
    family(&cluster);
    delete(&cluster, &reference("default", "owner"), Propagation::Orphan);
    cluster.collect_garbage();
    assert_eq!(names(&cluster), ["child", "grandchild"]);
    let child: Value = cluster.kubectl().get_ref(&reference("default", "child")).unwrap().unwrap();
    assert_eq!(child["metadata"]["ownerReferences"], json!([]));
}

#[test]
fn one_of_two_owners_is_enough_to_stay() {
    let cluster = Cluster::new();
    let owners = ["one", "two"].map(|name| create(&cluster, "default", name, &[]));
    create(&cluster, "default", "child", &[&owners[0], &owners[1]]);
    delete(&cluster, &reference("default", "one"), Propagation::Background);
    cluster.collect_garbage();
    assert_eq!(names(&cluster), ["child", "two"]);
}

#[test]
fn an_owner_in_another_namespace_is_no_owner() {
    let cluster = Cluster::new();
    let owner = create(&cluster, "kube-system", "owner", &[]);
    create(&cluster, "default", "child", &[&owner]);
    cluster.collect_garbage();
    assert_eq!(names(&cluster), ["owner"]);
}

#[test]
fn a_namespace_takes_its_objects_along_and_takes_no_new_ones() {
    let cluster = Cluster::new();
    cluster.create([json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})]).unwrap();
    create(&cluster, "shop", "a", &[]);
    let namespace = ObjectRef::new(Gvk::new("", "v1", "Namespace"), None, "shop");
    delete(&cluster, &namespace, Propagation::Background);
    let late =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "shop"}});
    let error = cluster.kubectl().create(&late, Ownership::None).unwrap_err();
    assert!(error.to_string().contains("because it is being terminated"), "{error}");
    cluster.collect_garbage();
    assert!(names(&cluster).is_empty());
    assert_eq!(cluster.kubectl().get_ref::<Value>(&namespace).unwrap(), None);
}
