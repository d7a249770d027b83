//! The objects of a cluster, as they are sent to the API server.

mod claim;
mod flags;
mod pod;
mod probe;
mod seeding;
mod service;
mod trial;

use std::collections::BTreeMap;

use etcd_api::names::{self, label};
use serde_json::{Map, Value, json};

pub use claim::{claim, claim_digest, storage_of};
pub use pod::{PodRequest, Start, pod, pod_digest};
pub use seeding::{PIECE, Snapshot};
pub use service::{children, client_selector};
pub(crate) use trial::is_older;
pub use trial::{TRIAL_SECONDS, Trial, Verdict};

use crate::observed::Cluster;

/// Labels by which everything of a cluster is found.
pub fn cluster_labels(cluster: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (label::APP.to_owned(), label::APP_VALUE.to_owned()),
        (label::CLUSTER.to_owned(), cluster.to_owned()),
    ])
}

/// The same as a selector in one line, for requests and for the scale subresource.
pub fn selector(cluster: &str) -> String {
    format!("{}={},{}={cluster}", label::APP, label::APP_VALUE, label::CLUSTER)
}

/// Labels of what belongs to one member.
fn member_labels(cluster: &str, member: &str, incarnation: u32) -> BTreeMap<String, String> {
    let mut labels = cluster_labels(cluster);
    labels.insert(label::NODE.to_owned(), member.to_owned());
    labels.insert(label::INCARNATION.to_owned(), incarnation.to_string());
    labels
}

/// `apiVersion`, `kind` and `metadata` of an object that the cluster controls.
fn head(cluster: &Cluster, api_version: &str, kind: &str, name: &str) -> Map<String, Value> {
    let metadata = json!({
        "name": name,
        "namespace": cluster.namespace,
        "labels": cluster_labels(&cluster.name),
        "ownerReferences": [cluster.owner()],
    });
    let fields = [("apiVersion", json!(api_version)), ("kind", json!(kind)), ("metadata", metadata)];
    fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
}

/// The directory of everything a member keeps.
const DATA_MOUNT: &str = "/var/etcd";
/// etcd's own directory in it.
const DATA_DIRECTORY: &str = "/var/etcd/data";
/// The volume of it.
const DATA_VOLUME: &str = "etcd-data";
/// The container of etcd, and its directory of programs.
const CONTAINER: &str = "etcd";
const PROGRAMS: &str = "/usr/local/bin";

/// Ports by the names that the old operator gave them.
fn container_ports() -> Value {
    json!([
        {"name": "server", "containerPort": names::PEER_PORT, "protocol": "TCP"},
        {"name": "client", "containerPort": names::CLIENT_PORT, "protocol": "TCP"},
        {"name": "metrics", "containerPort": names::METRICS_PORT, "protocol": "TCP"},
    ])
}
