//! Logs of containers, chosen as the kubelet chooses them.

use serde_json::Value;

use super::{cluster::State, object::bad_request};
use crate::KubeError;

/// What the log of a pod's container says. A pod with one container needs no name.
///
/// # Errors
/// 400, as the API server has it.
pub(super) fn log_of(state: &State, pod: &Value, container: Option<&str>) -> Result<String, KubeError> {
    let at = |field: &str| pod.pointer(field).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = (at("/metadata/namespace"), at("/metadata/name"));
    let names = |list: &str| -> Vec<&str> {
        let all = pod.get("spec").and_then(|spec| spec.get(list)).and_then(Value::as_array);
        all.into_iter().flatten().filter_map(|container| container.get("name")?.as_str()).collect()
    };
    let (main, first) = (names("containers"), names("initContainers"));
    let chosen = match (container, main.as_slice()) {
        (Some(container), _)
            if !main.is_empty() && !main.contains(&container) && !first.contains(&container) =>
        {
            return Err(bad_request(format!("container {container} is not valid for pod {name}")));
        }
        (Some(container), _) => Some(container),
        (None, []) => None,
        (None, [only]) => Some(*only),
        (None, several) => {
            let of_init = match first.as_slice() {
                [] => String::new(),
                first => format!(" or one of the init containers: [{}]", first.join(" ")),
            };
            return Err(bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: [{}]{of_init}",
                several.join(" ")
            )));
        }
    };
    let log = |container: Option<&str>| {
        state.pod_logs.get(&(namespace.to_owned(), name.to_owned(), container.map(str::to_owned))).cloned()
    };
    // What was said without a name is of the only container.
    let is_only = main.len() <= 1 && (container.is_none() || main.first().copied() == container);
    Ok(log(chosen).or_else(|| log(None).filter(|_| is_only)).unwrap_or_default())
}
