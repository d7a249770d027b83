//! What was asked of the in-memory cluster.

use std::fmt;

use serde_json::Value;

use crate::{KubeError, ObjectRef};

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The plugin, by `ctx.kube()`.
    Plugin,
    /// The host: declarative children, status, finalizers.
    Host,
}

/// What was asked, in RBAC's words, and `apply`, which RBAC calls `patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// One object.
    Get,
    /// A page of objects.
    List,
    /// Server-side apply of one object.
    Apply,
    /// A new object.
    Create,
    /// A whole object in the place of the old one.
    Update,
    /// A part of an object or of a subresource.
    Patch,
    /// Deletion.
    Delete,
    /// The log of a container.
    Logs,
    /// A command in a container.
    Exec,
    /// Eviction of a pod.
    Evict,
}

impl Verb {
    /// As RBAC names it.
    pub(super) fn rbac(self) -> &'static str {
        match self {
            Self::Get | Self::Logs => "get",
            Self::List => "list",
            Self::Apply | Self::Patch => "patch",
            Self::Create | Self::Exec | Self::Evict => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// Lower case, as in messages.
impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Apply => "apply",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Logs => "logs",
            Self::Exec => "exec",
            Self::Evict => "evict",
        })
    }
}

/// One recorded request.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Who asked.
    pub caller: Caller,
    /// What was asked.
    pub verb: Verb,
    /// Of which object; the name is empty for a list, and for an object whose name the server makes.
    pub object: ObjectRef,
    /// `status`, `scale`, `exec` and so on; empty for the object itself.
    pub subresource: String,
    /// What was sent; null for reads and deletions.
    pub body: Value,
    /// Did the cluster change by it?
    pub changed: bool,
    /// Why it failed, if it did. With `changed`, it was done and its answer got lost.
    pub error: Option<KubeError>,
}

/// `apply apps/v1 Deployment default/web`, `patch … web/status`, with ` -> Conflict` when it failed.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.object)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        match &self.error {
            Some(error) => write!(f, " -> {}", error.reason()),
            None => Ok(()),
        }
    }
}
