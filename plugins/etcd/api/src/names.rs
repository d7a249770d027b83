//! Words that scripts rely on: the group, labels, condition types, reasons and messages of events.

/// The API group.
pub const GROUP: &str = "etcd.database.coreos.com";
/// The version of the group.
pub const VERSION: &str = "v1beta2";
/// `apiVersion` of the three kinds.
pub const API_VERSION: &str = "etcd.database.coreos.com/v1beta2";

/// The longest name of a cluster: with `-` and the ten characters of a member's suffix it is a DNS label.
pub const LONGEST_NAME: usize = 52;
/// The default of `spec.repository`.
pub const REPOSITORY: &str = "quay.io/coreos/etcd";
/// The default of `spec.version`. CoreOS's was 3.2.13, which knows neither learners nor the JSON gateway.
pub const DEFAULT_VERSION: &str = "3.6.16";
/// The default of `spec.pod.busyboxImage`.
pub const BUSYBOX: &str = "busybox:1.28.0-glibc";
/// The port of clients.
pub const CLIENT_PORT: u16 = 2379;
/// The port of peers.
pub const PEER_PORT: u16 = 2380;
/// The port of probes and metrics, without TLS. *(Pilothouse)*
pub const METRICS_PORT: u16 = 2381;

/// Annotation: an operator for all namespaces manages only objects that carry it with the value `clusterwide`.
pub const SCOPE_ANNOTATION: &str = "etcd.database.coreos.com/scope";
/// The value of [`SCOPE_ANNOTATION`].
pub const SCOPE_CLUSTER_WIDE: &str = "clusterwide";

/// Labels of pods, services and claims.
pub mod label {
    /// `app=etcd`.
    pub const APP: &str = "app";
    /// The value of [`APP`].
    pub const APP_VALUE: &str = "etcd";
    /// Name of the cluster.
    pub const CLUSTER: &str = "etcd_cluster";
    /// Name of the member, which is the name of its pod.
    pub const NODE: &str = "etcd_node";
    /// How often the cluster was begun anew when the member was made. *(Pilothouse)*
    pub const INCARNATION: &str = "etcd_incarnation";
    /// Labels that begin so are the operator's.
    pub const RESERVED_PREFIX: &str = "etcd_";
}

/// Annotations of pods and claims.
pub mod annotation {
    /// The version the pod was made for, without `v`.
    pub const VERSION: &str = "etcd.version";
    /// Digest of what the pod was made from, without its version. *(Pilothouse)*
    pub const DIGEST: &str = "etcd.database.coreos.com/digest";
}

/// Types and reasons of conditions.
pub mod condition {
    /// Clients are served.
    pub const AVAILABLE: &str = "Available";
    /// The cluster is begun anew from what is left of it.
    pub const RECOVERING: &str = "Recovering";
    /// The number of members is not the one asked for.
    pub const SCALING: &str = "Scaling";
    /// Members are brought to another version.
    pub const UPGRADING: &str = "Upgrading";

    /// Reason of [`AVAILABLE`].
    pub const REASON_AVAILABLE: &str = "Cluster available";
    /// Reason of [`RECOVERING`].
    pub const REASON_RECOVERING: &str = "Disaster recovery";
    /// Reason of [`SCALING`], more members.
    pub const REASON_SCALING_UP: &str = "Scaling up";
    /// Reason of [`SCALING`], fewer members.
    pub const REASON_SCALING_DOWN: &str = "Scaling down";
    /// Reason of [`UPGRADING`].
    pub const REASON_UPGRADING: &str = "Cluster upgrading";
    /// Reason of [`AVAILABLE`] when it is false: too few voters answer, but their data is there. *(Pilothouse)*
    pub const REASON_QUORUM_LOST: &str = "Quorum lost";
    /// Reason of [`AVAILABLE`] when it is false: the data of too many voters is gone. *(Pilothouse)*
    pub const REASON_DATA_LOST: &str = "Data lost";
    /// Reason of [`AVAILABLE`] when it is false: nobody knows yet. *(Pilothouse)*
    pub const REASON_UNKNOWN: &str = "Members unknown";
}

/// Reasons of events.
pub mod event {
    /// A member was added.
    pub const MEMBER_ADDED: &str = "New Member Added";
    /// A member was removed.
    pub const MEMBER_REMOVED: &str = "Member Removed";
    /// A dead member is about to be removed.
    pub const REPLACING_DEAD_MEMBER: &str = "Replacing Dead Member";
    /// A member runs another version.
    pub const MEMBER_UPGRADED: &str = "Member Upgraded";
    /// Too few members are left to agree. *(Pilothouse)*
    pub const QUORUM_LOST: &str = "Quorum Lost";
    /// The cluster goes on from what was left of it, or from a backup. *(Pilothouse)*
    pub const CLUSTER_RECOVERED: &str = "Cluster Recovered";
    /// An alarm of etcd is being dealt with, or cannot be. *(Pilothouse)*
    pub const ALARM: &str = "Alarm";
    /// A change of the spec cannot be carried out. *(Pilothouse)*
    pub const REFUSED: &str = "Refused";
}

/// Environment variables of options that the operator gives on the command line, with which etcd does not start, or that lead data past
/// the volume.
pub const RESERVED_ENVIRONMENT: &[&str] = &[
    "ETCD_NAME",
    "ETCD_DATA_DIR",
    "ETCD_LISTEN_PEER_URLS",
    "ETCD_LISTEN_CLIENT_URLS",
    "ETCD_LISTEN_METRICS_URLS",
    "ETCD_INITIAL_ADVERTISE_PEER_URLS",
    "ETCD_ADVERTISE_CLIENT_URLS",
    "ETCD_INITIAL_CLUSTER",
    "ETCD_INITIAL_CLUSTER_STATE",
    "ETCD_INITIAL_CLUSTER_TOKEN",
    "ETCD_CERT_FILE",
    "ETCD_KEY_FILE",
    "ETCD_CLIENT_CERT_AUTH",
    "ETCD_TRUSTED_CA_FILE",
    "ETCD_AUTO_TLS",
    "ETCD_PEER_CERT_FILE",
    "ETCD_PEER_KEY_FILE",
    "ETCD_PEER_CLIENT_CERT_AUTH",
    "ETCD_PEER_TRUSTED_CA_FILE",
    "ETCD_PEER_AUTO_TLS",
    "ETCD_FORCE_NEW_CLUSTER",
    "ETCD_STRICT_RECONFIG_CHECK",
    "ETCD_ENABLE_GRPC_GATEWAY",
    "ETCD_CONFIG_FILE",
    "ETCD_WAL_DIR",
    "ETCD_DISCOVERY",
    "ETCD_DISCOVERY_SRV",
    "ETCD_DISCOVERY_TOKEN",
    "ETCD_DISCOVERY_ENDPOINTS",
];

/// The same for members that keep their data in claims: with these they compare it with the others'.
pub const RESERVED_WITH_CLAIM: &[&str] = &[
    "ETCD_FEATURE_GATES",
    "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK",
    "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED",
];
