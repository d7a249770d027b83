//! Requests that are refused.

use super::{
    super::{
        asked::access,
        calls::{Call, Verb},
        cluster::State,
        rights::{Access, Rights},
    },
    Session,
};
use crate::KubeError;

impl Session {
    /// What the grants or the API server's RBAC say against a request.
    pub(super) fn refusal(&self, state: &State, rights: &Rights, call: &Call) -> Option<KubeError> {
        let access = access(state, call.verb, &call.object, &call.subresource)?;
        if let Err(refusal) = rights.check(&access) {
            return Some(refusal);
        }
        let mut needed = vec![access.clone()];
        // Applying what is not there is creating it as well.
        if call.verb == Verb::Apply && matches!(state.store.find(&call.object), Ok(None)) {
            needed.push(Access { verb: "create", ..access });
        }
        let forbidden = |access: &&Access<'_>| {
            state.forbidden.iter().any(|(verb, resource)| verb == access.verb && *resource == access.resource)
        };
        needed.iter().find(forbidden).map(|access| rights.forbidden(access))
    }
}
