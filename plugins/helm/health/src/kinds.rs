//! Groups and kinds.

use serde_json::Value;

use crate::field;

/// Group and kind of an object; both are empty for what has none.
pub(crate) fn of(object: &Value) -> (&str, &str) {
    let version = field::text(object, "apiVersion").unwrap_or_default();
    let kind = field::text(object, "kind").unwrap_or_default();
    match version.split_once('/') {
        None => ("", kind),
        Some((_, rest)) if rest.contains('/') => ("", ""),
        Some((group, _)) => (group, kind),
    }
}

/// Whether a change of status can change what [`crate::health`] says of objects of this kind. Kinds that are not
/// Kubernetes's own always can.
#[must_use]
pub fn has_status(group: &str, kind: &str) -> bool {
    let without: &[&str] = match group {
        "" => &[
            "Binding",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolume",
            "PodTemplate",
            "ResourceQuota",
            "Secret",
            "ServiceAccount",
        ],
        "apps" => &["ControllerRevision"],
        "autoscaling" => &["HorizontalPodAutoscaler"],
        "batch" => &["CronJob"],
        "extensions" => &["Ingress", "NetworkPolicy"],
        "networking.k8s.io" => &["Ingress", "IngressClass", "NetworkPolicy"],
        "rbac.authorization.k8s.io" => &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
        "admissionregistration.k8s.io" => &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
        "storage.k8s.io" => {
            &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttributesClass"]
        }
        "scheduling.k8s.io" => &["PriorityClass"],
        "node.k8s.io" => &["RuntimeClass"],
        "coordination.k8s.io" => &["Lease"],
        "discovery.k8s.io" => &["EndpointSlice"],
        "events.k8s.io" => &["Event"],
        _ => &[],
    };
    !without.contains(&kind)
}
