//! Names of things in a cluster: kinds, objects, and the few facts about an object that the host itself reads.

pub mod digest;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An exact kind; `group` is empty for the core group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gvk {
    /// API group, such as `apps`.
    #[serde(default)]
    pub group: String,
    /// API version, such as `v1`.
    pub version: String,
    /// Kind, such as `Deployment`.
    pub kind: String,
}

impl Gvk {
    /// A kind from its three parts.
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// `version` or `group/version`, as objects write it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The kind an object names itself; `None` when `apiVersion` or `kind` is missing or no text.
    pub fn of(object: &Value) -> Option<Self> {
        let api_version = object.get("apiVersion")?.as_str()?;
        let kind = object.get("kind")?.as_str()?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Some(Self::new(group, version, kind))
    }
}

impl fmt::Display for Gvk {
    /// `Kind.version.group`, as kubectl writes it; `Kind.version` for the core group.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind, self.version)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

/// One object of a cluster. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Its exact kind.
    pub gvk: Arc<Gvk>,
    /// `None` for cluster scope.
    pub namespace: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// A key from its parts.
    pub fn new(gvk: Arc<Gvk>, namespace: Option<&str>, name: &str) -> Self {
        Self { gvk, namespace: namespace.map(Arc::from), name: Arc::from(name) }
    }

    /// The key of an object; `None` when it does not name its kind and itself.
    pub fn of(object: &Value) -> Option<Self> {
        let gvk = Gvk::of(object)?;
        let metadata = object.get("metadata")?;
        let name = metadata.get("name")?.as_str()?;
        let namespace = metadata.get("namespace").and_then(Value::as_str).filter(|ns| !ns.is_empty());
        Some(Self::new(Arc::new(gvk), namespace, name))
    }
}

impl fmt::Display for ObjectKey {
    /// `Kind.version.group namespace/name`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.gvk)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// The object that is being reconciled, as far as ownership needs it.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Kind, namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Arc<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_kind_has_no_group_in_its_api_version() {
        assert_eq!(Gvk::new("", "v1", "Pod").api_version(), "v1");
        assert_eq!(Gvk::new("apps", "v1", "Deployment").to_string(), "Deployment.v1.apps");
    }

    #[test]
    fn an_object_without_a_name_has_no_key() {
        assert_eq!(
            ObjectKey::of(&serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}})),
            None
        );
    }
}
