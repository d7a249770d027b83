//! Services and the disruption budget: what the host keeps applied all the time.

use std::collections::BTreeMap;

use etcd_api::names::{self, label};
use serde_json::{Map, Value, json};

use super::{cluster_labels, head};
use crate::{naming::Place, observed::Cluster};

/// CoreOS's operator has it on both Services. Kubernetes reads `publishNotReadyAddresses` by now, which only the members' has: clients
/// are led to members that are ready.
const TOLERATE_UNREADY: &str = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

/// What the Service for clients selects: every ready member, and while the cluster is being begun anew only members of the
/// incarnation that serves.
pub fn client_selector(cluster: &str, only: Option<u32>) -> BTreeMap<String, String> {
    let mut selector = cluster_labels(cluster);
    if let Some(incarnation) = only {
        selector.insert(label::INCARNATION.to_owned(), incarnation.to_string());
    }
    selector
}

/// The Service of the members, the Service for clients, and the disruption budget. `voters`: how many members vote, or will;
/// none before there are any.
pub fn children(cluster: &Cluster, only: Option<u32>, voters: usize) -> Vec<Value> {
    let place = Place { cluster: &cluster.name, namespace: &cluster.namespace };
    let client = json!({"name": "client", "port": names::CLIENT_PORT, "targetPort": names::CLIENT_PORT, "protocol": "TCP"});
    let peer =
        json!({"name": "peer", "port": names::PEER_PORT, "targetPort": names::PEER_PORT, "protocol": "TCP"});

    let mut members = service(cluster, &place.member_service());
    members.insert(
        "spec".to_owned(),
        json!({
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "ports": [client, peer],
            "selector": cluster_labels(&cluster.name),
        }),
    );

    let mut clients = service(cluster, &place.client_service());
    let selector = client_selector(&cluster.name, only);
    clients.insert("spec".to_owned(), json!({"ports": [client], "selector": selector}));

    let mut children = vec![Value::Object(members), Value::Object(clients)];
    if voters > 0 {
        let mut budget = head(cluster, "policy/v1", "PodDisruptionBudget", &cluster.name);
        let selector = json!({"matchLabels": cluster_labels(&cluster.name)});
        budget.insert("spec".to_owned(), json!({"minAvailable": voters / 2 + 1, "selector": selector}));
        children.push(Value::Object(budget));
    }
    children
}

fn service(cluster: &Cluster, name: &str) -> Map<String, Value> {
    let mut service = head(cluster, "v1", "Service", name);
    if let Some(metadata) = service.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("annotations".to_owned(), json!({TOLERATE_UNREADY: "true"}));
    }
    service
}
