//! In which order kinds are installed and uninstalled: Helm 4.3's `kind_sorter.go`.

use std::cmp::Ordering;

/// An order of kinds. Kinds it does not name come last, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindOrder(&'static [&'static str]);

impl KindOrder {
    /// The kinds named, first to last.
    #[must_use]
    pub fn kinds(self) -> &'static [&'static str] {
        self.0
    }

    /// How two kinds stand to each other. Equal for the same kind only: use it with a stable sort.
    #[must_use]
    pub fn compare(self, a: &str, b: &str) -> Ordering {
        match (self.rank(a), self.rank(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => a.cmp(b),
        }
    }

    fn rank(self, kind: &str) -> Option<usize> {
        self.0.iter().position(|&known| known == kind)
    }
}

/// The order in which objects are created.
pub const INSTALL_ORDER: KindOrder = KindOrder(&[
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
]);

/// [`INSTALL_ORDER`] of Helm 3, which did not know webhooks.
pub const INSTALL_ORDER_OF_HELM3: KindOrder = KindOrder(match INSTALL_ORDER.0.split_last_chunk::<2>() {
    Some((known, _)) => known,
    None => &[],
});

/// The order in which objects are deleted: webhooks first, so that they cannot refuse the rest.
pub const UNINSTALL_ORDER: KindOrder = KindOrder(&[
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "Ingress",
    "IngressClass",
    "Service",
    "CronJob",
    "Job",
    "StatefulSet",
    "HorizontalPodAutoscaler",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
    "DaemonSet",
    "RoleBindingList",
    "RoleBinding",
    "RoleList",
    "Role",
    "ClusterRoleBindingList",
    "ClusterRoleBinding",
    "ClusterRoleList",
    "ClusterRole",
    "CustomResourceDefinition",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "ConfigMap",
    "SecretList",
    "Secret",
    "ServiceAccount",
    "PodDisruptionBudget",
    "PodSecurityPolicy",
    "LimitRange",
    "ResourceQuota",
    "NetworkPolicy",
    "Namespace",
    "PriorityClass",
]);

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<'a>(order: KindOrder, kinds: &[&'a str]) -> Vec<&'a str> {
        let mut kinds = kinds.to_vec();
        kinds.sort_by(|a, b| order.compare(a, b));
        kinds
    }

    #[test]
    fn known_kinds_come_in_order_and_unknown_ones_last_by_name() {
        let kinds = ["Zebra", "Deployment", "Ant", "Namespace", "ValidatingWebhookConfiguration", "Service"];
        assert_eq!(
            sorted(INSTALL_ORDER, &kinds),
            ["Namespace", "Service", "Deployment", "ValidatingWebhookConfiguration", "Ant", "Zebra"]
        );
        assert_eq!(
            sorted(UNINSTALL_ORDER, &kinds),
            ["ValidatingWebhookConfiguration", "Service", "Deployment", "Namespace", "Ant", "Zebra"]
        );
    }

    #[test]
    fn helm3_created_webhooks_last() {
        let kinds = ["ValidatingWebhookConfiguration", "Ant", "APIService", "MutatingWebhookConfiguration"];
        assert_eq!(
            sorted(INSTALL_ORDER_OF_HELM3, &kinds),
            ["APIService", "Ant", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
        );
    }

    #[test]
    fn both_orders_name_the_same_kinds_once() {
        let sort = |order: KindOrder| {
            let mut kinds = order.kinds().to_vec();
            kinds.sort_unstable();
            kinds
        };
        assert_eq!(sort(INSTALL_ORDER), sort(UNINSTALL_ORDER));
        let mut once = sort(INSTALL_ORDER);
        once.dedup();
        assert_eq!(once.len(), INSTALL_ORDER.kinds().len());
    }
}
