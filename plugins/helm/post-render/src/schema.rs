//! What Kubernetes's own kinds say about merging their lists: the elements of which lists are told apart, and by what.
//! The facts are those of kustomize's OpenAPI document, without the version: no kind has changed in this.

/// A type, by those of its fields in which a list is merged somewhere.
#[derive(Debug)]
pub(crate) struct Type(&'static [(&'static str, Field)]);

/// A field of a type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    Object(&'static Type),
    /// A list whose elements are told apart by these fields.
    Keyed(&'static [&'static str], &'static Type),
    /// A list of texts or numbers that is a set.
    Set,
}

impl Type {
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }
}

use Field::{Keyed, Object, Set};

static PLAIN: Type = Type(&[]);
static METADATA: Type = Type(&[("finalizers", Set), ("ownerReferences", Keyed(&["uid"], &PLAIN))]);
static CONTAINER: Type = Type(&[
    ("env", Keyed(&["name"], &PLAIN)),
    ("ports", Keyed(&["containerPort", "protocol"], &PLAIN)),
    ("volumeDevices", Keyed(&["devicePath"], &PLAIN)),
    ("volumeMounts", Keyed(&["mountPath"], &PLAIN)),
]);
static EPHEMERAL_CONTAINER: Type = Type(&[
    ("env", Keyed(&["name"], &PLAIN)),
    ("volumeDevices", Keyed(&["devicePath"], &PLAIN)),
    ("volumeMounts", Keyed(&["mountPath"], &PLAIN)),
]);
static CLAIM_TEMPLATE: Type = Type(&[("metadata", Object(&METADATA))]);
static EPHEMERAL: Type = Type(&[("volumeClaimTemplate", Object(&CLAIM_TEMPLATE))]);
static VOLUME: Type = Type(&[("ephemeral", Object(&EPHEMERAL))]);
static POD_SPEC: Type = Type(&[
    ("containers", Keyed(&["name"], &CONTAINER)),
    ("ephemeralContainers", Keyed(&["name"], &EPHEMERAL_CONTAINER)),
    ("hostAliases", Keyed(&["ip"], &PLAIN)),
    ("imagePullSecrets", Keyed(&["name"], &PLAIN)),
    ("initContainers", Keyed(&["name"], &CONTAINER)),
    ("topologySpreadConstraints", Keyed(&["topologyKey", "whenUnsatisfiable"], &PLAIN)),
    ("volumes", Keyed(&["name"], &VOLUME)),
]);
static CONDITIONS: Type = Type(&[("conditions", Keyed(&["type"], &PLAIN))]);
static POD_STATUS: Type =
    Type(&[("conditions", Keyed(&["type"], &PLAIN)), ("podIPs", Keyed(&["ip"], &PLAIN))]);
static POD: Type =
    Type(&[("metadata", Object(&METADATA)), ("spec", Object(&POD_SPEC)), ("status", Object(&POD_STATUS))]);
static POD_TEMPLATE: Type = Type(&[("metadata", Object(&METADATA)), ("spec", Object(&POD_SPEC))]);
static TEMPLATED: Type = Type(&[("template", Object(&POD_TEMPLATE))]);
static WORKLOAD: Type =
    Type(&[("metadata", Object(&METADATA)), ("spec", Object(&TEMPLATED)), ("status", Object(&CONDITIONS))]);
static JOB_TEMPLATE: Type = Type(&[("metadata", Object(&METADATA)), ("spec", Object(&TEMPLATED))]);
static CRON_SPEC: Type = Type(&[("jobTemplate", Object(&JOB_TEMPLATE))]);
static CRON_JOB: Type = Type(&[("metadata", Object(&METADATA)), ("spec", Object(&CRON_SPEC))]);
static POD_TEMPLATE_OBJECT: Type =
    Type(&[("metadata", Object(&METADATA)), ("template", Object(&POD_TEMPLATE))]);
static SERVICE_SPEC: Type = Type(&[("ports", Keyed(&["port", "protocol"], &PLAIN))]);
static SERVICE: Type = Type(&[
    ("metadata", Object(&METADATA)),
    ("spec", Object(&SERVICE_SPEC)),
    ("status", Object(&CONDITIONS)),
]);
static SERVICE_ACCOUNT: Type =
    Type(&[("metadata", Object(&METADATA)), ("secrets", Keyed(&["name"], &PLAIN))]);
static WEBHOOKS: Type = Type(&[("metadata", Object(&METADATA)), ("webhooks", Keyed(&["name"], &PLAIN))]);
static CONDITIONED: Type = Type(&[("metadata", Object(&METADATA)), ("status", Object(&CONDITIONS))]);
static DRIVERS: Type = Type(&[("drivers", Keyed(&["name"], &PLAIN))]);
static CSI_NODE: Type = Type(&[("metadata", Object(&METADATA)), ("spec", Object(&DRIVERS))]);
static OTHER: Type = Type(&[("metadata", Object(&METADATA))]);

/// The type of Kubernetes's own kinds; `None` for all others, whose lists are replaced as a whole.
pub(crate) fn of(group: &str, kind: &str) -> Option<&'static Type> {
    Some(match (group, kind) {
        ("", "Pod") => &POD,
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet")
        | ("batch", "Job")
        | ("", "ReplicationController") => &WORKLOAD,
        ("batch", "CronJob") => &CRON_JOB,
        ("", "PodTemplate") => &POD_TEMPLATE_OBJECT,
        ("", "Service") => &SERVICE,
        ("", "ServiceAccount") => &SERVICE_ACCOUNT,
        ("", "Namespace" | "PersistentVolumeClaim")
        | ("policy", "PodDisruptionBudget")
        | ("apiregistration.k8s.io", "APIService") => &CONDITIONED,
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => &WEBHOOKS,
        ("storage.k8s.io", "CSINode") => &CSI_NODE,
        ("" | "apps" | "batch" | "policy" | "autoscaling" | "extensions", _) => &OTHER,
        (group, _) if BUILT_IN.contains(&group) => &OTHER,
        _ => return None,
    })
}

const BUILT_IN: [&str; 16] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Whether objects of a kind have no namespace. Of kinds that are not Kubernetes's own, nobody knows here.
pub(crate) fn is_cluster_scoped(group: &str, kind: &str) -> bool {
    match group {
        "" => matches!(kind, "ComponentStatus" | "Namespace" | "Node" | "PersistentVolume"),
        "admissionregistration.k8s.io"
        | "apiextensions.k8s.io"
        | "apiregistration.k8s.io"
        | "flowcontrol.apiserver.k8s.io"
        | "node.k8s.io"
        | "scheduling.k8s.io" => true,
        "certificates.k8s.io" => kind == "CertificateSigningRequest",
        "networking.k8s.io" => kind == "IngressClass",
        "policy" => kind == "PodSecurityPolicy",
        "rbac.authorization.k8s.io" => kind.starts_with("Cluster"),
        "storage.k8s.io" => kind != "CSIStorageCapacity",
        _ => false,
    }
}
