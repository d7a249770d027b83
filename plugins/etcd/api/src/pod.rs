//! What the pods of the members look like.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Fragment, names};

/// The pods of the members. A change is carried out one member at a time, the leader last: members with a claim get a
/// new pod on their data, others are replaced by a new member first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {
            "rule": "!(self.antiAffinity && has(self.affinity))",
            "message": "antiAffinity is only for pods without affinity: write the rule into affinity",
        },
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct PodPolicy {
    /// Labels beside those of the operator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(extend(
            "maxProperties" = 64,
            "x-kubernetes-validations" = [{
                "rule": "self.all(key, key != 'app' && !key.startsWith('etcd_'))",
                "message": "spec: pod labels contains reserved label",
            }],
        ))
    )]
    pub labels: BTreeMap<String, String>,
    /// Annotations beside those of the operator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(extend(
            "maxProperties" = 64,
            "x-kubernetes-validations" = [{
                "rule": "self.all(key, key != 'etcd.version' && key != 'etcd.database.coreos.com/digest')",
                "message": "spec: pod annotations contains reserved annotation",
            }],
        ))
    )]
    pub annotations: BTreeMap<String, String>,
    /// Labels of the nodes that the pods may run on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Where the pods may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<k8s_openapi::api::core::v1::Affinity>"))]
    pub affinity: Option<Fragment>,
    /// No two members on one node. Deprecated: write it into `affinity`, which cannot be set beside it.
    #[serde(default)]
    pub anti_affinity: bool,
    /// Taints that the pods bear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<k8s_openapi::api::core::v1::Toleration>"))]
    pub tolerations: Vec<Value>,
    /// What the containers ask for, the init containers included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<k8s_openapi::api::core::v1::ResourceRequirements>")
    )]
    pub resources: Option<Fragment>,
    /// Security context of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<k8s_openapi::api::core::v1::PodSecurityContext>")
    )]
    pub security_context: Option<Fragment>,
    /// Environment of etcd. Variables of options that the operator sets itself are refused: etcd does not start with both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Vec<k8s_openapi::api::core::v1::EnvVar>", extend("maxItems" = 100))
    )]
    pub etcd_env: Vec<Value>,
    /// The claim of each member. Its data outlives the pod; a member that is removed takes its claim with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<k8s_openapi::api::core::v1::PersistentVolumeClaimSpec>")
    )]
    pub persistent_volume_claim_spec: Option<Fragment>,
    /// An image with `nslookup`, for the init container that waits for the member's name.
    #[serde(default = "busybox")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 500)))]
    pub busybox_image: String,
    /// How long that container waits before it is started again; 0 waits for ever.
    #[serde(rename = "DNSTimeoutInSecond", default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub dns_timeout_in_second: i64,
}

fn busybox() -> String {
    names::BUSYBOX.to_owned()
}

impl Default for PodPolicy {
    fn default() -> Self {
        Self {
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            node_selector: BTreeMap::new(),
            affinity: None,
            anti_affinity: false,
            tolerations: Vec::new(),
            resources: None,
            security_context: None,
            etcd_env: Vec::new(),
            persistent_volume_claim_spec: None,
            busybox_image: busybox(),
            dns_timeout_in_second: 0,
        }
    }
}
