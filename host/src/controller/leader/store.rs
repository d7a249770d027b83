//! Where the lease is kept.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};

use super::Record;

/// Why a lease could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Somebody else wrote it since it was read.
    #[error("the lease was written by somebody else")]
    Conflict,
    /// The API server refused or did not answer.
    #[error(transparent)]
    Api(#[from] Box<kube::Error>),
}

/// A lease: read, and written only if it is still what was read.
pub trait LeaseStore: Send + Sync + 'static {
    /// The lease; `None` when there is none.
    fn get(&self) -> impl Future<Output = Result<Option<Record>, LeaseError>> + Send;

    /// Writes the record over the one with its resource version (creates it when that is empty); the answer is the
    /// record as it stands.
    fn put(&self, record: &Record) -> impl Future<Output = Result<Record, LeaseError>> + Send;
}

impl<S: LeaseStore> LeaseStore for Arc<S> {
    fn get(&self) -> impl Future<Output = Result<Option<Record>, LeaseError>> + Send {
        self.as_ref().get()
    }

    fn put(&self, record: &Record) -> impl Future<Output = Result<Record, LeaseError>> + Send {
        self.as_ref().put(record)
    }
}

/// A `coordination.k8s.io/v1` Lease.
#[derive(Clone, Debug)]
pub struct KubeLease {
    api: Api<Lease>,
    name: String,
}

impl KubeLease {
    /// The lease of this name.
    pub fn new(client: kube::Client, namespace: &str, name: &str) -> Self {
        Self { api: Api::namespaced(client, namespace), name: name.to_owned() }
    }
}

impl LeaseStore for KubeLease {
    async fn get(&self) -> Result<Option<Record>, LeaseError> {
        let lease = self.api.get_opt(&self.name).await.map_err(Box::new)?;
        Ok(lease.map(record))
    }

    async fn put(&self, record: &Record) -> Result<Record, LeaseError> {
        let lease = lease(&self.name, record);
        let written = if record.resource_version.is_empty() {
            self.api.create(&PostParams::default(), &lease).await
        } else {
            // The resource version in the patch is a precondition; labels and owners of the lease stay.
            self.api.patch(&self.name, &PatchParams::default(), &Patch::Merge(&lease)).await
        };
        match written {
            Ok(lease) => Ok(self::record(lease)),
            Err(kube::Error::Api(status)) if status.code == 409 => Err(LeaseError::Conflict),
            Err(error) => Err(LeaseError::Api(Box::new(error))),
        }
    }
}

fn lease(name: &str, record: &Record) -> Lease {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            resource_version: text(&record.resource_version),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(record.holder.clone()),
            lease_duration_seconds: Some(i32::try_from(record.duration.as_secs().max(1)).unwrap_or(i32::MAX)),
            acquire_time: record.acquired.map(MicroTime),
            renew_time: record.renewed.map(MicroTime),
            lease_transitions: Some(record.transitions),
            ..LeaseSpec::default()
        }),
    }
}

fn record(lease: Lease) -> Record {
    let spec = lease.spec.unwrap_or_default();
    let seconds = u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0);
    Record {
        resource_version: lease.metadata.resource_version.unwrap_or_default(),
        holder: spec.holder_identity.unwrap_or_default(),
        duration: Duration::from_secs(seconds),
        acquired: spec.acquire_time.map(|time| time.0),
        renewed: spec.renew_time.map(|time| time.0),
        transitions: spec.lease_transitions.unwrap_or(0),
    }
}
