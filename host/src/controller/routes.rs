//! Who is woken by a change: from a changed object to the owners that asked to be told. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use super::observe::wished_spec;
use super::watch::WatchSpec;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::{Trigger, Watch, WatchTarget};
use crate::plugin::names::host_gvk;

/// What an owner wants to be told about.
#[derive(Debug, Default)]
struct Wishes {
    uid: Option<Arc<str>>,
    watches: Vec<Watch>,
}

/// Owners by uid and by wish.
#[derive(Debug, Default)]
pub struct Routes {
    owners: HashMap<Arc<str>, ObjectKey>,
    wishes: HashMap<ObjectKey, Wishes>,
    /// Owners that asked about objects that are not tied to them, by the watch that tells.
    by_spec: HashMap<WatchSpec, Vec<(ObjectKey, Trigger)>>,
}

/// What kind of change an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Created, deleted, or anything but its status is different.
    Drift,
    /// Only its status is different.
    StatusOnly,
}

impl Routes {
    /// An owner exists with this uid.
    pub fn know(&mut self, key: &ObjectKey, uid: &Arc<str>) {
        let wishes = self.wishes.entry(key.clone()).or_default();
        if wishes.uid.as_ref() != Some(uid) {
            if let Some(old) = wishes.uid.replace(Arc::clone(uid)) {
                self.owners.remove(&old);
            }
            self.owners.insert(Arc::clone(uid), key.clone());
        }
    }

    /// An owner is gone.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.set(key, Vec::new());
        if let Some(uid) = self.wishes.remove(key).and_then(|wishes| wishes.uid) {
            self.owners.remove(&uid);
        }
    }

    /// Replaces an owner's wishes.
    pub fn set(&mut self, key: &ObjectKey, watches: Vec<Watch>) {
        let Some(wishes) = self.wishes.get_mut(key) else { return };
        let before = std::mem::replace(&mut wishes.watches, watches);
        for target in before.iter().filter_map(wished_spec) {
            if let Some(waiting) = self.by_spec.get_mut(&target) {
                waiting.retain(|(owner, _)| owner != key);
                if waiting.is_empty() {
                    self.by_spec.remove(&target);
                }
            }
        }
        let now = self.wishes.get(key).map(|wishes| wishes.watches.clone()).unwrap_or_default();
        for watch in &now {
            if let Some(target) = wished_spec(watch) {
                self.by_spec.entry(target).or_default().push((key.clone(), watch.trigger));
            }
        }
    }

    /// The owner that a tied object's change wakes, if it asked for this kind. Declarative children count as asked for.
    pub fn owner_of_child(&self, uid: &str, child: &Gvk, kind: Kind) -> Option<&ObjectKey> {
        let owner = self.owners.get(uid)?;
        let wishes = self.wishes.get(owner)?;
        let wish = wishes.watches.iter().find(|watch| match &watch.target {
            WatchTarget::Owned(gvk) => host_gvk(gvk) == *child,
            WatchTarget::Object(_) | WatchTarget::Selected(_) => false,
        });
        let trigger = wish.map_or(Trigger::Drift, |watch| watch.trigger);
        matters(trigger, kind).then_some(owner)
    }

    /// The owner with this uid.
    pub fn owner(&self, uid: &str) -> Option<&ObjectKey> {
        self.owners.get(uid)
    }

    /// Owners that asked for what this watch tells.
    pub fn waiting_for(&self, spec: &WatchSpec, kind: Kind) -> Vec<ObjectKey> {
        let waiting = self.by_spec.get(spec).into_iter().flatten();
        waiting.filter(|(_, trigger)| matters(*trigger, kind)).map(|(owner, _)| owner.clone()).collect()
    }

    /// Owners that are known.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether no owner is known.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }
}

fn matters(trigger: Trigger, kind: Kind) -> bool {
    matches!((trigger, kind), (Trigger::Any, _) | (_, Kind::Drift))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::names::{wit_gvk, wit_ref};

    fn key(kind: &str, name: &str) -> ObjectKey {
        ObjectKey::new(Arc::new(Gvk::new("g", "v1", kind)), Some("ns"), name)
    }

    fn owned(kind: &str, trigger: Trigger) -> Watch {
        Watch { target: WatchTarget::Owned(wit_gvk(&Gvk::new("g", "v1", kind))), trigger }
    }

    #[test]
    fn a_child_wakes_its_owner_for_drift_and_for_status_only_when_asked() {
        let (mut routes, owner) = (Routes::default(), key("App", "a"));
        routes.know(&owner, &Arc::from("u1"));
        routes.set(&owner, vec![owned("Job", Trigger::Any), owned("Service", Trigger::Drift)]);
        let gvk = |kind| Gvk::new("g", "v1", kind);
        assert_eq!(routes.owner_of_child("u1", &gvk("Job"), Kind::StatusOnly), Some(&owner));
        assert_eq!(routes.owner_of_child("u1", &gvk("Service"), Kind::StatusOnly), None);
        assert_eq!(routes.owner_of_child("u1", &gvk("Service"), Kind::Drift), Some(&owner));
        assert_eq!(routes.owner_of_child("u2", &gvk("Service"), Kind::Drift), None);
    }

    #[test]
    fn a_recreated_owner_answers_to_its_new_uid_only() {
        let (mut routes, owner) = (Routes::default(), key("App", "a"));
        routes.know(&owner, &Arc::from("u1"));
        routes.know(&owner, &Arc::from("u2"));
        assert_eq!(routes.owner_of_child("u1", &Gvk::new("g", "v1", "X"), Kind::Drift), None);
        assert_eq!(routes.owner_of_child("u2", &Gvk::new("g", "v1", "X"), Kind::Drift), Some(&owner));
        routes.forget(&owner);
        assert!(routes.is_empty());
    }

    #[test]
    fn a_wish_for_one_object_is_replaced_by_the_next_outcome() {
        let (mut routes, owner, job) = (Routes::default(), key("App", "a"), key("Job", "j"));
        routes.know(&owner, &Arc::from("u1"));
        let wish = Watch { target: WatchTarget::Object(wit_ref(&job)), trigger: Trigger::Any };
        let spec = wished_spec(&wish).unwrap();
        routes.set(&owner, vec![wish]);
        assert_eq!(routes.waiting_for(&spec, Kind::StatusOnly), std::slice::from_ref(&owner));
        routes.set(&owner, vec![]);
        assert_eq!(routes.waiting_for(&spec, Kind::Drift), []);
    }
}
