//! Transport security of a cluster.

use serde::{Deserialize, Serialize};

/// How peers and clients are secured. Once a cluster exists, peers and clients each stay with or without TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {"rule": "has(self.static) != has(self.managed)", "message": "set either static or managed"},
    ]))
)]
pub struct TlsPolicy {
    /// Certificates that somebody else puts into Secrets.
    #[serde(rename = "static", default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<StaticTls>,
    /// Certificates that are made and renewed for the cluster. *(Pilothouse)*
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed: Option<ManagedTls>,
}

/// Certificates in Secrets of the cluster's namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {
            "rule": "has(self.operatorSecret) == (has(self.member) && has(self.member.serverSecret))",
            "message": "operatorSecret and member.serverSecret need each other",
        },
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct StaticTls {
    /// Secrets of the members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberSecrets>,
    /// Secret with `etcd-client.crt`, `etcd-client.key` and `etcd-client-ca.crt`: how the operator talks to the members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub operator_secret: Option<String>,
}

/// The Secrets of members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MemberSecrets {
    /// Secret with `peer.crt`, `peer.key` and `peer-ca.crt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub peer_secret: Option<String>,
    /// Secret with `server.crt`, `server.key` and `server-ca.crt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub server_secret: Option<String>,
}

/// Certificates made for the cluster, for peers and clients, in the Secrets `NAME-peer-tls`, `NAME-server-tls` and
/// `NAME-client-tls`. *(Pilothouse)*
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ManagedTls {
    /// How long a certificate is valid; it is renewed after two thirds of that, without a restart.
    #[serde(default = "ninety_days")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 87_600)))]
    pub validity_hours: i64,
}

fn ninety_days() -> i64 {
    2160
}

impl Default for ManagedTls {
    fn default() -> Self {
        Self { validity_hours: ninety_days() }
    }
}
