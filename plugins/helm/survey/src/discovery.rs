//! The kinds that most clusters serve, as discovery tells them. There is no cluster to be asked.

use crate::plural::plural;

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Resource {
    pub(crate) group: String,
    /// In lower case.
    pub(crate) plural: String,
    pub(crate) is_namespaced: bool,
    /// Nobody said so: the plural follows the rule, and the scope is the usual one.
    pub(crate) is_guessed: bool,
}

/// The kinds of Kubernetes 1.31 to 1.37, those included that are off by default.
///
/// `*` marks those that live in no namespace, `=` a plural that does not follow the rule.
const BUILT_IN: &[(&str, &str)] = &[
    (
        "",
        "Binding ComponentStatus* ConfigMap Endpoints Event LimitRange Namespace* Node* PersistentVolume* PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy* MutatingAdmissionPolicyBinding* MutatingWebhookConfiguration* ValidatingAdmissionPolicy* ValidatingAdmissionPolicyBinding* ValidatingWebhookConfiguration*",
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition*"),
    ("apiregistration.k8s.io", "APIService*"),
    ("apps", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"),
    ("authentication.k8s.io", "SelfSubjectReview* TokenReview*"),
    (
        "authorization.k8s.io",
        "LocalSubjectAccessReview SelfSubjectAccessReview* SelfSubjectRulesReview* SubjectAccessReview*",
    ),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("batch", "CronJob Job"),
    ("certificates.k8s.io", "CertificateSigningRequest* ClusterTrustBundle* PodCertificateRequest"),
    ("coordination.k8s.io", "Lease LeaseCandidate"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("events.k8s.io", "Event"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema* PriorityLevelConfiguration*"),
    ("internal.apiserver.k8s.io", "StorageVersion*"),
    ("lifecycle.k8s.io", "Eviction EvictionRequest"),
    ("networking.k8s.io", "IPAddress* Ingress IngressClass* NetworkPolicy ServiceCIDR*"),
    ("node.k8s.io", "RuntimeClass*"),
    ("policy", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "ClusterRole* ClusterRoleBinding* Role RoleBinding"),
    (
        "resource.k8s.io",
        "DeviceClass* DeviceTaintRule* PodSchedulingContext ResourceClaim ResourceClaimTemplate ResourcePoolStatusRequest* ResourceSlice*",
    ),
    ("scheduling.k8s.io", "CompositePodGroup PodGroup PriorityClass* Workload"),
    (
        "storage.k8s.io",
        "CSIDriver* CSINode* CSIStorageCapacity StorageClass* VolumeAttachment* VolumeAttributesClass*",
    ),
    ("storagemigration.k8s.io", "StorageVersionMigration*"),
];

/// Kinds that are defined by what charts often work with.
const WIDESPREAD: &[(&str, &str)] = &[
    ("acme.cert-manager.io", "Order Challenge"),
    (
        "argoproj.io",
        "Application ApplicationSet AppProject Rollout Experiment AnalysisRun AnalysisTemplate ClusterAnalysisTemplate* Workflow WorkflowTemplate ClusterWorkflowTemplate* CronWorkflow WorkflowEventBinding EventBus=eventbus EventSource Sensor",
    ),
    ("autoscaling.k8s.io", "VerticalPodAutoscaler VerticalPodAutoscalerCheckpoint"),
    ("bitnami.com", "SealedSecret"),
    ("cert-manager.io", "Certificate CertificateRequest Issuer ClusterIssuer*"),
    ("cilium.io", "CiliumNetworkPolicy CiliumClusterwideNetworkPolicy*"),
    ("cloud.google.com", "BackendConfig"),
    ("crd.projectcalico.org", "NetworkPolicy GlobalNetworkPolicy*"),
    ("elbv2.k8s.aws", "TargetGroupBinding IngressClassParams*=ingressclassparams"),
    (
        "external-secrets.io",
        "ExternalSecret SecretStore ClusterSecretStore* ClusterExternalSecret* PushSecret",
    ),
    (
        "gateway.networking.k8s.io",
        "GatewayClass* Gateway HTTPRoute GRPCRoute TLSRoute TCPRoute UDPRoute ReferenceGrant BackendTLSPolicy BackendLBPolicy",
    ),
    ("keda.sh", "ScaledObject ScaledJob TriggerAuthentication ClusterTriggerAuthentication*"),
    ("kyverno.io", "Policy ClusterPolicy* PolicyException CleanupPolicy ClusterCleanupPolicy*"),
    (
        "monitoring.coreos.com",
        "ServiceMonitor PodMonitor Probe PrometheusRule Prometheus=prometheuses PrometheusAgent Alertmanager AlertmanagerConfig ScrapeConfig ThanosRuler",
    ),
    ("monitoring.googleapis.com", "PodMonitoring ClusterPodMonitoring*"),
    ("networking.gke.io", "ManagedCertificate FrontendConfig"),
    (
        "networking.istio.io",
        "VirtualService Gateway DestinationRule ServiceEntry Sidecar EnvoyFilter WorkloadEntry WorkloadGroup ProxyConfig",
    ),
    (
        "operators.coreos.com",
        "ClusterServiceVersion CatalogSource InstallPlan Subscription OperatorGroup OperatorCondition Operator* OLMConfig*",
    ),
    ("policy", "PodSecurityPolicy*"),
    ("postgresql.cnpg.io", "Cluster Backup ScheduledBackup Pooler Database"),
    ("projectcontour.io", "HTTPProxy TLSCertificateDelegation"),
    ("route.openshift.io", "Route"),
    (
        "secrets-store.csi.x-k8s.io",
        "SecretProviderClass SecretProviderClassPodStatus=secretproviderclasspodstatuses",
    ),
    ("security.istio.io", "AuthorizationPolicy PeerAuthentication RequestAuthentication"),
    ("security.openshift.io", "SecurityContextConstraints*=securitycontextconstraints"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot VolumeSnapshotClass* VolumeSnapshotContent*"),
    ("telemetry.istio.io", "Telemetry=telemetries"),
    (
        "traefik.containo.us",
        "IngressRoute IngressRouteTCP IngressRouteUDP Middleware MiddlewareTCP ServersTransport ServersTransportTCP TLSOption TLSStore TraefikService",
    ),
    (
        "traefik.io",
        "IngressRoute IngressRouteTCP IngressRouteUDP Middleware MiddlewareTCP ServersTransport ServersTransportTCP TLSOption TLSStore TraefikService",
    ),
];

/// The resource of a kind: built in, widespread, or guessed.
pub(crate) fn resource(group: &str, kind: &str) -> Resource {
    find(BUILT_IN, group, kind).or_else(|| find(WIDESPREAD, group, kind)).unwrap_or_else(|| Resource {
        group: group.to_owned(),
        plural: plural(&kind.to_lowercase()),
        is_namespaced: true,
        is_guessed: true,
    })
}

/// The one group that has a kind of this name, where `apiVersion` cannot be told.
pub(crate) fn group_of(kind: &str) -> Option<&'static str> {
    let groups = |table: &'static [(&str, &str)]| {
        let has = move |group: &&str| find(table, group, kind).is_some();
        table.iter().map(|(group, _)| *group).filter(has)
    };
    let built_in = groups(BUILT_IN).find(|group| *group != "events.k8s.io");
    built_in.or_else(|| {
        let mut widespread = groups(WIDESPREAD);
        widespread.next().filter(|_| widespread.next().is_none())
    })
}

/// Whether a group is Kubernetes' own.
pub(crate) fn is_built_in(group: &str) -> bool {
    BUILT_IN.iter().any(|(known, _)| *known == group) || group == "extensions"
}

/// Whether a supported Kubernetes serves a kind of a group of its own.
pub(crate) fn is_served(group: &str, kind: &str) -> bool {
    find(BUILT_IN, group, kind).is_some()
}

/// `group/v1/Kind` of what every cluster serves: offline, Helm tells of groups and versions only.
pub(crate) fn built_in_versions() -> impl Iterator<Item = String> {
    let entries = BUILT_IN.iter().flat_map(|(group, kinds)| entries(kinds).map(move |entry| (*group, entry)));
    entries.map(|(group, entry)| match (group, entry.kind) {
        ("", kind) => format!("v1/{kind}"),
        (group, "HorizontalPodAutoscaler") => format!("{group}/v2/HorizontalPodAutoscaler"),
        (group, kind) => format!("{group}/v1/{kind}"),
    })
}

/// An entry of a table.
struct Entry {
    kind: &'static str,
    plural: Option<&'static str>,
    is_namespaced: bool,
}

fn entries(kinds: &'static str) -> impl Iterator<Item = Entry> {
    kinds.split(' ').map(|entry| {
        let (kind, plural) =
            entry.split_once('=').map_or((entry, None), |(kind, plural)| (kind, Some(plural)));
        let plain = kind.trim_end_matches('*');
        Entry { kind: plain, plural, is_namespaced: plain == kind }
    })
}

fn find(table: &'static [(&str, &str)], group: &str, kind: &str) -> Option<Resource> {
    let (group, kinds) = table
        .iter()
        .find(|(known, kinds)| *known == group && entries(kinds).any(|entry| entry.kind == kind))?;
    let entry = entries(kinds).find(|entry| entry.kind == kind)?;
    Some(Resource {
        group: (*group).to_owned(),
        plural: entry.plural.map_or_else(|| plural(&kind.to_lowercase()), str::to_owned),
        is_namespaced: entry.is_namespaced,
        is_guessed: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(group: &str, kind: &str) -> (String, bool, bool) {
        let Resource { plural, is_namespaced, is_guessed, .. } = resource(group, kind);
        (plural, is_namespaced, is_guessed)
    }

    #[test]
    fn kinds_have_the_resources_that_discovery_tells() {
        assert_eq!(told("networking.k8s.io", "Ingress"), ("ingresses".into(), true, false));
        assert_eq!(told("networking.k8s.io", "IngressClass"), ("ingressclasses".into(), false, false));
        assert_eq!(told("", "Endpoints"), ("endpoints".into(), true, false));
        assert_eq!(told("monitoring.coreos.com", "Prometheus"), ("prometheuses".into(), true, false));
        assert_eq!(
            told("storage.k8s.io", "CSIStorageCapacity"),
            ("csistoragecapacities".into(), true, false)
        );
        assert_eq!(told("example.com", "Widget"), ("widgets".into(), true, true));
    }

    #[test]
    fn the_group_of_a_kind_is_told_when_it_is_the_only_one() {
        assert_eq!(group_of("Deployment"), Some("apps"));
        assert_eq!(group_of("Pod"), Some(""));
        assert_eq!(group_of("Event"), Some(""));
        assert_eq!(group_of("ServiceMonitor"), Some("monitoring.coreos.com"));
        assert_eq!((group_of("IngressRoute"), group_of("Widget")), (None, None));
    }

    #[test]
    fn apis_that_are_gone_are_not_served() {
        assert!(is_built_in("extensions") && !is_served("extensions", "Deployment"));
        assert!(!is_served("policy", "PodSecurityPolicy") && is_served("policy", "PodDisruptionBudget"));
    }
}
