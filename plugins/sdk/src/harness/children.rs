//! Declarative children: inventory, apply, prune.

use serde_json::Value;

use super::{
    inventory::Plan,
    object::{gvk_of, text},
    ownership::Owner,
    runner::Runner,
};
use crate::{
    ApplyItem, ApplyOptions, DeleteOptions, Error, ErrorClass, Gvk, Host as _, KubeError, ObjectRef,
};

impl Runner {
    /// Brings the children to the desired set: all of it or, if the set itself is wrong, nothing of it.
    pub(super) fn apply_children(&mut self, live: &Value, children: &[String]) -> Result<(), Error> {
        let owner = Owner::of(live);
        let desired =
            children.iter().map(|child| serde_json::from_str(child)).collect::<Result<Vec<Value>, _>>()?;
        self.wait_for_kinds(&owner.reference, &desired)?;
        let known = self.cluster.state().inventories.get(&owner.uid).cloned().unwrap_or_default();
        let plan = Plan::new(&known, desired, &owner, |kind| self.is_namespaced(kind))?;
        self.record(&owner.uid, plan.announce);
        let session = self.session(live).into_host();
        let items: Vec<_> = plan.apply.iter().map(|child| ApplyItem::json(child.to_string())).collect();
        let options = ApplyOptions { force: true, stop_on_error: true, ..ApplyOptions::default() };
        for (answer, child) in session.apply(&items, options).into_iter().zip(&plan.settle) {
            answer.map_err(|error| problem(child, error))?;
        }
        for child in &plan.delete {
            match session.delete(child, &DeleteOptions::default()) {
                // Its kind is gone, and with it every object of it.
                Ok(_) | Err(KubeError::UnknownKind(_)) => {}
                Err(error) => return Err(problem(child, error)),
            }
        }
        self.record(&owner.uid, plan.settle);
        Ok(())
    }

    /// A kind that is not served yet is waited for: the object is queued when it appears.
    fn wait_for_kinds(&mut self, owner: &ObjectRef, desired: &[Value]) -> Result<(), Error> {
        for kind in desired.iter().map(gvk_of) {
            let served = self.cluster.state().store.kinds.find(&kind).is_ok();
            if !served {
                let message = format!("waiting for the kind {kind}: the cluster does not serve it");
                self.owners.entry(owner.clone()).or_default().missing.insert(kind);
                return Err(Error::retry("KindNotServed", message));
            }
        }
        Ok(())
    }

    fn is_namespaced(&self, kind: &Gvk) -> bool {
        self.cluster.state().store.kinds.find(kind).is_ok_and(|kind| kind.namespaced)
    }

    /// Writes an inventory down. It is a write like any other: the host may die after it.
    pub(super) fn record(&self, uid: &str, children: Vec<ObjectRef>) {
        let mut state = self.cluster.state();
        let before = state.inventories.insert(uid.to_owned(), children);
        let changed = before.as_ref() != state.inventories.get(uid);
        state.crash.after_call(changed);
    }

    /// Children that no owner reference ties to the object: the garbage collector does not reach them.
    pub(super) fn delete_far_children(&self, object: &ObjectRef, live: &Value) -> Result<(), KubeError> {
        let uid = text(live, "/metadata/uid");
        let children = self.cluster.state().inventories.get(uid).cloned().unwrap_or_default();
        let session = self.session(live).into_host();
        let is_far = |child: &&ObjectRef| object.namespace.is_some() && child.namespace != object.namespace;
        for child in children.iter().rev().filter(is_far) {
            session.delete(child, &DeleteOptions::default())?;
        }
        self.record(uid, Vec::new());
        Ok(())
    }
}

/// What kept a child from being as it should, in the host's words.
fn problem(child: &ObjectRef, error: KubeError) -> Error {
    let reason = match &error {
        KubeError::Denied(_) => "Forbidden",
        KubeError::Invalid(_) => "Invalid",
        KubeError::Conflict(_) | KubeError::AlreadyExists(_) => "Conflict",
        KubeError::Throttled(_) | KubeError::Unavailable(_) => "ApiUnavailable",
        _ => "ApplyFailed",
    };
    let message = format!("{child}: {error}");
    match Error::from(error).class() {
        ErrorClass::RetryAfter(after) => Error::retry_after(after, reason, message),
        _ => Error::retry(reason, message),
    }
}
