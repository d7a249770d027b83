//! Lists whose items are told apart by a key, for objects that name one key twice.
//!
//! Server-side apply refuses them, where older clients and the API server itself took the object and the last item counted
//! (kubernetes#122480; charts with a variable twice in `env` are not rare). So that such charts work as they always did, only
//! the last item of each key is applied.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Kinds with a pod's specification, and where it is.
const PODS: [(&str, &str, &str); 8] = [
    ("", "Pod", "/spec"),
    ("", "ReplicationController", "/spec/template/spec"),
    ("apps", "DaemonSet", "/spec/template/spec"),
    ("apps", "Deployment", "/spec/template/spec"),
    ("apps", "ReplicaSet", "/spec/template/spec"),
    ("apps", "StatefulSet", "/spec/template/spec"),
    ("batch", "CronJob", "/spec/jobTemplate/spec/template/spec"),
    ("batch", "Job", "/spec/template/spec"),
];

/// Leaves of each key's items the last one. True: something was left out.
pub(crate) fn keep_last(group: &str, kind: &str, object: &mut Value) -> bool {
    let place = PODS.iter().find(|(known, pod, _)| *known == group && *pod == kind);
    let Some(Value::Object(pod)) = place.and_then(|(_, _, place)| object.pointer_mut(place)) else {
        return false;
    };
    let mut changed = keep_last_in(pod, "imagePullSecrets", name);
    for list in ["initContainers", "containers"] {
        let Some(Value::Array(containers)) = pod.get_mut(list) else { continue };
        for container in containers.iter_mut().filter_map(Value::as_object_mut) {
            changed |= keep_last_in(container, "env", name);
            changed |= keep_last_in(container, "ports", port);
        }
    }
    changed
}

fn name(item: &Value) -> Option<String> {
    item.get("name")?.as_str().map(str::to_owned)
}

fn port(item: &Value) -> Option<String> {
    let protocol = item.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
    Some(format!("{}/{protocol}", item.get("containerPort")?))
}

fn keep_last_in(fields: &mut Map<String, Value>, list: &str, key: fn(&Value) -> Option<String>) -> bool {
    let Some(Value::Array(items)) = fields.get_mut(list) else { return false };
    let before = items.len();
    let mut seen = HashSet::new();
    items.reverse();
    // What has no key is the API server's to judge.
    items.retain(|item| key(item).is_none_or(|key| seen.insert(key)));
    items.reverse();
    items.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_a_variable_or_port_that_is_there_twice_the_last_counts() {
        let container = |env: Value, ports: Value| json!({"name": "a", "env": env, "ports": ports});
        let pod = |container: Value| json!({"spec": {"template": {"spec": {"initContainers": [container.clone()], "containers": [container]}}}});
        let mut object = pod(container(
            json!([{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}, {"value": "?"}]),
            json!([{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "name": "dns", "protocol": "TCP"}]),
        ));
        assert!(keep_last("apps", "Deployment", &mut object));
        let kept = pod(container(
            json!([{"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}, {"value": "?"}]),
            json!([{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "name": "dns", "protocol": "TCP"}]),
        ));
        assert_eq!(object, kept);
        assert!(!keep_last("apps", "Deployment", &mut object), "nothing is left to do");
    }

    #[test]
    fn other_kinds_and_odd_shapes_are_left_alone() {
        for (kind, object) in [
            ("Thing", json!({"spec": {"containers": [{"env": [{"name": "A"}, {"name": "A"}]}]}})),
            ("Pod", json!({"spec": {"containers": {"env": 1}, "imagePullSecrets": "x"}})),
            ("Pod", json!({"spec": null})),
        ] {
            let mut changed = object.clone();
            assert!(!keep_last("", kind, &mut changed), "{object}");
            assert_eq!(changed, object);
        }
    }
}
