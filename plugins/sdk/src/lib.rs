//! For plugin authors: a typed reconciler, the host's capabilities, and a native test harness.

mod assets;
mod blob;
mod certificates;
mod charts;
mod command;
mod context;
mod error;
mod exec;
mod export;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod guest;
#[cfg(feature = "harness")]
pub mod harness;
mod host;
mod http;
mod kube;
mod lifecycle;
mod log;
mod merge;
mod outcome;
mod plugin;
mod request;
mod resource;
mod types;

pub use assets::{AssetEntry, AssetError, AssetFile, AssetTree};
#[cfg(not(target_family = "wasm"))]
pub use blob::Stores;
pub use blob::{
    Blob, BlobError, BlobErrorKind, BlobObject, BlobPage, Download, Encoding, Progress, Proof, PutCondition,
    Store, Transfer, TransferState, Upload,
};
#[cfg(not(target_family = "wasm"))]
pub use certificates::IssuerOfTests;
pub use certificates::{CertificateFacts, CertificateOrder, Certificates, SecretEntry, SecretFacts};
pub use charts::{ChartArchive, ChartError, ChartSource, ChartStanding, ChartTrouble};
pub use command::{CommandAnswer, CommandFile, Invocation};
pub use context::Context;
pub use error::{Error, ErrorClass};
pub use exec::{EvictOptions, ExecCommand, ExecProgress, ExecState};
pub use host::Host;
#[cfg(not(target_family = "wasm"))]
pub use http::Outside;
pub use http::{
    Http, HttpBody, HttpError, HttpErrorKind, HttpRequest, HttpResponse, Identity, IdentityError, SecretKey,
};
#[cfg(feature = "typed")]
pub use {k8s_openapi, kube_core};

pub use self::kube::{
    access::Kube,
    error::KubeError,
    list::{List, Pages},
    types::{
        Applied, ApplyItem, ApplyOptions, Change, Consistency, DeleteOptions, Ownership, Page, Patch,
        PatchFormat, Propagation, Query, ReadOptions, ServedKind, ServerVersion, Taken,
    },
};
#[cfg(not(target_family = "wasm"))]
pub use lifecycle::AnnouncerOfTests;
pub use lifecycle::{
    AnnounceError, Announced, Announcement, Artefact, Earlier, Ending, HookProgress, HookStep, LifecycleHook,
    PlannedHook, Standing, Subject, Task,
};
pub use merge::merge_difference;
pub use outcome::{Finalized, Outcome, State, Trigger, Watch, WatchTarget};
pub use plugin::{Plugin, Reconciler};
pub use request::{Reason, Request};
pub use resource::{Dynamic, Resource};
pub use types::{ApiStatus, Condition, ConditionStatus, Denial, Event, EventType, Gvk, Level, ObjectRef};
