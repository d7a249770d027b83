//! The resources of `backup.pilothouse.dev/v1alpha1` as Rust types: `BackupPolicy`, `Backup` and `Restore`.
//!
//! ```text
//!  BackupPolicy ── what, when, whither, how ──▶ Backup ── its artefact ──▶ Restore
//! ```
//! A `Backup` holds a copy of all it needs ([`BackupPlan`]), so that a policy that is edited or deleted changes nothing of it. Pod
//! templates stay JSON: they are passed on as they came.

mod artefact;
mod backup;
#[cfg(feature = "schema")]
pub mod definition;
mod duration;
mod encryption;
pub mod names;
mod policy;
mod quantity;
mod quiesce;
mod restore;
mod selector;
mod status;
mod storage;
mod strategy;
mod subject;
mod verification;

pub use artefact::{Artefact, Format};
pub use backup::{
    BackupPhase, BackupPlan, BackupSpec, BackupStatus, HookCount, HookRun, HookState, Origin, OriginKind,
    PolicyReference, Run, Step,
};
pub use duration::{Duration, DurationError};
pub use encryption::{Age, Encryption};
pub use policy::{
    BackupPolicySpec, BackupPolicyStatus, ConcurrencyPolicy, DeletionPolicy, FailurePolicy, RestorePhase,
    RestoreRule, Retention, ScheduleRule, SubjectStatus,
};
pub use quantity::{Quantity, QuantityError};
pub use quiesce::{ExecHook, OnError, Quiesce};
pub use restore::{
    ArtefactSource, BackupReference, RestorePlan, RestoreRun, RestoreSpec, RestoreState, RestoreStatus,
    RestoreStep,
};
pub use selector::{LabelSelector, Operator, Requirement};
pub use status::{Condition, ConditionStatus};
pub use storage::{SecretKey, Storage};
pub use strategy::{
    EtcdStrategy, JobParameters, JobStrategy, Output, PodJob, Preset, SnapshotStrategy, Strategy,
};
pub use subject::{SubjectReference, SubjectRule};
pub use verification::{Level, Verification};

/// A piece of a Kubernetes object that is passed on as it came.
pub type Fragment = serde_json::Map<String, serde_json::Value>;
