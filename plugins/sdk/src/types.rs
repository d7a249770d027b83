//! Words that the whole interface uses: exact kinds, references, conditions, events.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An exact kind. `group` is empty for the core group.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gvk {
    /// API group, such as `apps`; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// API version, such as `v1`.
    pub version: String,
    /// UpperCamelCase singular, such as `Deployment`.
    pub kind: String,
}

impl Gvk {
    /// A kind by its three parts.
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// A kind as manifests write it: `apiVersion` is `group/version`, or the version alone for the core group.
    pub fn from_api_version(api_version: &str, kind: impl Into<String>) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::new(group, version, kind)
    }

    /// The kind of a Rust type.
    #[cfg(feature = "typed")]
    pub fn of<K: kube_core::Resource<DynamicType = ()>>() -> Self {
        Self::new(K::group(&()), K::version(&()), K::kind(&()))
    }

    /// `group/version`, or the version alone for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// `apps/v1 Deployment`.
impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        write!(f, "{} {}", self.version, self.kind)
    }
}

/// One object of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The exact kind.
    pub kind: Gvk,
    /// None for a cluster-scoped object.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
}

impl ObjectRef {
    /// An object by kind, namespace (none: cluster-scoped) and name.
    pub fn new<'a>(kind: Gvk, namespace: impl Into<Option<&'a str>>, name: impl Into<String>) -> Self {
        Self { kind, namespace: namespace.into().map(str::to_owned), name: name.into() }
    }

    /// An object of a Rust type.
    #[cfg(feature = "typed")]
    pub fn of<'a, K: kube_core::Resource<DynamicType = ()>>(
        namespace: impl Into<Option<&'a str>>,
        name: impl Into<String>,
    ) -> Self {
        Self::new(Gvk::of::<K>(), namespace, name)
    }
}

/// `apps/v1 Deployment default/web`.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// What the API server (or the host in its place) said about a request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiStatus {
    /// HTTP code; 0 when no answer arrived.
    pub code: u16,
    /// The machine-readable `reason` of the `Status`, such as `Conflict`; may be empty.
    pub reason: String,
    /// The server's sentence.
    pub message: String,
}

impl fmt::Display for ApiStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.message.as_str()) {
            (0, message) => f.write_str(message),
            (code, "") => write!(f, "{} ({code})", self.reason),
            (code, message) => write!(f, "{message} ({code})"),
        }
    }
}

/// Why an effect was refused, in the words an administrator needs to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// RBAC verb, such as `create`.
    pub verb: String,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural, lower case, with `/subresource` where there is one.
    pub resource: String,
    /// None for cluster scope or for all namespaces.
    pub namespace: Option<String>,
    /// The object, where one was named.
    pub name: Option<String>,
    /// The account that lacks the right; `grants` when the host refused before any request was sent.
    pub account: String,
    /// What the one who refused said; may be empty.
    pub message: String,
}

/// `system:serviceaccount:x:hello may not create ingresses.networking.k8s.io "web" in namespace default: …`
impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} may not {} {}", self.account, self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}")?,
            None => f.write_str(" at cluster scope")?,
        }
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}

/// Severity of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every step.
    Trace,
    /// For the author.
    Debug,
    /// For the operator of the cluster, in normal times.
    Info,
    /// Something to look at.
    Warn,
    /// Something failed.
    Error,
}

/// Kubernetes' two types of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// News.
    Normal,
    /// Trouble.
    Warning,
}

/// An event about the object that is being reconciled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// News or trouble.
    pub event_type: EventType,
    /// UpperCamelCase, from a small set: it is also a metric label. At most 128 bytes.
    pub reason: String,
    /// A sentence for people, at most 1024 bytes (longer ones are cut). No secret material.
    pub message: String,
}

impl Event {
    /// An event of type `Normal`.
    pub fn normal(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { event_type: EventType::Normal, reason: reason.into(), message: message.into() }
    }

    /// An event of type `Warning`.
    pub fn warning(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { event_type: EventType::Warning, reason: reason.into(), message: message.into() }
    }
}

/// Kubernetes' three states of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionStatus {
    /// `True`.
    Yes,
    /// `False`.
    No,
    /// `Unknown`.
    Unknown,
}

impl ConditionStatus {
    /// As `status.conditions` writes it: `True`, `False` or `Unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "True",
            Self::No => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// One entry of `status.conditions`. The host fills `lastTransitionTime` (kept while `status` does not change) and
/// `observedGeneration`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// `type`: UpperCamelCase, unique within the object.
    pub kind: String,
    /// `status`.
    pub status: ConditionStatus,
    /// UpperCamelCase or empty.
    pub reason: String,
    /// At most 32 KiB.
    pub message: String,
}

impl Condition {
    /// A condition by type and status. Its reason is its type until [`reason`](Self::reason) says better: definitions that
    /// declare conditions as Kubernetes does require one.
    pub fn new(kind: impl Into<String>, status: impl Into<ConditionStatus>) -> Self {
        let kind = kind.into();
        Self { reason: kind.clone(), kind, status: status.into(), message: String::new() }
    }

    /// Adds the machine-readable reason.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Adds the sentence for people.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }
}
