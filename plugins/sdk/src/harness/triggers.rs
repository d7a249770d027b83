//! Which objects a change in the cluster wakes.

use serde_json::Value;

use super::{
    object::ref_of,
    ownership::{is_of_kind, owner_of, same_object},
    selector::LabelSelector,
    store::WatchEvent,
};
use crate::{Gvk, ObjectRef, Reason, Trigger, Watch, WatchTarget};

/// Does a change of a reconciled object itself call for its hook?
pub(super) fn is_own_change(event: &WatchEvent) -> bool {
    let (Some(before), Some(after)) = (&event.before, &event.after) else { return true };
    ["generation", "labels", "annotations", "deletionTimestamp"].iter().any(|field| {
        let pointer = format!("/metadata/{field}");
        before.pointer(&pointer) != after.pointer(&pointer)
    })
}

/// What an owner is tied to.
#[derive(Debug)]
pub(super) struct Ties<'a> {
    pub(super) plugin: &'a str,
    pub(super) uid: &'a str,
    pub(super) watches: &'a [Watch],
}

impl Ties<'_> {
    /// Why a change wakes the owner, if it does.
    pub(super) fn reason(&self, event: &WatchEvent) -> Option<Reason> {
        let object = event.after.as_ref().or(event.before.as_ref())?;
        let reference = ref_of(object);
        let sides = || event.before.iter().chain(&event.after);
        let is_drift = is_drift(event);
        let matters = |trigger| trigger == Trigger::Any || is_drift;
        // The labels of either side: a label taken off is a child that went away.
        if sides().any(|side| owner_of(side) == Some((self.plugin, self.uid))) {
            let asked = |watch: &&Watch| matches!(&watch.target, WatchTarget::Owned(kind) if is_of_kind(object, kind));
            let trigger = self.watches.iter().find(asked).map_or(Trigger::Drift, |watch| watch.trigger);
            if matters(trigger) {
                return Some(Reason::Child(reference));
            }
        }
        let wished =
            self.watches.iter().filter(|watch| matters(watch.trigger)).any(|watch| match &watch.target {
                WatchTarget::Owned(_) => false,
                WatchTarget::Object(wanted) => same_object(wanted, &reference),
                WatchTarget::Selected { kind, namespace, label_selector } => {
                    let here = namespace.is_none() || *namespace == reference.namespace;
                    let selects = |selector: LabelSelector| sides().any(|side| selector.matches(side));
                    is_of_kind(object, kind)
                        && here
                        && LabelSelector::parse(label_selector).is_ok_and(selects)
                }
            });
        wished.then_some(Reason::Related(reference))
    }
}

/// Anything but a change of status.
fn is_drift(event: &WatchEvent) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        if let Some(members) = object.as_object_mut() {
            members.shift_remove("status");
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("resourceVersion");
        }
        object
    };
    match (&event.before, &event.after) {
        (Some(before), Some(after)) => rest(before) != rest(after),
        _ => true,
    }
}

/// The objects a runner watches for are named in the version its plugin speaks.
pub(super) fn own_reference(object: &Value, kinds: &[Gvk]) -> Option<ObjectRef> {
    let kind = kinds.iter().find(|kind| is_of_kind(object, kind))?;
    Some(ObjectRef { kind: kind.clone(), ..ref_of(object) })
}
