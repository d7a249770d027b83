//! VolumeSnapshots.

use backup_api::names;
use serde_json::{Value, json};

use super::Order;
use crate::naming;

/// Their group.
pub(crate) const GROUP: &str = "snapshot.storage.k8s.io";
pub(super) const API_VERSION: &str = "snapshot.storage.k8s.io/v1";
/// Their kind.
pub(crate) const KIND: &str = "VolumeSnapshot";

/// One snapshot of each claim that was written down.
pub(super) fn snapshots(order: &Order<'_>) -> Vec<Value> {
    let class = order.plan.strategy.volume_snapshot.as_ref().and_then(|strategy| strategy.class.clone());
    let named = order.run.artefact.as_ref().map(|artefact| artefact.snapshots.clone()).unwrap_or_default();
    let snapshot = |(claim, name): (String, String)| {
        let mut spec = json!({"source": {"persistentVolumeClaimName": claim}});
        if let (Some(class), Some(spec)) = (&class, spec.as_object_mut()) {
            spec.insert("volumeSnapshotClassName".to_owned(), json!(class));
        }
        json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {
                "namespace": order.object.namespace,
                "name": name,
                "labels": {names::label::BACKUP: naming::limited(order.object.name, 63)},
            },
            "spec": spec,
        })
    };
    named.into_iter().map(snapshot).collect()
}
