//! Which kinds the in-memory cluster serves.

use serde_json::Value;

use super::object::text;
use crate::{Gvk, KubeError, ServedKind};

/// One served kind in one version.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kind {
    pub(super) gvk: Gvk,
    pub(super) plural: String,
    pub(super) namespaced: bool,
    /// `status` is a subresource: it is written by itself and the main resource does not touch it.
    pub(super) status: bool,
    /// `scale` is a subresource.
    pub(super) scale: bool,
    /// `metadata.generation` counts changes of the specification.
    pub(super) generation: bool,
    /// Comes from a CustomResourceDefinition.
    pub(super) custom: bool,
    pub(super) preferred: bool,
    /// The structural schema of a custom kind.
    pub(super) schema: Option<Value>,
}

/// All served kinds.
#[derive(Debug)]
pub(super) struct Kinds(Vec<Kind>);

/// Group, version, and its kinds with plural and letters.
type BuiltIn = (&'static str, &'static str, &'static [(&'static str, &'static str, &'static str)]);

/// What stands behind the letters of [`BUILT_IN`]: `n` namespaced, `s` status subresource, `r` scale subresource,
/// `g` generation.
const BUILT_IN: &[BuiltIn] = &[
    (
        "",
        "v1",
        &[
            ("ConfigMap", "configmaps", "n"),
            ("Endpoints", "endpoints", "n"),
            ("Event", "events", "n"),
            ("LimitRange", "limitranges", "n"),
            ("Namespace", "namespaces", "s"),
            ("Node", "nodes", "s"),
            ("PersistentVolume", "persistentvolumes", "s"),
            ("PersistentVolumeClaim", "persistentvolumeclaims", "ns"),
            ("Pod", "pods", "nsg"),
            ("PodTemplate", "podtemplates", "n"),
            ("ReplicationController", "replicationcontrollers", "nsrg"),
            ("ResourceQuota", "resourcequotas", "ns"),
            ("Secret", "secrets", "n"),
            ("Service", "services", "ns"),
            ("ServiceAccount", "serviceaccounts", "n"),
        ],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        &[
            ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "g"),
            ("ValidatingAdmissionPolicy", "validatingadmissionpolicies", "sg"),
            ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "g"),
            ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "g"),
        ],
    ),
    ("apiextensions.k8s.io", "v1", &[("CustomResourceDefinition", "customresourcedefinitions", "sg")]),
    ("apiregistration.k8s.io", "v1", &[("APIService", "apiservices", "s")]),
    (
        "apps",
        "v1",
        &[
            ("ControllerRevision", "controllerrevisions", "n"),
            ("DaemonSet", "daemonsets", "nsg"),
            ("Deployment", "deployments", "nsrg"),
            ("ReplicaSet", "replicasets", "nsrg"),
            ("StatefulSet", "statefulsets", "nsrg"),
        ],
    ),
    ("autoscaling", "v2", &[("HorizontalPodAutoscaler", "horizontalpodautoscalers", "ns")]),
    ("batch", "v1", &[("CronJob", "cronjobs", "nsg"), ("Job", "jobs", "nsg")]),
    ("coordination.k8s.io", "v1", &[("Lease", "leases", "n")]),
    ("discovery.k8s.io", "v1", &[("EndpointSlice", "endpointslices", "n")]),
    (
        "networking.k8s.io",
        "v1",
        &[
            ("Ingress", "ingresses", "nsg"),
            ("IngressClass", "ingressclasses", "g"),
            ("NetworkPolicy", "networkpolicies", "ng"),
        ],
    ),
    ("policy", "v1", &[("PodDisruptionBudget", "poddisruptionbudgets", "nsg")]),
    (
        "rbac.authorization.k8s.io",
        "v1",
        &[
            ("ClusterRole", "clusterroles", ""),
            ("ClusterRoleBinding", "clusterrolebindings", ""),
            ("Role", "roles", "n"),
            ("RoleBinding", "rolebindings", "n"),
        ],
    ),
    ("scheduling.k8s.io", "v1", &[("PriorityClass", "priorityclasses", "g")]),
    ("storage.k8s.io", "v1", &[("StorageClass", "storageclasses", "")]),
];

impl Kinds {
    pub(super) fn built_in() -> Self {
        let kinds = BUILT_IN.iter().flat_map(|(group, version, kinds)| {
            kinds.iter().map(|(kind, plural, traits)| Kind {
                gvk: Gvk::new(*group, *version, *kind),
                plural: (*plural).to_owned(),
                namespaced: traits.contains('n'),
                status: traits.contains('s'),
                scale: traits.contains('r'),
                generation: traits.contains('g'),
                custom: false,
                preferred: true,
                schema: None,
            })
        });
        Self(kinds.collect())
    }

    /// The kind, if it is served in this very version.
    pub(super) fn find(&self, gvk: &Gvk) -> Result<&Kind, KubeError> {
        self.0.iter().find(|kind| kind.gvk == *gvk).ok_or_else(|| KubeError::UnknownKind(gvk.clone()))
    }

    /// A kind in whatever version, by group and kind.
    pub(super) fn any_version(&self, group: &str, kind: &str) -> Option<&Kind> {
        self.0.iter().find(|known| known.gvk.group == group && known.gvk.kind == kind)
    }

    /// Serves what a CustomResourceDefinition says, instead of what it said before.
    pub(super) fn define(&mut self, crd: &Value) {
        self.undefine(crd);
        let (group, kind) = (text(crd, "/spec/group"), text(crd, "/spec/names/kind"));
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        for version in versions.into_iter().flatten() {
            if version.get("served").and_then(Value::as_bool) == Some(false) {
                continue;
            }
            self.0.push(Kind {
                gvk: Gvk::new(group, text(version, "/name"), kind),
                plural: text(crd, "/spec/names/plural").to_owned(),
                namespaced: text(crd, "/spec/scope") != "Cluster",
                status: version.pointer("/subresources/status").is_some(),
                scale: version.pointer("/subresources/scale").is_some(),
                generation: true,
                custom: true,
                preferred: version.get("storage").and_then(Value::as_bool).unwrap_or(true),
                schema: version.pointer("/schema/openAPIV3Schema").cloned(),
            });
        }
    }

    /// Serves a CustomResourceDefinition's kind no longer.
    pub(super) fn undefine(&mut self, crd: &Value) {
        let (group, kind) = (text(crd, "/spec/group"), text(crd, "/spec/names/kind"));
        self.0.retain(|known| !(known.custom && known.gvk.group == group && known.gvk.kind == kind));
    }

    pub(super) fn served(&self) -> Vec<ServedKind> {
        let served = self.0.iter().map(|kind| ServedKind {
            kind: kind.gvk.clone(),
            resource: kind.plural.clone(),
            namespaced: kind.namespaced,
            preferred: kind.preferred,
        });
        served.collect()
    }
}
