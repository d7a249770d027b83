//! The resources of CoreOS's etcd operator, `etcd.database.coreos.com/v1beta2`, as Rust types.
//!
//! Names are CoreOS's to the letter. What the old interface had no place for is added, and its documentation says
//! *(Pilothouse)*. Fragments of Kubernetes' own types (affinity, resources, claims) stay JSON: they are passed on as they
//! came, so nothing of them is lost, and only the definitions know their schema.

mod backup;
mod cluster;
#[cfg(feature = "schema")]
pub mod definition;
mod id;
pub mod names;
mod pod;
mod record;
mod restore;
mod status;
mod store;
mod tls;

pub use backup::{
    BackupPolicy, BackupRequest, BackupRun, BackupState, BackupStatus, EtcdBackupSpec, Retention,
    Verification,
};
pub use cluster::{
    CompactionMode, Defragmentation, EtcdClusterSpec, EtcdOptions, QuorumRecovery, RecoveryPolicy, Repair,
};
pub use id::Id;
pub use pod::PodPolicy;
pub use record::{
    Change, ChangeEnding, ChangeKind, DefragmentationRecord, EndedChange, EndedKind, FailedJoins,
    LeaveReason, LogState, MemberRecord, Record, ReliefRecord, ScaleDownRecord, SeedSource, UpgradeRecord,
};
pub use restore::{ClusterReference, EtcdRestoreSpec, RestoreState, RestoreStatus};
pub use status::{ClusterStatus, Condition, MembersStatus, Phase};
pub use store::{AbsSource, Artefact, GcsSource, S3Source, StorageType, StoreSource};
pub use tls::{ManagedTls, MemberSecrets, StaticTls, TlsPolicy};

/// A piece of a Kubernetes object that is passed on as it came.
pub type Fragment = serde_json::Map<String, serde_json::Value>;
