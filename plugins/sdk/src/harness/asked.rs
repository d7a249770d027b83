//! One request to the in-memory cluster, and the question to RBAC behind it.

use serde_json::Value;

use super::{calls::Verb, cluster::State, rights::Access};
use crate::ObjectRef;

/// What one request is about.
pub(super) struct Request {
    pub(super) verb: Verb,
    pub(super) object: ObjectRef,
    pub(super) subresource: String,
    pub(super) body: Value,
    /// Whether the API server is asked at all.
    pub(super) takes_time: bool,
}

impl Request {
    pub(super) fn new(verb: Verb, object: ObjectRef) -> Self {
        Self { verb, object, subresource: String::new(), body: Value::Null, takes_time: true }
    }

    pub(super) fn body(self, body: Value) -> Self {
        Self { body, ..self }
    }

    pub(super) fn subresource(self, subresource: &str) -> Self {
        Self { subresource: subresource.to_owned(), ..self }
    }
}

/// The question to RBAC behind a request; none for kinds that are not served.
pub(super) fn access(
    state: &State,
    verb: Verb,
    object: &ObjectRef,
    subresource: &str,
) -> Option<Access<'static>> {
    let kind = state.store.kinds.find(&object.kind).ok()?;
    let resource = match subresource {
        "" => kind.plural.clone(),
        subresource => format!("{}/{subresource}", kind.plural),
    };
    let name = Some(object.name.clone()).filter(|name| !name.is_empty());
    Some(Access {
        verb: verb.rbac(),
        group: kind.gvk.group.clone(),
        resource,
        namespace: object.namespace.clone(),
        name,
    })
}
