//! Kinds for resources that every cluster has: OLM is told kinds, rules tell resources.

use serde_json::{Value, json};

use crate::project::survey::Rule;

/// Group, resource, kind, version.
const KNOWN: [(&str, &str, &str, &str); 21] = [
    ("", "configmaps", "ConfigMap", "v1"),
    ("", "persistentvolumeclaims", "PersistentVolumeClaim", "v1"),
    ("", "pods", "Pod", "v1"),
    ("", "secrets", "Secret", "v1"),
    ("", "serviceaccounts", "ServiceAccount", "v1"),
    ("", "services", "Service", "v1"),
    ("apps", "daemonsets", "DaemonSet", "v1"),
    ("apps", "deployments", "Deployment", "v1"),
    ("apps", "statefulsets", "StatefulSet", "v1"),
    ("autoscaling", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "v2"),
    ("batch", "cronjobs", "CronJob", "v1"),
    ("batch", "jobs", "Job", "v1"),
    ("monitoring.coreos.com", "podmonitors", "PodMonitor", "v1"),
    ("monitoring.coreos.com", "prometheusrules", "PrometheusRule", "v1"),
    ("monitoring.coreos.com", "servicemonitors", "ServiceMonitor", "v1"),
    ("networking.k8s.io", "ingresses", "Ingress", "v1"),
    ("networking.k8s.io", "networkpolicies", "NetworkPolicy", "v1"),
    ("policy", "poddisruptionbudgets", "PodDisruptionBudget", "v1"),
    ("rbac.authorization.k8s.io", "clusterroles", "ClusterRole", "v1"),
    ("rbac.authorization.k8s.io", "rolebindings", "RoleBinding", "v1"),
    ("rbac.authorization.k8s.io", "roles", "Role", "v1"),
];

/// What objects with these rules are, as far as they are known; always Helm's record, which is a Secret.
pub(super) fn made_by(rules: &[Rule]) -> Vec<Value> {
    let has = |group: &str, resource: &str| {
        rules.iter().any(|rule| {
            rule.api_groups.iter().any(|has| has == group) && rule.resources.iter().any(|has| has == resource)
        })
    };
    KNOWN
        .iter()
        .filter(|(group, resource, ..)| *resource == "secrets" || has(group, resource))
        .map(|(_, _, kind, version)| json!({"kind": kind, "name": "", "version": version}))
        .collect()
}
