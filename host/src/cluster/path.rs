//! Paths of the Kubernetes API.

use crate::object::Gvk;

/// What a path needs to know of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resource {
    /// The kind.
    pub gvk: Gvk,
    /// Plural, lower case.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// `/api/v1/namespaces/NS/PLURAL`; without a namespace the path of all namespaces or of the cluster scope.
    pub fn collection(&self, namespace: Option<&str>) -> String {
        let root = if self.gvk.group.is_empty() {
            format!("/api/{}", self.gvk.version)
        } else {
            format!("/apis/{}/{}", self.gvk.group, self.gvk.version)
        };
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{root}/namespaces/{}/{}", escape(namespace), self.plural),
            None => format!("{root}/{}", self.plural),
        }
    }

    /// The path of one object, or of a subresource of it (empty: the object).
    pub fn object(&self, namespace: Option<&str>, name: &str, subresource: &str) -> String {
        let mut path = self.collection(namespace);
        path.push('/');
        path.push_str(&escape(name));
        if !subresource.is_empty() {
            path.push('/');
            path.push_str(&escape(subresource));
        }
        path
    }

    /// `plural` or `plural/subresource`, as RBAC names it.
    pub fn rbac_name(&self, subresource: &str) -> String {
        if subresource.is_empty() { self.plural.clone() } else { format!("{}/{subresource}", self.plural) }
    }
}

/// A segment of a path or a value of a query, percent-encoded (RFC 3986 unreserved characters stay).
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_group_scope_and_subresource() {
        let pods = Resource { gvk: Gvk::new("", "v1", "Pod"), plural: "pods".to_owned(), namespaced: true };
        assert_eq!(pods.object(Some("a"), "b", ""), "/api/v1/namespaces/a/pods/b");
        assert_eq!(pods.collection(None), "/api/v1/pods");
        let roles = Resource {
            gvk: Gvk::new("rbac.authorization.k8s.io", "v1", "ClusterRole"),
            plural: "clusterroles".to_owned(),
            namespaced: false,
        };
        // Names of RBAC objects may hold colons and must not end the segment.
        assert_eq!(
            roles.object(None, "system:node/../x", "status"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode%2F..%2Fx/status"
        );
    }
}
