//! Fields that stay as they were created, and how the API server refuses a change of them: each kind in its own words
//! (`pkg/apis/*/validation` of Kubernetes 1.34).

use serde_json::Value;

use super::object::{members, text, unprocessable};
use crate::KubeError;

/// How a change is refused.
enum Words {
    /// `FIELD: Invalid value: VALUE: WORDS`
    Invalid(&'static str),
    /// `FIELD: Forbidden: WORDS`
    Forbidden(&'static str),
}

/// A field of a kind.
type Frozen = (&'static str, &'static str, &'static str, Words);

const IMMUTABLE: Words = Words::Invalid("field is immutable");
const ROLE: Words = Words::Invalid("cannot change roleRef");

const FROZEN: &[Frozen] = &[
    ("apps", "DaemonSet", "/spec/selector", IMMUTABLE),
    ("apps", "Deployment", "/spec/selector", IMMUTABLE),
    ("apps", "ReplicaSet", "/spec/selector", IMMUTABLE),
    ("batch", "Job", "/spec/selector", IMMUTABLE),
    ("batch", "Job", "/spec/template", IMMUTABLE),
    ("", "Secret", "/type", IMMUTABLE),
    ("rbac.authorization.k8s.io", "RoleBinding", "/roleRef", ROLE),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "/roleRef", ROLE),
    ("scheduling.k8s.io", "PriorityClass", "/value", Words::Forbidden("may not be changed in an update.")),
    (
        "storage.k8s.io",
        "StorageClass",
        "/provisioner",
        Words::Forbidden("updates to provisioner are forbidden."),
    ),
    (
        "storage.k8s.io",
        "StorageClass",
        "/parameters",
        Words::Forbidden("updates to parameters are forbidden."),
    ),
];

/// What of a StatefulSet's specification may change.
const OF_STATEFUL_SETS: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// Refuses a change of what cannot change.
pub(super) fn check(old: &Value, new: &Value) -> Result<(), KubeError> {
    let (api_version, kind) = (text(new, "/apiVersion"), text(new, "/kind"));
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let of_kind = FROZEN.iter().filter(|(of, known, ..)| (*of, *known) == (group, kind));
    for (.., pointer, words) in of_kind {
        if old.pointer(pointer) != new.pointer(pointer) {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            let value = new.pointer(pointer).cloned().unwrap_or_default();
            return Err(refusal(
                group,
                new,
                &match words {
                    Words::Invalid(words) => format!("{field}: Invalid value: {value}: {words}"),
                    Words::Forbidden(words) => format!("{field}: Forbidden: {words}"),
                },
            ));
        }
    }
    let refused = match (group, kind) {
        ("", "ConfigMap" | "Secret") => data(old, new),
        ("", "Pod") => pod(old, new),
        ("", "Service") => service(old, new),
        ("apps", "StatefulSet") => stateful_set(old, new),
        _ => None,
    };
    refused.map_or(Ok(()), |words| Err(refusal(group, new, &words)))
}

/// `Job.batch "a" is invalid: …`
fn refusal(group: &str, object: &Value, words: &str) -> KubeError {
    let dot = if group.is_empty() { "" } else { "." };
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    unprocessable(format!("{kind}{dot}{group} {name:?} is invalid: {words}"))
}

fn data(old: &Value, new: &Value) -> Option<String> {
    let frozen = |object: &Value| object.get("immutable").and_then(Value::as_bool) == Some(true);
    let changed = old.get("data") != new.get("data") || !frozen(new);
    (frozen(old) && changed).then(|| "data: Forbidden: field is immutable when `immutable` is set".to_owned())
}

fn service(old: &Value, new: &Value) -> Option<String> {
    let address = |object: &Value| text(object, "/spec/clusterIP").to_owned();
    let (before, after) = (address(old), address(new));
    let is_name = |object: &Value| text(object, "/spec/type") == "ExternalName";
    let changed = !before.is_empty() && before != after && !is_name(old) && !is_name(new);
    changed.then(|| format!("spec.clusterIPs[0]: Invalid value: [{after:?}]: may not change once set"))
}

fn stateful_set(old: &Value, new: &Value) -> Option<String> {
    let rest = |object: &Value| without(object.get("spec"), &OF_STATEFUL_SETS);
    (rest(old) != rest(new)).then(|| {
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
         'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
            .to_owned()
    })
}

fn pod(old: &Value, new: &Value) -> Option<String> {
    let rest = |object: &Value| {
        let may = ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"];
        let mut spec = without(object.get("spec"), &may);
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                members(container).shift_remove("image");
            }
        }
        spec
    };
    (rest(old) != rest(new)).then(|| {
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
         `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
         `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
            .to_owned()
    })
}

fn without(value: Option<&Value>, names: &[&str]) -> Value {
    let mut rest = value.cloned().unwrap_or_default();
    if let Some(rest) = rest.as_object_mut() {
        rest.retain(|name, _| !names.contains(&name.as_str()));
    }
    rest
}
