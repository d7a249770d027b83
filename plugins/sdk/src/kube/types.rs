//! What is asked of the cluster, and what it answers.

use std::time::Duration;

use serde::Serialize;

use crate::{Gvk, KubeError};

/// Where a read is answered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// The host's cache where it watches the kind, else the API server. May lag behind by a watch event.
    #[default]
    Cached,
    /// The API server.
    Live,
}

/// How a read is answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// From a cache, or from the API server.
    pub consistency: Consistency,
    /// Dotted paths (`metadata.labels`, `spec.replicas`) to keep; empty keeps everything.
    pub fields: Vec<String>,
}

/// What to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The exact kind.
    pub kind: Gvk,
    /// None lists all namespaces (or a cluster-scoped kind).
    pub namespace: Option<String>,
    /// As in the Kubernetes API; empty selects everything.
    pub label_selector: String,
    /// As in the Kubernetes API; empty selects everything.
    pub field_selector: String,
    /// At most so many objects in a page; 0 leaves it to the host (500).
    pub limit: u32,
    /// `next` of the page before.
    pub from: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The objects as JSON text.
    pub items: Vec<String>,
    /// Where the next page starts; none: this was the last one.
    pub next: Option<String>,
    /// Of the whole list.
    pub resource_version: String,
}

/// How an applied or created object is tied to the object that is being reconciled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ownership {
    /// Not at all.
    None,
    /// Labels that name the plugin and the owner, so that changes of it wake the owner.
    Mark,
    /// The same, and an owner reference where Kubernetes allows one, so that it is collected with its owner.
    #[default]
    Reference,
}

/// One object to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyItem {
    /// The fields the plugin cares for, as JSON text; `apiVersion`, `kind`, `metadata.name` (and `.namespace` for
    /// namespaced kinds) must be there.
    pub object: String,
    /// How it is tied to the object that is being reconciled.
    pub ownership: Ownership,
    /// JSON pointers (RFC 6901) of what a strict apply leaves to others, with all below it.
    pub keep: Vec<String>,
}

impl ApplyItem {
    /// An object that is owned by the one being reconciled.
    ///
    /// # Errors
    /// [`KubeError::Malformed`] when the object cannot be written as JSON.
    pub fn new(object: &impl Serialize) -> Result<Self, KubeError> {
        Ok(Self::json(to_json(object)?))
    }

    /// The same for an object that is JSON text already.
    pub fn json(object: impl Into<String>) -> Self {
        Self { object: object.into(), ownership: Ownership::Reference, keep: Vec::new() }
    }

    /// Ties it differently.
    #[must_use]
    pub fn ownership(mut self, ownership: Ownership) -> Self {
        self.ownership = ownership;
        self
    }

    /// Leaves to others, in a strict apply, what these JSON pointers name.
    #[must_use]
    pub fn keep(mut self, pointers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.keep = pointers.into_iter().map(Into::into).collect();
        self
    }
}

/// How objects are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApplyOptions {
    /// Take fields over that other managers own, and say which; without it they are a conflict that names manager and
    /// field.
    pub force: bool,
    /// Ask the API server what would happen and change nothing.
    pub dry_run: bool,
    /// Stop at the first failure; the rest is answered with [`KubeError::Other`] and reason `Skipped`.
    pub stop_on_error: bool,
    /// Also take away what other managers added to the object, but what [`ApplyItem::keep`] names. What nobody owns stays,
    /// and so do status and all that came by way of a subresource, what Kubernetes' own controllers wrote, metadata other
    /// than labels and annotations, and `/spec/replicas` where the object does not name it.
    pub strict: bool,
}

/// What became of an applied object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing differed and no request was sent.
    Unchanged,
    /// It was not there before.
    Created,
    /// It was there and is different now.
    Configured,
}

/// The answer for one applied object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// What became of it.
    pub change: Change,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.generation`; 0 for kinds that have none.
    pub generation: u64,
    /// What other managers had set otherwise and the apply took over. Tools whose place the plugin took are no others. Of a
    /// strict apply also what it took away.
    pub taken: Vec<Taken>,
    /// Why a strict apply could not take away what others added, in the API server's words.
    pub left: Option<String>,
}

/// Fields of another manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Who had them.
    pub manager: String,
    /// In the API server's words: `.spec.replicas`. At most 16.
    pub fields: Vec<String>,
}

/// The patch formats of the Kubernetes API, except apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchFormat {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' own; only for built-in kinds.
    StrategicMerge,
}

/// A patch of an object or of one of its subresources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// How `body` is to be read.
    pub format: PatchFormat,
    /// JSON text.
    pub body: String,
    /// `status`, `scale`, or empty for the object itself.
    pub subresource: String,
}

impl Patch {
    /// A list of operations (RFC 6902).
    ///
    /// # Errors
    /// [`KubeError::Malformed`] when the value cannot be written as JSON; so for all constructors.
    pub fn json(operations: &impl Serialize) -> Result<Self, KubeError> {
        Self::new(PatchFormat::Json, operations)
    }

    /// A merge patch (RFC 7386).
    ///
    /// # Errors
    /// As for [`json`](Self::json).
    pub fn merge(patch: &impl Serialize) -> Result<Self, KubeError> {
        Self::new(PatchFormat::Merge, patch)
    }

    /// A strategic merge patch; built-in kinds only.
    ///
    /// # Errors
    /// As for [`json`](Self::json).
    pub fn strategic(patch: &impl Serialize) -> Result<Self, KubeError> {
        Self::new(PatchFormat::StrategicMerge, patch)
    }

    fn new(format: PatchFormat, body: &impl Serialize) -> Result<Self, KubeError> {
        Ok(Self { format, body: to_json(body)?, subresource: String::new() })
    }

    /// Patches a subresource: `status` or `scale`.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = subresource.into();
        self
    }
}

/// What happens to dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Propagation {
    /// They are collected after it is gone.
    #[default]
    Background,
    /// It goes when they are gone.
    Foreground,
    /// They stay, without owner.
    Orphan,
}

/// How an object is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeleteOptions {
    /// What happens to its dependents.
    pub propagation: Propagation,
    /// Only when the live object has this uid.
    pub uid: Option<String>,
    /// Only when the live object has this resource version.
    pub resource_version: Option<String>,
    /// How long a pod has to stop; none: what the object says. Whole seconds.
    pub grace_period: Option<Duration>,
}

/// A kind that the cluster serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedKind {
    /// The exact kind.
    pub kind: Gvk,
    /// Plural, lower case.
    pub resource: String,
    /// In a namespace, or for the whole cluster.
    pub namespaced: bool,
    /// The version the API server prefers for this group.
    pub preferred: bool,
}

/// The cluster's version as `/version` gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    /// Such as `1`.
    pub major: String,
    /// Such as `36`, with a `+` from some vendors.
    pub minor: String,
    /// Such as `v1.36.2`.
    pub git_version: String,
}

pub(crate) fn to_json(value: &impl Serialize) -> Result<String, KubeError> {
    serde_json::to_string(value)
        .map_err(|error| KubeError::Malformed(format!("cannot be written as JSON: {error}")))
}
