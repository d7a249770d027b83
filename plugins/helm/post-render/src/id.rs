//! What an object is called: group, version, kind, name and namespace.

use serde_json::Value;

use crate::schema;

/// The name of an object as kustomize compares and writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl Id {
    pub(crate) fn of(object: &Value) -> Self {
        let api = text(object.get("apiVersion"));
        let (group, version) = match api.split_once('/') {
            Some((group, version)) => (group.to_owned(), version.to_owned()),
            None => (String::new(), api),
        };
        let metadata = object.get("metadata");
        Self {
            group,
            version,
            kind: text(object.get("kind")),
            name: text(metadata.and_then(|metadata| metadata.get("name"))),
            namespace: text(metadata.and_then(|metadata| metadata.get("namespace"))),
        }
    }

    /// The namespace for comparisons: that of cluster-scoped objects does not count, and none is `default`.
    pub(crate) fn effective_namespace(&self) -> &str {
        match self.namespace.as_str() {
            _ if schema::is_cluster_scoped(&self.group, &self.kind) => "_non_namespaceable_",
            "" => "default",
            namespace => namespace,
        }
    }

    pub(crate) fn names(&self, other: &Self) -> bool {
        (&self.group, &self.version, &self.kind, &self.name)
            == (&other.group, &other.version, &other.kind, &other.name)
            && self.effective_namespace() == other.effective_namespace()
    }
}

/// `Deployment.v1.apps/web.[noNs]`, as kustomize's errors have it.
impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
        let (kind, version, group) =
            (or(&self.kind, "[noKind]"), or(&self.version, "[noVer]"), or(&self.group, "[noGrp]"));
        let (name, namespace) = (or(&self.name, "[noName]"), or(&self.namespace, "[noNs]"));
        write!(f, "{kind}.{version}.{group}/{name}.{namespace}")
    }
}
