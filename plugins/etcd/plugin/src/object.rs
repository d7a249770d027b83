//! An `EtcdCluster` as it was read.

use std::collections::BTreeMap;

use etcd_api::{EtcdClusterSpec, Phase, Record, names};
use etcd_core::observed::Cluster;
use pilothouse_sdk::{Error, Gvk, ObjectRef, Resource};
use serde::Deserialize;
use serde_json::Value;

/// An `EtcdCluster` as it was read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ClusterObject {
    pub(crate) metadata: Metadata,
    spec: EtcdClusterSpec,
    /// As it stands there: what is to vanish from it has to be named.
    #[serde(default)]
    pub(crate) status: Value,
}

/// What is read of `metadata`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) uid: String,
    #[serde(default)]
    pub(crate) resource_version: String,
    #[serde(default)]
    generation: i64,
    #[serde(default)]
    deletion_timestamp: Option<String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) finalizers: Vec<String>,
}

impl Metadata {
    /// `metadata.generation`.
    pub(crate) fn generation(&self) -> i64 {
        self.generation
    }
}

/// The kind.
pub(crate) fn kind() -> Gvk {
    Gvk::new(names::GROUP, names::VERSION, "EtcdCluster")
}

impl Resource for ClusterObject {
    fn gvk() -> Option<Gvk> {
        Some(kind())
    }

    fn from_json(text: String) -> Result<Self, Error> {
        serde_json::from_str(&text)
            .map_err(|error| Error::permanent("InvalidObject", format!("it is no EtcdCluster: {error}")))
    }
}

impl ClusterObject {
    /// Where it is.
    pub(crate) fn reference(&self) -> ObjectRef {
        ObjectRef::new(kind(), self.metadata.namespace.as_str(), self.metadata.name.as_str())
    }

    /// As the core wants it.
    pub(crate) fn cluster(&self) -> Cluster {
        let Metadata { name, namespace, uid, generation, deletion_timestamp, .. } = &self.metadata;
        Cluster {
            name: name.clone(),
            namespace: namespace.clone(),
            uid: uid.clone(),
            generation: *generation,
            deleting: deletion_timestamp.is_some(),
            spec: self.spec.clone(),
        }
    }

    /// What the operator remembers of it.
    ///
    /// # Errors
    /// Permanent: what is remembered cannot be read, so nothing may be done that it might forbid.
    pub(crate) fn record(&self) -> Result<Record, Error> {
        let Some(record) = self.status.get("record").filter(|record| !record.is_null()) else {
            return Ok(Record::default());
        };
        serde_json::from_value(record.clone()).map_err(|error| {
            let message = format!("status.record cannot be read, so nothing is done: {error}");
            Error::permanent("InvalidRecord", message)
        })
    }

    /// Was it told before that the cluster exists?
    pub(crate) fn was_announced(&self) -> bool {
        let phase = self.status.get("phase").and_then(Value::as_str);
        phase.is_some_and(|phase| phase == Phase::Running.as_str())
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_sdk::ErrorClass;
    use serde_json::json;

    use super::*;

    fn object(status: &Value) -> ClusterObject {
        let text = json!({
            "apiVersion": names::API_VERSION, "kind": "EtcdCluster",
            "metadata": {"name": "example", "namespace": "apps", "uid": "u", "generation": 3},
            "spec": {"size": 3}, "status": status,
        });
        ClusterObject::from_json(text.to_string()).unwrap()
    }

    #[test]
    fn nothing_is_remembered_of_a_new_object() {
        let new = object(&Value::Null);
        assert_eq!(new.record().unwrap(), Record::default());
        assert!(!new.was_announced() && !new.cluster().deleting);
        assert!(object(&json!({"phase": "Running"})).was_announced());
    }

    #[test]
    fn a_memory_that_cannot_be_read_is_no_empty_one() {
        let error = object(&json!({"record": {"members": "none"}})).record().unwrap_err();
        assert_eq!((error.class(), error.reason()), (ErrorClass::Permanent, "InvalidRecord"));
    }
}
